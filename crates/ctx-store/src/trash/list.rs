//! Lists the items in the trash for `ctx-gc --list-trash`.

use std::fs;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::Result;
use crate::snapshot::bytes_of_meta;
use crate::trash::TrashedFiles;
use crate::{Meta, SessionId, Stamp, Store, StoreItem};

/// An item in the trash.
#[derive(Clone, Debug)]
pub struct Trashed {
    /// The removed snapshot or offloaded file.
    pub item: StoreItem,
    /// When the item was moved to the trash most recently.
    pub removed: DateTime<Utc>,
    /// The commit record, if the item is a snapshot and its record can be trusted.
    pub meta: Option<Meta>,
    /// The size of the session when the snapshot was taken, in bytes. If there is no commit record,
    /// the size is that of the item's file.
    pub bytes: u64,
}

impl Trashed {
    /// Returns when the item's grace period ends, given its length in days. After the grace period,
    /// `ctx-gc` deletes the item.
    pub fn grace_ends(&self, days: u32) -> DateTime<Utc> {
        let ends = self.removed.checked_add_signed(TimeDelta::days(days.into()));
        ends.unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// Returns the item's kind: `offloaded`, the snapshot's kind (such as `pre-compact`), or
    /// `uncommitted` if the snapshot has no commit record.
    pub fn kind(&self) -> &'static str {
        match (&self.item, &self.meta) {
            (StoreItem::Offloaded(_), _) => "offloaded",
            (_, Some(meta)) => meta.kind.into(),
            _ => "uncommitted",
        }
    }
}

impl Store {
    /// Lists one session's items in the trash, or those of all sessions if `session` is `None`. The
    /// most recently removed item comes first.
    pub fn trash_list(&self, session: Option<&SessionId>) -> Result<Vec<Trashed>> {
        let trashed = self.trashed(None)?.into_iter();
        let mut list: Vec<Trashed> = trashed
            .filter(|(item, _)| session.is_none_or(|session| session == item.session()))
            .filter_map(|(item, files)| self.look_at_trashed(item, &files))
            .collect();
        list.sort_by(|a, b| (b.removed, &b.item).cmp(&(a.removed, &a.item)));
        Ok(list)
    }

    fn look_at_trashed(&self, item: StoreItem, files: &TrashedFiles) -> Option<Trashed> {
        let trash = self.trash();
        // The name of the item's folder in the trash is the time of the removal.
        let removed = |path: &PathBuf| {
            let bin = path.strip_prefix(&trash).ok()?.components().next()?;
            Some(Stamp::parse(bin.as_os_str().to_str()?)?.time)
        };
        let removed = files.paths().filter_map(removed).max()?;
        let name = item.to_string();
        let meta = files.meta.last().and_then(|path| bytes_of_meta(path).ok());
        let meta = meta.and_then(|bytes| Meta::from_bytes(&bytes, &name).ok());
        let size = |path: &PathBuf| fs::symlink_metadata(path).map_or(0, |file| file.len());
        let bytes = meta.as_ref().map(|meta| meta.bytes);
        let bytes = bytes.unwrap_or_else(|| files.data.last().map_or(0, size));
        Some(Trashed { item, removed, meta, bytes })
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{Bench, id};

    /// The most recently removed item is listed first, with the end of its grace period.
    #[test]
    fn what_was_removed_last_comes_first() {
        let bench = Bench::new();
        let one = bench.take("demo", b"1\n");
        let two = bench.take("other", b"22\n");
        for gone in [&one, &two] {
            bench.store.discard(std::slice::from_ref(gone), &[], bench.store.now()).expect("moved");
            bench.wait_days(1);
        }
        let list = bench.store.trash_list(None).expect("lists");
        let names: Vec<String> = list.iter().map(|it| it.item.to_string()).collect();
        assert_eq!(names, [two.to_string(), one.to_string()]);
        assert_eq!((list[0].bytes, list[0].kind()), (3, "snapshot"));
        let grace = list[0].grace_ends(7) - list[0].removed;
        assert_eq!(grace.num_days(), 7);
        let of_demo = bench.store.trash_list(Some(&id("demo"))).expect("lists");
        assert_eq!(of_demo.len(), 1);
    }
}
