//! Operands: files, `-` for stdin, stdin when there is none.

use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use crate::{Failure, Progress};

/// The name of stdin in messages.
pub const STDIN_NAME: &str = "<stdin>";

/// One opened input.
pub struct Input {
    /// The name that the user gave, or [`STDIN_NAME`].
    pub name: String,
    /// The bytes, not buffered.
    pub reader: Box<dyn Read + Send>,
}

/// The paths of the operands of a call. No operand means stdin, as `-` does; that twice,
/// or a terminal as stdin, is a usage error.
pub fn inputs<'a>(
    operands: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<Vec<PathBuf>, Failure> {
    let mut paths: Vec<PathBuf> = operands.into_iter().cloned().collect();
    if paths.is_empty() {
        paths.push(PathBuf::from("-"));
    }
    match paths.iter().filter(|path| is_stdin(path)).count() {
        1 if io::stdin().is_terminal() => Err(Failure::new("no input: stdin is a terminal")
            .hint("name a file, or pipe a session in; --help shows examples")),
        0 | 1 => Ok(paths),
        _ => Err(Failure::new("stdin (-) is named twice").hint("name it once")),
    }
}

/// The name of an operand in messages.
pub fn input_name(path: &Path) -> String {
    if is_stdin(path) { STDIN_NAME.to_owned() } else { path.display().to_string() }
}

impl Input {
    /// Opens one of the [`inputs`].
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let name = input_name(path);
        if is_stdin(path) {
            let meta = metadata(path).ok().filter(Metadata::is_file);
            return Ok(Self::counted(name, meta, io::stdin()));
        }
        let file = File::open(path).map_err(|error| cannot_read(&name, &error))?;
        let meta = file.metadata().ok();
        if meta.as_ref().is_some_and(Metadata::is_dir) {
            return Err(is_directory(&name));
        }
        Ok(Self::counted(name, meta, file))
    }

    /// Opens a copy of one of the [`inputs`] in its stead, from where its reading would have
    /// begun: the start, or the place that stdin is at.
    pub fn of_copy(path: &Path, copy: &File) -> Result<Self, Failure> {
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

    /// An input whose reading the progress shows.
    fn counted(name: String, meta: Option<Metadata>, reader: impl Read + Send + 'static) -> Self {
        let size = meta.map(|meta| meta.len());
        let reader = Progress::current().over(&name, size, Box::new(reader));
        Self { name, reader }
    }
}

/// The metadata of an operand; for `-`, of the file or pipe at stdin.
pub fn metadata(path: &Path) -> io::Result<Metadata> {
    if !is_stdin(path) {
        return path.metadata();
    }
    stdin_file()?.metadata()
}

/// The file or pipe at stdin.
fn stdin_file() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Whether an operand is stdin.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A folder where files are taken.
pub(crate) fn is_directory(name: &str) -> Failure {
    let hint = format!("name session files: find {} -name '*.jsonl' lists them", word(name));
    Failure::new("is a directory").at(name, None).hint(hint)
}

/// A path as one word of a shell's command line.
pub(crate) fn word(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

fn cannot_read(name: &str, error: &io::Error) -> Failure {
    let failure = Failure::unread(error).at(name, None);
    if error.kind() == io::ErrorKind::NotFound {
        failure.hint(if is_like_an_id(name) {
            "that looks like the id of a session: ctx-ls -l has its file"
        } else {
            "check the path"
        })
    } else {
        failure
    }
}

/// Whether a name looks like a UUID, which agents use for sessions: 32 hexadecimal digits with
/// hyphens.
fn is_like_an_id(name: &str) -> bool {
    let digits = name.chars().filter(char::is_ascii_hexdigit).count();
    let hyphens = name.chars().filter(|c| *c == '-').count();
    digits == 32 && digits + hyphens == name.len()
}

#[cfg(test)]
mod tests {
    use super::{Input, inputs, word};
    use std::path::{Path, PathBuf};

    #[test]
    fn stdin_is_named_once() {
        let twice = [PathBuf::from("-"), PathBuf::from("-")];
        let failure = inputs(&twice).expect_err("twice");
        assert_eq!(failure.to_string(), "stdin (-) is named twice; name it once");
    }

    /// A suggested command can be pasted into a shell.
    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(word("a/.b-c"), "a/.b-c");
        assert_eq!(word("my work; it's"), r"'my work; it'\''s'");
    }

    #[test]
    fn directories_and_missing_files_are_named() {
        let failure = Input::open(Path::new("/")).err().expect("a directory");
        assert_eq!(
            failure.to_string(),
            "/: is a directory; name session files: find / -name '*.jsonl' lists them"
        );
        let failure = Input::open(Path::new("/no/such")).err().expect("missing");
        assert_eq!(
            failure.to_string(),
            "/no/such: cannot read: No such file or directory (os error 2); check the path"
        );
    }
}
