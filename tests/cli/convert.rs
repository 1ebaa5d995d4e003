//! Tests of `ctx-convert`.

use ctx_testkit::Case;

const CTX_CONVERT: &str = env!("CARGO_BIN_EXE_ctx-convert");

/// A session of Claude Code: a reply of two lines, and a result.
const CLAUDE: &str = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","cwd":"/work","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"list"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:01.000Z","message":{"id":"m","model":"claude-x","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Eq"}]}}
{"type":"assistant","uuid":"3","parentUuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","message":{"id":"m","model":"claude-x","role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{"p": 1e0}}]}}
{"type":"user","uuid":"4","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:03.000Z","toolUseResult":"second copy","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}}
{"type":"assistant","uuid":"5","parentUuid":"4","sessionId":"s","timestamp":"2026-01-01T00:00:04.000Z","message":{"id":"n","model":"claude-x","role":"assistant","content":[{"type":"text","text":"one file"}]}}
"#;

const NO_REASONING: &str = "ctx-convert: warning: <stdin>:2: 1 reasoning block is left out: no other API accepts reasoning, and its own only after unchanged messages\n";

/// Converts a session from stdin, named `demo`.
fn to(name: &str) -> Case {
    Case::new(CTX_CONVERT).args(["--to", name, "-s", "demo"]).stdin(CLAUDE)
}

#[test]
fn it_becomes_a_chat() {
    let expected = r#"{"role":"user","content":"list"}
{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"p\": 1e0}"}}]}
{"role":"tool","tool_call_id":"a","content":"x"}
{"role":"assistant","content":"one file"}
"#;
    to("chat").stdout(expected).stderr(NO_REASONING).run();
}

#[test]
fn it_becomes_messages_of_its_own_api() {
    let expected = r#"{"role":"user","content":"list"}
{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Eq"},{"type":"tool_use","id":"a","name":"ls","input":{"p": 1e0}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}
{"role":"assistant","content":[{"type":"text","text":"one file"}]}
"#;
    to("anthropic").stdout(expected).run();
}

#[test]
fn it_becomes_items() {
    let expected = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"list"}]}
{"type":"function_call","name":"ls","arguments":"{\"p\": 1e0}","call_id":"a"}
{"type":"function_call_output","call_id":"a","output":"x"}
{"type":"message","role":"assistant","content":"one file"}
"#;
    to("responses").stdout(expected).stderr(NO_REASONING).run();
}

#[test]
fn it_becomes_a_session_of_codex() {
    let expected = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"demo","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work","originator":"codex_exec","cli_version":"0.169.0","source":"exec"}}
{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"list"}]}}
{"timestamp":"2026-01-01T00:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"list","images":[],"local_images":[],"text_elements":[]}}
{"timestamp":"2026-01-01T00:00:01.000Z","type":"response_item","payload":{"type":"function_call","name":"ls","arguments":"{\"p\": 1e0}","call_id":"a"}}
{"timestamp":"2026-01-01T00:00:03.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"x"}}
{"timestamp":"2026-01-01T00:00:04.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one file"}]}}
{"timestamp":"2026-01-01T00:00:04.000Z","type":"event_msg","payload":{"type":"agent_message","message":"one file"}}
"#;
    to("codex").stdout(expected).stderr(NO_REASONING).run();
}

#[test]
fn it_becomes_a_session_of_gemini() {
    let expected = r#"{"sessionId":"demo","projectHash":"0c9a453fad615c83c57d57c2b2be05fa938f0791d7624db43827a033227bf78b","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}
{"id":"d0a025ba-b586-44f6-9c3a-f1d1d130698a","timestamp":"2026-01-01T00:00:00.000Z","type":"user","content":[{"text":"list"}]}
{"id":"ea0292ee-9ea2-4aea-a535-d40f5d0e1813","timestamp":"2026-01-01T00:00:01.000Z","type":"gemini","content":[],"toolCalls":[{"id":"a","name":"ls","args":{"p": 1e0},"result":[{"functionResponse":{"id":"a","name":"ls","response":{"output":"x"}}}],"status":"success","timestamp":"2026-01-01T00:00:01.000Z"}],"model":"claude-x"}
{"id":"6969e81b-628a-4ccb-ae7a-5c1bf667a486","timestamp":"2026-01-01T00:00:04.000Z","type":"gemini","content":[{"text":"one file"}],"model":"claude-x"}
"#;
    to("gemini").stdout(expected).stderr(NO_REASONING).run();
}

#[test]
fn it_becomes_a_session_of_pi() {
    let expected = r#"{"type":"session","version":3,"id":"demo","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work"}
{"type":"message","id":"a8c92aa5","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"list","timestamp":1767225600000}}
{"type":"message","id":"e7a1cab4","parentId":"a8c92aa5","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"ls","arguments":{"p": 1e0}}],"api":"anthropic-messages","provider":"anthropic","model":"claude-x","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","timestamp":1767225601000}}
{"type":"message","id":"2ccc51b3","parentId":"e7a1cab4","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"toolResult","toolCallId":"a","toolName":"ls","content":[{"type":"text","text":"x"}],"isError":false,"timestamp":1767225603000}}
{"type":"message","id":"efce3010","parentId":"2ccc51b3","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"one file"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-x","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1767225604000}}
"#;
    to("pi").stdout(expected).stderr(NO_REASONING).run();
}

#[test]
fn it_becomes_a_session_of_claude_code() {
    let expected = r#"{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/work","sessionId":"demo","version":"2.1.197","gitBranch":"","type":"user","message":{"role":"user","content":"list"},"uuid":"7ebafeb3-d68b-4329-8840-e6757cdf1075","timestamp":"2026-01-01T00:00:00.000Z"}
{"parentUuid":"7ebafeb3-d68b-4329-8840-e6757cdf1075","isSidechain":false,"userType":"external","cwd":"/work","sessionId":"demo","version":"2.1.197","gitBranch":"","type":"assistant","message":{"id":"msg_8ab297a2bf9243c4bde7d51e6374ef51","type":"message","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":"Eq"}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"uuid":"3f0ac52a-93b6-4393-b78e-9bd9883355ed","timestamp":"2026-01-01T00:00:01.000Z"}
{"parentUuid":"3f0ac52a-93b6-4393-b78e-9bd9883355ed","isSidechain":false,"userType":"external","cwd":"/work","sessionId":"demo","version":"2.1.197","gitBranch":"","type":"assistant","message":{"id":"msg_8ab297a2bf9243c4bde7d51e6374ef51","type":"message","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"a","name":"ls","input":{"p": 1e0}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"uuid":"409e5288-f835-4c5d-83f5-df3b58dc5a17","timestamp":"2026-01-01T00:00:01.000Z"}
{"parentUuid":"409e5288-f835-4c5d-83f5-df3b58dc5a17","isSidechain":false,"userType":"external","cwd":"/work","sessionId":"demo","version":"2.1.197","gitBranch":"","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]},"uuid":"a2279670-a394-4dee-afa1-1ee5e465eef6","timestamp":"2026-01-01T00:00:03.000Z"}
{"parentUuid":"a2279670-a394-4dee-afa1-1ee5e465eef6","isSidechain":false,"userType":"external","cwd":"/work","sessionId":"demo","version":"2.1.197","gitBranch":"","type":"assistant","message":{"id":"msg_39992b6bf9be47df9c0ea2234950ed93","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"one file"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"uuid":"9bab6e36-3f38-4bba-a2f6-68212e99a039","timestamp":"2026-01-01T00:00:04.000Z"}
"#;
    to("claude-code").stdout(expected).run();
}

#[test]
fn a_summary_and_what_stands_before_it_go_along() {
    let session = r#"{"role":"system","content":"be good","timestamp":"2026-01-01T00:00:00Z"}
{"role":"user","content":"first ask"}
{"role":"user","name":"ctx_summary","content":"all that was"}
{"role":"user","content":"go on"}
"#;
    let codex = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"demo","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x","originator":"codex_exec","cli_version":"0.169.0","source":"exec"}}
{"timestamp":"2026-01-01T00:00:00.002Z","type":"compacted","payload":{"message":"all that was","replacement_history":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"be good"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"first ask"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"all that was"}]}]}}
{"timestamp":"2026-01-01T00:00:00.003Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}}
{"timestamp":"2026-01-01T00:00:00.003Z","type":"event_msg","payload":{"type":"user_message","message":"go on","images":[],"local_images":[],"text_elements":[]}}
"#;
    Case::new(CTX_CONVERT)
        .args(["--to", "codex", "-s", "demo", "--cwd", "/x"])
        .stdin(session)
        .stdout(codex)
        .run();
    let dry =
        "ctx-convert: warning: <stdin>:1: 1 system message is left out: the agent uses its own\n";
    let told = r#"{"name":null,"from":"chat","to":"gemini","output":null,"messages":4,"records":3,"losses":[{"kind":"instructions","count":1,"first_line":1,"paths":["messages[0]"],"lost":true},{"kind":"before-summary","count":1,"first_line":2,"paths":["messages[1]"],"lost":false}],"problems":[]}"#;
    Case::new(CTX_CONVERT)
        .args(["-n", "--json", "--to", "gemini"])
        .stdin(session)
        .stdout(format!("{told}\n"))
        .stderr(dry)
        .run();
}

#[test]
fn a_session_that_begins_in_another_file_causes_a_warning() {
    let fork = r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"b","timestamp":"2026-01-01T00:00:00.000Z","originator":"codex_exec","cli_version":"0.169.0","history_base":{"thread_id":"a"},"cwd":"/x"}}
{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}}
"#;
    Case::new(CTX_CONVERT)
        .args(["--to", "chat"])
        .stdin(fork)
        .stdout("{\"role\":\"user\",\"content\":\"go on\"}\n")
        .stderr("ctx-convert: warning: <stdin>:1: the session begins in another file: Codex also sends what is there, and the tools do not read it\n")
        .run();
}

#[test]
fn strict_writes_nothing_where_something_is_lost() {
    let refused = "ctx-convert: <stdin>: part of the session cannot be expressed in the other format; without --strict, whatever can be converted is written\n";
    to("chat").args(["--strict"]).code(2).stderr(&(NO_REASONING.to_owned() + refused)).run();
    to("anthropic").args(["--strict", "-n"]).run();
}

/// The Messages API refuses a session that begins with a reply: the user message of a repair goes
/// before it, with a warning, and `ctx-check` accepts the result.
#[test]
fn for_an_api_that_wants_the_user_first_a_user_message_is_inserted() {
    let chat = "{\"role\":\"system\",\"content\":\"be good\"}\n{\"role\":\"assistant\",\"content\":\"hello\"}\n{\"role\":\"user\",\"content\":\"hi\"}\n";
    let warning = "ctx-convert: warning: <stdin>:2: 1 user message is inserted: the API refuses a session that begins with a reply\n";
    let case = || Case::new(CTX_CONVERT).stdin(chat);
    let converted = case()
        .args(["--to", "anthropic"])
        .stdout(concat!(
            "{\"role\":\"system\",\"content\":\"be good\"}\n",
            "{\"role\":\"user\",\"content\":\"The beginning of this session is missing.\"}\n",
            "{\"role\":\"assistant\",\"content\":\"hello\"}\n",
            "{\"role\":\"user\",\"content\":\"hi\"}\n",
        ))
        .stderr(warning)
        .run();
    Case::new(env!("CARGO_BIN_EXE_ctx-check"))
        .args(["--dialect", "anthropic"])
        .stdin(converted.stdout)
        .stdout("<stdin>: ok\n")
        .run();
    case()
        .args(["--to", "anthropic", "--strict"])
        .stderr(&format!("{warning}ctx-convert: <stdin>: part of the session cannot be expressed in the other format; without --strict, whatever can be converted is written\n"))
        .code(2)
        .run();
    case()
        .args(["--to", "anthropic", "--json", "-n"])
        .stdout("{\"name\":null,\"from\":\"chat\",\"to\":\"anthropic\",\"output\":null,\"messages\":4,\"records\":4,\"losses\":[{\"kind\":\"beginning\",\"count\":1,\"first_line\":2,\"paths\":[\"messages[1]\"],\"lost\":true}],\"problems\":[]}\n")
        .stderr(warning)
        .run();
    case().args(["--to", "chat"]).stdout(chat).run();
}

#[test]
fn a_file_appears_whole_and_what_was_done_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let told = r#"{"name":null,"from":"claude-code","to":"chat","output":"new.jsonl","messages":4,"records":4,"losses":[{"kind":"time","count":4,"first_line":1,"lost":false},{"kind":"reasoning","count":1,"first_line":2,"paths":["records[1].message.content[0]"],"lost":true}],"problems":[]}"#;
    to("chat")
        .within(dir.path())
        .args(["-q", "--json", "-o", "new.jsonl"])
        .stdout(format!("{told}\n"))
        .run();
    let new = std::fs::read_to_string(dir.path().join("new.jsonl")).expect("it is there");
    assert_eq!(new.lines().count(), 4);
}

/// Records without a time get the time of the file's last change, each a millisecond more.
#[test]
fn the_same_file_gives_the_same_bytes() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("chat.jsonl");
    std::fs::write(&path, "{\"role\":\"user\",\"content\":\"a\"}\n").expect("it is written");
    let changed = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = std::fs::File::options().write(true).open(&path).expect("it is there");
    file.set_modified(changed).expect("it is set");
    for to in ["claude-code", "codex", "gemini", "pi", "qwen"] {
        let args = ["--to", to, "-o", to, "chat.jsonl"];
        Case::new(CTX_CONVERT).within(dir.path()).args(args).run();
        let text = std::fs::read_to_string(dir.path().join(to)).expect("it is there");
        assert!(text.contains(r#""timestamp":"2001-09-09T01:46:40.001Z""#), "{text}");
    }
}

#[test]
fn what_cannot_be_converted_is_refused() {
    let cases = [
        (
            vec!["--to=chat"],
            "<stdin>: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen",
        ),
        (
            vec!["--to=chat", "--batch"],
            "--batch files cannot be converted; convert the conversations one by one",
        ),
        (
            vec!["--to=chat", "--json"],
            "--json and the records cannot both be written to stdout; write the records to a file with -o, or preview the changes with -n",
        ),
    ];
    for (args, why) in cases {
        Case::new(CTX_CONVERT)
            .args(args)
            .stdin("{\"a\":1}\n")
            .code(2)
            .stderr(&format!("ctx-convert: {why}\n"))
            .run();
    }
}

/// A line that cannot be read is named; if a repair could recover a message from it, nothing is
/// written.
#[test]
fn a_bad_line_is_named_or_refused() {
    let user = "{\"role\":\"user\",\"content\":\"a\"}\n";
    let case = |lines: &str| Case::new(CTX_CONVERT).stdin([user, lines].concat());
    let loss = "ctx-convert: warning: <stdin>:2: 1 line is left out: not one JSON object";
    for (line, class) in
        [("no JSON\n", "broken"), ("[1]\n", "not-an-object"), ("{\"role\":", "tail")]
    {
        case(line).stdout(user).stderr(&format!("{loss} ({class})\n")).run();
    }
    let refused = "so a message would be lost; ctx-check --repair recovers the message or says why it cannot, --invalid drop leaves it out\n";
    let two = "{\"role\":\"user\",\"content\":\"b\"}{\"role\":\"user\",\"content\":\"c\"}\n";
    case(two)
        .code(2)
        .stderr(&format!("ctx-convert: <stdin>:2: more than one object on the line, {refused}"))
        .run();
    let told = r#"{"name":null,"from":"chat","to":"chat","output":null,"messages":1,"records":1,"losses":[{"kind":"line","name":"concatenated","count":1,"first_line":2,"paths":["messages[1]"],"lost":true}],"problems":[]}"#;
    case(two)
        .args(["--invalid", "drop", "-n", "--json"])
        .stdout(format!("{told}\n"))
        .stderr(&format!("{loss} (concatenated)\n"))
        .run();
    Case::new(CTX_CONVERT)
        .stdin([user.as_bytes(), b"{\"role\":\"user\",\"content\":\"\xe9\"}\n"].concat())
        .code(2)
        .stderr(&format!("ctx-convert: <stdin>:2: not UTF-8, {refused}"))
        .run();
    let repaired = Case::new(env!("CARGO_BIN_EXE_ctx-check"))
        .args(["--repair", "-q"])
        .stdin([user, two].concat())
        .stdout_any()
        .run();
    let all = Case::new(CTX_CONVERT).stdin(repaired.stdout).stdout_any().run();
    assert_eq!(String::from_utf8_lossy(&all.stdout).lines().count(), 3);
}

/// The system prompt of a request becomes the first message.
#[test]
fn the_system_prompt_of_a_request_becomes_a_message() {
    let request = r#"{
  "model": "claude-sonnet-4-5",
  "max_tokens": 1024,
  "system": [
    {"type": "text", "text": "be careful"}
  ],
  "messages": [
    {"role": "user", "content": "list"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "Eq"}, {"type": "text", "text": "one file"}]}
  ]
}
"#;
    let expected = r#"{"role":"system","content":"be careful"}
{"role":"user","content":"list"}
{"role":"assistant","content":"one file"}
"#;
    let told = "ctx-convert: warning: <stdin>:1: 2 members of the document are left out: not a message (model, max_tokens)
ctx-convert: warning: <stdin>:9: 1 reasoning block is left out: no other API accepts reasoning, and its own only after unchanged messages\n";
    to("chat").stdin(request).stdout(expected).stderr(told).run();
}

/// What pi has signed stays in a session of pi where nothing before it changes.
#[test]
fn signed_reasoning_of_pi_stays_where_it_is_valid() {
    let session = |model: &str, lost: &str| {
        format!(
            r#"{{"type":"session","version":3,"id":"demo","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work"}}
{{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":[{{"type":"text","text":"list"}}{lost}],"timestamp":1767225601000}}}}
{{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"assistant","content":[{{"type":"thinking","thinking":"hm","thinkingSignature":"Eq"}},{{"type":"text","text":"one file"}}],"api":"anthropic-messages","provider":"anthropic","model":"{model}","stopReason":"stop","timestamp":1767225602000}}}}
"#
        )
    };
    let signed = r#"{"type":"thinking","thinking":"hm","thinkingSignature":"Eq"}"#;
    let kept = |input: String| to("pi").stdin(input).stdout_has(signed).stderr_has("").run();
    let lost = r#",{"type":"image","data":"","mimeType":"image/png"}"#;
    kept(session("claude-opus-5-5", ""));
    kept(session("claude-opus-4-5", lost));
    let case = to("pi").stdin(session("claude-opus-5-5", lost)).stdout_any();
    case.stderr_has("1 reasoning block is left out").run();
}
