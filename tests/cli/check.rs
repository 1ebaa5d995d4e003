//! Tests of `ctx-check`.

use ctx_testkit::Case;
use proptest::prelude::*;

const USER: &str = "{\"role\":\"user\",\"content\":\"u\"}\n";
const AB: &str = "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}},{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"\"}}]}\n";
const A: &str = "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"12345\"}\n";
const B: &str = "{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"67890\"}\n";
const NO_B: &str = "{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"The result of this call is missing from the session.\"}\n";

const USE: &str = "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{}}]}\n";

fn check() -> Case {
    Case::new(env!("CARGO_BIN_EXE_ctx-check"))
}

fn session(records: &[&str]) -> String {
    records.concat()
}

/// Checks a session on stdin; returns the output and the exit status.
fn says(records: &[&str], stdout: &str, code: i32) {
    check().stdin(session(records)).stdout(stdout).code(code).run();
}

#[test]
fn legal_sessions_are_ok() {
    says(&[USER, AB, B, A, USER], "<stdin>: ok\n", 0);
    let mixed = "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\"},{\"type\":\"text\",\"text\":\"and\"}]}\n";
    says(&[USER, USE, mixed], "<stdin>: ok\n", 0);
    check().args(["-q"]).stdin(session(&[USER, AB, B, A])).run();
}

#[test]
fn the_first_problem_is_named_with_its_line() {
    says(
        &[USER, AB, A, USER],
        "<stdin>:2: unanswered-call: tool call b has no result right after it\n",
        1,
    );
    says(
        &[A, USER, AB, USER],
        "<stdin>:1: orphan-result: tool result a has no matching call right before it \
         (the first of 3 problems; --all shows each)\n",
        1,
    );
    let late = "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"and\"},{\"type\":\"tool_result\",\"tool_use_id\":\"t\"}]}\n";
    says(
        &[USE, late],
        "<stdin>:1: unanswered-call: tool call t has no result right after it \
         (the first of 3 problems; --all shows each)\n",
        1,
    );
}

#[test]
fn all_problems_are_shown_on_request() {
    check()
        .args(["--all"])
        .stdin(session(&[A, USER, AB, USER]))
        .stdout(concat!(
            "<stdin>:1: orphan-result: tool result a has no matching call right before it\n",
            "<stdin>:3: unanswered-call: tool call a has no result right after it\n",
            "<stdin>:3: unanswered-call: tool call b has no result right after it\n",
        ))
        .code(1)
        .run();
}

#[test]
fn quiet_says_it_by_the_exit_status() {
    for (records, code) in [([USER, AB, A, B], 0), ([USER, AB, A, USER], 1)] {
        let input = session(&records);
        check().args(["-q"]).stdin(input).code(code).run();
    }
    check().args(["-q", "--json"]).stdin(USER).stdout_has("\"legal\":true").run();
    let report = check().args(["-q", "-o", "report.txt"]).stdin(USER).run();
    assert_eq!(report.read("report.txt"), b"<stdin>: ok\n");
}

#[test]
fn calls_at_the_end_may_wait_unless_strict() {
    says(&[USER, AB, A], "<stdin>: ok, 1 call at the end waits for its result\n", 0);
    says(&[USER, AB], "<stdin>: ok, 2 calls at the end wait for their results\n", 0);
    check()
        .args(["--strict"])
        .stdin(session(&[USER, AB, A]))
        .stdout("<stdin>:2: unanswered-call: tool call b has no result right after it\n")
        .code(1)
        .run();
}

/// Bad lines are a problem if there are more than a given number, by default 0.
#[test]
fn bad_lines_are_problems_unless_a_number_may_be() {
    let input = session(&[USER, "oops\n", USER, "{\"role\":\"us"]);
    let tail = "ctx-check: warning: <stdin>:4: the last line is incomplete and was left out\n";
    let bad = "<stdin>:2: bad-line: not JSON: expected value at column 1\n";
    check().stdin(input.clone()).stdout(bad).stderr(tail).code(1).run();
    check()
        .args(["--max-bad-lines", "1"])
        .stdin(input.clone())
        .stdout("<stdin>: ok\n")
        .stderr(&format!("ctx-check: warning: <stdin>:2: 1 bad line kept in place; the first: not JSON: expected value at column 1\n{tail}"))
        .run();
    check()
        .args(["--strict", "--all"])
        .stdin(input.clone())
        .stdout(format!("{bad}<stdin>:4: torn-tail: an incomplete last line\n"))
        .code(1)
        .run();
    check()
        .args(["--invalid", "fail"])
        .stdin(input)
        .stderr("ctx-check: --invalid requires --repair; bad lines are problems: --max-bad-lines N allows N of them, --allow bad-line allows all\n")
        .code(2)
        .run();
}

/// `--all` is about problems, not about sessions.
#[test]
fn all_sessions_are_checked_by_their_names() {
    check()
        .args(["--all"])
        .stdin("")
        .code(1)
        .stdout("<stdin>: no-message: the input has no message\n")
        .stderr("ctx-check: warning: stdin is empty; ctx-ls -0 | xargs -0 ctx-check checks all sessions\n")
        .run();
}

/// Input without any message is not a session.
#[test]
fn a_file_without_a_message_is_a_problem() {
    let none = "<stdin>: no-message: the input has no message\n";
    says(&[], none, 1);
    says(&["\n \n"], none, 1);
    let hello = "<stdin>: no-message: the input has no message (the first of 2 problems; --all shows each)\n";
    says(&["hello world\n"], hello, 1);
    check()
        .stdin("{\"role\":\"us")
        .stdout(none)
        .stderr("ctx-check: warning: <stdin>:1: the last line is incomplete and was left out\n")
        .code(1)
        .run();
    check()
        .file("x.jsonl", "\n{\"type\":\"progress\"}\n")
        .args(["x.jsonl"])
        .stdout("x.jsonl:2: no-message: no message of a known format\n")
        .code(1)
        .run();
    // In a file without messages it is unknown whether the session needs a compaction.
    check()
        .file("x.jsonl", "\n{\"type\":\"progress\"}\n")
        .args(["--due", "x.jsonl"])
        .stderr(
            "ctx-check: x.jsonl: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n",
        )
        .code(2)
        .run();
}

/// Roles, records and parts that are not read are problems, each with its line. A wrong
/// dialect is noticed.
#[test]
fn what_is_not_read_of_a_message_is_a_problem() {
    let input = [
        USER,
        "{\"role\":\"critic\",\"content\":\"x\"}\n",
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"smell\"}]}\n",
        "{\"type\":\"dream\"}\n",
        "{\"role\":\"critic\",\"content\":\"y\"}\n",
    ];
    let critic =
        |line| format!("<stdin>:{line}: unknown-role: the dialect chat has no role \"critic\"\n");
    let part = "<stdin>:3: unread-part: a part of the type \"smell\" cannot be read\n";
    let item = "<stdin>:4: unknown-item: the dialect chat has no records of the type \"dream\"\n";
    check()
        .args(["--all"])
        .stdin(session(&input))
        .stdout([&critic(2), part, item, &critic(5)].concat())
        .code(1)
        .run();
    let first = critic(2).replace('\n', " (the first of 4 problems; --all shows each)\n");
    says(&input, &first, 1);
    check()
        .args(["--dialect", "anthropic"])
        .file("log.jsonl", "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n")
        .args(["log.jsonl"])
        .stderr("ctx-check: log.jsonl: this is a Claude Code session, so it cannot be read; leave --dialect out, put each format into a file of its own, or let ctx-convert write what it can read\n")
        .code(2)
        .run();
    let pi = "{\"role\":\"toolResult\",\"toolCallId\":\"c\",\"content\":[]}\n";
    check()
        .stdin(session(&[USER, pi]))
        .stderr("ctx-check: <stdin>: this is a list of pi messages without the entries of its session file, so it cannot be read; use the session file: its entries link the messages\n")
        .code(2)
        .run();
}

/// `--allow` turns a rule off; -v and JSON report what it allowed.
#[test]
fn what_is_allowed_is_no_problem() {
    let input = session(&[A, USER, "oops\n", "oops\n"]);
    check()
        .args(["-v", "--allow", "bad-line,orphan-result"])
        .stdin(input.clone())
        .stdout("<stdin>: ok\n")
        .stderr("ctx-check: <stdin>: 2 problems allowed: bad-line\nctx-check: <stdin>: 1 problem allowed: orphan-result\n")
        .run();
    check()
        .args(["--allow", "bad-line", "--allow", "user-first", "--json"])
        .stdin(input)
        .stdout_has("\"problems\":1,\"allowed\":2,\"open\":0,\"findings\":[{\"line\":1,\"rule\":\"orphan-result\"")
        .code(1)
        .run();
    check().args(["--allow", "no-message"]).stdin("").stdout("<stdin>: ok\n").run();
    check()
        .args(["--allow", "bad-lin"])
        .stdin("")
        .stderr_has("--allow cannot be \"bad-lin\"; did you mean bad-line? (use one of ")
        .code(2)
        .run();
}

#[test]
fn a_repaired_gemini_document_keeps_its_header() {
    let time = "2026-01-01T00:00:00.000Z";
    let head = format!(
        r#""sessionId":"s","projectHash":"ab","startTime":"{time}","lastUpdated":"{time}""#
    );
    let said = |id: &str, text: &str| {
        format!(r#"{{{id}"timestamp":"{time}","type":"user","content":"{text}"}}"#)
    };
    let (first, second) = (said(r#""id":"1","#, "go"), said("", "on"));
    check()
        .args(["--repair"])
        .stdin(format!("{{{head},\"messages\":[{first},{second}],\"kind\":\"main\"}}\n"))
        .stdout(format!(
            "{{{head},\"kind\":\"main\"}}\n{first}\n{}\n",
            said(r#""id":"bbb045a2-daec-489b-bd7f-1a53687147f9","#, "on")
        ))
        .stderr("ctx-check: warning: <stdin>:1: message-without-id repaired\n")
        .run();
}

/// The documentation lists all rules.
#[test]
fn the_rules_are_listed_and_documented() {
    let list = |flags: &[&str]| {
        let flags = flags.iter().copied();
        let done = check().args(["--list-rules"].into_iter().chain(flags)).stdout_any().run();
        String::from_utf8(done.stdout).expect("text")
    };
    let (listed, json) = (list(&[]), list(&["--json"]));
    let documents = include_str!("../../docs/legality.md");
    for rule in ctx_format::problems::RULES.iter() {
        let begin = format!("{}: {}\n  {}", rule.name, rule.what, rule.demands[0].by.join(", "));
        assert!(listed.contains(&begin), "{begin}");
        for demand in &rule.demands {
            assert!(listed.contains(&format!("    source: {}\n", demand.source)), "{}", rule.name);
            assert!(!demand.repair.is_empty() || demand.check != "problem", "{}", rule.name);
        }
        let begin =
            format!(r#"{{"rule":"{}","what":"{}","demands":[{{"by":["#, rule.name, rule.what);
        assert!(json.contains(&begin), "{begin}");
        assert!(documents.contains(&format!("`{}`", rule.name)), "{}", rule.name);
    }
}

/// What only some models refuse counts if the model is known, by the flag or from the session.
#[test]
fn rules_of_some_models_are_asked_for_by_the_model() {
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"a.b","arguments":"{}"}}]}"#.to_owned() + "\n";
    let result = A.replace("\"a\"", "\"call_1\"");
    let system = "{\"role\":\"system\",\"content\":\"s\"}\n";
    let reasoned = "{\"role\":\"assistant\",\"content\":\"so\",\"reasoning_content\":\"hm\"}\n";
    let records = session(&[USER, system, &call, &result, USER, USER, reasoned]);
    let check = || check().stdin(records.clone());
    for (model, found) in [
        ("gpt-5", &["3: bad-tool-name: the API does not accept the tool name in call call_1"][..]),
        (
            "mistral-large",
            &[
                "3: bad-call-id: the API does not accept the call id call_1",
                "4: bad-call-id: the API does not accept the call id call_1",
                "5: user-after-tool: a user message follows a tool message",
            ],
        ),
        ("qwen3.6", &["2: late-system: a system message is not at the beginning"]),
        (
            "gemma-3",
            &[
                "2: late-system: a system message is not at the beginning",
                "6: repeated-role: the message before is of the same role",
            ],
        ),
        (
            "kimi-k2-thinking",
            &["3: missing-reasoning: the reply lacks the reasoning before its calls"],
        ),
    ] {
        let lines: Vec<String> = found.iter().map(|found| format!("<stdin>:{found}\n")).collect();
        check().args(["--all", "--model", model]).stdout(lines.concat()).code(1).run();
    }
    check().args(["--model", "grok-4"]).stdout("<stdin>: ok\n").run();
    check()
        .args(["-v"])
        .stdout("<stdin>: ok\n")
        .stderr(concat!(
            "ctx-check: <stdin>:2: late-system: a system message is not at the beginning\n",
            "ctx-check: <stdin>:3: missing-reasoning: the reply lacks the reasoning before its calls\n",
        ))
        .run();
    let reply = r#"{"role":"assistant","model":"claude-opus-4-6","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#.to_owned() + "\n";
    says(
        &[USER, system, &reply],
        "<stdin>:2: late-system: a system message is not at the beginning\n",
        1,
    );
}

#[test]
fn limits_are_the_last_value_that_is_allowed() {
    let input = session(&[USER, AB, A, B]);
    let limit = |flag: &str, at: u64, what: &str| {
        let below = (at - 1).to_string();
        check().args([flag, &at.to_string()]).stdin(input.clone()).stdout("<stdin>: ok\n").run();
        check()
            .args([flag, &below])
            .stdin(input.clone())
            .stdout(format!("<stdin>: {}: {at} {what}, {below} allowed\n", &flag[2..]))
            .code(1)
            .run();
    };
    limit("--max-messages", 4, "messages");
    limit("--max-tool-bytes", 10, "bytes of tool results");
    limit("--max-tokens", 26, "tokens");
}

#[test]
fn several_files_are_checked_whatever_the_number_of_jobs() {
    for jobs in ["1", "3"] {
        let case = || {
            check()
                .file("a.jsonl", session(&[USER, AB, A, B]))
                .file("b.jsonl", session(&[USER, AB, A, USER]))
                .args(["-j", jobs, "a.jsonl", "b.jsonl"])
        };
        let lines =
            "a.jsonl: ok\nb.jsonl:2: unanswered-call: tool call b has no result right after it\n";
        case().stdout(lines).code(1).run();
        case()
            .args(["none.jsonl"])
            .stdout(lines)
            .stderr("ctx-check: none.jsonl: no such file or directory; check the path\n")
            .code(3)
            .run();
    }
}

#[test]
fn each_conversation_of_a_batch_is_checked() {
    let line = |records: &[&str]| {
        let list: Vec<&str> = records.iter().map(|record| record.trim_end()).collect();
        format!("{{\"messages\":[{}]}}\n", list.join(","))
    };
    let batch = [line(&[USER, AB, A, B]), line(&[USER, AB, A, USER]), line(&[A])].concat();
    check()
        .args(["--batch", "--all", "--max-messages", "3"])
        .stdin(batch)
        .stdout(concat!(
            "<stdin>:2: unanswered-call: tool call b has no result right after it\n",
            "<stdin>:3: orphan-result: tool result a has no matching call right before it\n",
            "<stdin>:1: max-messages: 4 messages, 3 allowed\n",
            "<stdin>:2: max-messages: 4 messages, 3 allowed\n",
        ))
        .code(1)
        .run();
}

#[test]
fn json_has_an_object_for_each_file() {
    check()
        .file("b.jsonl", session(&[USER, "oops\n", AB, A, USER]))
        .args(["--json", "--max-messages", "3", "none.jsonl", "b.jsonl"])
        .stdout(concat!(
            r#"{"name":"none.jsonl","error":"none.jsonl: no such file or directory; check the path"}"#,
            "\n",
            r#"{"name":"b.jsonl","dialect":"chat","legal":false,"within_limits":false,"messages":4,"turns":2,"tokens":25,"tool_bytes":5,"records":5,"bad_lines":1,"tail":null,"problems":2,"allowed":0,"open":0,"findings":[{"line":2,"rule":"bad-line","id":null,"message":"not JSON: expected value at column 1"},{"line":null,"rule":"max-messages","id":null,"message":"4 messages, 3 allowed"}],"remarks":[]}"#,
            "\n",
        ))
        .stderr("ctx-check: none.jsonl: no such file or directory; check the path\n")
        .code(3)
        .run();
}

#[test]
fn github_gets_annotations() {
    let forged = A.replace("\"a\"", "\"x\\n::error::%\"");
    check()
        .file("odd,na:me.jsonl", session(&[&forged, USER]))
        .args(["--format", "github", "--max-messages", "1", "odd,na:me.jsonl"])
        .stdout(concat!(
            "::error file=odd%2Cna%3Ame.jsonl,line=1,title=orphan-result::tool result x%0A::error::%25 has no matching call right before it\n",
            "::error file=odd%2Cna%3Ame.jsonl,title=max-messages::2 messages, 1 allowed\n",
        ))
        .code(1)
        .run();
    check().args(["--format", "github"]).stdin(USER).run();
}

/// The formats for GitHub and `JUnit` show what is not understood.
#[test]
fn what_is_not_understood_is_shown_to_ci() {
    let critic = "{\"role\":\"critic\",\"content\":\"x\"}\n";
    let case = |format| {
        check()
            .file("a.jsonl", session(&[USER, "oops\n", critic]))
            .file("b.jsonl", "")
            .args(["--all", "--format", format, "a.jsonl", "b.jsonl"])
            .code(1)
    };
    case("github")
        .stdout(concat!(
            "::error file=a.jsonl,line=2,title=bad-line::not JSON: expected value at column 1\n",
            "::error file=a.jsonl,line=3,title=unknown-role::the dialect chat has no role \"critic\"\n",
            "::error file=b.jsonl,title=no-message::the input has no message\n",
        ))
        .run();
    case("junit")
        .stdout(concat!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
            "<testsuites tests=\"2\" failures=\"2\" errors=\"0\">\n",
            "  <testsuite name=\"ctx-check\" tests=\"2\" failures=\"2\" errors=\"0\">\n",
            "    <testcase classname=\"ctx-check\" name=\"a.jsonl\">\n",
            "      <failure type=\"bad-line\" message=\"not JSON: expected value at column 1\">a.jsonl:2: bad-line: not JSON: expected value at column 1\n",
            "a.jsonl:3: unknown-role: the dialect chat has no role &quot;critic&quot;</failure>\n",
            "    </testcase>\n",
            "    <testcase classname=\"ctx-check\" name=\"b.jsonl\">\n",
            "      <failure type=\"no-message\" message=\"the input has no message\">b.jsonl: no-message: the input has no message</failure>\n",
            "    </testcase>\n",
            "  </testsuite>\n",
            "</testsuites>\n",
        ))
        .run();
}

#[test]
fn junit_gets_a_case_for_each_file() {
    check()
        .file("a<b>.jsonl", session(&[USER]))
        .file("b.jsonl", session(&[&A.replace("\"a\"", "\"\\u001b&\""), USER]))
        .args(["--format", "junit", "a<b>.jsonl", "b.jsonl", "none.jsonl"])
        .stdout(concat!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
            "<testsuites tests=\"3\" failures=\"1\" errors=\"1\">\n",
            "  <testsuite name=\"ctx-check\" tests=\"3\" failures=\"1\" errors=\"1\">\n",
            "    <testcase classname=\"ctx-check\" name=\"a&lt;b&gt;.jsonl\"/>\n",
            "    <testcase classname=\"ctx-check\" name=\"b.jsonl\">\n",
            "      <failure type=\"orphan-result\" message=\"tool result \u{fffd}&amp; has no matching call right before it\">",
            "b.jsonl:1: orphan-result: tool result \\u{1b}&amp; has no matching call right before it</failure>\n",
            "    </testcase>\n",
            "    <testcase classname=\"ctx-check\" name=\"none.jsonl\">\n",
            "      <error type=\"unreadable\" message=\"none.jsonl: no such file or directory; check the path\"/>\n",
            "    </testcase>\n",
            "  </testsuite>\n",
            "</testsuites>\n",
        ))
        .stderr("ctx-check: none.jsonl: no such file or directory; check the path\n")
        .code(3)
        .run();
}

/// Runs `--due` with these flags; returns the output and the exit status.
fn due(flags: &[&str], stdout: &str, code: i32) {
    check()
        .args(["--due"])
        .args(flags.iter().copied())
        .stdin(session(&[USER, AB, A, B, USER]))
        .stdout(stdout)
        .code(code)
        .run();
}

#[test]
fn due_says_which_trigger_and_how_far() {
    due(&[], "<stdin>: not due\n  share  31 of 102400 (in an assumed window of 128000)\n", 1);
    due(&["--model", "gpt-4"], "<stdin>: not due\n  share  31 of 6553\n", 1);
    due(
        &[
            "--trigger-messages",
            "5",
            "--trigger-tokens",
            "30",
            "--set",
            "trigger.turns=4",
            "--set",
            "trigger.tool_bytes=40",
        ],
        concat!(
            "<stdin>: due\n",
            "  messages    5 of 5\n",
            "  tokens      31 of 30  compact\n",
            "  tool-bytes  10 of 40\n",
            "  turns       2 of 4\n",
        ),
        0,
    );
    due(
        &["--window", "40", "--set", "trigger.reserve=10", "--trigger-share", "100%"],
        "<stdin>: due\n  share    31 of 40\n  reserve  31 of 30  compact\n",
        0,
    );
}

#[test]
fn a_flush_is_not_a_compaction() {
    due(
        &["--trigger-messages", "5", "--set", "trigger.flush_share=0.9"],
        "<stdin>: not due, but a flush is due\n  messages  5 of 5  flush\n",
        1,
    );
}

#[test]
fn few_messages_hold_back_all_but_an_overflow() {
    let few = ["--trigger-messages", "1", "--set", "trigger.min_messages=6"];
    due(&few, "<stdin>: not due: there are fewer than 6 messages\n  messages  5 of 1\n", 1);
    due(
        &[&few[..], &["--overflow"]].concat(),
        concat!(
            "<stdin>: due: there are fewer than 6 messages\n",
            "  messages  5 of 1\n",
            "  overflow  reported  compact\n",
        ),
        0,
    );
}

#[test]
fn due_is_quiet_and_json_on_request() {
    due(&["-q", "--trigger-messages", "4"], "", 0);
    due(&["-q", "--trigger-messages", "5"], "", 1);
    due(
        &["--json", "--trigger-messages", "4", "--window", "8", "--set", "trigger.reserve=8"],
        concat!(
            r#"{"name":null,"due":true,"step":"compact","held_back":null,"messages":5,"turns":2,"tokens":31,"tool_bytes":10,"triggers":[{"trigger":"messages","value":5,"limit":4,"reached":1.25,"fired":true,"step":"compact"},{"trigger":"reserve","value":31,"limit":4,"reached":7.75,"fired":true,"step":"compact"}]}"#,
            "\n",
        ),
        0,
    );
}

#[test]
fn due_cannot_tell_of_what_it_cannot_read() {
    let failure = "ctx-check: none.jsonl: no such file or directory; check the path\n";
    check().args(["--due", "none.jsonl"]).stderr(failure).code(2).run();
    check()
        .file("a.jsonl", USER)
        .args(["--due", "-q", "none.jsonl", "a.jsonl"])
        .stderr(failure)
        .code(3)
        .run();
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    check()
        .args(["--trigger-tokens", "3"])
        .stderr("ctx-check: triggers and --window require --due; add --due\n")
        .code(2)
        .run();
    check()
        .args(["--set", "trigger.turns=3"])
        .stderr("ctx-check: a policy requires --due; add --due\n")
        .code(2)
        .run();
    check()
        .args(["--due", "--format", "junit"])
        .stderr("ctx-check: --due is printed as text or JSON only; in CI, use --max-tokens or another limit\n")
        .code(2)
        .run();
    check()
        .args(["--repair", "a", "b"])
        .stderr("ctx-check: --repair takes one file; repair files one by one\n")
        .code(2)
        .run();
    check()
        .args(["--repair", "--json"])
        .stderr("ctx-check: --json and the repaired copy cannot both be written to stdout; write the copy to a file with -o\n")
        .code(2)
        .run();
}

#[test]
fn a_repaired_copy_is_legal_and_each_action_is_told() {
    let done = check()
        .file("s.jsonl", session(&[B, USER, "oops\n", AB, A, USER, A]))
        .args(["--repair", "-o", "repaired.jsonl", "s.jsonl"])
        .stderr(concat!(
            "ctx-check: warning: s.jsonl:1: result b removed: it has no matching call\n",
            "ctx-check: warning: s.jsonl:3: 4 bytes removed: not a JSON object\n",
            "ctx-check: warning: s.jsonl:4: result inserted for call b: the original is missing\n",
            "ctx-check: warning: s.jsonl:7: result a removed: it has no matching call\n",
        ))
        .run();
    let repaired = session(&[USER, AB, A, NO_B, USER]);
    assert_eq!(done.read("repaired.jsonl"), repaired.as_bytes());
}

#[test]
fn what_is_legal_is_copied_with_its_open_calls_and_a_torn_tail_is_cut() {
    let input = session(&[USER, "\r\n", AB, A, "{\"role\":\"to"]);
    check()
        .args(["--repair"])
        .stdin(input.clone())
        .stderr("ctx-check: warning: <stdin>:5: incomplete object at the end of the file removed\n")
        .stdout(session(&[USER, "\r\n", AB, A]))
        .run();
    check()
        .args(["--repair", "--strict", "-q"])
        .stdin(input)
        .stdout(session(&[USER, "\r\n", AB, A, NO_B]))
        .run();
}

#[test]
fn bad_lines_of_the_copy_are_kept_or_dropped() {
    let input = session(&[USER, "oops\n", USER]);
    check()
        .args(["--repair", "--invalid", "drop", "-q"])
        .stdin(input.clone())
        .stdout(session(&[USER, USER]))
        .run();
    check()
        .args(["--repair", "--invalid", "fail"])
        .stdin(input)
        .stderr("ctx-check: <stdin>:2: not JSON: expected value at column 1; --invalid keep keeps bad lines, --invalid drop leaves them out\n")
        .code(2)
        .run();
}

#[test]
fn blocks_are_repaired_within_their_message() {
    let mixed = "{\"n\":1E2,\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"x\"},{\"type\":\"text\" ,\"text\":\"and\"}]}\n";
    check()
        .args(["--repair"])
        .stdin(session(&[USER, USE, mixed]))
        .stdout(session(&[
            USER,
            USE,
            "{\"n\":1E2,\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"The result of this call is missing from the session.\",\"is_error\":true},{\"type\":\"text\" ,\"text\":\"and\"}]}\n",
        ]))
        .stderr(concat!(
            "ctx-check: warning: <stdin>:2: result inserted for call t: the original is missing\n",
            "ctx-check: warning: <stdin>:3: result x removed: it has no matching call\n",
        ))
        .run();
}

#[test]
fn actions_are_json_when_the_copy_is_a_file() {
    let done = check()
        .file("s.jsonl", session(&[USER, AB, A, USER, B]))
        .args(["--repair", "--json", "-q", "-o", "s.jsonl", "s.jsonl"])
        .stdout(concat!(
            r#"{"name":"s.jsonl","dialect":"chat","output":"s.jsonl","actions":[{"line":5,"action":"move","id":"b","message":"result b moved to its call on line 2"}],"left":[],"losses":[]}"#,
            "\n",
        ))
        .run();
    let repaired = session(&[USER, AB, A, B, USER]);
    assert_eq!(done.read("s.jsonl"), repaired.as_bytes());
}

#[test]
fn what_cannot_be_repaired_is_not_written() {
    let misplaced = AB.replace("\"assistant\"", "\"user\"");
    let done = check()
        .file("s.jsonl", session(&[USER, &misplaced, USER]))
        .file("out.jsonl", "before")
        .args(["--repair", "-o", "out.jsonl", "s.jsonl"])
        .stderr("ctx-check: s.jsonl:2: cannot be repaired: a block is in a message of the wrong role, or in the wrong place; nothing was written; ctx-convert may write what it can read\n")
        .code(2)
        .run();
    assert_eq!(done.read("out.jsonl"), b"before");
    check()
        .args(["--repair"])
        .stdin("{\"_ctx\":{\"zone\":\"old\"},\"role\":\"user\",\"content\":\"u\"}\n")
        .stderr(
            "ctx-check: <stdin>:1: the records are tagged; ctx-split --strip removes the tags\n",
        )
        .code(2)
        .run();
    check()
        .args(["--repair"])
        .stdin("{\"type\":\"progress\"}\n")
        .stderr(
            "ctx-check: <stdin>: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n",
        )
        .code(2)
        .run();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_chat_session_is_repaired_to_a_legal_one(more in ctx_testkit::chat_session()) {
        // A session without a message cannot be repaired.
        let input = USER.to_owned() + &more;
        let repaired = check()
            .args(["--repair", "--strict", "-q", "--dialect", "chat"])
            .stdin(input)
            .stdout_any()
            .run()
            .stdout;
        check().args(["--strict", "-q", "--dialect", "chat"]).stdin(repaired).run();
    }
}
