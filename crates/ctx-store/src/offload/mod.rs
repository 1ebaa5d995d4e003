//! Stores large tool results as files. Each file is named after the hash of its content, so
//! identical results share one file. An agent can read the file, and the tools can restore the
//! original JSON from it, byte for byte.
//!
//! Folders with offloaded files are opened one path component at a time, without following links,
//! so that no path leads out of the store. Transcripts refer to an offloaded file by its path.

pub(crate) mod unreferenced;
pub(crate) mod write;

use std::collections::HashSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use derive_more::Display;
use ring::digest::{SHA256, digest};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat, renameat};
use rustix::io::{Errno, retry_on_intr};

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{Entries, hex, if_there, only_regular};
use crate::{SessionId, Store};

/// The name of an offloaded file: the sha256 of its bytes, followed by the suffix of its [`Form`],
/// such as `.txt`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[display("{sha256}{}", form.suffix())]
pub struct OffloadName {
    /// The sha256 of the file's bytes, in lower-case hex digits.
    pub sha256: String,
    form: Form,
}

impl OffloadName {
    /// Returns the name of a file that contains these bytes.
    pub fn of(bytes: &[u8], form: Form) -> Self {
        Self { sha256: hex(digest(&SHA256, bytes)), form }
    }

    /// Parses a name as written by `Display`. Never accepts a path.
    pub fn parse(text: &str) -> Option<Self> {
        let (sha256, suffix) = text.split_at_checked(64)?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let form = Form::all().find(|form| form.suffix() == suffix)?;
        sha256.bytes().all(is_hex).then(|| Self { sha256: sha256.to_owned(), form })
    }
}

/// An offloaded file in a store, displayed as `{session}/{name}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[display("{session}/{name}")]
pub struct OffloadedFile {
    /// The session whose folder contains the file.
    pub session: SessionId,
    /// The name of the file in the session's folder.
    pub name: OffloadName,
}

impl OffloadedFile {
    /// Whether `wanted` is the file's `{session}/{name}`, or the beginning of its name, such as the
    /// first digits of the hash.
    pub fn begins_with(&self, wanted: &str) -> bool {
        self.name.to_string().starts_with(wanted) || self.to_string() == wanted
    }
}

/// Returns the names in a folder. If the folder does not exist, the list is empty.
fn names_in(folder: Result<Folder>) -> Result<Vec<String>> {
    if_there(folder)?.map_or_else(|| Ok(Vec::new()), |folder| folder.names())
}

impl Store {
    /// Returns the sessions that have a folder for offloaded files.
    pub fn offload_sessions(&self) -> Result<Vec<SessionId>> {
        Ok(names_in(Folder::of_all(self))?.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Returns the offloaded files of a session, sorted by name.
    pub fn offloaded_files(&self, session: &SessionId) -> Result<Vec<OffloadedFile>> {
        let names = names_in(Folder::of_session(self, session))?;
        let names = names.iter().filter_map(|name| OffloadName::parse(name));
        Ok(names.map(|name| OffloadedFile { session: session.clone(), name }).collect())
    }

    /// Returns the offloaded files of one session, or of all sessions if `session` is `None`.
    pub fn all_offloaded(&self, session: Option<&SessionId>) -> Result<Vec<OffloadedFile>> {
        let mut sessions = self.offload_sessions()?;
        sessions.retain(|id| session.is_none_or(|session| session == id));
        let files = sessions.iter().map(|session| self.offloaded_files(session));
        Ok(files.collect::<Result<Vec<_>>>()?.concat())
    }

    /// The path of an offloaded file.
    pub(crate) fn offloaded_path(&self, file: &OffloadedFile) -> PathBuf {
        self.offloaded().join(file.session.as_str()).join(file.name.to_string())
    }

    /// Reads an offloaded file and checks its bytes against the sha256 in its name.
    pub fn read_offloaded(&self, file: &OffloadedFile) -> Result<Content> {
        if let Some(folder) = if_there(Folder::of_session(self, &file.session))? {
            return folder.read(&file.name);
        }
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        Err(missing).or_cannot("read", &self.offloaded_path(file))
    }

    /// Moves an offloaded file, if it exists, into a folder in the trash.
    pub(crate) fn move_offloaded(&self, file: &OffloadedFile, to: &Path) -> Result<()> {
        let folder = if_there(Folder::of_session(self, &file.session))?;
        folder.map_or(Ok(()), |folder| folder.give(&file.name, to))
    }

    /// Moves an offloaded file back from the trash. The file is marked as used now, so that ctx-gc
    /// does not remove it again at once.
    pub(crate) fn bring_back_offloaded(
        &self,
        file: &OffloadedFile,
        paths: &[PathBuf],
    ) -> Result<()> {
        let folder = Folder::create(self, &file.session)?;
        for path in paths {
            folder.adopt(path, &file.name).or_cannot("bring back", &self.offloaded_path(file))?;
        }
        folder.freshen(&file.name);
        folder.sync().map_err(|error| error.after("undelete"))
    }

    /// Returns the folder for a session's offloaded files. The folder need not exist yet.
    pub fn offload_folder(&self, session: &SessionId) -> Result<OffloadFolder> {
        let root = real(&self.root).or_cannot("find", &self.root)?;
        let folder = root.join("offloaded").join(session.as_str());
        let not_utf8 = |_| StoreError::NotUtf8(self.root.clone());
        Ok(OffloadFolder {
            session: session.clone(),
            path: folder.into_os_string().into_string().map_err(not_utf8)?,
        })
    }
}

/// The form in which an offloaded file stores a result: as plain text or as the exact JSON value.
/// For plain text, the form also specifies how the session encodes that text as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Form(u8);

/// A way to write text as JSON.
struct Spelling {
    /// The file name suffix for text that was written in this way.
    suffix: &'static str,
    /// The JSON that surrounds the string.
    around: (&'static str, &'static str),
    /// Whether all characters except printable ASCII are escaped.
    ascii: bool,
}

const STRING: (&str, &str) = ("", "");
const PART: (&str, &str) = ("[{\"type\":\"text\",\"text\":", "}]");
const SPACED: (&str, &str) = ("[{\"type\": \"text\", \"text\": ", "}]");

/// The ways in which common JSON libraries write a string, or a list with a single text part.
#[rustfmt::skip]
const SPELLINGS: [Spelling; 6] = [
    Spelling { suffix: ".txt", around: STRING, ascii: false },
    Spelling { suffix: ".ascii.txt", around: STRING, ascii: true },
    Spelling { suffix: ".part.txt", around: PART, ascii: false },
    Spelling { suffix: ".part.ascii.txt", around: PART, ascii: true },
    Spelling { suffix: ".spaced.txt", around: SPACED, ascii: false },
    Spelling { suffix: ".spaced.ascii.txt", around: SPACED, ascii: true },
];

impl Form {
    /// The plain text of a JSON string in which only the necessary characters were escaped.
    pub const TEXT: Self = Self(0);
    /// The exact JSON value, for a result that has several parts, is not text, or is escaped in an
    /// unusual way.
    pub const JSON: Self = Self(6);

    /// All forms.
    pub fn all() -> impl Iterator<Item = Self> {
        (Self::TEXT.0..=Self::JSON.0).map(Self)
    }

    /// Returns the file name suffix for this form.
    pub fn suffix(self) -> &'static str {
        self.spelling().map_or(".json", |spelling| spelling.suffix)
    }

    /// Returns how the text was written as JSON, or `None` if the form is the exact JSON value.
    fn spelling(self) -> Option<&'static Spelling> {
        SPELLINGS.get(usize::from(self.0))
    }
}

/// A tool result's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The form in which `text` is stored.
    pub form: Form,
    /// The text of the result, or the raw JSON if the form is [`Form::JSON`].
    pub text: String,
}

impl Content {
    /// Creates the content from the raw JSON value of a result in a session record.
    pub fn of(json: &str) -> Self {
        let read = |form: Form| Some(Self { form, text: form.spelling()?.read(json)? });
        let spelled = Form::all().find_map(read);
        spelled.unwrap_or_else(|| Self { form: Form::JSON, text: json.to_owned() })
    }

    /// Returns the raw JSON value, exactly as it was in the session record.
    pub fn into_json(self) -> String {
        match self.form.spelling() {
            Some(spelling) => spelling.write(&self.text),
            None => self.text,
        }
    }
}

impl Spelling {
    fn write(&self, text: &str) -> String {
        let string = serde_json::Value::from(text).to_string();
        let string = if self.ascii { ascii(&string) } else { string };
        let (before, after) = self.around;
        format!("{before}{string}{after}")
    }

    /// Returns the text in `json`, if encoding that text in this way reproduces exactly the same
    /// JSON.
    fn read(&self, json: &str) -> Option<String> {
        let (before, after) = self.around;
        let string = json.strip_prefix(before)?.strip_suffix(after)?;
        let text = serde_json::from_str::<String>(string).ok()?;
        (self.write(&text) == json).then_some(text)
    }
}

/// Escapes all characters except printable ASCII.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, ' '..='~') {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// An open folder: either `offloaded/` or a session's folder inside it.
#[derive(Debug)]
struct Folder {
    handle: File,
    path: PathBuf,
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const OTHER_BYTES: &str = "is damaged: the sha256 of its content does not match its name";

impl Folder {
    /// Opens the folder `offloaded/`.
    fn of_all(store: &Store) -> Result<Self> {
        let path = store.root.clone();
        Self { handle: File::open(&path).or_cannot("open", &path)?, path }.folder("offloaded")
    }

    /// Opens the folder for a session's offloaded files.
    fn of_session(store: &Store, session: &SessionId) -> Result<Self> {
        Self::of_all(store)?.folder(session.as_str())
    }

    /// Opens the folder for a session's offloaded files, and creates it if it does not exist.
    fn create(store: &Store, session: &SessionId) -> Result<Self> {
        store.make_dirs(&store.offloaded())?;
        let missing = || StoreError::Changed(store.offloaded());
        let all = if_there(Self::of_all(store))?.ok_or_else(missing)?;
        let path = all.path.join(session.as_str());
        match retry_on_intr(|| mkdirat(&all.handle, session.as_str(), Mode::RWXU)) {
            Ok(()) => all.sync()?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error).or_cannot("create", &path),
        }
        if_there(all.folder(session.as_str()))?.ok_or_else(missing)
    }

    fn folder(&self, name: &str) -> Result<Self> {
        let path = self.path.join(name);
        match retry_on_intr(|| openat(&self.handle, name, FOLDER, Mode::empty())) {
            Ok(handle) => Ok(Self { handle: handle.into(), path }),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(StoreError::refused(&path, "is not a folder")),
            Err(error) => Err(error).or_cannot("open", &path),
        }
    }

    /// Returns the sorted file names in the folder, except those that are not UTF-8.
    fn names(&self) -> Result<Vec<String>> {
        let names = Entries::of_open(&self.handle).and_then(Entries::names);
        let mut names = names.or_cannot("read", &self.path)?;
        names.sort();
        Ok(names)
    }

    /// Opens a regular file in the folder, without following a link or blocking on a FIFO.
    fn open(&self, name: &str, flags: OFlags) -> Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = retry_on_intr(|| openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR));
        only_regular(opened.map(File::from).map_err(io::Error::from), "read", &self.path.join(name))
    }

    /// Reads an offloaded file, and checks its content against the hash in its name.
    fn read(&self, name: &OffloadName) -> Result<Content> {
        let path = self.path.join(name.to_string());
        let mut file = self.open(&name.to_string(), OFlags::RDONLY)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).or_cannot("read", &path)?;
        let form = name.form;
        if OffloadName::of(&bytes, form) != *name {
            return Err(StoreError::refused(&path, OTHER_BYTES));
        }
        let not_utf8 = |_| StoreError::refused(&path, "is damaged: it is not UTF-8");
        Ok(Content { form, text: String::from_utf8(bytes).map_err(not_utf8)? })
    }

    /// Marks an offloaded file as used now, if it exists and is undamaged. Returns whether the file
    /// was marked.
    fn freshen(&self, name: &OffloadName) -> bool {
        let mark = |file: File| file.set_modified(SystemTime::now()).is_ok();
        self.read(name).is_ok() && self.open(&name.to_string(), OFlags::RDONLY).is_ok_and(mark)
    }

    /// Moves the file at `from` into the folder. An existing file with the same name is replaced.
    fn adopt(&self, from: &Path, name: &OffloadName) -> io::Result<()> {
        Ok(retry_on_intr(|| renameat(CWD, from, &self.handle, name.to_string()))?)
    }

    /// Moves a file from this folder into a folder in the trash.
    fn give(&self, name: &OffloadName, to: &Path) -> Result<()> {
        let name = name.to_string();
        let moved = retry_on_intr(|| renameat(&self.handle, &name, CWD, to.join(&name)));
        moved.or_cannot("move to the trash", &self.path.join(&name))
    }

    /// Flushes the names in the folder to disk.
    fn sync(&self) -> Result<()> {
        self.handle.sync_all().or_cannot("sync", &self.path)
    }
}

/// The folder for a session's offloaded files. The folder's path is absolute and contains no links,
/// so an agent in any working directory can read the files.
#[derive(Clone, Debug)]
pub struct OffloadFolder {
    session: SessionId,
    /// The path of the folder, without a trailing slash.
    pub path: String,
}

impl OffloadFolder {
    /// Returns the path by which a transcript refers to a file in the folder.
    pub fn path_of(&self, name: &OffloadName) -> String {
        format!("{}/{name}", self.path)
    }

    /// Returns the file at `path`, if it is in this folder. Paths are compared only as text, so
    /// neither `..` nor a link can lead elsewhere.
    pub fn file(&self, path: &str) -> Option<OffloadedFile> {
        let name = path.strip_prefix(&self.path)?.strip_prefix('/')?;
        Some(OffloadedFile { session: self.session.clone(), name: OffloadName::parse(name)? })
    }

    /// Returns the files in this folder whose paths occur in `text`.
    pub fn files_in(&self, text: &str) -> HashSet<OffloadedFile> {
        let starts = text.match_indices(&self.path);
        let file = |(at, _): (usize, &str)| {
            let folder_end = at + self.path.len();
            self.file(&text[at..folder_end + name_length(&text[folder_end..])])
        };
        starts.filter_map(file).collect()
    }
}

/// Returns the length of the file name at the start of `text`, not counting a trailing full stop.
fn name_length(text: &str) -> usize {
    let belongs = |c: char| matches!(c, '/' | '.') || c.is_ascii_alphanumeric();
    let length = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text[..length].trim_end_matches('.').len()
}

/// Returns the real path of a folder, which need not exist yet.
fn real(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            let absolute = std::path::absolute(path)?;
            match (absolute.parent(), absolute.file_name()) {
                (Some(above), Some(name)) => Ok(real(above)?.join(name)),
                _ => Err(error),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod offload_tests {
    use super::{Form, OffloadName};

    #[test]
    fn a_name_is_never_a_path() {
        let name = OffloadName::of(b"x", Form::TEXT);
        let text = name.to_string();
        assert_eq!(text, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881.txt");
        assert_eq!(OffloadName::parse(&text), Some(name));
        let hash = &text[..64];
        for form in Form::all() {
            let text = format!("{hash}{}", form.suffix());
            let name = OffloadName::parse(&text).expect("a name");
            assert_eq!((name.to_string(), name.form), (text, form));
        }
        for bad in [
            "",
            hash,
            "x.txt",
            &format!("../{hash}.txt"),
            &format!("{hash}.txt/../../x"),
            &format!("{}.txt", hash.to_uppercase()),
            &format!("{}é.txt", &hash[..62]),
            &format!("{hash}.md"),
        ] {
            assert_eq!(OffloadName::parse(bad), None, "{bad}");
        }
    }
}

#[cfg(test)]
mod content_tests {
    use super::{Content, Form, SPELLINGS};
    use proptest::prelude::*;

    #[test]
    fn text_is_stored_as_text_where_it_can_be_written_back() {
        for (json, suffix, text) in [
            (r#""plain""#, ".txt", "plain"),
            (r#""a\n\"b\"\u001b""#, ".txt", "a\n\"b\"\u{1b}"),
            ("\"中\u{7f}\"", ".txt", "中\u{7f}"),
            (r#""\u4e2d\ud83d\ude00 \u007f""#, ".ascii.txt", "中😀 \u{7f}"),
            (r#"[{"type":"text","text":"a\n"}]"#, ".part.txt", "a\n"),
            (r#"[{"type": "text", "text": "\u4e2d"}]"#, ".spaced.ascii.txt", "中"),
        ] {
            let content = Content::of(json);
            let form = content.form.suffix();
            assert_eq!((form, content.text.as_str()), (suffix, text), "{json}");
            assert_eq!(content.into_json(), json);
        }
        for json in [
            r#""\u001B""#,
            r#""a\/b""#,
            r#""\ud800""#,
            r#"[ {"type":"text","text":"x"}]"#,
            r#"[{"type":"text","text":"x"},{"type":"text","text":"y"}]"#,
            r#"[{"type":"text","text":1}]"#,
            "1E2",
            "[]",
        ] {
            let content = Content::of(json);
            assert_eq!((content.form, content.text.as_str()), (Form::JSON, json), "{json}");
            assert_eq!(content.into_json(), json);
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "\\PC{0,40}|[\\x00-\u{10ffff}]{0,20}", way in 0..SPELLINGS.len()) {
            let json = SPELLINGS[way].write(&text);
            let content = Content::of(&json);
            prop_assert_ne!(content.form, Form::JSON);
            prop_assert_eq!(&content.text, &text);
            prop_assert_eq!(content.into_json(), json);
        }
    }
}

#[cfg(test)]
mod place_tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::OffloadFolder;
    use crate::{Actor, Store, StoreError};

    fn folder(root: &Path) -> Result<OffloadFolder, StoreError> {
        let actor = Actor { tool: "test".into(), flags: Vec::new() };
        let store = Store::open(root, actor, Box::new(chrono::Utc::now)).expect("a store");
        store.offload_folder(&"demo".parse().expect("an id"))
    }

    #[test]
    fn the_path_is_real_before_the_store_exists() {
        let dir = tempfile::tempdir().expect("a folder");
        let real = dir.path().canonicalize().expect("a path");
        symlink(&real, dir.path().join("link")).expect("a link");
        let folder = folder(&dir.path().join("link/no/store")).expect("a folder");
        let expected = real.join("no/store/offloaded/demo");
        assert_eq!(Path::new(&folder.path), expected);
    }

    /// If the link's target is not mounted, the store's real path is unknown, so paths in a session
    /// would appear to be outside the store.
    #[test]
    fn a_store_behind_a_link_to_nowhere_has_no_path() {
        let dir = tempfile::tempdir().expect("a folder");
        symlink(dir.path().join("nowhere"), dir.path().join("link")).expect("a link");
        let error = folder(&dir.path().join("link/store")).expect_err("nowhere");
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
    }

    #[test]
    fn a_path_that_is_no_text_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let error = folder(&dir.path().join(OsStr::from_bytes(b"\xff"))).expect_err("no text");
        assert!(matches!(error, StoreError::NotUtf8(_)), "{error}");
    }

    #[test]
    fn paths_in_a_text_end_where_names_do() {
        let folder = OffloadFolder {
            session: "demo".parse().expect("an id"),
            path: "/s/offloaded/demo".to_owned(),
        };
        let [one, two] = ["1", "2"].map(|digit| digit.repeat(64));
        let path = "/s/offloaded/demo";
        let text = format!(
            "see {path}/{one}.txt. Or \"{path}/{two}.part.ascii.txt\" ({path}), {path}/{one}.json2"
        );
        let mut names: Vec<_> =
            folder.files_in(&text).into_iter().map(|file| file.name.to_string()).collect();
        names.sort();
        assert_eq!(names, [format!("{one}.txt"), format!("{two}.part.ascii.txt")]);
    }

    #[test]
    fn only_paths_in_the_folder_are_ours() {
        let folder = OffloadFolder {
            session: "demo".parse().expect("an id"),
            path: "/s/offloaded/demo".to_owned(),
        };
        let hash = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
        let path = format!("/s/offloaded/demo/{hash}.txt");
        let file = folder.file(&path).expect("a file");
        assert_eq!(folder.path_of(&file.name), path);
        for bad in [
            "/etc/passwd".to_owned(),
            "/s/offloaded/demo/../../../etc/passwd".to_owned(),
            format!("/s/offloaded/demo/../other/{hash}.txt"),
            format!("/s/offloaded/other/{hash}.txt"),
            format!("/s/offloaded/demo//{hash}.txt"),
            format!("/s/./offloaded/demo/{hash}.txt"),
            format!("s/offloaded/demo/{hash}.txt"),
            format!("/s/offloaded/demo/{hash}.txt/"),
            "/s/offloaded/demo/sources.jsonl".to_owned(),
            "/s/offloaded/demo/".to_owned(),
        ] {
            assert_eq!(folder.file(&bad), None, "{bad}");
        }
    }
}
