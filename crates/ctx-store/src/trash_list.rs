//! What is in the trash, for people who look for something there.

use std::fs;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::catalog::LONGEST_META;
use crate::files::open_plain;
use crate::trash::TrashedFiles;
use crate::{Meta, SessionId, Stamp, Store, StoreError, StoreItem};

/// How many days what was removed stays in the trash, where nobody says otherwise.
pub const GRACE_DAYS: u32 = 7;

/// A thing in the trash.
#[derive(Clone, Debug)]
pub struct Trashed {
    /// What it is.
    pub item: StoreItem,
    /// When it was removed; the latest time, where that happened several times.
    pub removed: DateTime<Utc>,
    /// The commit record of a snapshot, where it can be trusted.
    pub meta: Option<Meta>,
    /// How many bytes it has on the disk, or the snapshot had when it was taken.
    pub bytes: u64,
}

/// A thing in the trash as `--json` shows it. The keys are a contract: new ones may come, none goes.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    what: What<'a>,
    removed: DateTime<Utc>,
    grace_ends: DateTime<Utc>,
}

/// The commit record of a snapshot, or as much of it as is known.
#[derive(Serialize)]
#[serde(untagged)]
enum What<'a> {
    Whole(&'a Meta),
    Bare {
        id: String,
        session: &'a str,
        kind: &'static str,
        bytes: u64,
    },
}

impl Trashed {
    /// When the grace ends, so that `ctx-gc` deletes it.
    pub fn grace_ends(&self, days: u32) -> DateTime<Utc> {
        let ends = self
            .removed
            .checked_add_signed(TimeDelta::days(days.into()));
        ends.unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// `snapshot`, `pre-compact`, …, `offloaded`; `uncommitted` without a commit record.
    pub fn kind(&self) -> &'static str {
        match (&self.item, &self.meta) {
            (StoreItem::Offloaded(_), _) => "offloaded",
            (_, Some(meta)) => meta.kind.as_str(),
            _ => "uncommitted",
        }
    }

    /// For programs, where the grace has so many days.
    pub fn told(&self, days: u32) -> impl Serialize {
        Told {
            what: match &self.meta {
                Some(meta) => What::Whole(meta),
                None => What::Bare {
                    id: self.item.to_string(),
                    session: self.item.session().as_str(),
                    kind: self.kind(),
                    bytes: self.bytes,
                },
            },
            removed: self.removed,
            grace_ends: self.grace_ends(days),
        }
    }
}

impl Store {
    /// What is in the trash, of one session or of all: what was removed last comes first.
    pub fn trash_list(&self, session: Option<&SessionId>) -> Result<Vec<Trashed>, StoreError> {
        let trashed = self.trashed(None)?.into_iter();
        let mut list: Vec<Trashed> = trashed
            .filter(|(item, _)| session.is_none_or(|session| session == item.session()))
            .filter_map(|(item, files)| self.look_at_trashed(item, &files))
            .collect();
        list.sort_by(|one, other| {
            let by_time = other.removed.cmp(&one.removed);
            by_time.then_with(|| other.item.cmp(&one.item))
        });
        Ok(list)
    }

    fn look_at_trashed(&self, item: StoreItem, files: &TrashedFiles) -> Option<Trashed> {
        let trash = self.trash();
        let removed = files
            .paths()
            .filter_map(|path| removed(path, &trash))
            .max()?;
        let name = item.to_string();
        let meta = files.meta.last().and_then(|path| read(path, &name));
        let size = |path: &Path| fs::symlink_metadata(path).map_or(0, |file| file.len());
        let bytes = match &meta {
            Some(meta) => meta.bytes,
            None => files.data.last().map_or(0, |path| size(path)),
        };
        Some(Trashed {
            item,
            removed,
            meta,
            bytes,
        })
    }
}

/// The folder of the trash that a file lies in is named by the time.
fn removed(path: &Path, trash: &Path) -> Option<DateTime<Utc>> {
    let bin = path.strip_prefix(trash).ok()?.components().next()?;
    Some(Stamp::parse(bin.as_os_str().to_str()?)?.time)
}

fn read(path: &Path, id: &str) -> Option<Meta> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = open_plain(path).ok()?;
    file.take(LONGEST_META).read_to_end(&mut bytes).ok()?;
    Meta::from_bytes(&bytes, id).ok()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, id};

    /// 15 C3: what was removed last comes first, with the end of its grace.
    #[test]
    fn what_was_removed_last_comes_first() {
        let bench = Bench::new();
        let one = bench.take("demo", b"1\n");
        let two = bench.take("other", b"22\n");
        for gone in [&one, &two] {
            bench
                .store
                .discard(std::slice::from_ref(gone), &[])
                .expect("moved");
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
        let told = serde_json::to_value(of_demo[0].told(7)).expect("JSON");
        assert_eq!(told["id"], one.to_string());
        assert_eq!(told["kind"], "snapshot");
        assert!(told["grace_ends"].as_str() > told["removed"].as_str());
    }
}
