//! Tests of `ctx-prune`.

mod images;
mod logs;
mod properties;

use ctx_testkit::Case;

const CTX_PRUNE: &str = env!("CARGO_BIN_EXE_ctx-prune");

/// A result between messages that never change.
const CHAT: &str = r#"{"role":"system","content":"s"}
{"role":"user","content":"one"}
{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.rs\"}"}}]}
{ "role":"tool", "tool_call_id":"c", "n":1E2, "content" : "RESULT" }
{"role":"user","content":"two"}
{"role":"assistant","content":"done"}
"#;

const CLEARED: &str = r"[Old tool result content cleared]\n⟦ctx:";

fn chat(result: &str) -> String {
    CHAT.replace("RESULT", result)
}

fn words(count: usize) -> String {
    "some words ".repeat(count)
}

fn prune() -> Case {
    Case::new(CTX_PRUNE)
}

/// Returns the output of ctx-prune with `args`.
fn pruned(args: &[&str], input: impl Into<Vec<u8>>) -> String {
    let case = prune().args(args.iter().copied()).stdin(input);
    let out = case.stdout_any().stderr_has("").run().stdout;
    String::from_utf8(out).expect("UTF-8")
}

/// Checks that nothing changes and that there is no message.
fn stays(args: &[&str], input: &str) {
    let case = prune().args(args.iter().copied()).stdin(input);
    case.stdout(input).run();
}

#[test]
fn only_the_result_changes() {
    let cleared = r"[Old tool result content cleared]\n⟦ctx: read_file a.rs, all 220 bytes, if saved: ctx-offload --show d5bbfc80⟧";
    let args = ["--clear", "--protect-last", "1", "-v"];
    let out = prune()
        .args(args)
        .stdin(chat(&words(20)))
        .stdout_any()
        .stderr(
            "ctx-prune: <stdin>: clear: 1 change, from 41 to 38 tokens\n\
             ctx-prune: <stdin>: all rules: 1 change, from 41 to 38 tokens\n",
        )
        .run();
    let cleared = chat(cleared);
    assert_eq!(String::from_utf8_lossy(&out.stdout), cleared);
    // A second run has nothing to do.
    prune()
        .args(args)
        .stdin(cleared.clone())
        .stdout(cleared)
        .stderr("ctx-prune: <stdin>: nothing to prune\n")
        .run();
}

#[test]
fn the_last_three_replies_are_protected() {
    stays(&["--clear"], &chat(&words(20)));
}

#[test]
fn long_results_are_trimmed_above_the_limit() {
    let args = ["--max-chars", "100", "--protect-last", "0"];
    stays(&args, &chat(&"x ".repeat(50)));
    let (head, tail) = ("é ".repeat(200), "y ".repeat(200));
    let out = pruned(&args, chat(&format!("{head}\\nfatal: no\\n{tail}")));
    let expected = format!(
        "\"{}\\n... (751 chars truncated) ...\\n... (a line of them looks like an error) ...\\nfatal: no\\n...\\n{}\\n⟦ctx:",
        "é ".repeat(15),
        "y ".repeat(15)
    );
    assert!(out.contains(&expected), "{out}");
}

#[test]
fn a_dry_run_shows_what_would_be_freed_by_rule() {
    prune()
        .args(["-n", "--clear", "--protect-last", "0"])
        .args(["--window-messages", "3"])
        .stdin(chat(&words(20)))
        .stdout(
            "rule        changes     tokens      after      freed\n\
             clear             1         41         38          3\n\
             window            1          5          0          5\n\
             total             2         46         38          8\n",
        )
        .run();
}

#[test]
fn too_little_gain_changes_nothing() {
    let input = chat(&words(20));
    let args = |gain: &'static str| ["--clear", "--protect-last", "0", "-v", "--min-gain", gain];
    prune()
        .args(args("4"))
        .stdin(input.clone())
        .stdout(input.clone())
        .stderr_has("3 tokens would be freed, fewer than --min-gain: nothing was changed\n")
        .run();
    for enough in ["2", "3"] {
        assert_ne!(pruned(&args(enough), input.clone()), input);
    }
}

#[test]
fn tags_pass_and_only_the_zone_asked_for_changes() {
    let tagged = |keep: &str| {
        let split = Case::new(crate::tool_path("ctx-split"));
        let args = ["--keep-messages", keep];
        let out = split.args(args).stdin(chat(&words(20))).stdout_any().run();
        String::from_utf8(out.stdout).expect("UTF-8")
    };
    let args = ["--clear", "--protect-last", "0", "--zone", "old"];
    let (before, after) = (tagged("1"), pruned(&args, tagged("1")));
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    assert_eq!([&before[..3], &before[4..]], [&after[..3], &after[4..]]);
    let expected = r#"{"_ctx":{"zone":"old","line":4,"group":3,"bytes":176}, "role":"tool", "tool_call_id":"c", "n":1E2, "content" : "[Old"#;
    assert!(after[3].starts_with(expected), "{}", after[3]);
    stays(&args, &tagged("3"));
    prune()
        .args(args)
        .stdin(chat("r"))
        .code(2)
        .stderr("ctx-prune: <stdin>: --zone is given, but no record has a zone; add zones with ctx-split\n")
        .run();
}

#[test]
fn a_stream_that_ended_early_is_not_made_whole() {
    let split = Case::new(crate::tool_path("ctx-split"));
    let tagged = split.stdin(chat("x")).stdout_any().run().stdout;
    let lines = tagged.split_inclusive(|byte| *byte == b'\n');
    let cut: Vec<u8> = lines.take(4).flatten().copied().collect();
    let args = ["--window-messages", "1"];
    assert!(!pruned(&args, cut).contains("\"end\""));
    let whole = pruned(&args, tagged);
    assert_eq!(whole.lines().count(), 3);
    assert!(whole.contains("\"end\":3"), "{whole}");
}

#[test]
fn the_window_drops_whole_exchanges() {
    let kept = |n| pruned(&["--window-messages", n], chat("r")).lines().count();
    assert_eq!([kept("0"), kept("1"), kept("2")], [2, 3, 3]);
    assert_eq!([kept("3"), kept("4"), kept("5")], [5, 5, 6]);
}

#[test]
fn pins_and_tools_protect() {
    let input = chat(&words(20));
    let args = |flag: [&'static str; 2]| ["--clear", "--protect-last", "0", flag[0], flag[1]];
    for flag in [
        ["--pin", "line:3"],
        ["--pin", "line:4"],
        ["--pin", "role:tool"],
        ["--pin", "re:some words"],
        ["--deny-tool", "READ*"],
        ["--allow-tool", "exec"],
    ] {
        stays(&args(flag), &input);
    }
    for flag in [["--pin", "line:5"], ["--deny-tool", "*image*"], ["--allow-tool", "read*"]] {
        let out = pruned(&args(flag), input.clone());
        assert!(out.contains(CLEARED), "{flag:?}");
    }
}

#[test]
fn a_warm_cache_is_left_alone() {
    let input = chat(&words(20));
    let args =
        |last| ["--clear", "--protect-last", "0", "--cache-ttl", "5m", "--last-call", last, "-v"];
    prune()
        .args(args("2999-01-01T00:00:00Z"))
        .stdin(input.clone())
        .stdout(input.clone())
        .stderr("ctx-prune: <stdin>: the last call is not older than --cache-ttl, so nothing was changed\n")
        .run();
    let out = pruned(&args("2001-01-01T00:00:00Z"), input.clone());
    assert!(out.contains(CLEARED));
    // The records override the user's flag.
    let dated = input.replace("\"done\"", "\"done\",\"timestamp\":\"2999-01-01T00:00:00Z\"");
    assert_eq!(pruned(&args("2001-01-01T00:00:00Z"), dated.clone()), dated);
    prune()
        .args(["--clear", "--cache-ttl", "5m"])
        .stdin(input.clone())
        .code(2)
        .stderr("ctx-prune: <stdin>: the time of the last call is unknown; add --last-call TIME\n")
        .run();
    // The file was written just now.
    prune()
        .args(["--clear", "--protect-last", "0", "--cache-ttl", "5m", "s.jsonl"])
        .file("s.jsonl", &input)
        .stdout(input)
        .run();
}

#[test]
fn what_cannot_be_done_is_told() {
    for (args, stderr) in [
        (
            vec![],
            "no rule is given; add --trim, --clear, --drop, --max-argument-chars, --window-messages, or a --preset that prunes",
        ),
        (
            vec!["--head-share", "0.6", "--tail-share", "0.5"],
            "--head-share and --tail-share add up to more than 1",
        ),
        (
            vec!["--clear", "--placeholder", "a\nb"],
            "the placeholder must be one line of at most 500 bytes",
        ),
        (
            vec!["--clear", "--batch"],
            "--batch files cannot be pruned; prune the conversations one by one, as sessions",
        ),
    ] {
        let stderr = format!("ctx-prune: {stderr}\n");
        prune().args(args).stdin(chat("r")).code(2).stderr(&stderr).run();
    }
    prune()
        .args(["--clear"])
        .stdin("{\"type\":\"progress\"}\n")
        .code(2)
        .stderr("ctx-prune: <stdin>: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n")
        .run();
    stays(&["--clear"], "");
}

#[test]
fn problems_of_the_input_are_told() {
    let orphan = "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"r\"}\n";
    prune()
        .args(["--clear"])
        .stdin(orphan)
        .stdout(orphan)
        .stderr("ctx-prune: warning: <stdin>:1: 1 problem in the input; the first: tool result x has no matching call right before it; ctx-check --repair writes a legal copy or says why it cannot\n")
        .run();
    prune()
        .args(["--clear", "--strict"])
        .stdin(orphan)
        .code(2)
        .stderr("ctx-prune: <stdin>:1: tool result x has no matching call right before it; --strict refuses invalid input\n")
        .run();
}

#[test]
fn anthropic_blocks_are_pruned_in_place() {
    let input = r#"{"role":"user","content":"look"}
{"role":"assistant","content":[{"type":"thinking","thinking":"well, well","signature":"Eq"},{"type":"tool_use","id":"t","name":"read","input":{"file_path":"a","note":"LONG"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"RESULT"}]},{"type":"text","text":"and?"}]}
{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"edit","input":{"file_path":"a"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"u","content":"ok"}]}
"#;
    let input = input.replace("LONG", &words(100)).replace("RESULT", &words(20));
    let args =
        ["--drop", "reasoning,superseded", "--max-argument-chars", "200", "--protect-last", "0"];
    let out = pruned(&args, input.clone());
    let (before, after): (Vec<_>, Vec<_>) = (input.lines().collect(), out.lines().collect());
    assert_eq!([before[0], before[3], before[4]], [after[0], after[3], after[4]]);
    let head = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"read","input":{"file_path":"a","note":"some words "#;
    assert!(after[1].starts_with(head), "{}", after[1]);
    assert!(after[1].contains(r"\n... (980 chars truncated) ...\n"), "{}", after[1]);
    let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"[Superseded: file written later]\n⟦ctx: read a, all 220 bytes, if saved: ctx-offload --show d5bbfc80⟧"},{"type":"text","text":"and?"}]}"#;
    assert_eq!(after[2], result);
}
