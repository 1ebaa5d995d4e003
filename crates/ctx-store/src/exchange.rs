//! The one step in which the new file and the live one change names, and what others put there in
//! that very moment.

use std::fs::{self, File};
use std::io::{ErrorKind, Seek};
use std::path::Path;

use crate::error::{Naming, StoreError};
use crate::files::{file_id, id_of, open_plain, parent, sync_dir};
use crate::hash;
use crate::live::Live;
use crate::meta::Successor;
use crate::rename::take_place;
use crate::temp::TempName;
use crate::{Snapshot, SnapshotKind, Store};

/// The name of the live file for the new one, and the name `aside` for the old.
/// `others` are the files that were taken out in the place of the old one, and put back.
pub(crate) fn put_in_place(
    new: &mut TempName,
    aside: &Path,
    live: &Live,
    others: &mut Vec<File>,
) -> Result<(), StoreError> {
    let is_live = |found: &Path| file_id(found).is_ok_and(|id| id == id_of(&live.meta));
    let taken_out = |found: &Path| others.extend(open_plain(found));
    if !take_place(new, aside.to_owned(), &live.path, is_live, taken_out)? {
        rename_over(&new.path, aside, live)?;
    }
    new.keep = true;
    Ok(())
}

/// Makes snapshots of the files that were put back. While ours stood there, an agent may have
/// read it, and put what it made of that in the place of one of these by now.
pub(crate) fn save_others(
    store: &Store,
    before: &Snapshot,
    content: &Successor,
    (live, aside): (&Path, &Path),
    others: Vec<File>,
) -> Result<(), StoreError> {
    for mut file in others {
        let id = id_of(&file.metadata().naming("read", live)?);
        let sha256 = hash(&mut file).naming("read", live)?;
        let is_known = [&before.meta.sha256, &content.sha256].contains(&&sha256);
        // What has the name for the old file is judged as that one is.
        if is_known || file_id(aside).is_ok_and(|aside| aside == id) {
            continue;
        }
        file.rewind().naming("read", live)?;
        let mut draft = store.draft(&file, live)?;
        draft.source = Some(live.to_string_lossy().into_owned());
        draft.commit(&before.id.session, SnapshotKind::Late)?;
    }
    Ok(())
}

/// Where names cannot be exchanged: the old file gets its second name first. An agent that
/// renames between the last look and our rename loses its file.
fn rename_over(new: &Path, aside: &Path, live: &Live) -> Result<(), StoreError> {
    let path = &live.path;
    match fs::hard_link(path, aside) {
        // It was removed meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(StoreError::Changed(path.clone()));
        }
        linked => linked.naming("keep a link to", path)?,
    }
    let mut link = TempName {
        path: aside.to_owned(),
        keep: false,
        id: file_id(aside).naming("read", aside)?,
    };
    sync_dir(parent(path))?;
    live.again()?;
    if link.id != id_of(&live.meta) {
        return Err(StoreError::Changed(path.clone()));
    }
    let renamed = fs::rename(new, path).naming("replace", path);
    link.keep = renamed.is_ok();
    renamed
}

#[cfg(test)]
mod tests {
    use super::put_in_place;
    use crate::StoreError;
    use crate::live::Live;
    use crate::temp::TempFile;
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Write;

    #[test]
    fn a_file_that_came_in_between_is_put_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, "old").expect("writes");
        for came in [true, false] {
            let live = Live::open(&path).expect("opens");
            if came {
                let others = dir.path().join("others");
                fs::write(&others, "others").expect("writes");
                fs::rename(&others, &path).expect("renames");
            }
            let stem = OsStr::new("s.jsonl");
            let mut temp = TempFile::create(dir.path(), stem, 0o600).expect("creates");
            temp.write_all(b"new").expect("writes");
            let mut others = Vec::new();
            let aside = dir.path().join("aside");
            let done = put_in_place(&mut temp.name, &aside, &live, &mut others);
            assert_eq!(others.len(), usize::from(came));
            assert_eq!(
                matches!(done, Err(StoreError::Changed(_))),
                came,
                "{done:?}"
            );
            let found = fs::read_to_string(&path).expect("reads");
            assert_eq!(found, if came { "others" } else { "new" });
            // Ours, which nobody has judged yet, or the old one.
            let aside = fs::read_to_string(dir.path().join("aside")).expect("reads");
            assert_eq!(aside, if came { "new" } else { "others" });
            assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 2);
            fs::remove_file(dir.path().join("aside")).expect("removed");
        }
    }
}
