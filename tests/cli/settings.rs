//! Every setting of a policy has an effect: another value gives another result.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_testkit::{Act, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tool_path;

/// Compacts by a policy, and returns the result without anything that differs between runs.
type Observe = fn(&Value) -> String;

/// A setting, a policy under which it matters, another value, and where the effect shows.
struct Row {
    key: &'static str,
    base: Value,
    value: Value,
    observe: Observe,
}

/// Only time shows the effect of the setting, so another test covers it.
const OF_TIME: &str = "summary.backoff_seconds";

fn row(key: &'static str, base: Value, value: Value, observe: Observe) -> Row {
    Row { key, base, value, observe }
}

/// A policy under which no compaction is needed, four messages are kept and nothing is pruned. Its
/// way of counting gives the same tokens for all folders with names of the same length.
fn plain() -> Value {
    json!({
        "encoding": "chars4",
        "trigger": {"share": false, "reserve": false, "flush_share": false},
        "keep": {"turns": false, "tokens": false, "messages": 4},
        "target": {"share": false},
        "prune": {"when": "never", "min_gain": false, "protect_last": 0, "drop": []},
        "summary": {"fallback": [], "backoff_seconds": 0},
    })
}

/// A policy that only prunes.
fn pruning() -> Value {
    json!({"mode": "prune_only", "prune": {"when": "before"}})
}

/// A policy that asks a model.
fn asking() -> Value {
    json!({"summary": {"method": "llm", "tries": 1, "complete": false}})
}

/// A policy that summarizes a session whose results were offloaded.
fn offloading() -> Value {
    json!({"offload": {"min_tokens": 500}, "summary": {"method": "llm"}})
}

fn triggers() -> Vec<Row> {
    let none = || json!({});
    let far = || json!({"trigger": {"share": 0.8}});
    vec![
        row("trigger.messages", none(), json!(3), if_due),
        row("trigger.tokens", none(), json!(10), if_due),
        row("trigger.share", none(), json!(0.0001), if_due),
        row("trigger.window", far(), json!(100), if_due),
        row("trigger.reserve", json!({"trigger": {"window": 20_000}}), json!(9_000), if_due),
        row("trigger.tool_bytes", none(), json!(1), if_due),
        row("trigger.turns", none(), json!(1), if_due),
        row("trigger.min_messages", json!({"trigger": {"messages": 3}}), json!(1_000), if_due),
        row("trigger.flush_share", far(), json!(0.000_001), if_due),
        row("trigger.at_limit", json!({"trigger": {"turns": 8}}), json!(true), if_due),
        row("trigger.on_overflow", none(), json!(false), overflown),
    ]
}

fn sizes() -> Vec<Row> {
    let none = || json!({});
    let share = || {
        json!({
            "keep": {"messages": false, "recent_share": 0.5},
            "target": {"tokens": 2_000},
            "summary": {"tokens": 200},
        })
    };
    vec![
        row("keep.messages", none(), json!(8), forced),
        row("keep.turns", none(), json!(5), forced),
        row("keep.tokens", none(), json!(1_000), forced),
        row("keep.recent_share", share(), json!(0.1), forced),
        row("target.tokens", none(), json!(5), forced),
        row("target.share", none(), json!(0.0001), forced),
        row("target.max_history_share", none(), json!(0.0001), forced),
        row(
            "target.reserve",
            json!({"trigger": {"window": 4_000}, "target": {"max_history_share": 1.0}}),
            json!(2_000),
            forced,
        ),
        row("target.overhead", share(), json!(1_900), forced),
        row("target.min_gain", none(), json!(0.99), forced),
        row(
            "target.max_attempts",
            json!({"trigger": {"messages": 3}, "target": {"tokens": 5, "max_attempts": 1}}),
            json!(5),
            twice,
        ),
    ]
}

fn offloads() -> Vec<Row> {
    let none = || json!({});
    let due = json!({"trigger": {"messages": 3}, "offload": {"min_tokens": 500}});
    let here = || json!({"offload": {"min_tokens": 500}});
    let see = json!("see {path}");
    vec![
        row("offload.min_tokens", none(), json!(500), forced),
        row("offload.enough_tokens", due, json!(1), if_due),
        row("offload.reference", here(), see, forced),
        row("offload.unavailable", offloading(), json!("[gone]"), lost),
        row("offload.restore_before_summary", offloading(), json!(false), restored),
        row("offload.delete_unreferenced", offloading(), json!(true), restored),
    ]
}

fn prunes() -> Vec<Row> {
    let clearing = || json!({"mode": "prune_only", "prune": {"when": "before", "clear": "always"}});
    vec![
        row("prune.when", json!({}), json!("before"), forced),
        row("prune.max_chars", pruning(), json!(500), forced),
        row("prune.head_share", pruning(), json!(0.1), forced),
        row("prune.tail_share", pruning(), json!(0.1), forced),
        row("prune.cut", pruning(), json!("<{chars}>"), forced),
        row("prune.clear", pruning(), json!("always"), forced),
        row("prune.placeholder", clearing(), json!("[old]"), forced),
        row("prune.drop", pruning(), json!(["duplicates"]), forced),
        row("prune.protect_last", pruning(), json!(50), forced),
        row("prune.allow", pruning(), json!(["none*"]), forced),
        row("prune.deny", pruning(), json!(["l?"]), forced),
        row("prune.cache_ttl", pruning(), json!("1h"), forced),
        row("prune.window_messages", pruning(), json!(2), forced),
        row("prune.min_gain", pruning(), json!(1_000_000), forced),
    ]
}

fn summaries() -> Vec<Row> {
    let none = || json!({});
    let unheard = || merged(&asking(), &json!({"summary": {"sections": ["Weather"]}}));
    let checked = || json!({"summary": {"method": "llm", "tries": 1, "safeguard": true}});
    let unreachable = json!({"target": {"tokens": 300}});
    vec![
        row("summary.method", none(), json!("rule"), forced),
        row("summary.offline", json!({"summary": {"method": "llm"}}), json!("rule"), forced),
        row("summary.fallback", unreachable, json!(["smaller"]), forced),
        row("summary.fallback", asking(), json!(["fail"]), unanswered),
        row("summary.fallback", asking(), json!(["rule"]), unanswered),
        row("summary.tokens", none(), json!(60), forced),
        row("summary.target_tokens", none(), json!(60), forced),
        row("summary.max_output_factor", asking(), json!(3.0), answered),
        row("summary.max_share", none(), json!(0.01), forced),
        row("summary.model", asking(), json!("small"), answered),
        row("summary.tries", asking(), json!(2), unanswered),
        row("summary.safeguard", unheard(), json!(true), answered),
        row("summary.complete", asking(), json!(true), answered),
        row("summary.role", none(), json!("assistant"), forced),
        row("summary.header", none(), json!("[Before]"), forced),
        row("summary.template", asking(), json!("synapse"), answered),
        row("summary.sections", checked(), json!(["Weather"]), answered),
        row("summary.instructions", asking(), json!("paths"), answered),
        row("summary.cumulative", none(), json!(false), forced),
        row("summary.extract", none(), json!(true), forced),
        row("summary.in_report", none(), json!(true), forced),
    ]
}

fn others() -> Vec<Row> {
    let none = || json!({});
    vec![
        row("name", none(), json!("mine"), forced),
        row("enabled", none(), json!(false), forced),
        row("mode", none(), json!("prune_only"), forced),
        row("encoding", none(), json!("o200k_base"), forced),
        row("retention.keep_days", none(), json!(100_000), collected),
        row("retention.pack_after_days", none(), json!(0), collected),
    ]
}

fn rows() -> Vec<Row> {
    [others(), triggers(), sizes(), offloads(), prunes(), summaries()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_setting_changes_what_is_done() {
    let rows = rows();
    let shown: BTreeSet<&str> = rows.iter().map(|row| row.key).collect();
    let settings = ctx_policy::settings();
    let settings = settings.iter().map(String::as_str);
    let settings: BTreeSet<&str> = settings.filter(|key| *key != OF_TIME).collect();
    assert_eq!(shown, settings, "each setting has its row, and no other has one");
    // Many rows start from the same policy.
    let mut known: HashMap<(Observe, String), String> = HashMap::new();
    for row in rows {
        let base = merged(&plain(), &row.base);
        let mut changed = base.clone();
        match row.key.split_once('.') {
            Some((table, key)) => changed[table][key] = row.value,
            None => changed[row.key] = row.value,
        }
        let before = known.entry((row.observe, base.to_string()));
        let before = before.or_insert_with(|| (row.observe)(&base));
        let after = (row.observe)(&changed);
        assert_ne!(*before, after, "nothing reads {}", row.key);
    }
}

/// Defaults that are not settings. Each is defined in one place: at its flag, in the module for
/// flags that several tools share, or in the library that uses it.
const DEFAULTS: [(&str, &str, &str); 13] = [
    ("ctx-gc --keep-days", "src/tools/gc/mod.rs", "const KEEP_DAYS: u32 = 7;"),
    ("ctx-gc --grace-days", "src/store.rs", "const GRACE_DAYS: u32 = 7;"),
    ("ctx-split --keep-messages", "src/tools/split/mod.rs", "const KEEP_MESSAGES: u64 = 20;"),
    ("ctx-offload --min-tokens", "src/offload/mod.rs", "const MIN_TOKENS: u64 = 2000;"),
    ("--llm-timeout", "src/args/llm.rs", "default_value_t = 300,"),
    (
        "connecting to a model",
        "src/args/llm.rs",
        "CONNECT_TIMEOUT: Duration = Duration::from_secs(15);",
    ),
    ("a model's summary by a template", "src/args/llm.rs", "const SUMMARY_TOKENS: u64 = 500;"),
    (
        "any other summary",
        "crates/ctx-engine/src/compact/options.rs",
        "const SUMMARY_TOKENS: u64 = 2_000;",
    ),
    ("--window", "crates/ctx-policy/src/trigger.rs", "const DEFAULT_WINDOW: u64 = 128_000;"),
    (
        "a trigger",
        "crates/ctx-policy/src/trigger.rs",
        "DEFAULT_SHARE: Share = Share::of_percent(80);",
    ),
    (
        "--min-idle",
        "crates/ctx-store/src/replace/session_file.rs",
        "const OF_AGENTS: Duration = Duration::from_secs(10 * 60);",
    ),
    (
        "how long a replaced file must be quiet",
        "crates/ctx-store/src/replace/retained.rs",
        "const SILENCE: Duration = Duration::from_secs(600);",
    ),
    (
        "ctx-compact --score",
        "crates/ctx-engine/src/score/mod.rs",
        "const MOST_SCORED_BYTES: u64 = 64 << 20;",
    ),
];

#[test]
fn each_default_stands_in_one_place() {
    for (what, file, line) in DEFAULTS {
        let text = fs::read_to_string(xtask::root().join(file)).expect(file);
        assert_eq!(text.matches(line).count(), 1, "{what}: {file} has no {line}");
    }
}

/// A difference between two values only means something if two equal runs do not differ.
#[test]
fn the_same_policy_does_the_same() {
    for (base, observe) in [
        (json!({}), forced as Observe),
        (json!({}), if_due),
        (json!({}), overflown),
        (json!({"trigger": {"messages": 3}, "target": {"tokens": 5}}), twice),
        (asking(), answered),
        (asking(), unanswered),
        (offloading(), restored),
        (offloading(), lost),
        (json!({}), collected),
    ] {
        let policy = merged(&plain(), &base);
        assert_eq!(observe(&policy), observe(&policy), "{base}");
    }
}

/// Merges `over` into `below`, table by table.
fn merged(below: &Value, over: &Value) -> Value {
    let mut merged = below.clone();
    for (key, value) in over.as_object().expect("tables") {
        match value {
            Value::Object(table) => {
                for (name, value) in table {
                    merged[key][name] = value.clone();
                }
            }
            value => merged[key] = value.clone(),
        }
    }
    merged
}

/// Returns a session with something for each setting.
fn session() -> String {
    let log = "a line of the log, number one of many\\n".repeat(600);
    let call = |id: &str| {
        format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"ls","arguments":"{{}}"}}}}]}}"#
        )
    };
    let result = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{log}"}}"#);
    let says = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    let mut lines = vec![
        says("system", "Be brief."),
        says("user", "We decided to use Postgres 17. Repair src/main.rs, it fails with E0412."),
        call("a"),
        result("a"),
        says("assistant", "I see the cause in src/main.rs: a type is missing."),
        says("user", "Always answer in English. Look again."),
        call("b"),
        result("b"),
    ];
    for n in 0..6 {
        lines.push(says(
            "assistant",
            &format!("Step {n} is done in src/part{n}.rs. {}", "It works as planned. ".repeat(12)),
        ));
        lines.push(says(
            "user",
            &format!("Go on with part {}. {}", n + 1, "Take care of the tests. ".repeat(12)),
        ));
    }
    lines.push(says("assistant", "Done."));
    lines.join("\n") + "\n"
}

struct Home(TempDir);

/// The result of a run.
struct Ended {
    stdout: String,
    code: Option<i32>,
}

impl Home {
    fn new(policy: &Value, session: &str) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join("policy.json"), policy.to_string()).expect("writes");
        fs::write(home.path().join("s.jsonl"), session).expect("writes");
        Self(home)
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().expect("a path")
    }

    fn run(&self, tool: &str, args: &[&str], url: Option<&str>) -> Ended {
        let mut command = Command::new(tool_path(tool));
        command.current_dir(self.path()).env_clear().args(args);
        command.env("HOME", self.path());
        if let Some(url) = url {
            command.env("CTX_LLM_URL", url);
        }
        let output = command.output().expect("it runs");
        Ended {
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            code: output.status.code(),
        }
    }

    fn compact(&self, args: &[&str], url: Option<&str>) -> Ended {
        let always = ["--json", "--config", "policy.json", "-s", "demo", "s.jsonl"];
        self.run("ctx-compact", &[&always, args].concat(), url)
    }

    /// Returns a text without the folder's name, which differs each time.
    fn hidden_in(&self, text: &str) -> String {
        text.replace(self.path().to_str().expect("UTF-8"), "HOME")
    }

    /// Returns all files that a run left, without times.
    fn seen(&self, ended: &Ended) -> String {
        let mut seen = format!("exit {:?}\n", ended.code);
        if let Ok(Value::Object(mut report)) = serde_json::from_str(&ended.stdout) {
            for of_this_run in ["snapshot", "duration_ms", "model_ms"] {
                report.remove(of_this_run);
            }
            let _ = writeln!(seen, "{}", Value::Object(report));
        }
        seen.push_str(&fs::read_to_string(self.path().join("s.jsonl")).expect("reads"));
        let mut seen = self.hidden_in(&seen);
        let store = self.path().join(".local");
        for name in names(&store) {
            // The time of a snapshot, or of an item in the trash.
            let name = name.strip_prefix(store.to_str().expect("UTF-8"));
            let name = name.expect("within").replace(|c: char| c.is_ascii_digit(), "0");
            let _ = writeln!(seen, "{name}");
        }
        seen
    }
}

/// Returns the files in a folder, at any depth.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flat_map(|entry| {
            let path = entry.expect("an entry").path();
            if path.is_dir() { names(&path) } else { vec![path.display().to_string()] }
        })
        .collect();
    names.sort();
    names
}

fn compacted(policy: &Value, args: &[&str]) -> String {
    let home = Home::new(policy, &session());
    let ended = home.compact(args, None);
    home.seen(&ended)
}

fn forced(policy: &Value) -> String {
    compacted(policy, &["--force"])
}

fn if_due(policy: &Value) -> String {
    compacted(policy, &["--if-due"])
}

/// Returns the result of a run after the model has refused the session.
fn overflown(policy: &Value) -> String {
    compacted(policy, &["--if-due", "--overflow"])
}

/// Returns the second of two runs on a session that cannot be made small enough.
fn twice(policy: &Value) -> String {
    let home = Home::new(policy, &session());
    let args = ["--if-due", "--strict-target"];
    home.compact(&args, None);
    let ended = home.compact(&args, None);
    home.seen(&ended)
}

fn answer() -> Act {
    let text = "## Goal\nRepair src/main.rs, which fails with E0412.\n\n## Done\nAll the steps.";
    let choice = json!({"message": {"content": text}, "finish_reason": "stop"});
    Act::ok(&json!({"choices": [choice]}).to_string())
}

/// Runs with a server that always acts in this way, and returns the requests as well.
fn asked(home: &Home, act: fn() -> Act) -> String {
    let server = Server::new((0..9).map(|_| act()));
    let ended = home.compact(&["--force", "--llm-window", "200000"], Some(&server.url));
    let mut seen = home.seen(&ended);
    for request in server.requests() {
        // The header with the port is left out.
        let (_, body) = request.split_once("\r\n\r\n").expect("a body");
        seen.push_str(&home.hidden_in(body));
    }
    seen
}

fn answered(policy: &Value) -> String {
    asked(&Home::new(policy, &session()), answer)
}

fn unanswered(policy: &Value) -> String {
    asked(&Home::new(policy, &session()), || Act::Cut)
}

/// Returns a session whose results are in files of the store.
fn with_references(policy: &Value) -> Home {
    let home = Home::new(policy, &session());
    let args = ["--min-tokens", "500", "-s", "demo", "s.jsonl", "-o", "s.jsonl"];
    assert_eq!(home.run("ctx-offload", &args, None).code, Some(0));
    home
}

fn restored(policy: &Value) -> String {
    asked(&with_references(policy), answer)
}

/// Returns the result of a run after the files of the results have been removed.
fn lost(policy: &Value) -> String {
    let home = with_references(policy);
    let store = home.path().join(".local/state/ctx/offloaded/demo");
    for name in names(&store).iter().filter(|name| name.contains(".txt")) {
        fs::remove_file(name).expect("removes");
    }
    asked(&home, answer)
}

/// Returns the actions of ctx-gc on an old snapshot and a new one.
fn collected(policy: &Value) -> String {
    let home = Home::new(policy, &session());
    let args = ["-q", "-s", "demo", "s.jsonl"];
    home.run("ctx-snapshot", &args, None);
    for path in names(&home.path().join(".local")) {
        let (before, after) = path.split_once("demo-2").unwrap_or((&path, ""));
        if let Some((_, after)) = after.split_once('T') {
            let old = format!("{before}demo-20200101T{after}");
            fs::rename(&path, old).expect("renames");
        }
    }
    fs::write(home.path().join("s.jsonl"), "{}\n").expect("writes");
    home.run("ctx-snapshot", &args, None);
    let ended = home.run("ctx-gc", &["-n", "--config", "policy.json"], None);
    let plan = ended.stdout.replace(|c: char| c.is_ascii_digit(), "0");
    assert!(plan.lines().count() >= 2, "{plan}");
    plan
}
