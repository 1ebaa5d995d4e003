//! The HTML page of ctx-stats, as the tool writes it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use ctx_testkit::Case;
use serde_json::Value;

use super::{page, used};
use crate::bench::{bash, good};

const CTX_STATS: &str = env!("CARGO_BIN_EXE_ctx-stats");

/// The numbers match the tools that the page names, and its commands do what it says.
#[test]
fn the_numbers_are_those_of_the_tools() {
    let dir = used();
    let html = fs::read_to_string(page(&dir)).expect("the page");
    let told =
        |line: &str| -> Value { serde_json::from_str(&good(dir.path(), line)).expect("JSON") };
    let grouped = |number: &Value| {
        let digits = number.to_string();
        match digits.len() {
            4..=6 => format!("{},{}", &digits[..digits.len() - 3], &digits[digits.len() - 3..]),
            _ => digits,
        }
    };
    let counted = told("ctx-count --json s.jsonl | head -n 1");
    assert!(html.contains(&format!(": {} of 128,000 tokens.", grouped(&counted["tokens"]))));
    let log = good(dir.path(), "ctx-snapshot --log s.jsonl");
    assert_eq!(log.lines().count(), 3);
    for event in log.lines().filter(|line| line.contains("compacted ")) {
        let (_, numbers) = event.split_once("compacted ").expect("numbers");
        let (before, after) = numbers.split_once(" → ").expect("two");
        let (after, _) = after.split_once(' ').expect("tokens");
        let numbers = [before, after].map(|number| grouped(&number.parse().expect("a number")));
        let cells =
            format!("<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>", numbers[0], numbers[1]);
        assert!(html.contains(&cells), "{cells}");
    }
    // ctx-prune comes last, because it changes the session.
    let pruned = told("ctx-prune -i --json --drop superseded,duplicates,noise --trim s.jsonl");
    assert!(pruned["freed_tokens"].as_u64() > Some(100));
    let freed = grouped(&pruned["freed_tokens"]);
    let command = "<code>ctx-prune -i --drop superseded,duplicates,noise --trim s.jsonl</code></th><td class=\"n\">";
    assert!(html.contains(&format!("{command}{freed} (")), "{freed}");
}

/// The offloading figures equal those of ctx-offload.
#[test]
fn what_could_be_offloaded_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut text = String::from("{\"role\":\"user\",\"content\":\"read\"}\n");
    for id in 0..3 {
        let long = format!("{id} words of a long file ").repeat(1_000);
        let _ = write!(
            text,
            "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{id}\",\"type\":\"function\",\"function\":{{\"name\":\"read\",\"arguments\":\"{{\\\"path\\\":\\\"{id}.txt\\\"}}\"}}}}]}}\n{{\"role\":\"tool\",\"tool_call_id\":\"c{id}\",\"content\":\"{long}\"}}\n"
        );
    }
    fs::write(dir.path().join("s.jsonl"), text).expect("written");
    let told: Value =
        serde_json::from_str(&good(dir.path(), "ctx-offload -n --json s.jsonl")).expect("JSON");
    let freed = told["freed_tokens"].as_u64().expect("a number");
    assert!((10_000..100_000).contains(&freed), "{freed}");
    let html = good(dir.path(), "ctx-stats --html s.jsonl");
    let row = format!(
        "<code>ctx-offload -i s.jsonl</code></th><td class=\"n\">{},{:03} (",
        freed / 1_000,
        freed % 1_000
    );
    assert!(html.contains(&row) && html.contains("puts 3 large results"));
    assert!(html.contains("calls and results of read <b>99"));
}

/// Each table has its own columns.
#[test]
fn a_table_begins_with_its_first_heading() {
    let dir = used();
    let html = good(dir.path(), "ctx-stats --html s.jsonl");
    for (caption, first) in [
        ("What can be saved now", ">Command"),
        ("What ctx-prune would free, by rule", ">Rule"),
        ("Tokens of the context by kind", ">Kind"),
        ("The largest items of the context", " class=\"n\">Line"),
        ("The items that are no longer in the context", ">Class"),
        ("Compactions and rollbacks", ">Mark"),
        ("The figures of the chart", " class=\"n\">Record"),
    ] {
        let head = format!("<caption>{caption}</caption><thead><tr><th scope=\"col\"{first}</th>");
        assert!(html.contains(&head), "{head}");
    }
}

/// The curve has the state before each replacement, and the marks say what reduced it. A session of
/// the store shows its newest snapshot. The same input gives the same bytes.
#[test]
fn the_curve_goes_on_through_replacements() {
    let dir = used();
    let html = good(dir.path(), "ctx-stats --html s.jsonl");
    let marks: Vec<&str> = ["C1", "C2", "R1", "C3"]
        .into_iter()
        .filter(|name| html.contains(&format!("<th scope=\"row\">{name}</th>")))
        .collect();
    assert_eq!(marks, ["C1", "C2", "R1"]);
    assert_eq!(html.matches("<tr data-anew>").count(), 3);
    assert!(html.contains("What was lost"));
    assert_eq!(good(dir.path(), "ctx-stats --html s.jsonl"), html);
    let id = good(dir.path(), "ctx-snapshot --list | head -n 1 | cut -d ' ' -f 1");
    let name = &id[..id.len() - "-20261124T121729.761464Z-0004\n".len()];
    let stored = good(dir.path(), &format!("ctx-stats --html {name}"));
    assert!(stored.contains(&format!("as in the snapshot {name}-")), "{name}");
    // The snapshot does not show later changes.
    assert!(stored.contains("<th scope=\"row\">C1</th>"));
    assert!(!stored.contains(">C2</th>") && !stored.contains(">R1</th>"));
    let piped = good(dir.path(), "ctx-stats --html - < s.jsonl");
    assert!(
        piped.contains("<code>ctx-compact FILE</code>")
            && piped.contains("<td class=\"n\">not known</td>")
    );
}

/// With recorded usage, the page has the API's count, and says that it is more than the messages.
#[test]
fn recorded_usage_is_on_the_page() {
    let dir = tempfile::tempdir().expect("a folder");
    let line = |id: u32, role: &str, usage: &str| {
        format!(
            "{{\"uuid\":\"{id}\",\"parentUuid\":{},\"sessionId\":\"s\",\"type\":\"{role}\",\"message\":{{\"role\":\"{role}\",\"content\":\"words\"{usage}}}}}\n",
            if id == 1 { "null".to_owned() } else { format!("\"{}\"", id - 1) },
        )
    };
    let usage = |tokens: u32| {
        format!(
            ",\"id\":\"m{tokens}\",\"model\":\"claude-opus-4-5\",\"usage\":{{\"input_tokens\":{tokens},\"output_tokens\":2}}"
        )
    };
    let session = [
        line(1, "user", ""),
        line(2, "assistant", &usage(21_000)),
        line(3, "user", ""),
        line(4, "assistant", &usage(22_500)),
    ];
    fs::write(dir.path().join("s.jsonl"), session.concat()).expect("written");
    let html = good(dir.path(), "ctx-stats --html s.jsonl");
    for part in [
        "<path class=\"recorded\" d=\"M",
        "<td class=\"n\">21,000</td></tr>",
        "<td class=\"n\">22,500</td></tr>",
        "Most of it: what the agent sends besides the messages <b>99",
        "· model claude-opus-4-5 ·",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

/// Without the snapshots, the log still shows the operations and how much was kept.
#[test]
fn without_snapshots_the_log_tells() {
    let dir = tempfile::tempdir().expect("a folder");
    let session = include_str!("../../../examples/session.jsonl");
    fs::write(dir.path().join("s.jsonl"), session).expect("written");
    good(dir.path(), "ctx-compact -q --keep-turns 3 s.jsonl; ctx-snapshot -q s.jsonl");
    let whole = good(dir.path(), "ctx-stats --html s.jsonl");
    good(dir.path(), "ctx-gc -q --keep-last 1 --trust-clock; ctx-gc -q --purge --grace-days 0");
    let html = good(dir.path(), "ctx-stats --html s.jsonl");
    let row = |html: &str| {
        let mut lines = html.lines();
        let line = lines.find(|line| line.contains("<th scope=\"row\">C1</th>"));
        line.expect("told").matches("not known").count()
    };
    assert_eq!((row(&whole), row(&html)), (0, 1));
    assert!(html.contains("<td>ctx-compact</td>") && !html.contains(">C2<"));
    let kept = |html: &str| html.contains("of what must not be lost, weighted as in ctx-score");
    assert!(kept(&whole) && kept(&html));
    let lost = |html: &str| html.contains("What was lost");
    assert!(lost(&whole) && !lost(&html));
}

/// A session of 4 MB makes a page of less than 1 MB.
#[test]
fn the_page_of_a_large_session_is_small() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut text = String::new();
    let words = "some <words> & \\\"more\\\" of a long answer ".repeat(20);
    for turn in 0..2_600 {
        let _ = writeln!(
            text,
            "{{\"role\":\"user\",\"content\":\"{turn} {words}\"}}\n{{\"role\":\"assistant\",\"content\":\"{words}\"}}"
        );
    }
    assert!(text.len() > 4_000_000);
    fs::write(dir.path().join("s.jsonl"), text).expect("written");
    let html = good(dir.path(), "ctx-stats --html s.jsonl");
    assert!((20_000..1_000_000).contains(&html.len()), "{}", html.len());
}

/// The page loads nothing from elsewhere, and forbids the browser to load anything.
#[test]
fn the_page_needs_nothing_but_itself() {
    let html = fs::read_to_string(page(&used())).expect("the page");
    assert!(html.contains("content=\"default-src 'none'; style-src 'sha256-"));
    for wrong in ["http://", "https://", " src=", "@import", "<link", "style=\""] {
        let at = html.find(wrong).map(|at| &html[at..html.len().min(at + 60)]);
        assert_eq!(at, None, "{wrong}");
    }
}

/// Unreadable files are reported, the others are on the page, and without any file there is no
/// page.
#[test]
fn a_bad_session_is_told() {
    let dir = used();
    let both = bash(dir.path(), "ctx-stats --html s.jsonl no-such-file");
    assert_eq!(both.code, 3);
    assert_eq!(
        both.stderr,
        "ctx-stats: no-such-file: no such file, and no agent's session has this id; ctx-ls lists the ids of the sessions in the agents' folders; name others by their file\n"
    );
    assert!(both.stdout.contains("<h1>s.jsonl: what fills its window</h1>"));
    fs::write(dir.path().join("other"), "{\"what\":1}\n").expect("written");
    let none = bash(dir.path(), "ctx-stats --html other -o page.html");
    assert_eq!(
        (none.code, none.stdout.as_str(), none.stderr.as_str()),
        (
            2,
            "",
            "ctx-stats: other: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n"
        )
    );
    assert!(!dir.path().join("page.html").exists());
    Case::new(CTX_STATS).args(["--html"]).code(2).stderr_has("FILE is missing").run();
    let done = bash(Path::new("/"), "ctx-stats --html --json x");
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("cannot be used with"), "{}", done.stderr);
    let kept = bash(dir.path(), "ctx-stats --html s.jsonl -o s.jsonl");
    assert_eq!(kept.code, 2);
}
