use std::fs;
use std::time::Duration;

use ctx_policy::{Keep, Policy, preset};
use ctx_select::count::MessageCounter;
use ctx_store::{Actor, MinIdle, SessionId, Store};
use ctx_tokens::Encoding;

use super::{Content, Outcome, Plan, Report, SessionFile, Stores, compact_stream, job};
use crate::{ErrorKind, Invalid, Notes, PassError};

fn plan(change: impl FnOnce(&mut Policy)) -> Plan {
    let mut policy = preset("default").expect("a preset");
    policy.keep = Keep {
        messages: None,
        turns: Some(1),
        tokens: None,
        recent_share: None,
    };
    change(&mut policy);
    Plan {
        triggers: policy.trigger,
        counter: MessageCounter::new(Encoding::default()),
        target: policy.target.tokens,
        saved: ctx_transcript::Saved::Yes,
        now: chrono::Utc::now,
        policy,
        ..job::tests::plan(1)
    }
}

/// Turns of two messages.
fn session(turns: usize) -> String {
    let turn = |at: usize| {
        let text = format!("{at}: we keep the file src/part{at}.rs as it is. ").repeat(20);
        format!(
            "{{\"role\":\"user\",\"content\":\"{text}\"}}\n{{\"role\":\"assistant\",\"content\":\"{text}\"}}\n"
        )
    };
    (0..turns).map(turn).collect()
}

/// A folder with a session file and a store.
struct Place {
    dir: tempfile::TempDir,
    store: Store,
    session: SessionId,
}

impl Place {
    fn of(content: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("s.jsonl"), content).expect("written");
        let actor = Actor {
            tool: "test".to_owned(),
            flags: Vec::new(),
        };
        let store = Store::open(&dir.path().join("store"), actor, Box::new(chrono::Utc::now));
        Self {
            store: store.expect("a store"),
            session: "demo".parse().expect("an id"),
            dir,
        }
    }

    /// Runs that plan on the file, which has to be left alone for so long.
    fn run(&self, plan: &Plan, min_idle: Duration) -> Result<Report, PassError> {
        let path = self.dir.path().join("s.jsonl");
        let file = SessionFile {
            plan,
            stores: Stores {
                store: &self.store,
                session: &self.session,
                path: &path,
            },
            dialect: None,
            invalid: Invalid::default(),
            last_change: None,
            min_idle: MinIdle(Some(min_idle)),
        };
        file.run(&mut Notes::new())
    }

    fn compact(&self, plan: &Plan) -> Result<Report, PassError> {
        self.run(plan, Duration::ZERO)
    }

    fn content(&self) -> String {
        fs::read_to_string(self.dir.path().join("s.jsonl")).expect("a file")
    }
}

#[test]
fn a_file_is_replaced_and_its_bytes_are_a_snapshot() {
    let old = session(8);
    let place = Place::of(&old);
    let plan = plan(|_| ());
    let report = place.compact(&plan).expect("compacted");
    assert_eq!(report.outcome, Outcome::Compacted);
    let new = place.content();
    assert!(new.len() < old.len() && new.ends_with(&session(8)[old.len() - 500..]));
    let catalog = place.store.catalog(None).expect("a catalog");
    let [entry] = catalog.entries.as_slice() else {
        panic!("one snapshot");
    };
    assert_eq!(report.snapshot, Some(entry.id.to_string()));
    let saved = fs::read_to_string(place.store.data_path(&entry.id)).expect("a file");
    assert_eq!(saved, old);
    // Scored, since it is small, and told for the audit log, too.
    assert!(report.items_kept.is_some() && !report.survived.is_empty());
}

#[test]
fn a_preview_tells_what_the_run_would_refuse_for_now() {
    let place = Place::of(&session(8));
    let hour = Duration::from_secs(3_600);
    let error = place.run(&plan(|_| ()), hour);
    let error = error.expect_err("it was written just now").to_string();
    assert!(error.contains("changed"), "{error}");

    let preview = Plan {
        dry_run: true,
        ..plan(|_| ())
    };
    let report = place.run(&preview, hour).expect("a forecast");
    assert_eq!(report.outcome, Outcome::Compacted);
    let refused = report.refused.expect("it is refused for now").to_string();
    assert_eq!(refused, error);
    let report = place.run(&preview, Duration::ZERO).expect("a forecast");
    assert!(report.refused.is_none());
}

#[test]
fn a_preview_changes_nothing_and_says_what_would_leave() {
    let place = Place::of(&session(8));
    let plan = Plan {
        dry_run: true,
        ..plan(|_| ())
    };
    let report = place.compact(&plan).expect("a forecast");
    assert_eq!(report.outcome, Outcome::Compacted);
    assert!(report.plan.is_some() && report.snapshot.is_none());
    assert_eq!(place.content(), session(8));
    let catalog = place.store.catalog(None).expect("a catalog");
    assert!(catalog.entries.is_empty());
}

#[test]
fn a_session_that_gets_no_smaller_is_given_up_until_it_is_forced_or_has_grown() {
    let place = Place::of(&session(3));
    let strict = |policy: &mut Policy| {
        policy.target.tokens = Some(1);
        policy.target.max_attempts = 2;
    };
    let outcome = |plan: &Plan| place.compact(plan).expect("it ends").outcome;
    let plan = |policy| Plan {
        strict_target: true,
        ..plan(policy)
    };
    let twice = plan(strict);
    assert_eq!(outcome(&twice), Outcome::Unreachable);
    assert_eq!(outcome(&twice), Outcome::Unreachable);
    assert_eq!(outcome(&twice), Outcome::GivenUp);
    let forced = Plan {
        force: true,
        ..plan(strict)
    };
    assert_eq!(outcome(&forced), Outcome::Unreachable);
    fs::write(place.dir.path().join("s.jsonl"), session(4)).expect("written");
    assert_eq!(outcome(&twice), Outcome::Unreachable);
}

#[test]
fn what_stays_above_its_target_is_not_made_shorter_for_ever() {
    let place = Place::of(&session(8));
    let plan = plan(|policy| policy.target.tokens = Some(1));
    let outcome = || place.compact(&plan).expect("it ends").outcome;
    assert_eq!(outcome(), Outcome::OverTarget);
    let once = place.content();
    assert_eq!(outcome(), Outcome::NoGain);
    assert_eq!(outcome(), Outcome::NoGain);
    assert_eq!(outcome(), Outcome::GivenUp);
    assert_eq!(place.content(), once);
}

/// 15 A7: a document stays one, with all that stands beside its messages.
#[test]
fn a_document_is_compacted_as_what_it_is() {
    let lines = session(8);
    let list = lines.trim_end().replace('\n', ",\n    ");
    let document = format!("{{\n  \"id\": 1.0,\n  \"messages\": [\n    {list}\n  ]\n}}\n");
    let place = Place::of(&document);
    let report = place.compact(&plan(|_| ())).expect("it ends");
    assert_eq!(report.outcome, Outcome::Compacted);
    let after = place.content();
    assert!(
        after.starts_with("{\n  \"id\": 1.0,\n  \"messages\": [\n    {\"role\":"),
        "{after}"
    );
    assert!(
        after.ends_with("\n  ]\n}\n") && after.contains(",\n    {"),
        "{after}"
    );
    let twin = Place::of(&lines);
    twin.compact(&plan(|_| ())).expect("it ends");
    let list = twin.content().trim_end().replace('\n', ",\n    ");
    assert_eq!(
        after,
        format!("{{\n  \"id\": 1.0,\n  \"messages\": [\n    {list}\n  ]\n}}\n")
    );
}

#[test]
fn a_file_that_cannot_be_claimed_is_as_it_was() {
    let place = Place::of(&session(2));
    let path = place.dir.path().join("s.jsonl");
    fs::hard_link(&path, place.dir.path().join("other")).expect("a second name");
    let error = place.compact(&plan(|_| ())).expect_err("two names");
    assert!(matches!(error.kind, ErrorKind::Unchanged(_)), "{error}");
}

#[test]
fn a_stream_is_compacted_or_comes_as_it_was() {
    let compacted = |plan: &Plan| {
        let input = session(8);
        let content = Content::of_stream(&mut input.as_bytes(), None, Invalid::default());
        let content = content.expect("a session");
        let done = compact_stream(plan, content, &mut Notes::new());
        let (report, content) = done.expect("it ends");
        let bytes = std::io::read_to_string(content.file().expect("a file"));
        (report.outcome, bytes.expect("text"))
    };
    let (outcome, bytes) = compacted(&plan(|_| ()));
    assert_eq!(outcome, Outcome::Compacted);
    assert!(bytes.len() < session(8).len());
    let off = plan(|policy| policy.enabled = false);
    assert_eq!(compacted(&off), (Outcome::Disabled, session(8)));
    let not_due = Plan {
        only_if_due: true,
        ..plan(|policy| policy.trigger = ctx_select::trigger::Triggers::default())
    };
    assert_eq!(compacted(&not_due), (Outcome::NotDue, session(8)));
}
