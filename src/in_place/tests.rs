use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;

use ctx_cli::Result;
use ctx_engine::compact::{
    Content, Environment, Offloaded, Options, Outcome, Report, compact_stream,
};
use ctx_engine::message_counter::MessageCounter;
use ctx_engine::{Invalid, Notes};
use ctx_format::{Call, Message, Part, Role};
use ctx_policy::Keep;
use ctx_policy::trigger::Triggers;
use ctx_policy::{Policy, SignedReasoning, preset};
use ctx_store::{Actor, MinIdle, SessionId, Store};
use ctx_tokens::Encoding;

use super::offloading::Offloading;
use super::{FileReport, Items, MOST_ITEMS, SessionFile, figures};

/// The options, with public fields, and an environment.
struct Setup {
    options: Options,
    environment: Environment,
}

impl Deref for Setup {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.options
    }
}

impl DerefMut for Setup {
    fn deref_mut(&mut self) -> &mut Options {
        &mut self.options
    }
}

fn setup(change: impl FnOnce(&mut Policy)) -> Setup {
    let mut policy = preset("default").expect("a preset");
    policy.keep = Keep { turns: Some(1), ..Keep::default() };
    policy.target.share = None;
    change(&mut policy);
    let counter = MessageCounter::new(Encoding::default());
    Setup {
        options: Options { policy, ..Options::default() },
        environment: Environment::new(counter, chrono::Utc::now, std::env::temp_dir()),
    }
}

/// Returns a session with turns of two messages.
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
struct Folder {
    dir: tempfile::TempDir,
    store: Store,
    session: SessionId,
}

impl Folder {
    fn of(content: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("s.jsonl"), content).expect("written");
        let actor = Actor { tool: "test".to_owned(), flags: Vec::new() };
        let store = Store::open(&dir.path().join("store"), actor, Box::new(chrono::Utc::now));
        Self { store: store.expect("a store"), session: "demo".parse().expect("an id"), dir }
    }

    fn file<'a>(&'a self, setup: &'a Setup, path: &'a Path) -> SessionFile<'a> {
        SessionFile {
            options: &setup.options,
            environment: &setup.environment,
            store: &self.store,
            session: &self.session,
            path,
            dialect: None,
            invalid: Invalid::default(),
            last_change: None,
            min_idle: MinIdle(Some(Duration::ZERO)),
        }
    }

    /// Compacts the file, which must have been unchanged for `min_idle`.
    fn run(&self, setup: &Setup, min_idle: Duration) -> Result<FileReport> {
        let path = self.dir.path().join("s.jsonl");
        let file = SessionFile { min_idle: MinIdle(Some(min_idle)), ..self.file(setup, &path) };
        file.run(&mut Notes::default())
    }

    fn compact(&self, setup: &Setup) -> Result<FileReport> {
        self.run(setup, Duration::ZERO)
    }

    fn content(&self) -> String {
        fs::read_to_string(self.dir.path().join("s.jsonl")).expect("a file")
    }
}

#[test]
fn a_file_is_replaced_and_its_bytes_are_a_snapshot() {
    let old = session(8);
    let folder = Folder::of(&old);
    let setup = setup(|_| ());
    let report = folder.compact(&setup).expect("compacted").report;
    assert_eq!(report.outcome, Outcome::Compacted);
    let new = folder.content();
    assert!(new.len() < old.len() && new.ends_with(&session(8)[old.len() - 500..]));
    let catalog = folder.store.catalog(None).expect("a catalog");
    let [entry] = catalog.entries.as_slice() else {
        panic!("one snapshot");
    };
    assert_eq!(report.snapshot, Some(entry.id.to_string()));
    let saved = fs::read_to_string(folder.store.data_path(&entry.id)).expect("a file");
    assert_eq!(saved, old);
    // It is scored, because it is small, and recorded in the audit log.
    assert!(report.items_kept.is_some() && !report.survived.is_empty());
}

#[test]
fn a_preview_tells_what_the_run_would_refuse_for_now() {
    let folder = Folder::of(&session(8));
    let hour = Duration::from_secs(3_600);
    let error = folder.run(&setup(|_| ()), hour);
    let error = error.expect_err("it was written just now").to_string();
    assert!(error.contains("changed"), "{error}");

    let mut preview = setup(|_| ());
    preview.dry_run = true;
    let done = folder.run(&preview, hour).expect("a forecast");
    assert_eq!(done.report.outcome, Outcome::Compacted);
    let refused = done.refused.expect("it is refused for now").to_string();
    assert!(error.starts_with(&refused), "{error}");
    let done = folder.run(&preview, Duration::ZERO).expect("a forecast");
    assert!(done.refused.is_none());
}

#[test]
fn a_preview_changes_nothing_and_says_what_would_leave() {
    let folder = Folder::of(&session(8));
    let mut setup = setup(|_| ());
    setup.dry_run = true;
    let report = folder.compact(&setup).expect("a forecast").report;
    assert_eq!(report.outcome, Outcome::Compacted);
    assert!(report.plan.is_some() && report.snapshot.is_none());
    assert_eq!(folder.content(), session(8));
    let catalog = folder.store.catalog(None).expect("a catalog");
    assert!(catalog.entries.is_empty());
}

#[test]
fn a_session_that_gets_no_smaller_is_given_up_until_it_is_forced_or_has_grown() {
    let folder = Folder::of(&session(3));
    let strict = |policy: &mut Policy| {
        policy.target.tokens = Some(1);
        policy.target.max_attempts = 2;
    };
    let outcome = |setup: &Setup| folder.compact(setup).expect("it ends").report.outcome;
    let mut twice = setup(strict);
    twice.strict_target = true;
    assert_eq!(outcome(&twice), Outcome::Unreachable);
    assert_eq!(outcome(&twice), Outcome::Unreachable);
    assert_eq!(outcome(&twice), Outcome::GivenUp);
    let mut forced = setup(strict);
    (forced.strict_target, forced.force) = (true, true);
    assert_eq!(outcome(&forced), Outcome::Unreachable);
    fs::write(folder.dir.path().join("s.jsonl"), session(4)).expect("written");
    assert_eq!(outcome(&twice), Outcome::Unreachable);
}

#[test]
fn what_stays_above_its_target_is_not_made_shorter_for_ever() {
    let folder = Folder::of(&session(8));
    let setup = setup(|policy| policy.target.tokens = Some(1));
    let outcome = || folder.compact(&setup).expect("it ends").report.outcome;
    assert_eq!(outcome(), Outcome::OverTarget);
    let once = folder.content();
    assert_eq!(outcome(), Outcome::NoGain);
    assert_eq!(outcome(), Outcome::NoGain);
    assert_eq!(outcome(), Outcome::GivenUp);
    assert_eq!(folder.content(), once);
}

/// A document keeps all bytes around its messages.
#[test]
fn a_document_is_compacted_as_what_it_is() {
    let lines = session(8);
    let list = lines.trim_end().replace('\n', ",\n    ");
    let document = format!("{{\n  \"id\": 1.0,\n  \"messages\": [\n    {list}\n  ]\n}}\n");
    let folder = Folder::of(&document);
    let report = folder.compact(&setup(|_| ())).expect("it ends").report;
    assert_eq!(report.outcome, Outcome::Compacted);
    let after = folder.content();
    assert!(after.starts_with("{\n  \"id\": 1.0,\n  \"messages\": [\n    {\"role\":"), "{after}");
    assert!(after.ends_with("\n  ]\n}\n") && after.contains(",\n    {"), "{after}");
    let other = Folder::of(&lines);
    other.compact(&setup(|_| ())).expect("it ends");
    let list = other.content().trim_end().replace('\n', ",\n    ");
    assert_eq!(after, format!("{{\n  \"id\": 1.0,\n  \"messages\": [\n    {list}\n  ]\n}}\n"));
}

#[test]
fn a_file_that_cannot_be_claimed_is_as_it_was() {
    let folder = Folder::of(&session(2));
    let path = folder.dir.path().join("s.jsonl");
    fs::hard_link(&path, folder.dir.path().join("other")).expect("a second name");
    let error = folder.compact(&setup(|_| ())).expect_err("two names");
    assert_eq!(error.status, ctx_cli::ExitStatus::Failed, "{error}");
}

#[test]
fn a_stream_is_compacted_or_comes_as_it_was() {
    let compacted = |setup: &Setup| {
        let input = session(8);
        let content = Content::of_stream(&mut input.as_bytes(), None, Invalid::default());
        let content = content.expect("a session");
        let done =
            compact_stream(&setup.options, &setup.environment, content, &mut Notes::default());
        let (report, content) = done.expect("it ends");
        let bytes = std::io::read_to_string(content.file().expect("a file"));
        (report.outcome, bytes.expect("text"))
    };
    let (outcome, bytes) = compacted(&setup(|_| ()));
    assert_eq!(outcome, Outcome::Compacted);
    assert!(bytes.len() < session(8).len());
    let off = setup(|policy| policy.enabled = false);
    assert_eq!(compacted(&off), (Outcome::Disabled, session(8)));
    let mut not_due = setup(|policy| policy.trigger = Triggers::default());
    not_due.only_if_due = true;
    assert_eq!(compacted(&not_due), (Outcome::NotDue, session(8)));
}

/// Returns a session with turns of a request, a call, its long result and a reply.
fn session_with_results(turns: usize) -> String {
    let turn = |at: usize| {
        let result = format!("word{at} ").repeat(200);
        format!(
            r#"{{"role":"user","content":"Please fix src/file_{at}.rs"}}
{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{at}","type":"function","function":{{"name":"Read","arguments":"{{}}"}}}}]}}
{{"role":"tool","tool_call_id":"c{at}","content":"{result}"}}
{{"role":"assistant","content":"Fixed the file number {at}"}}
"#
        )
    };
    (0..turns).map(turn).collect()
}

/// Offloads a session and checks the result.
fn offload(session: &str, setup: &Setup, check: impl FnOnce(Option<&Offloading<'_>>)) {
    let folder = Folder::of(session);
    let path = folder.dir.path().join("s.jsonl");
    let content = Content::of_stream(&mut session.as_bytes(), None, Invalid::default());
    let offloading = Offloading::of(
        &folder.file(setup, &path),
        &content.expect("a session"),
        &mut Notes::default(),
    );
    check(offloading.expect("no failure").as_ref());
}

fn text(content: &Content) -> String {
    std::io::read_to_string(content.file().expect("a file")).expect("text")
}

/// Returns the input of a summary: the session with its results restored.
fn restored(offloaded: Offloaded<'_>) -> String {
    let (left, _) = offloaded.left.expect("some are large");
    let originals = offloaded.originals.expect("the policy wants them");
    originals.begin();
    let notes = &mut Notes::default();
    let restored = left.changed(SignedReasoning::Auto, notes, |record| originals.of(record));
    text(&restored.expect("from a file"))
}

#[test]
fn results_are_put_into_files_only_where_the_policy_wants_it() {
    let session = session_with_results(2);
    offload(&session, &setup(|_| ()), |offloading| assert!(offloading.is_none()));
    let large = setup(|policy| policy.offload.min_tokens = Some(100_000));
    offload(&session, &large, |offloading| {
        let offloaded = offloading.expect("the policy wants it").offloaded();
        assert!(offloaded.left.is_none() && offloaded.paths.is_empty());
    });
}

/// Each reading for a summary restores the same results, including equal ones, even in a preview.
#[test]
fn each_reading_puts_back_what_was_taken_out() {
    let mut setup = setup(|policy| policy.offload.min_tokens = Some(100));
    let one = session_with_results(1);
    let twice = one.clone() + &one;
    offload(&twice, &setup, |offloading| {
        let offloaded = offloading.expect("the policy wants it").offloaded();
        let (left, is_enough) = offloaded.left.expect("both are large");
        assert_eq!((offloaded.paths.len(), is_enough), (2, false));
        assert_eq!(text(left).matches("Tool result (").count(), 2);
        assert_eq!(restored(offloaded), twice);
        assert_eq!(restored(offloaded), twice);
    });
    setup.dry_run = true;
    offload(&twice, &setup, |offloading| {
        let restored = restored(offloading.expect("the policy wants it").offloaded());
        assert_eq!(restored.matches("[Content unavailable: ").count(), 2);
    });
}

#[test]
fn what_is_freed_may_be_enough() {
    for (tokens, expected) in [(1, true), (1_000_000, false)] {
        let setup = setup(|policy| {
            policy.offload.min_tokens = Some(100);
            policy.offload.restore_before_summary = false;
            policy.offload.enough_tokens = Some(tokens);
        });
        offload(&session_with_results(2), &setup, |offloading| {
            let offloaded = offloading.expect("the policy wants it").offloaded();
            let (_, is_enough) = offloaded.left.expect("two are large");
            assert_eq!(is_enough, expected, "{tokens}");
            assert!(offloaded.originals.is_none());
        });
    }
}

/// Writing the files without changing the session is not a success.
#[test]
fn an_offload_that_the_audit_log_misses_ends_the_compaction() {
    let mut folder = Folder::of(&session_with_results(2));
    let root = folder.dir.path().join("store");
    let log = root.join("context/events.jsonl");
    // The log can be opened for the intent, but not for the completion.
    let clock = move || {
        if log.is_file() {
            fs::remove_file(&log).and_then(|()| fs::create_dir(&log)).expect("a folder");
        }
        chrono::Utc::now()
    };
    let actor = Actor { tool: "test".to_owned(), flags: Vec::new() };
    folder.store = Store::open(&root, actor, Box::new(clock)).expect("a store");
    let setup = setup(|policy| policy.offload.min_tokens = Some(100));
    let path = folder.dir.path().join("s.jsonl");
    let session = session_with_results(2);
    let content = Content::of_stream(&mut session.as_bytes(), None, Invalid::default());
    let offloading = Offloading::of(
        &folder.file(&setup, &path),
        &content.expect("a session"),
        &mut Notes::default(),
    );
    let done = offloading.expect("taken out").expect("two are large").finish(&path);
    let failure = done.expect_err("the log is a folder");
    assert_eq!(failure.status, ctx_cli::ExitStatus::Failed);
    assert!(failure.to_string().starts_with("offload is done, but "), "{failure}");
}

/// The audit log and `--json` have the same figures under the same names.
#[test]
fn the_audit_log_has_the_figures_of_the_report() {
    let mut report = Report {
        known_preset: Some("default"),
        preset: "default".to_owned(),
        tokens_before: 300,
        tokens_after: 100,
        ratio: Some(0.3333),
        target_tokens: Some(150),
        messages_before: 9,
        triggers: vec!["share"],
        duration_ms: 80,
        summary: Some("words of the session".to_owned()),
        ..Report::default()
    };
    report.end(Outcome::Compacted);
    report.summing.usage.tokens_in = Some(900);
    report.survived.insert("asks", ctx_engine::compact::Survivors::default());
    let report_json = serde_json::to_value(&report).expect("JSON");
    let audit = serde_json::to_value(figures(&report)).expect("JSON");
    let serde_json::Value::Object(members) = &audit else {
        panic!("{audit}");
    };
    for (name, value) in members {
        assert_eq!(&report_json[name], value, "{name}");
    }
    assert_eq!(members.len(), 19);
    assert!(!audit.to_string().contains("words"), "{audit}");
}

/// If a session has too many items, runs of tools are dropped before the statements of people, and
/// older runs first.
#[test]
fn items_are_remembered_once_and_up_to_a_limit() {
    let mut items = Items::new("demo");
    let read = |items: &mut Items, line: u64, part: Part<'_>| {
        items.read(&Message::new(Role::Assistant, vec![part]), line, None);
    };
    read(&mut items, 1, Part::Text("We decided to use SQLite for the cache.".into()));
    let run = |number: usize| {
        Part::Call(Call {
            id: None,
            name: "Bash".into(),
            arguments: format!(r#"{{"command":"make part{number}"}}"#).into(),
            slot: None,
        })
    };
    for line in 2..4 {
        read(&mut items, line, run(0));
    }
    let lines: Vec<u64> = items.list.iter().map(|item| item.line).collect();
    assert_eq!(lines, [1, 2]);
    for number in 1..MOST_ITEMS {
        read(&mut items, 4, run(number));
    }
    assert_eq!(items.list.len(), MOST_ITEMS / 2 + 1);
    assert_eq!(items.list[0].line, 1);
    assert!(items.list[1].text.ends_with(&format!("part{}", MOST_ITEMS / 2)));
}
