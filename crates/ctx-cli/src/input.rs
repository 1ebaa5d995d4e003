//! Operands: files, `-` for stdin, stdin when there is none.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use crate::Failure;

/// How stdin is called in messages.
pub const STDIN_NAME: &str = "<stdin>";

/// One opened input.
pub struct Input {
    /// As the user named it, or [`STDIN_NAME`].
    pub name: String,
    /// Where it lies; `None` for stdin.
    pub path: Option<PathBuf>,
    /// Its bytes; not buffered.
    pub reader: Box<dyn Read + Send>,
}

/// The operands of a call, checked: stdin is named once at most.
#[derive(Clone, Debug)]
pub struct Inputs {
    paths: Vec<PathBuf>,
}

impl Inputs {
    /// No operand means stdin. `-` twice, or a terminal as stdin, is a usage error.
    pub fn new(operands: &[PathBuf]) -> Result<Self, Failure> {
        let mut paths = operands.to_vec();
        if paths.is_empty() {
            paths.push(PathBuf::from("-"));
        }
        match paths.iter().filter(|path| is_stdin(path)).count() {
            0 => {}
            1 => {
                if io::stdin().is_terminal() {
                    return Err(Failure::new("no input: stdin is a terminal")
                        .hint("name a file, or pipe a session in; --help shows examples"));
                }
            }
            _ => return Err(Failure::new("stdin (-) is named twice").hint("name it once")),
        }
        Ok(Self { paths })
    }

    /// How many there are; at least one.
    pub fn count(&self) -> usize {
        self.paths.len()
    }

    /// Their paths in the order given; `-` is stdin.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Opens one of [`Self::paths`].
    pub fn open(path: &Path) -> Result<Input, Failure> {
        if is_stdin(path) {
            return Ok(Input {
                name: STDIN_NAME.to_owned(),
                path: None,
                reader: Box::new(io::stdin()),
            });
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| cannot_read(&name, &error))?;
        let is_directory = file.metadata().is_ok_and(|meta| meta.is_dir());
        if is_directory {
            return Err(Failure::new("is a directory")
                .at(name, None)
                .hint("name session files"));
        }
        Ok(Input {
            name,
            path: Some(path.to_owned()),
            reader: Box::new(file),
        })
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn cannot_read(name: &str, error: &io::Error) -> Failure {
    let failure = Failure::new(format_args!("cannot read: {error}")).at(name, None);
    if error.kind() == io::ErrorKind::NotFound {
        failure.hint("check the path")
    } else {
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::Inputs;
    use std::path::{Path, PathBuf};

    #[test]
    fn stdin_is_named_once() {
        let twice = [PathBuf::from("-"), PathBuf::from("-")];
        let failure = Inputs::new(&twice).expect_err("twice");
        assert_eq!(
            failure.to_string(),
            "stdin (-) is named twice; name it once"
        );
    }

    #[test]
    fn directories_and_missing_files_are_named() {
        let failure = Inputs::open(Path::new("/")).err().expect("a directory");
        assert_eq!(failure.to_string(), "/: is a directory; name session files");
        let failure = Inputs::open(Path::new("/no/such")).err().expect("missing");
        assert_eq!(
            failure.to_string(),
            "/no/such: cannot read: No such file or directory (os error 2); check the path"
        );
    }
}
