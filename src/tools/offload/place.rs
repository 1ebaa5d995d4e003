//! Where a session's offloaded files lie, as a transcript names them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ctx_cli::Failure;
use ctx_store::{OffloadName, Offloaded, SessionId, Store};

/// The folder of a session's offloaded files, by its real and absolute path: an
/// agent can read it from wherever it runs.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    session: SessionId,
    /// Ends with a slash.
    folder: String,
}

impl Place {
    pub(crate) fn new(store: &Store, session: &SessionId) -> Result<Self, Failure> {
        let named = |error: &dyn std::fmt::Display| {
            Failure::new(error).at(store.root().display().to_string(), None)
        };
        let root = real(store.root()).map_err(|error| named(&error))?;
        let folder = root.join("offloaded").join(session.as_str());
        let folder = folder
            .to_str()
            .ok_or_else(|| named(&"a path that is not UTF-8 cannot stand in a transcript"))?;
        Ok(Self {
            session: session.clone(),
            folder: format!("{folder}/"),
        })
    }

    /// How a transcript names the file.
    pub(crate) fn path(&self, name: &OffloadName) -> String {
        format!("{}{name}", self.folder)
    }

    /// The file that a path names, when it lies in this folder. It is compared as
    /// text, so no `..` and no link leads anywhere else.
    pub(crate) fn file(&self, path: &str) -> Option<Offloaded> {
        let name = path.strip_prefix(&self.folder)?;
        Some(Offloaded {
            session: self.session.clone(),
            name: OffloadName::parse(name)?,
        })
    }

    /// The folder, as messages name it.
    pub(crate) fn folder(&self) -> &str {
        self.folder.trim_end_matches('/')
    }
}

/// The real path of a folder that need not exist yet.
fn real(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
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
mod tests {
    use super::Place;

    #[test]
    fn only_paths_in_the_folder_are_ours() {
        let place = Place {
            session: "demo".parse().expect("an id"),
            folder: "/s/offloaded/demo/".to_owned(),
        };
        let hash = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
        let path = format!("/s/offloaded/demo/{hash}.txt");
        let file = place.file(&path).expect("a file");
        assert_eq!(place.path(&file.name), path);
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
            assert_eq!(place.file(&bad), None, "{bad}");
        }
    }
}
