//! Tests of `ctx-stats`.

use std::fs;
use std::path::Path;
use std::process::Command;

use ctx_testkit::Case;
use serde_json::{Value, json as value_of};

use crate::bench::{bash, good};

const CTX_STATS: &str = env!("CARGO_BIN_EXE_ctx-stats");

/// Returns a folder with an example that was compacted, rolled back and compacted again.
fn used() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let session = include_str!("../../examples/session.jsonl");
    fs::write(dir.path().join("s.jsonl"), session).expect("written");
    good(
        dir.path(),
        "ctx-compact -q --keep-turns 3 s.jsonl; ctx-rollback -q --undo s.jsonl; ctx-compact -q --target-tokens 100 --keep-turns 3 s.jsonl",
    );
    dir
}

fn json(dir: &Path, line: &str) -> Value {
    serde_json::from_str(&good(dir, line)).expect("JSON")
}

/// If there was no operation, the counts are zero, rates are left out, and no file is created.
#[test]
fn of_nothing_there_are_zeros() {
    let done = Case::new(CTX_STATS)
        .stdout(
            "\
Compactions
  done             0
  no change        0
  unfinished       0
  tokens           0 before, 0 after (-)
  time             0.0 s
  fidelity         -
  still too large  0 of 0 sessions
  rollbacks        0 done, 0 unfinished
Models
  requests          0
  tokens            0 read, 0 written
  time              0.0 s
  no answer used    0
Agents' sessions
  none
Store
  snapshots  0, from 0 sessions, 0
  trash      0
  all        0
Acceptance
  NAME              VALUE  REQUIRED             MET        SAMPLES
  overflow_rate         -  < 0.05               not known        0
  summary_fidelity      -  > 0.8                not known        0
  task_success          -  no significant drop  not known        0
  rollback_success      -  1                    not known        0
",
        )
        .run();
    assert!(!done.dir().join(".local").exists());
}

/// Real operations are reported, and the acceptance figures by name.
#[test]
fn what_was_done_is_told() {
    let dir = used();
    let stats = json(dir.path(), "ctx-stats --json");
    assert_eq!(stats["compaction_count"], 2);
    assert_eq!(stats["outcomes"]["over-target"], 1);
    assert_eq!(stats["rollbacks"], 1);
    assert_eq!((&stats["overflow_sessions"], &stats["sessions"]), (&1.into(), &1.into()));
    let (before, after) = (&stats["tokens_before_compact"], &stats["tokens_after_compact"]);
    assert!(before.as_u64() > after.as_u64() && after.as_u64() > Some(0));
    assert!(stats["store"]["bytes"].as_u64() > Some(10_000));
    let value = |name: &str| {
        let metrics = stats["acceptance"].as_array().expect("a list");
        let metric = metrics.iter().find(|metric| metric["name"] == name);
        let metric = metric.expect("named");
        (metric["value"].clone(), metric["met"].clone())
    };
    assert_eq!(value("overflow_rate"), (1.0.into(), false.into()));
    assert_eq!(value("rollback_success"), (1.0.into(), true.into()));
    assert_eq!(value("task_success"), (Value::Null, Value::Null));
    let fidelity = value("summary_fidelity").0;
    assert!(fidelity.as_f64().is_some_and(|share| share > 0.0 && share <= 1.0));
}

/// A session above its window used to count as compacted if its policy had no target.
#[test]
fn a_session_above_its_window_is_still_too_large() {
    let dir = tempfile::tempdir().expect("a folder");
    let session = include_str!("../../examples/session.jsonl");
    fs::write(dir.path().join("s.jsonl"), session).expect("written");
    let set = "--set target.share=false --window 3000 --keep-messages 30 --overflow";
    let report = json(dir.path(), &format!("ctx-compact --json --method rule {set} s.jsonl"));
    assert_eq!((&report["outcome"], &report["window"]), (&"over-target".into(), &3_000.into()));
    assert_eq!(json(dir.path(), "ctx-stats --json")["overflow_rate"], 1.0);
}

/// The log cannot know whether a task succeeded, so the user says so.
#[test]
fn the_success_of_tasks_is_recorded_and_compared() {
    let dir = used();
    let success = || {
        let stats = json(dir.path(), "ctx-stats --json");
        let metric = &stats["acceptance"][2];
        assert_eq!(metric["name"], "task_success");
        ["value", "met", "samples"].map(|key| metric[key].clone())
    };
    good(dir.path(), "ctx-stats --outcome s.jsonl failure");
    assert_eq!(success(), [value_of!(0.0), Value::Null, value_of!(1)]);
    good(dir.path(), "for n in 1 2 3 4 5 6; do echo {} | ctx-snapshot -s other-$n; done");
    Case::new(CTX_STATS)
        .within(dir.path())
        .args(["--outcome", "nope", "success"])
        .stderr("ctx-stats: no session \"nope\" in the store; ctx-snapshot --list shows all snapshots\n")
        .code(2)
        .run();
    // One failure says nothing, unless hardly any other session fails.
    good(dir.path(), "ctx-stats --outcome other-1 failure; ctx-stats --outcome other-2 success");
    assert_eq!(success(), [value_of!(0.0), value_of!(true), value_of!(1)]);
    let others = "for n in 1 3 4 5 6; do ctx-stats --outcome other-$n success; done";
    good(dir.path(), others);
    assert_eq!(success(), [value_of!(0.0), value_of!(false), value_of!(1)]);
    good(dir.path(), "ctx-stats --outcome s.jsonl success");
    assert_eq!(success(), [value_of!(1.0), value_of!(true), value_of!(1)]);
    Case::new(CTX_STATS)
        .args(["--outcome", "s", "well"])
        .stderr("ctx-stats: --outcome cannot be \"well\"; use success or failure\n")
        .code(2)
        .run();
}

/// A fidelity from the log is close to that of the report, which weights identifiers.
#[test]
fn the_fidelity_is_near_the_items_kept_of_the_report() {
    let dir = tempfile::tempdir().expect("a folder");
    let session = include_str!("../../examples/session.jsonl");
    fs::write(dir.path().join("s.jsonl"), session).expect("written");
    let report = json(dir.path(), "ctx-compact --json --keep-turns 3 s.jsonl");
    let stats = json(dir.path(), "ctx-stats --json");
    let (kept, mean) = (&report["items_kept"], &stats["fidelity"]["mean"]);
    let apart = kept.as_f64().expect("scored") - mean.as_f64().expect("told");
    assert!(apart.abs() < 0.1, "{kept} {mean}");
}

/// --since leaves out earlier operations.
#[test]
fn since_leaves_out_what_was_before() {
    let dir = used();
    let later = json(dir.path(), "ctx-stats --json --since 2999-01-01");
    assert_eq!((&later["records"], &later["compaction_count"]), (&0.into(), &0.into()));
    assert_eq!(later["since"], "2999-01-01T00:00:00Z");
    let all = json(dir.path(), "ctx-stats --json --since '1 day ago'");
    assert_eq!(all["compaction_count"], 2);
    Case::new(CTX_STATS)
        .args(["--since", "soon"])
        .code(2)
        .stderr("ctx-stats: --since: \"soon\" is not a time; expected a date or a time in UTC, such as 2026-11-15, \"2026-11-15 10:30\", yesterday, 7d or \"1 week ago\"\n")
        .run();
}

/// Incomplete and foreign lines of the log are counted and do no harm.
#[test]
fn bad_lines_of_the_log_are_counted() {
    let dir = used();
    let path = dir.path().join(".local/state/ctx/context/events.jsonl");
    let log = fs::read_to_string(&path).expect("the log");
    fs::write(&path, format!("no record\n{log}{}", &log[..30])).expect("written");
    let stats = json(dir.path(), "ctx-stats --json");
    assert_eq!((&stats["unread_lines"], &stats["compaction_count"]), (&2.into(), &2.into()));
    let table = good(dir.path(), "ctx-stats");
    assert!(table.ends_with("2 lines of the audit log are not records\n"), "{table}");
}

/// The status of a session has its window, its triggers and its operations.
#[test]
fn a_file_is_told_with_its_window_its_triggers_and_its_snapshot() {
    let dir = used();
    let status = json(dir.path(), "ctx-stats --json --window 32k s.jsonl");
    assert_eq!((&status["compaction_count"], &status["window"]), (&2.into(), &32_000.into()));
    assert_eq!(status["triggers"][0]["trigger"], "share");
    let list = good(dir.path(), "ctx-snapshot --list | head -n 1 | cut -d ' ' -f 1");
    assert_eq!(status["last_snapshot"], list.trim());
    let text = good(dir.path(), "ctx-stats --preset sanbot s.jsonl");
    for part in [
        "s.jsonl\n  window ",
        "trigger messages ",
        " of 80 (",
        "compactions         2\n",
        " tokens, 20",
        "last snapshot       s-",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let both = bash(dir.path(), "ctx-stats s.jsonl no-such-file");
    assert_eq!(both.code, 3);
    assert_eq!(
        both.stderr,
        "ctx-stats: no-such-file: no such file, and no agent's session has this id; ctx-ls lists the ids of the sessions in the agents' folders; name others by their file\n"
    );
}

/// A name cannot control a terminal, or end its label.
#[test]
fn hostile_names_are_escaped() {
    let dir = used();
    let name = "a\"\\\u{1b}[2J\n.jsonl";
    fs::copy(dir.path().join("s.jsonl"), dir.path().join(name)).expect("copied");
    let text = good(dir.path(), "ctx-stats a*");
    assert!(text.starts_with("a\"\\\\u{1b}[2J\\n.jsonl\n"), "{text}");
    let metrics = good(dir.path(), "ctx-stats --prometheus a*");
    let label = "{file=\"a\\\"\\\\\\\\u{1b}[2J\\\\n.jsonl\"}";
    assert!(metrics.contains(label), "{metrics}");
    assert!(!metrics.contains('\u{1b}'));
}

/// The metrics are written completely, in addition to the output, and another parser can read them.
#[test]
#[allow(clippy::print_stderr)] // A test that skips says so.
fn another_parser_reads_the_metrics() {
    let dir = used();
    good(
        dir.path(),
        "ctx-stats --prometheus -o ctx.prom; ctx-stats --prometheus s.jsonl > file.prom",
    );
    let text = fs::read_to_string(dir.path().join("ctx.prom")).expect("written");
    assert!(text.contains("\nctx_rollbacks_total 1\n") && text.ends_with('\n'), "{text}");
    let script = "\
import sys
from prometheus_client.parser import text_string_to_metric_families as parse
for name in sys.argv[1:]:
    families = list(parse(open(name).read()))
    assert families and all(f.samples and f.documentation and f.type != 'unknown' for f in families)
    print(len(families))
";
    let python = |arguments: &[&str]| {
        let run = Command::new("python3").args(arguments).current_dir(dir.path()).output();
        run.ok()
    };
    if !python(&["-c", "import prometheus_client"]).is_some_and(|run| run.status.success()) {
        eprintln!("skipped: python3 has no prometheus_client");
        return;
    }
    let run = python(&["-c", script, "ctx.prom", "file.prom"]).expect("python3");
    let counts = String::from_utf8_lossy(&run.stdout).into_owned();
    let types = text.lines().filter(|line| line.starts_with("# TYPE")).count();
    assert_eq!(counts, format!("{types}\n5\n"), "{}", String::from_utf8_lossy(&run.stderr));
}

/// promtool, if installed, accepts the metrics.
#[test]
#[allow(clippy::print_stderr)] // A test that skips says so.
fn promtool_takes_the_metrics() {
    if !Command::new("promtool").arg("--version").output().is_ok_and(|run| run.status.success()) {
        eprintln!("skipped: there is no promtool");
        return;
    }
    let dir = used();
    for files in ["", "s.jsonl"] {
        let line = format!("ctx-stats --prometheus {files} | promtool check metrics 2>&1");
        assert_eq!(good(dir.path(), &line), "");
    }
}

/// Metrics always cover the whole log, because counters over a part of it would look as if they had
/// been reset.
#[test]
fn since_does_not_go_with_prometheus() {
    let done = bash(Path::new("/"), "ctx-stats --prometheus --since yesterday");
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("cannot be used with"), "{}", done.stderr);
}
