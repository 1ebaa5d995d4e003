//! Large results are put into files before anything else, if the policy asks for it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use ctx_store::{SessionId, Store, StoreError, real_path};
use ctx_transcript::Record;

use super::content::{Content, temporary};
use super::plan::Plan;
use crate::PassError;
use crate::error::unchanged;
use crate::offload::{self, Offloader, Reading, Restorer, Template};

/// Where offloaded results go, and the session that will name them.
#[derive(Clone, Copy)]
pub struct Stores<'a> {
    /// The store.
    pub store: &'a Store,
    /// The session.
    pub session: &'a SessionId,
    /// Its file.
    pub path: &'a Path,
}

/// A session whose large results lie in files.
pub(super) struct Offloading<'a> {
    /// What is left of the session, and whether that is small enough; `None` if no result was
    /// large.
    pub(super) left: Option<(Content, bool)>,
    /// Puts them back, and those of earlier runs, if the policy asks for it.
    pub(super) originals: Option<Originals<'a>>,
    /// The files.
    pub(super) paths: Vec<String>,
    offloader: RefCell<Offloader<'a>>,
}

impl<'a> Offloading<'a> {
    /// Takes large results out; `None` where the policy does not ask for it.
    pub(super) fn of(
        plan: &Plan,
        content: &Content,
        stores: Stores<'a>,
    ) -> Result<Option<Self>, PassError> {
        let policy = &plan.policy.offload;
        let Some(min_tokens) = policy.min_tokens else {
            return Ok(None);
        };
        let Stores { store, session, .. } = stores;
        let template: Template = policy.reference.parse().map_err(PassError::caller)?;
        let reading = Reading {
            dialect: Some(content.dialect),
            batch: false,
            protect_last: 0,
        };
        let what = offload::Plan {
            min_tokens,
            enough_tokens: None,
            template: template.clone(),
            counter: plan.counter,
            dry_run: plan.dry_run,
        };
        let mut offloader = Offloader::new(store, session, what)?;
        let file = temporary(|output| {
            content.each(|record| {
                let changed = reading.changed(record, &mut offloader)?;
                let bytes = changed.as_deref().unwrap_or(record.bytes);
                output.write_all(bytes).map_err(PassError::temporary)
            })
        })?;
        let enough = policy.enough_tokens;
        let enough = enough.is_some_and(|enough| offloader.freed >= enough);
        let is_changed = !offloader.results.is_empty();
        let originals = || -> Result<Originals<'a>, StoreError> {
            let mut restorer = Restorer::new(store, session, template)?;
            // The store does not list them yet.
            restorer.preview(&offloader.results);
            Ok(Originals {
                reading,
                restorer: RefCell::new(restorer.with_unavailable(&policy.unavailable)),
            })
        };
        let originals = policy.restore_before_summary.then(originals);
        Ok(Some(Self {
            left: is_changed.then(|| (content.with(file), enough)),
            originals: originals.transpose()?,
            paths: offloader.results.iter().map(|r| r.path.clone()).collect(),
            offloader: RefCell::new(offloader),
        }))
    }

    /// Makes the files durable and records which results they replace. Call it before the session
    /// at `path` names the files.
    pub(super) fn finish(&self, path: &Path) -> Result<(), PassError> {
        // By its real path, so that gc finds it and sees what it names.
        let live = real_path(path).ok();
        // Durable files without a compaction are a failure: the user asked for a compaction.
        let finished = self.offloader.borrow_mut().finish(&[live]);
        finished.map_err(unchanged)
    }
}

/// What a summary is made of: the results themselves, not their references.
pub(super) struct Originals<'a> {
    reading: Reading,
    restorer: RefCell<Restorer<'a>>,
}

impl Originals<'_> {
    /// The session is read from its beginning.
    pub(super) fn begin(&self) {
        self.restorer.borrow_mut().begin();
    }

    /// A record with its offloaded results put back; `None` where it has none.
    pub(super) fn of(&self, record: &Record<'_>) -> Result<Option<Vec<u8>>, PassError> {
        self.reading
            .changed(record, &mut *self.restorer.borrow_mut())
    }

    /// The files that could not be read, by their lines and paths, and why not. A record may
    /// have been read several times.
    pub(super) fn unreadable(&self) -> BTreeMap<(u64, String), String> {
        let restorer = self.restorer.borrow();
        let missing = restorer.missing.iter();
        missing
            .map(|(at, why)| ((at.line, at.path.clone()), why.to_string()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chrono::Utc;
    use ctx_store::{Actor, SessionId, Store};

    use super::super::content::Content;
    use super::super::job::tests::{content, plan, session, text};
    use super::super::plan::Plan;
    use super::{Offloading, Stores};
    use crate::{ErrorKind, PassError};

    fn actor() -> Actor {
        Actor {
            tool: "test".into(),
            flags: Vec::new(),
        }
    }

    /// What offloading leaves of a session, in a store of its own.
    fn offload(plan: &Plan, content: &Content, check: impl FnOnce(Option<&Offloading<'_>>)) {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("store");
        let store = Store::open(&root, actor(), Box::new(Utc::now)).expect("a store");
        let session: SessionId = "demo".parse().expect("an id");
        let stores = Stores {
            store: &store,
            session: &session,
            path: &dir.path().join("s.jsonl"),
        };
        let offloading = Offloading::of(plan, content, stores).expect("no failure");
        check(offloading.as_ref());
    }

    #[test]
    fn a_policy_that_does_not_ask_for_it_offloads_nothing() {
        offload(&plan(1), &content(&session(2, 200)), |it| {
            assert!(it.is_none());
        });
    }

    #[test]
    fn large_results_are_put_into_files_and_back_before_a_summary() {
        let mut plan = plan(1);
        plan.policy.offload.min_tokens = Some(100);
        let content = content(&session(2, 200));
        offload(&plan, &content, |offloading| {
            let offloading = offloading.expect("the policy asks for it");
            let (left, enough) = offloading.left.as_ref().expect("two are large");
            assert_eq!(offloading.paths.len(), 2);
            assert!(!enough);
            assert_eq!(text(left).matches("Tool result (").count(), 2);
            let originals = offloading
                .originals
                .as_ref()
                .expect("the policy asks for it");
            let mut restored = String::new();
            let read = left.each(|record| {
                let bytes = originals
                    .of(record)?
                    .unwrap_or_else(|| record.bytes.to_vec());
                restored += &String::from_utf8_lossy(&bytes);
                Ok(())
            });
            read.expect("from a file");
            assert_eq!(restored, text(&content));
        });
    }

    /// What a summary is made of: all of it, with what was taken out put back.
    fn read(offloading: &Offloading<'_>) -> String {
        let (left, _) = offloading.left.as_ref().expect("some are large");
        let originals = offloading.originals.as_ref();
        let originals = originals.expect("the policy asks for it");
        originals.begin();
        let mut read = String::new();
        let done = left.each(|record| {
            let bytes = originals.of(record)?;
            let bytes = bytes.unwrap_or_else(|| record.bytes.to_vec());
            read += &String::from_utf8_lossy(&bytes);
            Ok(())
        });
        done.expect("from a file");
        read
    }

    /// Each reading for a summary puts back the same, also of equal results, also in a preview.
    #[test]
    fn each_reading_puts_back_what_was_taken_out() {
        let mut plan = plan(1);
        plan.policy.offload.min_tokens = Some(100);
        let one = session(1, 200);
        let twice = one.clone() + &one;
        offload(&plan, &content(&twice), |offloading| {
            let offloading = offloading.expect("the policy asks for it");
            assert_eq!(read(offloading), twice);
            assert_eq!(read(offloading), twice);
        });
        plan.dry_run = true;
        offload(&plan, &content(&twice), |offloading| {
            let read = read(offloading.expect("the policy asks for it"));
            assert_eq!(read.matches("[Content unavailable: ").count(), 2);
        });
    }

    /// D11: the files are there and the session is as it was: that is no success.
    #[test]
    fn what_the_audit_log_lacks_ends_a_compaction_that_has_not_begun() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("store");
        let log = root.join("context/events.jsonl");
        // The log can be opened for the intent, and not for what is done.
        let clock = move || {
            if log.is_file() {
                fs::remove_file(&log)
                    .and_then(|()| fs::create_dir(&log))
                    .expect("a folder");
            }
            Utc::now()
        };
        let store = Store::open(&root, actor(), Box::new(clock)).expect("a store");
        let session_id: SessionId = "demo".parse().expect("an id");
        let stores = Stores {
            store: &store,
            session: &session_id,
            path: &dir.path().join("s.jsonl"),
        };
        let mut plan = plan(1);
        plan.policy.offload.min_tokens = Some(100);
        let content = content(&session(2, 200));
        let offloading = Offloading::of(&plan, &content, stores).expect("taken out");
        let done = offloading.expect("two are large").finish(stores.path);
        let PassError { kind, .. } = done.expect_err("the log is a folder");
        assert!(matches!(&kind, ErrorKind::Unchanged(_)), "{kind}");
        assert!(
            kind.to_string().starts_with("offload is done, but "),
            "{kind}"
        );
    }

    #[test]
    fn what_is_freed_may_be_enough() {
        let mut plan = plan(1);
        plan.policy.offload.min_tokens = Some(100);
        plan.policy.offload.restore_before_summary = false;
        for (tokens, expected) in [(1, true), (1_000_000, false)] {
            plan.policy.offload.enough_tokens = Some(tokens);
            offload(&plan, &content(&session(2, 200)), |offloading| {
                let offloading = offloading.expect("the policy asks for it");
                let (_, enough) = offloading.left.as_ref().expect("two are large");
                assert_eq!(*enough, expected, "{tokens}");
                assert!(offloading.originals.is_none());
            });
        }
    }

    #[test]
    fn where_nothing_is_large_the_session_is_as_it_was() {
        let mut plan = plan(1);
        plan.policy.offload.min_tokens = Some(100_000);
        offload(&plan, &content(&session(2, 200)), |offloading| {
            let offloading = offloading.expect("the policy asks for it");
            assert!(offloading.left.is_none() && offloading.paths.is_empty());
        });
    }
}
