//! The operands of a tool: files, folders (searched for session files at any depth), and `-` for
//! stdin. A tool without operands reads stdin.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use clap::Args;
use globset::{Glob, GlobSet, GlobSetBuilder};
use walkdir::{DirEntry, WalkDir};

use crate::{Failure, Progress, Result, shell_word};

/// The name used for stdin in messages.
pub const STDIN_NAME: &str = "<stdin>";

/// An opened input.
pub struct Input {
    /// The name that the user gave, or [`STDIN_NAME`].
    pub name: String,
    /// The unbuffered reader for the input.
    pub reader: Box<dyn Read + Send>,
}

/// Returns the paths of the operands. Without operands, returns `-`, which means stdin. Giving `-`
/// twice is a usage error, and so is reading stdin from a terminal.
pub fn inputs<'a>(operands: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = operands.into_iter().cloned().collect();
    if paths.is_empty() {
        paths.push(PathBuf::from("-"));
    }
    match paths.iter().filter(|path| is_stdin(path)).count() {
        1 if io::stdin().is_terminal() => Err(Failure::new("no input: stdin is a terminal")
            .hint("pass a file, or pipe a session in; --help shows examples")),
        0 | 1 => Ok(paths),
        _ => Err(Failure::new("stdin (-) is given twice").hint("give it once")),
    }
}

/// Returns the name of an operand as shown in messages.
pub fn input_name(path: &Path) -> String {
    if is_stdin(path) { STDIN_NAME.to_owned() } else { path.display().to_string() }
}

impl Input {
    /// Opens one of the paths that [`inputs`] returned.
    pub fn open(path: &Path) -> Result<Self> {
        let name = input_name(path);
        if is_stdin(path) {
            let meta = metadata(path).ok().filter(Metadata::is_file);
            return Ok(Self::counted(name, meta, io::stdin()));
        }
        let file = open_file(path).map_err(|error| cannot_read(&name, &error))?;
        let meta = file.metadata().ok();
        if meta.as_ref().is_some_and(Metadata::is_dir) {
            return Err(Failure::new("is a directory").at(&name, None).hint(IN_DIRECTORY));
        }
        Ok(Self::counted(name, meta, file))
    }

    /// Reads the whole text of one of the paths.
    pub fn text(path: &Path) -> Result<String> {
        let Self { name, reader } = Self::open(path)?;
        io::read_to_string(reader).map_err(|error| Failure::unread(error).at(&name, None))
    }

    /// Opens `copy` in place of the input `path`. Reading begins at the same position as in the
    /// original: at the start of a file, or at the current position of stdin.
    pub fn of_copy(path: &Path, copy: &File) -> Result<Self> {
        let name = input_name(path);
        let open = || -> io::Result<File> {
            let place = if is_stdin(path) { stdin_file()?.stream_position()? } else { 0 };
            let mut copy = copy.try_clone()?;
            copy.seek(SeekFrom::Start(place))?;
            Ok(copy)
        };
        let file = open().map_err(|error| cannot_read(&name, &error))?;
        Ok(Self::counted(name, file.metadata().ok(), file))
    }

    /// Returns an input that updates the progress display as it is read.
    fn counted(name: String, meta: Option<Metadata>, reader: impl Read + Send + 'static) -> Self {
        let size = meta.map(|meta| meta.len());
        let reader = Progress::current().over(&name, size, Box::new(reader));
        Self { name, reader }
    }
}

/// Opens a file that the user named. Refuses a FIFO, which may wait forever for a writer, and a device,
/// which may never end. Pipes that are already open, such as those of process substitution, and
/// `/dev/null` are read.
pub fn open_file(path: &Path) -> io::Result<File> {
    let kind = path.metadata()?.file_type();
    let is_open = ["/dev/fd", "/dev/stdin", "/proc"].iter().any(|at| path.starts_with(at));
    let is_null = path == Path::new("/dev/null");
    if is_open || is_null || kind.is_file() || kind.is_dir() {
        return File::open(path);
    }
    let kind = if kind.is_fifo() { "FIFO" } else { "device" };
    Err(io::Error::new(io::ErrorKind::Unsupported, format!("it is a {kind}")))
}

/// Returns the metadata of an operand's file. For `-`, returns the metadata of the file or pipe at
/// stdin.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    if !is_stdin(path) {
        return path.metadata();
    }
    stdin_file()?.metadata()
}

/// Returns stdin as a [`File`], even if it is a pipe.
fn stdin_file() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Returns true if the operand is `-`, which means stdin.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the failure for an input that cannot be read. A name that does not exist may have been
/// meant as a session's id.
pub fn cannot_read(name: &str, error: &io::Error) -> Failure {
    let failure = match error.kind() {
        io::ErrorKind::NotFound if is_like_an_id(name) => {
            Failure::new("no such file, and no agent's session has this id").hint(NO_SUCH_ID)
        }
        io::ErrorKind::NotFound => {
            let is_short = name.len() < 4 && name.chars().all(|c| c.is_ascii_alphanumeric());
            let hint = if is_short { "an id needs 4 characters or more" } else { "check the path" };
            Failure::new("no such file or directory").hint(hint)
        }
        io::ErrorKind::Unsupported => Failure::unread(error)
            .hint(format!("to read it anyway, redirect stdin: < {}", shell_word(name))),
        _ => Failure::unread(error),
    };
    failure.at(name, None)
}

const NO_SUCH_ID: &str =
    "ctx-ls lists the ids of the sessions in the agents' folders; name others by their file";

/// The hint for a directory in place of a session.
pub const IN_DIRECTORY: &str = "name a session: ctx-ls DIR lists the sessions in a directory, ctx-ls --project DIR those of a project";

/// Returns true if a name may be the id of a session or the beginning of an id.
pub fn is_like_an_id(name: &str) -> bool {
    name.len() >= 4 && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// The default patterns for session files in a folder.
const SESSIONS: [&str; 2] = ["*.jsonl", "*.json"];

/// The flags for tools that accept folders as operands.
#[derive(Args, Clone, Debug, Default)]
pub struct FolderArgs {
    /// Read the session files in folders, at any depth
    #[arg(short, long, help_heading = "Input")]
    recursive: bool,
    /// In folders, read files that match PATTERN [default: *.jsonl, *.json]
    ///
    /// Can be repeated. A pattern without a slash is matched against the file name, and a pattern
    /// with a slash against the path relative to the folder.
    #[arg(long, value_name = "PATTERN", value_parser = pattern, help_heading = "Input")]
    glob: Vec<Glob>,
}

/// The rules for searching folders.
#[derive(Clone, Copy)]
pub struct Walk {
    /// Whether folders are searched even without `--recursive`.
    pub always: bool,
    /// Returns true for files and folders that are skipped even if their names match.
    pub skip: fn(&Path) -> bool,
}

/// The files to read, in the order of the operands. The files in each folder are sorted by name.
#[derive(Debug)]
pub struct Operands {
    /// The files to read. Includes the folders that could not be read, each at its place in the
    /// order.
    pub paths: Vec<PathBuf>,
    /// The error for each folder or file that could not be read.
    failed: HashMap<PathBuf, Failure>,
}

impl FolderArgs {
    /// Returns the files to read. Each operand that is a folder is replaced by the session files in
    /// the folder.
    ///
    /// Hidden files are included. Symbolic links inside a folder are not followed.
    pub fn operands(&self, operands: &[PathBuf], walk: Walk) -> Result<Operands> {
        let named = inputs(operands)?;
        let globs = self.globs()?;
        let mut found = Operands { paths: Vec::new(), failed: HashMap::new() };
        for path in named {
            if is_stdin(&path) || !path.is_dir() {
                found.paths.push(path);
            } else if self.recursive || walk.always {
                found.folder(path, &globs, walk.skip);
            } else {
                let hint = format!(
                    "to read the session files in this folder: -r {}",
                    shell_word(&path.display().to_string())
                );
                found.fail(path, Failure::new("is a directory").hint(hint));
            }
        }
        Ok(found)
    }

    fn globs(&self) -> Result<GlobSet> {
        let mut set = GlobSetBuilder::new();
        let usual = if self.glob.is_empty() { &SESSIONS[..] } else { &[] };
        let usual = usual.iter().map(|pattern| Glob::new(pattern));
        for glob in usual.chain(self.glob.iter().cloned().map(Ok)) {
            set.add(glob.map_err(Failure::new)?);
        }
        set.build().map_err(Failure::new)
    }
}

impl Operands {
    /// Returns an error if `path` could not be read when the folders were searched.
    pub fn check(&self, path: &Path) -> Result<()> {
        self.failed.get(path).map_or(Ok(()), |failure| Err(failure.clone()))
    }

    fn fail(&mut self, path: PathBuf, failure: Failure) {
        self.paths.push(path.clone());
        let failure = failure.at(path.display().to_string(), None);
        self.failed.insert(path, failure);
    }

    fn folder(&mut self, folder: PathBuf, globs: &GlobSet, skip: fn(&Path) -> bool) {
        let before = self.paths.len();
        let is_wanted = |entry: &DirEntry| entry.depth() == 0 || !skip(entry.path());
        let walk = WalkDir::new(&folder).sort_by_file_name().into_iter();
        for entry in walk.filter_entry(is_wanted) {
            match entry {
                Ok(entry) if entry.file_type().is_file() => {
                    // Match the patterns against the file name and against the path relative to the
                    // searched folder.
                    let below = entry.path().strip_prefix(&folder).unwrap_or(entry.path());
                    if globs.is_match(entry.file_name()) || globs.is_match(below) {
                        self.paths.push(entry.into_path());
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    let path = error.path().unwrap_or(&folder).to_path_buf();
                    let why = error.io_error().map(ToString::to_string);
                    let why = why.unwrap_or_else(|| error.to_string());
                    self.fail(path, Failure::unread(why));
                }
            }
        }
        if self.paths.len() == before {
            let failure = Failure::new("no session files in this folder");
            self.fail(folder, failure.hint("--glob PATTERN sets the names to look for"));
        }
    }
}

fn pattern(text: &str) -> Result<Glob, String> {
    Glob::new(text).map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::{Input, inputs};
    use std::path::{Path, PathBuf};

    #[test]
    fn stdin_is_named_once() {
        let twice = [PathBuf::from("-"), PathBuf::from("-")];
        let failure = inputs(&twice).expect_err("twice");
        assert_eq!(failure.to_string(), "stdin (-) is given twice; give it once");
    }

    #[test]
    fn directories_and_missing_files_are_named() {
        let failure = Input::open(Path::new("/")).err().expect("a directory");
        assert_eq!(failure.to_string(), format!("/: is a directory; {}", super::IN_DIRECTORY));
        let failure = Input::open(Path::new("/no/such")).err().expect("missing");
        assert_eq!(failure.to_string(), "/no/such: no such file or directory; check the path");
    }
}

#[cfg(test)]
mod folder_tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{FolderArgs, Walk, pattern};

    const WALK: Walk = Walk { always: true, skip: |path| path.ends_with("store") };

    fn found(globs: &[&str], walk: Walk) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a folder");
        for path in ["b.jsonl", "a.json", ".hidden/c.jsonl", "x/d.txt", "store/e.jsonl"] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("it is in one")).expect("made");
            fs::write(path, "").expect("written");
        }
        // A search that followed this symbolic link would never end.
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).expect("linked");
        let args = FolderArgs {
            recursive: false,
            glob: globs.iter().map(|it| pattern(it).expect("one")).collect(),
        };
        let operands = args.operands(&[dir.path().to_path_buf()], walk).expect("ok");
        let outcome = |path: &PathBuf| match operands.check(path) {
            Ok(()) => path.strip_prefix(dir.path()).unwrap_or(Path::new("?")).display().to_string(),
            Err(failure) => failure.to_string().replace(&*dir.path().to_string_lossy(), "DIR"),
        };
        operands.paths.iter().map(outcome).collect()
    }

    /// The files in each folder are sorted by name. Hidden files are included, and symbolic links
    /// are not followed.
    #[test]
    fn a_folder_gives_the_files_in_it_in_their_order() {
        let sorted = [".hidden/c.jsonl", "a.json", "b.jsonl"];
        assert_eq!(found(&[], WALK), sorted);
        assert_eq!(found(&["*.txt", "b*"], WALK), ["b.jsonl", "x/d.txt"]);
        assert_eq!(found(&["x/**"], WALK), ["x/d.txt"]);
        assert!(pattern("[").is_err());
    }

    /// For a folder without session files, the error tells the user what to do.
    #[test]
    fn a_folder_that_gives_nothing_says_what_to_do() {
        assert_eq!(
            found(&["*.md"], WALK),
            ["DIR: no session files in this folder; --glob PATTERN sets the names to look for"]
        );
        let files_only = Walk { always: false, ..WALK };
        assert_eq!(
            found(&[], files_only),
            ["DIR: is a directory; to read the session files in this folder: -r DIR"]
        );
    }
}
