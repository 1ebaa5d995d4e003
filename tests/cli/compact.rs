//! `ctx-compact`: how it changes a session, and when it does nothing.

use std::fs;
use std::path::Path;

use ctx_testkit::{Act, Case, Finished, Server};

pub(crate) const CTX_COMPACT: &str = env!("CARGO_BIN_EXE_ctx-compact");
const CTX_ROLLBACK: &str = env!("CARGO_BIN_EXE_ctx-rollback");

const SYSTEM: &str = "{\"content\": \"be brief\", \"role\": \"system\", \"n\": 1E2}\n";

/// Alternating messages of user and model, each much longer than its share of a summary. Only the
/// chat format has replies with a refusal, even an empty one.
pub(crate) fn messages(from: usize, to: usize) -> String {
    let mut messages = String::new();
    for n in from..to {
        let (role, more) = match n % 2 {
            0 => ("user", ""),
            _ => ("assistant", ", \"refusal\":null"),
        };
        let text = format!("number {n}, {}", "and some words more ".repeat(20));
        let record = format!("{{\"role\":\"{role}\", \"content\":\"{text}\"{more}}}\n");
        messages.push_str(&record);
    }
    messages
}

fn session(count: usize) -> String {
    format!("{SYSTEM}{}", messages(0, count))
}

fn compact(session: &str) -> Case {
    Case::new(CTX_COMPACT).file("s.jsonl", session)
}

fn within(done: &Finished) -> Case {
    Case::new(CTX_COMPACT).within(done.dir())
}

/// Returns true if no file of the store was created.
fn no_store(dir: &Path) -> bool {
    !dir.join(".local").exists()
}

#[test]
fn the_old_part_becomes_a_summary_and_the_rest_keeps_its_bytes() {
    let before = session(30);
    let done = compact(&before)
        .args(["-s", "demo", "--preset", "sanbot", "s.jsonl"])
        .stdout("s.jsonl: compacted: 2679 → 1896 tokens, 783 freed (29 %); the rule summary was used, because no model wrote one\n")
        .run();
    let after = String::from_utf8(done.read("s.jsonl")).expect("UTF-8");
    let lines: Vec<&str> = after.split_inclusive('\n').collect();
    assert_eq!(lines[0], SYSTEM);
    assert!(lines[1].starts_with("{\"role\":\"user\",\"name\":\"ctx_summary\""), "{}", lines[1]);
    assert_eq!(lines[2..].concat(), messages(10, 30));

    // A rollback restores the exact bytes, and so does its undo.
    for expected in [&before, &after] {
        Case::new(CTX_ROLLBACK)
            .within(done.dir())
            .args(["-q", "-s", "demo", "--undo", "s.jsonl"])
            .run();
        assert_eq!(done.read("s.jsonl"), expected.as_bytes());
    }
    let names = [".local", "s.jsonl"];
    let mut found: Vec<String> = fs::read_dir(done.dir())
        .expect("reads")
        .map(|entry| entry.expect("one").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, names);
}

#[test]
fn where_nothing_is_old_no_model_is_missed() {
    compact(&session(4))
        .args(["--keep-messages", "20", "--method", "llm", "s.jsonl"])
        .stdout_has("nothing to summarize")
        .stderr("")
        .run();
}

/// `--method llm` never writes another summary, with or without a budget, unless `--on-failure` or
/// a policy allows it.
#[test]
fn a_model_that_is_asked_for_writes_the_summary_or_nothing_is_written() {
    let before = session(30);
    let refused = "http://127.0.0.1:1";
    let llm =
        || compact(&before).args(["--keep-messages", "4", "--method", "llm", "--llm-tries", "1"]);
    let no_answer = format!(
        "ctx-compact: s.jsonl: no summary from {refused}/v1/chat/completions: connection failed: io: Connection refused; --on-failure extractive writes a summary that needs no model\n"
    );
    for more in [&[][..], &["--budget", "900"], &["--preset", "turns"]] {
        let done = llm()
            .args(["--llm-url", refused])
            .args(more.iter().copied())
            .args(["s.jsonl"])
            .stderr(&no_answer)
            .stdout_has("s.jsonl: unchanged: ")
            .code(2)
            .run();
        assert!(done.read("s.jsonl") == before.as_bytes(), "{more:?}");
    }
    let done = llm()
        .args(["s.jsonl"])
        .stderr("ctx-compact: no LLM server is set; set --llm-url or CTX_LLM_URL\n")
        .code(2)
        .run();
    assert!(done.read("s.jsonl") == before.as_bytes());
    for (more, method) in
        [(["--on-failure", "rule"], "rule"), (["--preset", "openclaw"], "extractive")]
    {
        let done = llm()
            .args(["--llm-url", refused])
            .args(more)
            .args(["s.jsonl"])
            .stdout_has("s.jsonl: compacted: ")
            .stderr(&format!(
                "ctx-compact: warning: s.jsonl: no summary from {refused}/v1/chat/completions: connection failed: io: Connection refused; the {method} summary is used\n"
            ))
            .run();
        assert!(done.read("s.jsonl") != before.as_bytes(), "{more:?}");
    }
}

/// If the answer of the model was longer than the target allows, code used to write a shorter
/// summary without saying so. With a budget such an answer is an error.
#[test]
fn a_summary_of_a_model_that_is_too_long_is_not_replaced_by_code() {
    let line =
        |n| format!("- The import of month {n} is compared with the ledger of the harbour.\n");
    let text = "## Goal\n".to_owned() + &(0..45).map(line).collect::<String>();
    let choice = serde_json::json!({"message": {"content": text}, "finish_reason": "stop"});
    let body = serde_json::json!({"choices": [choice]}).to_string();
    let before = session(30);
    let run = |server: &Server, flags: [&str; 4]| {
        compact(&before).args(flags).args(["--method", "llm", "--llm-url", &server.url, "s.jsonl"])
    };
    let server = Server::new([Act::ok(&body)]);
    let done = run(&server, ["--keep-messages", "4", "--target-tokens", "800"])
        .args(["--summary-tokens", "900"])
        .stdout_has("s.jsonl: compacted: ")
        .stderr_has("tokens are above the target of 800")
        .run();
    let after = String::from_utf8(done.read("s.jsonl")).expect("UTF-8");
    assert!(after.contains("The import of month 44 is"), "{after}");
    assert_eq!(server.requests().len(), 1);
    let server = Server::new([Act::ok(&body)]);
    let done = run(&server, ["--budget", "500", "--score=false", "-q"])
        .stderr(&format!("ctx-compact: s.jsonl: no summary from {}/v1/chat/completions: the answer is longer than 266 tokens; --on-failure extractive writes a summary that needs no model\n", server.url))
        .code(2)
        .run();
    assert!(done.read("s.jsonl") == before.as_bytes());
}

/// The server named by a flag used to be ignored silently if no model was asked.
#[test]
fn a_flag_that_names_a_model_says_nothing_where_none_is_asked() {
    for flag in ["--llm-url", "--llm-model", "--record", "--replay"] {
        compact(&session(30))
            .args([flag, "http://127.0.0.1:1", "s.jsonl"])
            .stderr(&format!(
                "ctx-compact: {flag} has no effect because --method extractive asks no model; add --method llm\n"
            ))
            .code(2)
            .run();
    }
}

/// In a script stdin is not a terminal, so the id of a session used to be taken as the id of the
/// empty session on stdin.
#[test]
fn an_id_names_no_file() {
    for stdin in ["", SYSTEM] {
        Case::new(CTX_COMPACT)
            .args(["-s", "demo"])
            .stdin(stdin)
            .stderr("ctx-compact: -s applies to a file, but no file is named; name the file: ctx-ls -l lists each session with its file\n")
            .code(2)
            .run();
    }
}

#[test]
fn a_second_compaction_has_nothing_to_do_and_a_later_one_carries_the_summary_over() {
    let done = compact(&session(30))
        .args(["-q", "--keep-messages", "20", "--method", "rule", "s.jsonl"])
        .run();
    let once = done.read("s.jsonl");
    within(&done)
        .args(["--keep-messages", "20", "s.jsonl"])
        .stdout("s.jsonl: nothing to summarize: all messages (1896 tokens) are kept; --budget N keeps fewer\n")
        .run();
    assert_eq!(done.read("s.jsonl"), once);

    let mut more = once;
    more.extend_from_slice(messages(30, 60).as_bytes());
    fs::write(done.dir().join("s.jsonl"), more).expect("writes");
    within(&done).args(["-q", "--keep-messages", "20", "--method", "rule", "s.jsonl"]).run();
    let twice = String::from_utf8(done.read("s.jsonl")).expect("UTF-8");
    assert_eq!(twice.matches("ctx_summary").count(), 1);
    // The numbers include both compactions: 5 user messages, then 15 more. The window that the
    // first one kept is not lost.
    assert!(twice.contains("User messages: 20"), "{twice}");
    assert!(twice.ends_with(&messages(40, 60)), "{twice}");
}

/// Only `ctx-prune` removes lines from an agent's own file.
#[test]
fn a_rule_that_a_compaction_has_not_is_refused() {
    compact(&session(30))
        .env("CTX_PRUNE_DROP", "noise,copies")
        .args(["s.jsonl"])
        .code(2)
        .stderr(
            "ctx-compact: CTX_PRUNE_DROP: expected a list in which each item is superseded, duplicates, \
             noise, images, reasoning or empty, found \"noise,copies\"\n",
        )
        .run();
}

#[test]
fn a_target_out_of_reach_changes_nothing_and_is_not_tried_for_ever() {
    let before = session(30);
    let args = ["--target-tokens", "20", "--strict-target", "s.jsonl"];
    let done = compact(&before)
        .args(args)
        .code(1)
        .stderr("ctx-compact: warning: s.jsonl: the target of 20 tokens is out of reach: 2679 tokens would be 377; unchanged; keep and pin less, raise the target, or leave --strict-target out\n")
        .run();
    let out_of_reach = |code: i32, words: &str| {
        within(&done).args(args).code(code).stderr_has(words).run();
    };
    out_of_reach(1, "out of reach");
    out_of_reach(1, "not tried again at 2679 tokens");
    within(&done).args(["--force"]).args(args).code(1).stderr_has("out of reach").run();
    assert_eq!(done.read("s.jsonl"), before.as_bytes());

    // The session is tried again after it has grown.
    fs::write(done.dir().join("s.jsonl"), session(32)).expect("writes");
    out_of_reach(1, "out of reach");
}

/// A nightly job reports a session that needs a person only once.
#[test]
fn by_triggers_alone_a_session_that_gets_no_smaller_is_told_once() {
    let before = format!("{SYSTEM}{}", messages(0, 2));
    let done = compact(&before).args(["-n", "-q", "s.jsonl"]).run();
    let night = |code: i32, words: &str| {
        within(&done)
            .args(["--if-due", "--overflow", "--strict-target"])
            .args(["--target-tokens", "20", "s.jsonl"])
            .code(code)
            .stdout_has(if code == 0 { words } else { "" })
            .stderr_has(if code == 0 { "" } else { words })
            .run();
    };
    night(0, "out of reach");
    night(1, "left alone until it grows");
    night(0, "not tried again");
    night(0, "not tried again");
    assert_eq!(done.read("s.jsonl"), before.as_bytes());
}

/// A policy sets the number of runs without a result after which a session is not tried any more.
#[test]
fn attempts_without_result_are_counted_by_session_and_as_the_policy_says() {
    let case = |dir: &Path, args: &[&str]| {
        let args = args.iter().copied().chain(["s.jsonl"]);
        let case = Case::new(CTX_COMPACT).within(dir).code(1);
        case.args(["--target-tokens", "20", "--strict-target"]).args(args)
    };
    let [tried, given_up] = ["is out of reach", "not tried again"];
    for (args, variable, most) in [
        (&[][..], "", 2),
        (&["--set", "target.max_attempts=1"], "", 1),
        (&["--set", "target.max_attempts=3"], "", 3),
        (&[], "CTX_TARGET_MAX_ATTEMPTS=4", 4),
        (&["--preset", "turns"], "MAX_COMPACTION_ATTEMPTS=1", 1),
        // The flag overrides the environment.
        (&["--preset", "turns", "--set", "target.max_attempts=2"], "MAX_COMPACTION_ATTEMPTS=1", 2),
    ] {
        let done = compact(&session(30)).args(["-n", "-q", "s.jsonl"]).stdout_any().run();
        let (name, value) = variable.split_once('=').unwrap_or(("CTX_UNUSED", ""));
        for run in 0..most + 2 {
            let words = if run < most { tried } else { given_up };
            case(done.dir(), args).env(name, value).stderr_has(words).run();
        }
        // A forced run happens however many runs had no result.
        case(done.dir(), args).args(["--force"]).stderr_has(tried).run();
    }
    compact(&session(30))
        .args(["--set", "target.max_attempts=0", "s.jsonl"])
        .code(2)
        .stderr_has("target.max_attempts: expected 1 or more")
        .run();
    compact(&session(30))
        .env("CTX_TARGET_MAX_ATTEMPTS", "0")
        .args(["s.jsonl"])
        .code(2)
        .stderr_has("target.max_attempts: expected 1 or more")
        .run();
}

#[test]
fn less_than_the_policy_keeps_is_kept_only_in_need() {
    let before = session(30);
    compact(&before)
        .env("CTX_KEEP_MESSAGES", "20")
        .args(["--json", "--target-tokens", "800"])
        .args(["--method", "rule", "s.jsonl"])
        .stdout_has("\"attempts\":[{\"what\":\"policy\",\"tokens\":1896},{\"what\":\"pruned\",\"tokens\":1896},{\"what\":\"budget\",\"tokens\":561}]")
        .run();
}

#[test]
fn a_preview_and_a_policy_that_is_off_touch_nothing() {
    let before = session(30);
    let done = compact(&before)
        .args(["-n", "--preset", "sanbot", "s.jsonl"])
        .stdout(
            "s.jsonl: would be compacted: 2679 → 1896 tokens, 783 freed (29 %)\n\
             \x20 zone    messages    tokens     after  lines\n\
             \x20 system         1         6         6  1\n\
             \x20 old           10       890         0  2-11\n\
             \x20 keep          20      1783      1783  12-31\n\
             \x20 summary                          107\n\
             \x20 total                 2679      1896\n\
             \x20 to summarize: 5 user messages, 5 model messages, 0 tool results, 0 other lines\n\
             \x20 carried over: 0 earlier summaries; in the snapshot: 10 records\n",
        )
        .run();
    assert_eq!(done.read("s.jsonl"), before.as_bytes());
    assert!(no_store(done.dir()));
}

/// Line numbers refer to the original session, although pruning drops an empty message before the
/// records are divided into zones.
#[test]
fn a_preview_tells_zones_lines_and_what_leaves() {
    let call = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}\n\
                {\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"1\"}\n";
    let earlier = "{\"role\":\"user\",\"name\":\"ctx_summary\",\"content\":\"it began\"}\n";
    let empty = "{\"role\":\"assistant\",\"content\":\"\"}\n";
    let before = format!(
        "{SYSTEM}{earlier}{}{call}{{\"type\":\"progress\"}}\n{empty}{}",
        messages(0, 5),
        messages(6, 20)
    );
    let preview = |case: Case| {
        let case = case.args(["-n", "--json", "--keep-messages", "4", "--pin", "line:4"]);
        let case = case.env("CTX_PRUNE_MIN_GAIN", "0").stdout_any();
        let report: serde_json::Value =
            serde_json::from_slice(&case.run().stdout).expect("a JSON object");
        let zone = |n: usize| report["plan"]["zones"][n].clone();
        let lines = [0, 1, 2].map(|n| zone(n)["lines"].to_string());
        assert_eq!(zone(1)["records"], 18, "{report}");
        assert_eq!(zone(2)["messages"], 5, "{report}");
        (lines, report["plan"]["leaving"].clone())
    };
    let (lines, leaving) = preview(compact(&before).args(["s.jsonl"]));
    assert_eq!(lines, ["[[1,1]]", "[[2,3],[5,10],[12,21]]", "[[4,4],[22,25]]"]);
    let counts = |recoverable: u64| {
        serde_json::json!({
            "user_messages": 8, "model_messages": 7, "tool_results": 1, "other_lines": 2,
            "carried_over": 1, "recoverable": recoverable,
        })
    };
    assert_eq!(leaving, counts(19));
    // A filter takes no snapshot, so the messages that it removes are nowhere else.
    let (_, leaving) = preview(Case::new(CTX_COMPACT).stdin(before.as_str()));
    assert_eq!(leaving, counts(0));
}

#[test]
fn as_a_filter_it_needs_no_store() {
    let before = session(30);
    let done = Case::new(CTX_COMPACT)
        .args(["--preset", "sanbot"])
        .stdin(before.as_str())
        .stdout_any()
        .run();
    let after = String::from_utf8(done.stdout.clone()).expect("UTF-8");
    assert!(after.starts_with(SYSTEM) && after.ends_with(&messages(10, 30)));
    assert!(no_store(done.dir()));
    // If there is nothing to do, the session passes unchanged.
    Case::new(CTX_COMPACT)
        .args(["--preset", "sanbot"])
        .stdin(after.as_str())
        .stdout(after.as_str())
        .run();
}

/// A JSON document stays a document in place, and a rollback restores it byte for byte.
#[test]
fn a_document_becomes_lines_only_as_a_filter() {
    let document = format!("[{}]", messages(0, 30).trim_end().replace('\n', ",\n"));
    let done = compact(&document)
        .args(["--keep-messages", "20", "s.jsonl"])
        .stdout_has("s.jsonl: compacted: ")
        .run();
    let after = String::from_utf8(done.read("s.jsonl")).expect("UTF-8");
    assert!(after.starts_with("[{\"role\":\"user\",\"name\":\"ctx_summary\""), "{after}");
    assert!(after.ends_with("}]") && after.contains("},\n{"), "{after}");
    Case::new(env!("CARGO_BIN_EXE_ctx-check")).within(done.dir()).args(["-q", "s.jsonl"]).run();
    Case::new(CTX_ROLLBACK).within(done.dir()).args(["-q", "--undo", "s.jsonl"]).run();
    assert_eq!(done.read("s.jsonl"), document.as_bytes());
    Case::new(CTX_COMPACT)
        .args(["--keep-messages", "20"])
        .stdin(document)
        .stdout_has("ctx_summary")
        .run();
}

#[test]
fn what_cannot_be_read_is_named_and_left_alone() {
    compact("{\"a\":1}\n")
        .args(["s.jsonl"])
        .code(2)
        .stderr("ctx-compact: s.jsonl: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n")
        .run();
    compact(&session(30))
        .args(["--preset", "sanbot", "s.jsonl", "missing.jsonl"])
        .code(3)
        .stdout_has("s.jsonl: compacted")
        .stderr_has("missing.jsonl")
        .run();
    Case::new(CTX_COMPACT)
        .args(["--preset", "nope", "s.jsonl"])
        .code(2)
        .stderr_has("unknown preset \"nope\"; use one of ")
        .run();
}

#[test]
fn a_call_and_its_results_stay_together() {
    // The window of 3 messages starts inside the exchange of two parallel calls.
    let call = |id: &str| {
        format!(
            "{{\"id\":\"{id}\",\"type\":\"function\",\"function\":{{\"name\":\"ls\",\"arguments\":\"{{}}\"}}}}"
        )
    };
    let exchange = format!(
        "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{},{}]}}\n\
         {{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"1\"}}\n\
         {{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"2\"}}\n",
        call("a"),
        call("b")
    );
    let before = format!("{}{exchange}{}", messages(0, 20), messages(20, 22));
    let done = compact(&before).args(["-q", "--keep-messages", "3", "s.jsonl"]).run();
    let after = String::from_utf8(done.read("s.jsonl")).expect("UTF-8");
    assert!(after.ends_with(&format!("{exchange}{}", messages(20, 22))), "{after}");
}

#[test]
fn a_preset_is_shown_as_it_is_written() {
    for name in ["sanbot", "built-in"] {
        let path = format!("{}/presets/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read(path).expect("the preset");
        Case::new(CTX_COMPACT).args(["--show-preset", name]).stdout(text).run();
    }
}

/// If the last turn is too large for the target, the part before it is summarized anyway. Messages
/// that a flag keeps stay, however large they are.
#[test]
fn the_last_turn_never_stays_without_a_word_of_the_rest() {
    let call = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]}\n";
    let listing = "one more line of a long listing. ".repeat(150);
    let result =
        format!("{{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"{listing}\"}}\n");
    let turn = format!("{{\"role\":\"user\",\"content\":\"read it\"}}\n{call}{result}");
    let before = format!("{SYSTEM}{}{turn}", messages(0, 20));
    for (target, outcome) in [(900, "compacted"), (300, "compacted"), (1, "over-target")] {
        let target = target.to_string();
        let done = compact(&before)
            .args(["--json", "--keep-turns", "1", "--target-tokens", &target])
            .args(["s.jsonl"])
            .stdout_has(&format!("\"outcome\":\"{outcome}\""))
            .stderr_has("")
            .run();
        let after = String::from_utf8(done.read("s.jsonl")).expect("UTF-8");
        assert!(after.contains("\"ctx_summary\""), "{target}: {after}");
        assert!(after.contains("\"read it\""), "{target}: {after}");
    }
}

#[test]
fn an_earlier_summary_gets_shorter_for_a_target_and_is_not_dropped() {
    let keep = ["--force", "--keep-turns", "1", "--keep-tokens", "1"];
    let done = compact(&session(30)).args(keep).args(["-q", "s.jsonl"]).run();
    let once = done.read("s.jsonl");
    let again = |target: &str, code: i32| {
        within(&done)
            .args(keep)
            .args(["--json", "--target-tokens", target, "s.jsonl"])
            .code(code)
            .stdout_any()
            .run();
        done.read("s.jsonl")
    };
    // In the first case the target is already met; in the second the part that must stay exceeds
    // it.
    assert_eq!(again("2000", 0), once);
    assert_eq!(again("100", 1), once);
    let twice = again("300", 0);
    assert!(twice.len() < once.len());
    let summary = String::from_utf8_lossy(&twice);
    assert!(summary.contains("\"ctx_summary\""), "{summary}");
    assert!(summary.contains("user: number 0"), "{summary}");
}
