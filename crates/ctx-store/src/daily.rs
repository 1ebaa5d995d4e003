//! The daily logs of the memory (L0): a digest of each compaction, extraction and rollback, in one
//! file for each day, which people may edit.
//!
//! ```text
//! # 2026-11-24 (UTC)
//!
//! ## 10:18:12 demo: compacted 30282 → 9004 tokens, 206 → 12 messages
//!
//! - decision: We will keep SQLite. (user, demo:42)
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use chrono::{DateTime, NaiveDate, Utc};

use crate::entries::Entries;
use crate::error::{Naming, StoreError};
use crate::files::{if_there, names, open_plain};
use crate::meta::RETAINED;
use crate::temp::reap;
use crate::{SharedFolder, Store};

/// What one operation leaves in the log of its day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// The session; none, where there are several.
    pub session: Option<String>,
    /// What was done, in words.
    pub what: String,
    /// What is worth remembering of it, each on one line.
    pub entries: Vec<String>,
}

impl Digest {
    /// Appends it to `dir/{date}.md`, the date of `now` in UTC. Where somebody saves the file
    /// meanwhile, it goes behind their version.
    pub fn append(&self, dir: &Path, now: DateTime<Utc>) -> Result<(), StoreError> {
        let folder = SharedFolder::lock(dir)?;
        Self::clean_up(dir);
        self.append_in(&folder, now)
    }

    /// Removes what killed runs left beside the logs: the next run may have nothing to tell, or
    /// comes on another day.
    pub fn clean_up(dir: &Path) {
        reap(dir, None);
    }

    fn append_in(&self, folder: &SharedFolder, now: DateTime<Utc>) -> Result<(), StoreError> {
        let name = format!("{}.md", now.format("%F"));
        for _ in 1..SharedFolder::TRIES {
            match self.append_to(folder, &name, now) {
                Err(StoreError::Changed(_)) => {}
                other => return other,
            }
        }
        self.append_to(folder, &name, now)
    }

    fn append_to(
        &self,
        folder: &SharedFolder,
        name: &str,
        now: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let file = folder.read(name)?;
        let text = self.section(file.bytes(), now);
        file.append(text.as_bytes())
    }

    /// Its section, to stand behind what the log has.
    fn section(&self, old: &[u8], now: DateTime<Utc>) -> String {
        let title = match old {
            [] => format!("# {} (UTC)\n", now.format("%F")),
            [.., b'\n'] => String::new(),
            _ => "\n".to_owned(),
        };
        let session = self.session.as_deref();
        let session = session.map_or_else(String::new, |session| format!("{session}: "));
        let head = on_one_line(&format!("{session}{}", self.what));
        let head = format!("\n## {} {head}\n", now.format("%T"));
        let gap = if self.entries.is_empty() { "" } else { "\n" };
        let entries = self.entries.iter();
        let entries: Vec<String> = entries
            .map(|entry| format!("- {}\n", on_one_line(entry)))
            .collect();
        [&title, &head, gap, &entries.concat()].concat()
    }
}

/// No text of a session begins an entry of its own, or drives a terminal.
fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

impl Store {
    /// The logs of the days with their names, the oldest first. No link is followed.
    pub fn logs(&self) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let dir = self.memory().join("daily");
        let Some(meta) = if_there(fs::symlink_metadata(&dir).naming("read", &dir))? else {
            return Ok(Vec::new());
        };
        if !meta.is_dir() {
            let error = io::Error::other("it is not a folder");
            return Err(error).naming("read", &dir);
        }
        let mut names = names(&dir)?;
        names.retain(|name| {
            let day = name.strip_suffix(".md");
            day.is_some_and(|day| day.parse::<NaiveDate>().is_ok())
        });
        names.sort();
        let read = |name: String| {
            let path = dir.join(&name);
            let mut bytes = Vec::new();
            let mut file = open_plain(&path).naming("read", &path)?;
            file.read_to_end(&mut bytes).naming("read", &path)?;
            Ok((name, bytes))
        };
        names.into_iter().map(read).collect()
    }

    /// Removes what killed runs left of logs where files change places: the next digest may be of
    /// another day.
    pub fn tidy_logs(&self) -> Result<(), StoreError> {
        let left = if_there(Entries::of(&self.tmp()).naming("read", &self.tmp()))?;
        let left = left.into_iter().flatten().filter_map(|name| {
            let name = name.ok()?.into_string().ok()?;
            let (stem, _) = name.strip_prefix('.')?.split_once(RETAINED)?;
            Some(stem.to_owned())
        });
        let dir = self.memory().join("daily");
        let logs: BTreeSet<String> = left.filter(|name| dir.join(name).is_file()).collect();
        if logs.is_empty() {
            return Ok(());
        }
        let folder = SharedFolder::lock(&dir)?.staging_in(self.tmp());
        logs.iter().try_for_each(|name| folder.read(name).map(drop))
    }

    /// Puts the digest of what was just done into the log of the day. When that fails, it is
    /// done all the same.
    pub fn log_digest(&self, digest: &Digest) -> Result<(), StoreError> {
        let log = || {
            self.prepare()?;
            let folder = SharedFolder::lock(&self.memory().join("daily"))?;
            digest.append_in(&folder.staging_in(self.tmp()), self.now())
        };
        log().map_err(|error| error.after("the change"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::Digest;
    use crate::Severity;
    use crate::testing::Bench;

    fn digest(what: &str, entries: &[&str]) -> Digest {
        Digest {
            session: Some("demo".to_owned()),
            what: what.to_owned(),
            entries: entries.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    /// 16: the day is that of UTC, and each operation has a section of its own.
    #[test]
    fn a_day_has_a_file_and_an_operation_a_section() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |time: &str| time.parse().expect("a time");
        let first = digest("compacted", &["decision: a (user, demo:1)"]);
        first
            .append(dir.path(), at("2026-11-24T01:02:03+03:00"))
            .expect("written");
        digest("restored\n## x\u{1b}[31m", &[])
            .append(dir.path(), at("2026-11-23T23:59:59Z"))
            .expect("written");
        let path = dir.path().join("2026-11-23.md");
        assert_eq!(
            fs::read_to_string(&path).expect("one file"),
            "# 2026-11-23 (UTC)\n\n## 22:02:03 demo: compacted\n\n- decision: a (user, demo:1)\n\n\
             ## 23:59:59 demo: restored ## x [31m\n"
        );
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// 16: what people write into a log stays as it is.
    #[test]
    fn what_people_write_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("2026-11-23.md");
        fs::write(&path, "mine, without an end").expect("written");
        digest("compacted", &[])
            .append(dir.path(), "2026-11-23T01:00:00Z".parse().expect("a time"))
            .expect("written");
        assert_eq!(
            fs::read_to_string(&path).expect("reads"),
            "mine, without an end\n\n## 01:00:00 demo: compacted\n"
        );
    }

    /// 16: what a killed run left of the log of another day is removed, and what people wrote is not.
    #[test]
    fn what_killed_runs_left_of_logs_is_removed() {
        let bench = Bench::new();
        bench
            .store
            .log_digest(&digest("compacted", &[]))
            .expect("written");
        let daily = bench.store.memory().join("daily");
        let entry = fs::read_dir(&daily).expect("there").next();
        let log = entry.expect("one").expect("a log").path();
        let name = log
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        for (end, text) in [("a", "# "), ("b", "theirs")] {
            let aside = bench.store.tmp().join(format!(".{name}.ctx-old-{end}-1"));
            fs::write(aside, text).expect("written");
        }
        bench.wait_days(3);
        bench.store.tidy_logs().expect("tidied");
        let left = fs::read_dir(bench.store.tmp()).expect("there");
        let left: Vec<_> = left
            .map(|entry| fs::read(entry.expect("one").path()).expect("read"))
            .collect();
        assert_eq!(left, [b"theirs".to_vec()]);
    }

    /// 16: a log that cannot be written takes nothing back of what was done.
    #[test]
    fn a_log_that_cannot_be_written_is_told_as_uncertain() {
        let bench = Bench::new();
        bench.take("demo", b"1\n");
        fs::create_dir_all(bench.store.memory()).expect("made");
        fs::write(bench.store.memory().join("daily"), "a file").expect("written");
        let error = bench.store.log_digest(&digest("compacted", &[]));
        let error = error.expect_err("no folder");
        assert_eq!(error.severity(), Severity::Uncertain, "{error}");
    }
}
