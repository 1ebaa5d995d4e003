//! Tests of `ctx-score`.

use ctx_testkit::Case;

use crate::tool_path;

const CTX_SCORE: &str = env!("CARGO_BIN_EXE_ctx-score");

const BEFORE: &str = r#"{"role":"system","content":"You serve user_0001."}
{"role":"user","content":"Refund order W8123 of the kitchen lamp. Never refund more than 129.90 dollars."}
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"refund W8123\"}"}}]}
{"role":"tool","tool_call_id":"c1","content":"error: payment_7755 is closed"}
"#;

const AFTER: &str = r#"{"role":"system","content":"You serve user_0001."}
{"role":"user","content":"Asked: Refund order\n W8123 of the kitchen lamp.\nNever refund more than 129.90 dollars."}
"#;

const RETAINED: &str = concat!(
    "asks\t2\tRefund order W8123 of the kitchen lamp. Never refund more than 129.90 dollars.\n",
    "constraints\t2\tNever refund more than 129.90 dollars.\n",
    "identifiers\t3\tW8123\n",
    "identifiers\t2\t129.90\n",
    "identifiers\t2\t129.90 dollars\n",
);

const LOST: &str = concat!(
    "identifiers\t4\tpayment_7755\n",
    "identifiers\t3\trefund W8123\n",
    "errors\t4\tBash: refund W8123: error: payment_7755 is closed\n",
    "commands\t4\tBash: refund W8123\n",
);

const TABLE: &str = concat!(
    "total retained recoverable lost score class\n",
    "    1        1           0    0 1.000 asks\n",
    "    1        1           0    0 1.000 constraints\n",
    "    5        3           0    2 0.613 identifiers (weighted)\n",
    "    1        0           0    1 0.000 errors\n",
    "    1        0           0    1 0.000 commands\n",
    "    9        5           0    4 0.723 items kept (weighted)\n",
);

/// Returns the session before, and the messages that came later.
fn full() -> String {
    format!(
        "{BEFORE}{}",
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"refund","arguments":"{\"order\":\"W8123\",\"payment\":\"payment_7755\",\"user\":\"user_0001\"}"}}]}
{"role":"tool","tool_call_id":"c2","content":"done"}
"#
    )
}

fn score() -> Case {
    Case::new(CTX_SCORE).file("before.jsonl", BEFORE).file("after.jsonl", AFTER)
}

fn files() -> [&'static str; 2] {
    ["before.jsonl", "after.jsonl"]
}

#[test]
fn a_table_has_the_classes_and_the_items_kept() {
    score().args(files()).stdout(TABLE).run();
}

#[test]
fn all_of_a_session_is_in_itself() {
    score()
        .args(["before.jsonl", "before.jsonl"])
        .stdout(concat!(
            "total retained recoverable lost score class\n",
            "    1        1           0    0 1.000 asks\n",
            "    1        1           0    0 1.000 constraints\n",
            "    5        5           0    0 1.000 identifiers (weighted)\n",
            "    1        1           0    0 1.000 errors\n",
            "    1        1           0    0 1.000 commands\n",
            "    9        9           0    0 1.000 items kept (weighted)\n",
        ))
        .run();
}

#[test]
fn one_of_them_may_be_stdin() {
    let table = score().args(files()).stdout_any().run().stdout;
    score().args(["-", "after.jsonl"]).stdin(BEFORE).stdout(table.clone()).run();
    score().args(["before.jsonl", "-"]).stdin(AFTER).stdout(table).run();
    score()
        .args(["-", "-"])
        .stderr("ctx-score: stdin (-) is given twice; give it once\n")
        .code(2)
        .run();
}

#[test]
fn items_are_listed_by_standing() {
    let list = |standing: &str, lines: &str| {
        score().args(["--list", standing]).args(files()).stdout(lines).run();
    };
    list("lost", LOST);
    list("retained", RETAINED);
    list("recoverable", "");
}

#[test]
fn json_has_every_class() {
    score().args(["--json"]).args(files()).stdout(concat!(
            r#"{"before":"before.jsonl","after":"after.jsonl","items_kept":0.7225,"classes":{"#,
            r#""asks":{"weight":3.0,"total":1,"retained":1,"recoverable":0,"saved":0,"lost":0,"retired":0,"score":1.0},"#,
            r#""constraints":{"weight":3.0,"total":1,"retained":1,"recoverable":0,"saved":0,"lost":0,"retired":0,"score":1.0},"#,
            r#""decisions":{"weight":2.0,"total":0,"retained":0,"recoverable":0,"saved":0,"lost":0,"retired":0,"score":null},"#,
            r#""open":{"weight":2.0,"total":0,"retained":0,"recoverable":0,"saved":0,"lost":0,"retired":0,"score":null},"#,
            r#""identifiers":{"weight":2.0,"total":5,"retained":3,"recoverable":0,"saved":0,"lost":2,"retired":0,"score":0.6126},"#,
            r#""errors":{"weight":1.0,"total":1,"retained":0,"recoverable":0,"saved":0,"lost":1,"retired":0,"score":0.0},"#,
            r#""files":{"weight":1.0,"total":0,"retained":0,"recoverable":0,"saved":0,"lost":0,"retired":0,"score":null},"#,
            r#""commands":{"weight":1.0,"total":1,"retained":0,"recoverable":0,"saved":0,"lost":1,"retired":0,"score":0.0}},"#,
            r#""future":null,"evidence":null}"#,
            "\n",
        )).run();
}

#[test]
fn under_the_minimum_is_no() {
    score().args(["--min", "0.5"]).args(files()).stdout_any().run();
    score()
        .args(["--min", "0.9"])
        .args(files())
        .stdout(TABLE)
        .stderr(
            "ctx-score: warning: the weighted share of items kept is 0.723, which is below 0.9\n",
        )
        .code(1)
        .run();
    score()
        .args(["--min", "1.5"])
        .args(files())
        .stderr_has("expected a share from 0 to 1, such as 0.3")
        .code(2)
        .run();
}

#[test]
fn what_was_needed_later_is_scored_too() {
    score()
        .file("full.jsonl", full())
        .args(files())
        .args(["--future", "full.jsonl", "--window-tokens", "30"])
        .stdout(format!(
            "{TABLE}\n{}",
            concat!(
                "needed kept  share measure\n",
                "     2    1  50.0% A_must\n",
                "     2    1  50.0% A_ctx\n",
                "     1    1 100.0% A_ctxfar\n",
            )
        ))
        .run();
    score()
        .file("full.jsonl", full())
        .args(["--json"])
        .args(files())
        .args(["--future", "full.jsonl"])
        .stdout_has(concat!(
            r#""future":{"a_must":{"needed":2,"kept":1,"share":0.5},"#,
            r#""a_ctx":{"needed":2,"kept":1,"share":0.5},"#,
            r#""a_ctxfar":{"needed":0,"kept":0,"share":null}}"#,
        ))
        .run();
}

#[test]
fn full_must_begin_with_before() {
    let other = full().replace("kitchen", "garden");
    score()
        .file("full.jsonl", other)
        .args(files())
        .args(["--future", "full.jsonl"])
        .stderr("ctx-score: full.jsonl:2: the session does not begin with the messages of BEFORE; BEFORE must be the beginning of FULL, the uncompacted session\n")
        .code(2)
        .run();
    score()
        .args(files())
        .args(["--future", "after.jsonl"])
        .stderr("ctx-score: after.jsonl:2: the session does not begin with the messages of BEFORE; BEFORE must be the beginning of FULL, the uncompacted session\n")
        .code(2)
        .run();
}

#[test]
fn what_a_handle_names_is_recoverable() {
    let recoverable = |hash: &str, lines: &str| {
        let text = format!("closed\\n⟦ctx:{hash} 29 bytes 9 tokens⟧");
        score()
            .file("cut.jsonl", format!(r#"{{"role":"user","content":"{text}"}}"#))
            .args(["--list", "recoverable", "before.jsonl", "cut.jsonl"])
            .stdout(lines)
            .run();
    };
    // The number 4 is the line of the result in the session.
    recoverable(
        "f201b7be3a87",
        "identifiers\t4\tpayment_7755\nerrors\t4\tBash: refund W8123: error: payment_7755 is closed\n",
    );
    recoverable("0123456789ab", "");
}

/// Saves something of a session `other` in the store.
fn save_other(dir: &std::path::Path) {
    let args = ["--store", "store", "-s", "other"];
    Case::new(tool_path("ctx-snapshot")).within(dir).args(args).stdin("{}\n").stdout("{}\n").run();
}

#[test]
fn what_is_offloaded_is_recoverable_from_the_store() {
    let long = BEFORE.replace("is closed", &format!("is closed\\n{}", "more of it\\n".repeat(400)));
    let before = Case::new(tool_path("ctx-offload"))
        .file("long.jsonl", &long)
        .args([
            "--store",
            "store",
            "-s",
            "demo",
            "--min-tokens",
            "100",
            "-o",
            "after.jsonl",
            "long.jsonl",
        ])
        .run();
    save_other(before.dir());
    let recoverable = |args: &[&str], lines: &str| {
        Case::new(CTX_SCORE)
            .within(before.dir())
            .args(args.iter().copied())
            .args(["--list", "recoverable", "long.jsonl", "after.jsonl"])
            .stdout(lines)
            .run();
    };
    let all = "identifiers\t4\tpayment_7755\nerrors\t4\tBash: refund W8123: error: payment_7755 is closed\n";
    recoverable(&["--store", "store"], all);
    recoverable(&["--store", "store", "-s", "demo"], all);
    recoverable(&["--store", "store", "-s", "other"], "");
    recoverable(&[], "");
}

#[test]
fn a_snapshot_saves_what_is_nowhere_else() {
    let saved = Case::new(tool_path("ctx-snapshot"))
        .file("before.jsonl", BEFORE)
        .file("after.jsonl", AFTER)
        .args(["--store", "store", "-s", "demo", "before.jsonl"])
        .stdout_any()
        .run();
    save_other(saved.dir());
    let lost = |session: &str, lines: &str| {
        Case::new(CTX_SCORE)
            .within(saved.dir())
            .args(["--store", "store", "-s", session, "--list", "lost"])
            .args(files())
            .stdout(lines)
            .run();
    };
    lost("demo", "");
    lost("other", LOST);
    lost("othe", LOST);
    Case::new(CTX_SCORE)
        .within(saved.dir())
        .args(["--store", "store", "-s", "nope"])
        .args(files())
        .code(2)
        .stderr("ctx-score: no session \"nope\" in the store; ctx-snapshot --list shows all snapshots\n")
        .run();
    // The output through a pipe has the same bytes.
    Case::new(CTX_SCORE)
        .within(saved.dir())
        .args(["--store", "store", "--list", "lost", "-", "after.jsonl"])
        .stdin(BEFORE)
        .stdout("")
        .run();
}

#[test]
fn input_that_is_no_session_is_refused() {
    score()
        .file("odd.jsonl", "{\"a\":1}\n{\"b\":2}\n")
        .args(["odd.jsonl", "after.jsonl"])
        .stderr("ctx-score: odd.jsonl: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n")
        .code(2)
        .run();
    score()
        .args(["missing.jsonl", "after.jsonl"])
        .stderr_has("missing.jsonl: no such file")
        .code(2)
        .run();
    score()
        .file("empty.jsonl", "")
        .args(["empty.jsonl", "empty.jsonl"])
        .stdout("total retained recoverable lost score class\n    0        0           0    0 1.000 items kept (weighted)\n")
        .run();
}

#[test]
fn dialects_may_differ() {
    let after = r#"{"role":"user","content":"go on"}
{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"refund","input":{"payment":"payment_7755"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"W8123 refunded"}]}
"#;
    score()
        .file("anthropic.jsonl", after)
        .args(["--list", "retained", "before.jsonl", "anthropic.jsonl"])
        .stdout("identifiers\t3\tW8123\nidentifiers\t4\tpayment_7755\n")
        .run();
}

#[test]
fn a_compaction_counts_what_survives_unless_told_not_to() {
    let ask = "Never push ORD4711 to main, see /srv/app/notes.md.";
    let mut session = String::new();
    for number in 0..30 {
        let text = format!("{ask} Step {number}. {}", "word ".repeat(60));
        for role in ["user", "assistant"] {
            let line = format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n");
            session.push_str(&line);
        }
    }
    let compact = |args: &[&str]| {
        Case::new(tool_path("ctx-compact"))
            .file("s.jsonl", &session)
            .args(["--store", "store", "-s", "demo", "--json", "--keep-turns", "2"])
            .args(args.iter().copied())
            .args(["s.jsonl"])
            .stdout_has("\"outcome\":\"compacted\"")
            .run()
    };
    let plain = compact(&["--score=false"]);
    let log = |done: &ctx_testkit::Finished| {
        String::from_utf8(done.read("store/context/events.jsonl")).expect("UTF-8")
    };
    let json = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert!(!json.contains("survived") && !log(&plain).contains("survived"));

    let scored = compact(&[]);
    let report: serde_json::Value = serde_json::from_slice(&scored.stdout).expect("JSON");
    assert_eq!(
        report["survived"]["constraints"],
        serde_json::json!({"retained": 1, "recoverable": 0, "lost": 0})
    );
    let kept = report["items_kept"].as_f64().expect("a number");
    assert!((0.1..=1.0).contains(&kept), "{kept}");
    // Without the texts the counts are the same.
    let log = log(&scored);
    let done: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .filter(|event: &serde_json::Value| event["op"] == "compact" && event["phase"] == "done")
        .collect();
    assert_eq!(done.len(), 1);
    assert_eq!(done[0]["survived"], report["survived"]);
    assert!(!log.contains("ORD4711"), "{log}");
    // The tool reports the same for the two files.
    let before = scored.dir().join("before.jsonl");
    std::fs::write(before, &session).expect("writes");
    Case::new(CTX_SCORE)
        .within(scored.dir())
        .args(["--json", "before.jsonl", "s.jsonl"])
        .stdout_has(&format!("\"items_kept\":{}", report["items_kept"]))
        .run();
}

/// Returns the records as one line of a batch.
fn conversation(records: &str) -> String {
    let list: Vec<&str> = records.lines().collect();
    format!("{{\"messages\":[{}]}}\n", list.join(","))
}

/// For a batch the output has each line, and then sums, means and the lowest score.
#[test]
fn two_batches_are_scored_line_by_line() {
    let (before, after) = (conversation(BEFORE), conversation(AFTER));
    let broken = "no JSON\n";
    let run = |flags: &[&str], code: i32, stderr: &str, stdout: &str| {
        Case::new(CTX_SCORE)
            .file("before.jsonl", [&*before, &before, "\n", broken].concat())
            .file("after.jsonl", [&*before, &after, "\n", broken].concat())
            .args(["--batch"])
            .args(flags.to_vec())
            .args(files())
            .stdout(stdout)
            .stderr(stderr)
            .code(code)
            .run();
    };
    let told =
        "ctx-score: after.jsonl:4: not a conversation (not JSON: expected ident at column 2)\n";
    let table = concat!(
        "total retained recoverable lost score class\n",
        "    2        2           0    0 1.000 asks\n",
        "    2        2           0    0 1.000 constraints\n",
        "   10        8           0    2 0.806 identifiers (weighted)\n",
        "    2        1           0    1 0.500 errors\n",
        "    2        1           0    1 0.500 commands\n",
        "   18       14           0    4 0.861 items kept (weighted)\n",
        "\n2 conversations scored, the least kept is 0.723, in line 2; 1 could not be scored\n",
    );
    for jobs in ["1", "2", "7"] {
        run(&["--jobs", jobs], 3, told, table);
        run(&["--jobs", jobs, "--min", "0.7"], 3, told, table);
        let warned = "ctx-score: warning: after.jsonl:2: the weighted share of items kept is 0.723, which is below 0.8\n";
        run(&["--jobs", jobs, "--min", "0.8"], 3, &(warned.to_owned() + told), table);
    }
    let case = || {
        Case::new(CTX_SCORE)
            .file("before.jsonl", &before)
            .file("after.jsonl", &after)
            .args(["--batch"])
            .args(files())
    };
    case()
        .args(["--min", "0.8"])
        .stdout_any()
        .stderr_has("after.jsonl:1: the weighted share")
        .code(1)
        .run();
    let json = case().args(["--json"]).stdout_any().run().stdout;
    let json = String::from_utf8(json).expect("UTF-8");
    let lines: Vec<&str> = json.lines().collect();
    assert!(
        lines[0].starts_with("{\"before\":\"before.jsonl\",\"after\":\"after.jsonl\",\"line\":1,")
    );
    assert!(lines[1].starts_with("{\"before\":\"before.jsonl\",\"after\":\"after.jsonl\",\"conversations\":1,\"failed\":0,\"items_kept\":0.7225,"), "{}", lines[1]);
    let written = case().args(["--json", "-o", "score.jsonl"]).run();
    assert_eq!(written.read("score.jsonl"), json.as_bytes());
}

#[test]
fn what_is_about_one_session_is_refused_in_a_batch() {
    score()
        .args(["--batch", "--future", "before.jsonl"])
        .args(files())
        .stderr("ctx-score: --batch cannot be used with --future; leave one of them out\n")
        .code(2)
        .run();
    score()
        .args(["--jobs", "2"])
        .args(files())
        .stderr("ctx-score: --batch is missing; add --batch\n")
        .code(2)
        .run();
    Case::new(CTX_SCORE)
        .file("before.jsonl", conversation(BEFORE).repeat(2))
        .file("after.jsonl", conversation(AFTER))
        .args(["--batch"])
        .args(files())
        .stderr("ctx-score: after.jsonl: there is no line 2; both files must have the same number of lines; ctx-compact --batch keeps all lines\n")
        .code(2)
        .run();
}
