//! What stands where an output is to go, looked at before anything is read.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use ctx_transcript::{Options, Records};

use crate::Store;
use crate::atomic::Spot;
use crate::error::{Naming, StoreError};
use crate::files::is_same_file;
use crate::live::Live;

/// What stands where an output is to go.
#[derive(Debug)]
pub enum Destination {
    /// A device or a pipe: there is nothing to replace.
    Stream,
    /// No session: it is replaced whole, or created, unless somebody else does that meanwhile.
    Plain(Spot),
    /// A session file, which is somebody's work.
    Session {
        /// Its path, without links.
        path: PathBuf,
        /// Which of the inputs it is.
        input: Option<usize>,
    },
}

impl Destination {
    /// Looks at a path. A file that is one of the inputs is a session whatever it holds;
    /// `temp` is the folder for what does not fit into memory of any other.
    pub fn look(path: &Path, inputs: &[Option<Metadata>], temp: &Path) -> Result<Self, StoreError> {
        Store::refuse_inside(path)?;
        let input_at = |there: &Metadata| {
            let is_it = |input: &Metadata| is_same_file(input, there);
            let mut inputs = inputs.iter();
            inputs.position(|input| input.as_ref().is_some_and(is_it))
        };
        if let Ok(meta) = path.metadata()
            && !meta.is_file()
            && !meta.is_dir()
        {
            // Nothing can be changed in place there, and a FIFO would be waited for.
            return match input_at(&meta) {
                Some(_) => Live::open(path).map(|_| Self::Stream),
                None => Ok(Self::Stream),
            };
        }
        // Before a look into it: what becomes a session after that is one that came meanwhile.
        let spot = Spot::look(path)?;
        let Some(there) = spot.file() else {
            return Ok(Self::Plain(spot));
        };
        let input = input_at(there);
        if input.is_none() && !is_session(path, temp).naming("read what is there", path)? {
            return Ok(Self::Plain(spot));
        }
        let path = fs::canonicalize(path).naming("read what is there", path)?;
        Ok(Self::Session { path, input })
    }
}

/// Whether the beginning of a file holds a message of a dialect, in a line of its own, in a
/// JSON document or in a batch record.
fn is_session(path: &Path, temp: &Path) -> io::Result<bool> {
    for batch in [false, true] {
        let options = Options {
            batch,
            temp: Some(temp.to_owned()),
            ..Options::default()
        };
        let records = Records::open(File::open(path)?, &options)?;
        if records.dialect().is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Destination;
    use crate::testing::Bench;

    fn look(path: &Path, inputs: &[&Path]) -> Destination {
        let inputs: Vec<_> = inputs.iter().map(|input| input.metadata().ok()).collect();
        Destination::look(path, &inputs, &std::env::temp_dir()).expect("a look")
    }

    #[test]
    fn a_session_is_known_by_its_messages() {
        let bench = Bench::new();
        let message = r#"{"role":"user","content":"hi"}"#;
        let batch = format!("{{\"messages\":[{message}]}}\n");
        for (text, is_session) in [
            (message, true),
            (batch.as_str(), true),
            ("{\"a\":1}\n", false),
            ("", false),
        ] {
            let path = bench.file("s", text);
            let found = look(&path, &[]);
            assert_eq!(
                matches!(found, Destination::Session { input: None, .. }),
                is_session,
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn an_input_is_a_session_whatever_it_holds() {
        let bench = Bench::new();
        let other = bench.file("other", "text");
        let path = bench.file("s", "text");
        let link = bench.dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        let missing = bench.dir.path().join("missing");
        let Destination::Session { path: real, input } = look(&link, &[&missing, &other, &path])
        else {
            panic!("no session")
        };
        assert_eq!(input, Some(2));
        assert_eq!(real, path.canonicalize().expect("it is there"));
    }

    #[test]
    fn what_is_not_there_is_created_and_a_device_is_written_to() {
        let bench = Bench::new();
        let missing = look(&bench.dir.path().join("new"), &[]);
        assert!(matches!(missing, Destination::Plain(_)), "{missing:?}");
        let device = look(Path::new("/dev/null"), &[]);
        assert!(matches!(device, Destination::Stream), "{device:?}");
    }
}
