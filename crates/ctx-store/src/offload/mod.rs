//! Large tool results as files. A file is named after the hash of its content, so equal results
//! share one. A result becomes a file that an agent can read, and the file becomes the same JSON
//! again, byte for byte.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use folder::Folder;
use sha2::{Digest, Sha256};

use crate::error::{OrCannot, StoreError};
use crate::fs::{hex, if_there};
use crate::id::SessionId;
use crate::store::Store;

pub(crate) mod folder;
pub(crate) mod unreferenced;
pub(crate) mod write;

/// The name of an offloaded file: `{sha256}.txt`, or another ending by its [`Form`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OffloadName {
    /// The sha256 of the file's bytes in lower-case hex digits.
    sha256: String,
    form: Form,
}

impl OffloadName {
    /// The name of a file with these bytes.
    pub fn of(bytes: &[u8], form: Form) -> Self {
        Self { sha256: hex(&Sha256::digest(bytes)), form }
    }

    /// Reads what `Display` writes; never a path.
    pub fn parse(text: &str) -> Option<Self> {
        let (sha256, suffix) = text.split_at_checked(64)?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let form = Form::all().find(|form| form.suffix() == suffix)?;
        sha256.bytes().all(is_hex).then(|| Self { sha256: sha256.to_owned(), form })
    }

    /// The sha256 of the file's bytes in lower-case hex digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

impl fmt::Display for OffloadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.sha256, self.form.suffix())
    }
}

/// An offloaded file of a store: `{session}/{name}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OffloadedFile {
    /// The session.
    pub session: SessionId,
    /// Its name in the session's folder.
    pub name: OffloadName,
}

impl fmt::Display for OffloadedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.session, self.name)
    }
}

impl OffloadedFile {
    /// Whether `wanted` is its hash, its name, or the beginning of one of them.
    pub fn begins_with(&self, wanted: &str) -> bool {
        self.name.to_string().starts_with(wanted) || self.to_string() == wanted
    }
}

/// The names in a folder; none without a folder.
fn names_in(folder: Result<Folder, StoreError>) -> Result<Vec<String>, StoreError> {
    if_there(folder)?.map_or_else(|| Ok(Vec::new()), |folder| folder.names())
}

impl Store {
    /// Sessions that have a folder of offloaded files.
    pub fn offload_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let names = names_in(Folder::of_all(self))?;
        let ids = names.iter().filter_map(|name| name.parse().ok());
        Ok(ids.collect())
    }

    /// The offloaded files of a session, by name.
    pub fn offloaded_files(&self, session: &SessionId) -> Result<Vec<OffloadedFile>, StoreError> {
        let names = names_in(Folder::of_session(self, session))?;
        let names = names.iter().filter_map(|name| OffloadName::parse(name));
        Ok(names.map(|name| OffloadedFile { session: session.clone(), name }).collect())
    }

    /// The offloaded files of one session, or of all.
    pub fn all_offloaded(
        &self,
        session: Option<&SessionId>,
    ) -> Result<Vec<OffloadedFile>, StoreError> {
        let mut sessions = self.offload_sessions()?;
        sessions.retain(|id| session.is_none_or(|session| session == id));
        let files = sessions.iter().map(|session| self.offloaded_files(session));
        let files: Result<Vec<_>, _> = files.collect();
        Ok(files?.concat())
    }

    /// The path of an offloaded file.
    pub(crate) fn offloaded_path(&self, file: &OffloadedFile) -> PathBuf {
        self.offloaded().join(file.session.as_str()).join(file.name.to_string())
    }

    /// The content of an offloaded file, checked against its name.
    pub fn read_offloaded(&self, file: &OffloadedFile) -> Result<Content, StoreError> {
        if let Some(folder) = if_there(Folder::of_session(self, &file.session))? {
            return folder.read(&file.name);
        }
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        Err(missing).or_cannot("read", &self.offloaded_path(file))
    }

    /// Moves an offloaded file, if it is there, into a folder of the trash.
    pub(crate) fn move_offloaded(&self, file: &OffloadedFile, to: &Path) -> Result<(), StoreError> {
        match if_there(Folder::of_session(self, &file.session))? {
            Some(folder) => folder.give(&file.name, to),
            None => Ok(()),
        }
    }

    /// Brings an offloaded file back from the trash; it counts as used now.
    pub(crate) fn bring_back_offloaded(
        &self,
        file: &OffloadedFile,
        paths: &[PathBuf],
    ) -> Result<(), StoreError> {
        let folder = Folder::create(self, &file.session)?;
        for path in paths {
            folder.adopt(path, &file.name).or_cannot("bring back", &self.offloaded_path(file))?;
        }
        folder.freshen(&file.name);
        folder.sync().map_err(|error| error.after("undelete"))
    }
}

/// What the bytes of an offloaded file are: the text of a result, and how the
/// record had written it, or the JSON value as it stood.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Form(u8);

/// A way to write a text as JSON.
struct Spelling {
    /// How the file's name ends.
    suffix: &'static str,
    /// What stands around the string.
    around: (&'static str, &'static str),
    /// Whether all but printable ASCII is escaped.
    ascii: bool,
}

const STRING: (&str, &str) = ("", "");
const PART: (&str, &str) = ("[{\"type\":\"text\",\"text\":", "}]");
const SPACED: (&str, &str) = ("[{\"type\": \"text\", \"text\": ", "}]");

/// How the JSON libraries of most languages write a string, and a list of one
/// text part.
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
    /// The text of a JSON string that escapes only what must be escaped.
    pub const TEXT: Self = Self(0);
    /// The JSON value as it stood: several parts, no text, or a text that was
    /// written in a way of its own.
    pub const JSON: Self = Self(6);

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (Self::TEXT.0..=Self::JSON.0).map(Self)
    }

    /// How the name of such a file ends.
    pub fn suffix(self) -> &'static str {
        self.spelling().map_or(".json", |spelling| spelling.suffix)
    }

    /// `None` for the JSON value itself.
    fn spelling(self) -> Option<&'static Spelling> {
        SPELLINGS.get(usize::from(self.0))
    }
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.suffix())
    }
}

/// The content of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The form of `text`.
    pub form: Form,
    /// The text, or the raw JSON.
    pub text: String,
}

impl Content {
    /// From the raw JSON value in the record.
    pub fn of(json: &str) -> Self {
        for form in Form::all() {
            if let Some(text) = form.spelling().and_then(|spelling| spelling.read(json)) {
                return Self { form, text };
            }
        }
        Self { form: Form::JSON, text: json.to_owned() }
    }

    /// The raw JSON value, as it stood in the record.
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

    /// The text that is written in exactly this way.
    fn read(&self, json: &str) -> Option<String> {
        let (before, after) = self.around;
        let string = json.strip_prefix(before)?.strip_suffix(after)?;
        let text = serde_json::from_str::<String>(string).ok()?;
        (self.write(&text) == json).then_some(text)
    }
}

/// JSON with escapes in the place of all that is not printable ASCII.
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
