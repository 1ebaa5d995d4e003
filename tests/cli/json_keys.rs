//! `docs/json.md` lists every key that a tool prints for programs, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ctx_testkit::{Act, Server};
use serde_json::{Value, json};

use crate::bench::bash;
use crate::{tool_path, tools};

/// The keys of each section, with `.` between a key and one below it, and `*` for any word.
type Keys = BTreeMap<String, BTreeSet<String>>;

/// Returns the tables of the document.
fn documented() -> Keys {
    let text = fs::read_to_string(xtask::root().join("docs/json.md")).expect("the document");
    let mut keys = Keys::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            name.trim_matches('`').clone_into(&mut section);
        }
        let Some((key, _)) = line.strip_prefix("| `").and_then(|row| row.split_once('`')) else {
            continue;
        };
        let is_new = keys.entry(section.clone()).or_default().insert(key.to_owned());
        assert!(is_new, "{section}: {key} stands there twice");
    }
    keys
}

/// Returns the sessions for the commands; `HOME` is the folder.
fn field() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    let session = include_str!("../../examples/session.jsonl");
    let reasons = r#"{"role":"user","content":"We decided to use SQLite because it is small. From now on, answer in English.","timestamp":"2026-11-20T08:00:00Z"}
"#;
    put("reasons.jsonl", reasons);
    for name in ["s.jsonl", "t.jsonl", "u.jsonl", "v.jsonl", "w.jsonl"] {
        put(name, session);
    }
    let half: String = session.split_inclusive('\n').take(100).collect();
    put("half.jsonl", &half);
    put("questions.json", include_str!("../../examples/questions.json"));
    put(
        "bad.jsonl",
        "{\"role\":\"user\",\"content\":\"go\"}\n{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}\nbroken\n{\"role\":\"user\",\"content\":\"and?\"}\n{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"x\"}\n",
    );
    let line = |number: u64, of: &str| {
        let time = "2026-01-01T00:00:00.000Z";
        format!("{{\"timestamp\":\"{time}\",\"ordinal\":{number},{of}}}\n")
    };
    let said = r#""type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#;
    let header = r#""type":"session_meta","payload":{"id":"r","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","originator":"o","cli_version":"0.169.0","history_mode":"paginated"}"#;
    put("rollout.jsonl", &[line(0, header), line(1, said), line(1, said)].concat());
    let node = r#""sessionId":"c1","cwd":"/w/shop","timestamp":"2026-01-01T00:00:00.000Z""#;
    let usage = r#""usage":{"input_tokens":5,"cache_read_input_tokens":900,"output_tokens":10}"#;
    put(
        ".claude/projects/-w-shop/c1.jsonl",
        &format!(
            "{{\"uuid\":\"1\",\"parentUuid\":null,{node},\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"Repair it\"}}}}\n\
             {{\"uuid\":\"2\",\"parentUuid\":\"1\",{node},\"type\":\"assistant\",\"message\":{{\"id\":\"m\",\"role\":\"assistant\",\"model\":\"claude-opus-4-5\",\"content\":[{{\"type\":\"text\",\"text\":\"Done.\"}}],{usage}}}}}\n\
             {{\"uuid\":\"9\",\"parentUuid\":\"2\",{node},\"type\":\"progress\"}}\n"
        ),
    );
    dir
}

/// The calls in order, each with the section of the document that describes its output.
const RUNS: [(&str, &str); 65] = [
    ("ctx-count", "ctx-count --json s.jsonl bad.jsonl"),
    ("ctx-count --list-models", "ctx-count --list-models --json"),
    ("ctx-count", "ctx-count --json --by role --model gpt-4o s.jsonl"),
    ("ctx-count", "ctx-count --json --by reach .claude/projects/-w-shop/c1.jsonl"),
    ("ctx-count --calibrate", "ctx-count --calibrate --json .claude/projects/-w-shop/c1.jsonl"),
    ("ctx-ls", "ctx-ls --json"),
    ("ctx-check", "ctx-check --json --all bad.jsonl s.jsonl no-such-file"),
    ("ctx-check", "ctx-check --json .claude/projects/-w-shop/c1.jsonl"),
    (
        "ctx-check --due",
        "ctx-check --due --json --trigger-messages 3 --set trigger.min_messages=500 s.jsonl",
    ),
    ("ctx-check --due", "ctx-check --due --json .claude/projects/-w-shop/c1.jsonl no-such-file"),
    ("ctx-check --list-rules", "ctx-check --list-rules --json"),
    ("ctx-check --repair", "ctx-check --repair --json bad.jsonl -o repaired.jsonl"),
    ("ctx-check --repair", "ctx-check --repair -n --json rollout.jsonl"),
    ("ctx-split", "ctx-split --json --keep-turns 2 s.jsonl -o split.jsonl"),
    ("ctx-prune", "ctx-prune -n --json --drop duplicates --trim --max-chars 200 s.jsonl"),
    ("ctx-prune", "ctx-prune --json --trim --max-chars 200 s.jsonl -o pruned.jsonl"),
    ("ctx-prune", "ctx-prune -n --json --drop progress .claude/projects/-w-shop/c1.jsonl"),
    ("ctx-offload", "ctx-offload --json --min-tokens 100 -s off s.jsonl -o small.jsonl"),
    ("ctx-offload", "ctx-offload -n --json --min-tokens 100 -s off s.jsonl"),
    ("ctx-offload --restore", "ctx-offload --restore --json -s off small.jsonl -o back.jsonl"),
    (
        "ctx-offload --restore",
        "sed 's/offloaded.off.[0-9a-f]*/elsewhere/' small.jsonl > other.jsonl; rm ~/.local/state/ctx/offloaded/off/*.txt; ctx-offload --restore -n --json -s off small.jsonl",
    ),
    ("ctx-offload --restore", "ctx-offload --restore -n --json -s off other.jsonl"),
    ("ctx-summarize", "ctx-summarize --json -s sum split.jsonl -o summed.jsonl"),
    ("ctx-summarize", "ctx-summarize --json --budget 2000 s.jsonl -o summed.jsonl"),
    ("ctx-extract", "ctx-extract --json --into-store s.jsonl -o passed.jsonl"),
    ("ctx-extract", "ctx-extract --json s.jsonl -o items.jsonl"),
    ("ctx-extract (items)", "ctx-extract s.jsonl"),
    ("ctx-extract (items)", "ctx-extract reasons.jsonl"),
    ("ctx-convert", "ctx-convert -n --json --to anthropic s.jsonl"),
    ("ctx-convert", "ctx-convert --json --to pi s.jsonl -o pi.jsonl"),
    (
        "ctx-score",
        "ctx-score --json --evidence questions.json --future s.jsonl half.jsonl half.jsonl",
    ),
    ("ctx-score", "ctx-score --json s.jsonl summed.jsonl"),
    (
        "ctx-score",
        r#"echo "{\"messages\":[$(paste -sd, half.jsonl)]}" > b.jsonl; ctx-score --json --batch b.jsonl b.jsonl"#,
    ),
    ("meta.json", "ctx-snapshot --json --count s.jsonl"),
    ("meta.json", "ctx-snapshot --json s.jsonl"),
    ("meta.json", "ctx-snapshot --json bad.jsonl"),
    (
        "ctx-compact",
        r#"echo "{\"messages\":[$(paste -sd, half.jsonl)]}" > b.jsonl; ctx-compact -n --json --batch b.jsonl"#,
    ),
    ("ctx-compact", "ctx-compact --json --keep-turns 2 t.jsonl"),
    ("ctx-compact", "ctx-compact -n --json --keep-turns 2 u.jsonl no-such-file"),
    (
        "ctx-compact",
        "CTX_SUMMARY_IN_REPORT=true ctx-compact --json --target-tokens 100 --keep-turns 3 u.jsonl",
    ),
    ("ctx-compact", "ctx-compact --json --if-due .claude/projects/-w-shop/c1.jsonl"),
    (
        "ctx-compact",
        "ctx-compact --json --preset synapse --method llm --llm-url $URL --llm-window 200000 -s syn v.jsonl",
    ),
    ("ctx-rollback", "echo '{}' >> t.jsonl; ctx-rollback --json -n --undo t.jsonl"),
    ("ctx-rollback", "ctx-rollback --json --undo t.jsonl"),
    ("ctx-rollback", "ctx-rollback --json --snapshot latest s.jsonl"),
    ("meta.json", "ctx-snapshot --list --json"),
    ("ctx-memory", "ctx-memory search berth"),
    ("ctx-memory (consolidate)", "ctx-memory consolidate --json --max-tokens 9k"),
    ("ctx-snapshot -n", "ctx-snapshot -n --json s.jsonl bad.jsonl"),
    ("ctx-snapshot --hold", "ctx-snapshot -n --json --hold 1"),
    ("ctx-split", "ctx-split -n --json --keep-turns 2 s.jsonl"),
    ("ctx-snapshot --hold", "ctx-snapshot --json --hold 1"),
    ("ctx-snapshot --hold", "ctx-snapshot --json --release 1"),
    ("ctx-snapshot --verify", "ctx-snapshot --verify --read-data --json"),
    (
        "ctx-snapshot --verify",
        "cp -r ~/.local ~/copy; sed -i 1d ~/copy/state/ctx/context/events.jsonl; ctx-snapshot --verify --json --store ~/copy/state/ctx",
    ),
    ("ctx-gc", "ctx-gc -n --json --keep-last 1"),
    ("ctx-gc", "ctx-gc --json --keep-last 1 --pack-after-days 0"),
    ("meta.json", "ctx-snapshot --list --json"),
    ("meta.json", "ctx-snapshot --list --trash --json"),
    ("meta.json", "ctx-gc --list-trash --json"),
    ("meta.json", "cat ~/.local/state/ctx/memory/session-summaries/*.meta.json"),
    ("ctx-stats FILE", "ctx-stats --json t.jsonl .claude/projects/-w-shop/c1.jsonl"),
    ("ctx-stats FILE", "ctx-stats --json t.jsonl no-such-file"),
    (
        "ctx-stats",
        r#"cp -r ~/.local ~/tried; echo '{"time":"2030-01-01T00:00:00Z","tool":"ctx-compact","op":"compact","phase":"failed","operation":"1","outcome":"no-gain"}' >> ~/tried/state/ctx/context/events.jsonl; ctx-stats --json --store ~/tried/state/ctx"#,
    ),
    ("context/events.jsonl", "cat ~/.local/state/ctx/context/events.jsonl"),
];

/// The keys of a value in the form of the document.
fn collect(value: &Value, path: &str, known: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => {
            for value in values {
                collect(value, path, known, found);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                let at = |key: &str| match path {
                    "" => key.to_owned(),
                    _ => format!("{path}.{key}"),
                };
                let any = at("*");
                let path = if known.contains(&any) { any } else { at(key) };
                collect(value, &path, known, found);
                found.insert(path);
            }
        }
        _ => {}
    }
}

fn printed(known: &Keys) -> Keys {
    let dir = field();
    let usage = json!({"prompt_tokens": 900, "completion_tokens": 70});
    let choice = json!({"message": {"content": "## Current Status\nAll is well."}});
    let answer = json!({"choices": [choice], "usage": usage}).to_string();
    let server = Server::new([Act::ok(&answer)]);
    let mut found = Keys::new();
    let none = BTreeSet::new();
    for (section, line) in RUNS {
        let done = bash(dir.path(), &line.replace("$URL", &server.url));
        assert!(!done.stdout.is_empty(), "{line}: {}", done.stderr);
        let keys = found.entry(section.to_owned()).or_default();
        for printed in done.stdout.lines() {
            let value: Value = serde_json::from_str(printed)
                .unwrap_or_else(|error| panic!("{line}: {error}: {printed}"));
            collect(&value, "", known.get(section).unwrap_or(&none), keys);
        }
    }
    found
}

/// Keys that these runs do not produce: for an agent that writes meanwhile, unreadable files, old
/// snapshots, odd answers of a model, and a compaction of an agent's own file.
const SELDOM: [(&str, &str); 13] = [
    ("context/events.jsonl", "added_bytes"),
    ("context/events.jsonl", "calibrated_after"),
    ("ctx-compact", "calibrated_after"),
    ("ctx-compact", "calibrated_tokens"),
    ("ctx-compact", "late_bytes"),
    ("ctx-compact", "limit_tokens"),
    ("ctx-compact", "summary_repairs"),
    ("ctx-compact", "unreadable"),
    ("ctx-convert", "losses.name"),
    ("ctx-gc", "last_of_session"),
    ("ctx-prune", "beside.bytes"),
    ("ctx-prune", "beside.count"),
    ("ctx-prune", "beside.rule"),
];

/// One document lists every key.
#[test]
fn every_key_that_is_printed_is_documented_and_the_other_way_around() {
    let known = documented();
    let found = printed(&known);
    let mut wrong = Vec::new();
    let sections: BTreeSet<&String> = known.keys().chain(found.keys()).collect();
    let none = BTreeSet::new();
    for section in sections {
        let (known, found) =
            (known.get(section).unwrap_or(&none), found.get(section).unwrap_or(&none));
        for key in found.difference(known) {
            wrong.push(format!("{section}: {key} is printed, and docs/json.md has it not"));
        }
        for key in known.difference(found) {
            if !SELDOM.contains(&(section.as_str(), key.as_str())) {
                wrong.push(format!("{section}: {key} is in docs/json.md, and nothing prints it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All keys have one style.
#[test]
fn keys_are_snake_case() {
    for (section, keys) in documented() {
        for key in keys {
            for word in key.split('.').filter(|word| *word != "*") {
                let is_snake = word.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
                    && word
                        .chars()
                        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
                assert!(is_snake, "{section}: {key}");
            }
        }
    }
}

/// Each tool that changes something has a report for programs.
#[test]
fn every_tool_has_json() {
    for tool in tools() {
        let command = (tool.command)();
        // It prints nothing else.
        let is_json = tool.name == "ctx-memory";
        let has = is_json || command.get_arguments().any(|arg| arg.get_id() == "json");
        assert!(has, "{}", tool.name);
        assert!(tool_path(tool.name).exists());
    }
}
