//! Tests of `ctx-split`.

use ctx_testkit::{Case, any_jsonl, chat_session};
use proptest::prelude::*;

const CTX_SPLIT: &str = env!("CARGO_BIN_EXE_ctx-split");

const CHAT: &str = r#"{"role":"system","content":"s"}
{"role":"user","content":"one"}
{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"c","content":"r"}
{"role":"user","content":"two"}
{"role":"assistant","content":"done"}
"#;

fn split() -> Case {
    Case::new(CTX_SPLIT)
}

#[test]
fn zones_stand_in_front_and_the_last_record_says_how_many() {
    let tagged = r#"{"_ctx":{"zone":"system","line":1,"bytes":31},"role":"system","content":"s"}
{"_ctx":{"zone":"old","line":2,"bytes":31},"role":"user","content":"one"}
{"_ctx":{"zone":"old","line":3,"group":3,"bytes":120},"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}
{"_ctx":{"zone":"old","line":4,"group":3,"bytes":48},"role":"tool","tool_call_id":"c","content":"r"}
{"_ctx":{"zone":"keep","line":5,"pin":"latest-user","bytes":31},"role":"user","content":"two"}
{"_ctx":{"zone":"keep","line":6,"bytes":37,"end":6},"role":"assistant","content":"done"}
"#;
    split().args(["--keep-messages", "1"]).stdin(CHAT).stdout(tagged).run();
    split().args(["--strip"]).stdin(tagged).stdout(CHAT).run();
}

#[test]
fn an_exchange_on_the_border_is_kept_whole() {
    let out =
        split().args(["--keep-messages", "3", "--only", "keep"]).stdin(CHAT).stdout_any().run();
    let out = String::from_utf8(out.stdout).expect("UTF-8");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].contains(r#""line":3,"group":3"#), "{out}");
    assert!(lines[3].contains(r#""end":4"#), "{out}");
}

#[test]
fn the_default_keeps_twenty_messages() {
    let session = "{\"role\":\"user\",\"content\":\"x\"}\n".repeat(25);
    let out = split().args(["--only", "old"]).stdin(session).stdout_any().run();
    assert_eq!(String::from_utf8_lossy(&out.stdout).lines().count(), 5);
}

#[test]
fn tokens_and_shares_decide_and_are_noted() {
    let out =
        split().args(["--keep-tokens", "6", "--encoding", "chars4"]).stdin(CHAT).stdout_any().run();
    let out = String::from_utf8(out.stdout).expect("UTF-8");
    assert!(
        out.contains(
            r#"{"_ctx":{"zone":"keep","line":6,"bytes":37,"tokens":5,"encoding":"chars4","end":6}"#
        ),
        "{out}"
    );
    let share = split()
        .args(["--window", "12", "--keep-share", "0.5", "--encoding", "chars4"])
        .stdin(CHAT)
        .stdout(out)
        .run();
    assert_eq!(share.stderr, "");
    split()
        .args(["--keep-share", "0.5"])
        .stdin(CHAT)
        .code(2)
        .stderr("ctx-split: --keep-share needs a window; add --window or --model\n")
        .run();
}

#[test]
fn pins_keep_records_and_their_exchange() {
    let zones = |pin: &str| {
        let out = split()
            .args(["--keep-messages", "0", "--only", "keep", "--pin", pin])
            .stdin(CHAT)
            .stdout_any()
            .run();
        String::from_utf8(out.stdout).expect("UTF-8")
    };
    assert!(zones("role:tool").contains(r#""line":4,"group":3,"pin":"role:tool""#));
    assert_eq!(zones("role:tool").lines().count(), 3);
    assert_eq!(zones("line:2-3").lines().count(), 4);
    assert_eq!(zones("re:^d.ne$").lines().count(), 2);
    split()
        .args(["--pin", "x"])
        .stdin(CHAT)
        .code(2)
        .stderr_has("expected role:NAME, line:N, line:N-M or re:REGEX")
        .run();
}

#[test]
fn jq_between_two_tools_does_no_harm() {
    // The form that `jq -c '{a:1}+.'` writes: the tag is no longer the first member.
    let tagged =
        "{\"a\":1,\"_ctx\":{\"zone\":\"old\",\"mine\":[1]},\"role\":\"user\",\"content\":\"x\"}\n";
    split()
        .args(["--strip"])
        .stdin(tagged)
        .stdout("{\"a\":1,\"role\":\"user\",\"content\":\"x\"}\n")
        .run();
    // Members that other tools added stay if the zones are decided again.
    split()
        .stdin(tagged)
        .stdout("{\"_ctx\":{\"zone\":\"keep\",\"line\":1,\"bytes\":35,\"end\":1,\"mine\":[1]},\"a\":1,\"role\":\"user\",\"content\":\"x\"}\n")
        .run();
}

#[test]
fn only_one_zone_of_a_stream_that_ended_early_is_refused() {
    let tagged = "{\"_ctx\":{\"zone\":\"old\"},\"role\":\"user\",\"content\":\"x\"}\n";
    let early = "ctx-split: <stdin>: upstream ended early (records received: 1, none marked as the last); \
                 did the previous tool in the pipeline fail? --partial accepts incomplete input\n";
    split()
        .args(["--strip", "--only", "old"])
        .stdin(tagged)
        .stdout_any()
        .stderr(early)
        .code(2)
        .run();
    let done = split()
        .args(["--strip", "--only", "old", "-o", "old.jsonl"])
        .stdin(tagged)
        .stderr(early)
        .code(2)
        .run();
    assert!(!done.dir().join("old.jsonl").exists());
    split()
        .args(["--strip", "--only", "old", "--partial"])
        .stdin(tagged)
        .stdout("{\"role\":\"user\",\"content\":\"x\"}\n")
        .run();
}

#[test]
fn documents_are_unwrapped() {
    let document = "{\n \"model\": \"m\",\n \"messages\": [\n  {\"role\": \"user\",\n   \"content\": \"x\"}\n ]\n}\n";
    split()
        .stdin(document)
        .stdout("{\"_ctx\":{\"zone\":\"keep\",\"line\":4,\"bytes\":31,\"end\":1},\"role\": \"user\",\"content\": \"x\"}\n")
        .stderr("ctx-split: warning: <stdin>: members of the document other than its messages are left out: model\n")
        .run();
}

#[test]
fn a_batch_record_carries_the_zones_of_its_messages() {
    let batch = "{\"id\":1,\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"}]}\n{\"other\":1}\n";
    let tagged = "{\"_ctx\":{\"zones\":[\"system\",\"old\",\"keep\"],\"line\":1,\"bytes\":113},\"id\":1,\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"}]}\n{\"_ctx\":{\"line\":2,\"bytes\":11,\"end\":2},\"other\":1}\n";
    split().args(["--batch", "--keep-messages", "1"]).stdin(batch).stdout(tagged).run();
    split().args(["--strip"]).stdin(tagged).stdout(batch).run();
}

#[test]
fn an_unknown_format_is_split_by_lines() {
    let native = "{\"type\":\"user\",\"uuid\":\"1\"}\n{\"type\":\"assistant\",\"uuid\":\"2\"}\n";
    split()
        .args(["--keep-messages", "1", "-v"])
        .stdin(native)
        .stdout("{\"_ctx\":{\"zone\":\"old\",\"line\":1,\"bytes\":26},\"type\":\"user\",\"uuid\":\"1\"}\n{\"_ctx\":{\"zone\":\"keep\",\"line\":2,\"bytes\":31,\"end\":2},\"type\":\"assistant\",\"uuid\":\"2\"}\n")
        .stderr("ctx-split: <stdin>: unknown format; zones are decided line by line\nctx-split: <stdin>: lines: 0 system, 1 old, 1 keep\n")
        .run();
}

#[test]
fn empty_in_empty_out() {
    split().run();
    split().args(["--strip"]).run();
}

#[test]
fn a_missing_file_is_named() {
    split()
        .args(["no.jsonl"])
        .code(2)
        .stderr("ctx-split: no.jsonl: no such file or directory; check the path\n")
        .run();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn split_and_strip_is_the_identity(input in any_jsonl(), keep in 0u32..6) {
        // Without any message, bytes that are not UTF-8 are refused as Latin-1.
        let input = [&b"{\"role\":\"user\",\"content\":\"u\"}\n"[..], &input].concat();
        let keep = keep.to_string();
        let tagged = split().args(["-q", "--keep-messages", &keep]).stdin(input.clone()).stdout_any().run().stdout;
        let stripped = split().args(["--strip"]).stdin(tagged).stdout_any().stderr_has("").run().stdout;
        prop_assert_eq!(stripped.escape_ascii().to_string(), input.escape_ascii().to_string());
    }

    #[test]
    fn the_zones_are_the_whole_session(input in chat_session(), keep in 0u32..6) {
        let keep = keep.to_string();
        let count = |only: &[&str]| {
            let out = split()
                .args(["-q", "--keep-messages", &keep])
                .args(only.iter().copied()).stdin(input.clone()).stdout_any().run().stdout;
            out.split(|b| *b == b'\n').count() - 1
        };
        let zones: usize = ["system", "old", "keep"].iter().map(|zone| count(&["--only", zone])).sum();
        prop_assert_eq!(zones, count(&[]));
    }
}
