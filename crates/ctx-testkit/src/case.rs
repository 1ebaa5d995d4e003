//! Runs a tool in a test, and compares its output with the expected output.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

/// One call of a tool, in a folder of its own and with a clean environment.
///
/// By default, stdout and stderr must be empty, and the exit status must be 0. Expected output is
/// compared exactly.
pub struct Case {
    program: PathBuf,
    args: Vec<String>,
    stdin: Vec<u8>,
    env: Vec<(String, String)>,
    stdout: Expected,
    stderr: Expected,
    code: i32,
    dir: Dir,
}

enum Expected {
    Exactly(Vec<u8>),
    Contains(String),
    Anything,
}

enum Dir {
    Own(TempDir),
    Shared(PathBuf),
}

/// The result of a finished case.
pub struct Finished {
    /// Everything that the tool wrote to stdout.
    pub stdout: Vec<u8>,
    /// Everything that the tool wrote to stderr.
    pub stderr: String,
    dir: Dir,
}

impl Case {
    /// Creates a call of the binary at `program`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            stdin: Vec::new(),
            env: Vec::new(),
            stdout: Expected::Exactly(Vec::new()),
            stderr: Expected::Exactly(Vec::new()),
            code: 0,
            dir: Dir::Own(tempfile::tempdir().expect("a temporary folder")),
        }
    }

    /// Runs the tool in `dir` instead of a new folder, for example for a second call on the same
    /// files.
    #[must_use]
    pub fn within(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Dir::Shared(dir.into());
        self
    }

    /// Adds arguments to the command line.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the content of stdin.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Writes a file into the folder of the call.
    #[must_use]
    pub fn file(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let path = self.dir.path().join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("a folder for the file");
        }
        fs::write(path, bytes).expect("a file for the case");
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Expects exactly this stdout.
    #[must_use]
    pub fn stdout(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdout = Expected::Exactly(bytes.into());
        self
    }

    /// Expects this part in stdout.
    #[must_use]
    pub fn stdout_has(mut self, part: &str) -> Self {
        self.stdout = Expected::Contains(part.to_owned());
        self
    }

    /// Accepts any stdout, which the caller checks.
    #[must_use]
    pub fn stdout_any(mut self) -> Self {
        self.stdout = Expected::Anything;
        self
    }

    /// Expects exactly this stderr.
    #[must_use]
    pub fn stderr(mut self, text: &str) -> Self {
        self.stderr = Expected::Exactly(text.as_bytes().to_vec());
        self
    }

    /// Expects this part in stderr.
    #[must_use]
    pub fn stderr_has(mut self, part: &str) -> Self {
        self.stderr = Expected::Contains(part.to_owned());
        self
    }

    /// Expects this exit status.
    #[must_use]
    pub fn code(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    /// Runs the tool, and compares its output and exit status with the expected ones.
    #[track_caller]
    pub fn run(self) -> Finished {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.dir.path())
            .write_stdin(self.stdin);
        let output = command.output().expect("the tool starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let call = format!("{} {}", self.program.display(), self.args.join(" "));
        assert_eq!(
            output.status.code(),
            Some(self.code),
            "exit status of {call}; stderr:\n{stderr}"
        );
        self.stderr.check(&output.stderr, "stderr", &call);
        self.stdout.check(&output.stdout, "stdout", &call);
        Finished { stdout: output.stdout, stderr, dir: self.dir }
    }
}

impl Expected {
    #[track_caller]
    fn check(&self, found: &[u8], stream: &str, call: &str) {
        let shown = String::from_utf8_lossy(found);
        match self {
            Self::Exactly(bytes) => {
                assert_eq!(shown, String::from_utf8_lossy(bytes), "{stream} of {call}");
                assert!(found == bytes, "{stream} of {call} differs in bytes");
            }
            Self::Contains(part) => {
                assert!(shown.contains(part), "{stream} of {call} lacks {part:?}:\n{shown}");
            }
            Self::Anything => {}
        }
    }
}

impl Dir {
    fn path(&self) -> &Path {
        match self {
            Self::Own(dir) => dir.path(),
            Self::Shared(path) => path,
        }
    }
}

impl Finished {
    /// Returns the folder of the call, which is deleted with this value.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Reads a file in the folder of the call.
    pub fn read(&self, name: &str) -> Vec<u8> {
        let path = self.dir().join(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
