//! How a transcript names offloaded files.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{OffloadName, OffloadedFile};
use crate::error::{Naming, StoreError};
use crate::{SessionId, Store};

/// The folder of a session's offloaded files, by its real and absolute path: an
/// agent can read it from wherever it runs.
#[derive(Clone, Debug)]
pub struct OffloadFolder {
    session: SessionId,
    path: String,
}

impl Store {
    /// The folder of a session's offloaded files, which need not exist yet.
    pub fn offload_folder(&self, session: &SessionId) -> Result<OffloadFolder, StoreError> {
        let root = real(self.root()).naming("find", self.root())?;
        let folder = root.join("offloaded").join(session.as_str());
        let not_utf8 = |_| StoreError::NotUtf8(self.root().to_owned());
        Ok(OffloadFolder {
            session: session.clone(),
            path: folder.into_os_string().into_string().map_err(not_utf8)?,
        })
    }
}

impl OffloadFolder {
    /// Its path, without a slash at the end.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How a transcript names a file in it.
    pub fn path_of(&self, name: &OffloadName) -> String {
        format!("{}/{name}", self.path)
    }

    /// The file that a path names, when it lies in this folder. It is compared as
    /// text, so no `..` and no link leads anywhere else.
    pub fn file(&self, path: &str) -> Option<OffloadedFile> {
        let name = path.strip_prefix(&self.path)?.strip_prefix('/')?;
        Some(OffloadedFile {
            session: self.session.clone(),
            name: OffloadName::parse(name)?,
        })
    }

    /// The files of this folder that a text names by their paths.
    pub fn files_in(&self, text: &str) -> HashSet<OffloadedFile> {
        let starts = text.match_indices(&self.path);
        let file = |(at, _): (usize, &str)| {
            let folder_end = at + self.path.len();
            self.file(&text[at..folder_end + name_length(&text[folder_end..])])
        };
        starts.filter_map(file).collect()
    }
}

/// The length of the file name at the beginning of a text; the full stop behind it belongs
/// to the sentence.
fn name_length(text: &str) -> usize {
    let belongs = |c: char| matches!(c, '/' | '.') || c.is_ascii_alphanumeric();
    let length = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text[..length].trim_end_matches('.').len()
}

/// The real path of a folder, which need not exist yet.
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
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::OffloadFolder;
    use crate::{Actor, Store, StoreError};

    fn folder(root: &Path) -> Result<OffloadFolder, StoreError> {
        let actor = Actor {
            tool: "test".into(),
            flags: Vec::new(),
        };
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
        assert_eq!(Path::new(folder.path()), expected);
    }

    /// D3: what its target will be called is not known, as on a disk that is not mounted, so
    /// the paths in a session would seem to lie elsewhere.
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
        let mut names: Vec<_> = folder
            .files_in(&text)
            .into_iter()
            .map(|file| file.name.to_string())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [format!("{one}.txt"), format!("{two}.part.ascii.txt")]
        );
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
