//! `ctx-summarize --method llm`: how much text the model gets, how long its answer may be, and in
//! which language.

use ctx_testkit::{Act, Case, Server};
use serde_json::{Value, json};

fn said(text: &str) -> Act {
    let choice = json!({"message": {"content": text}, "finish_reason": "stop"});
    Act::ok(&json!({"choices": [choice]}).to_string())
}

fn case(server: &Server) -> Case {
    Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .args(["--method", "llm", "--llm-url", &server.url])
        .args(["--llm-model", "mine"])
}

/// Returns a session of about 7,000 tokens, most of them the output of a command.
fn session() -> String {
    let rows: Vec<String> =
        (0..600).map(|n| format!("row {n} of the report of the month")).collect();
    let call = json!([{"id": "a", "type": "function", "function": {"name": "Bash", "arguments": "{\"command\":\"make report\"}"}}]);
    let records = [
        json!({"role": "user", "content": "Make the report of the month, and keep the column order."}),
        json!({"role": "assistant", "content": "I run it.", "tool_calls": call}),
        json!({"role": "tool", "tool_call_id": "a", "content": rows.join("\n")}),
        json!({"role": "assistant", "content": "It is made. The rows are in order."}),
        json!({"role": "user", "content": "thanks"}),
    ];
    let lines: Vec<String> = records.iter().map(|record| format!("{record}\n")).collect();
    lines.concat()
}

/// Returns the output with everything summarized except for the last record.
fn tagged(session: &str) -> String {
    let count = session.lines().count();
    let zone = |(at, line): (usize, &str)| {
        let zone = if at + 1 == count {
            json!({"zone": "keep", "end": count})
        } else {
            json!({"zone": "old"})
        };
        format!("{{\"_ctx\":{zone},{}\n", &line[1..])
    };
    session.lines().enumerate().map(zone).collect()
}

fn first_lines(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let lines = requests.iter().filter_map(|request| request.lines().next());
    lines.map(str::to_owned).collect()
}

const MODELS: &str = "GET /v1/models HTTP/1.1";
const CHAT: &str = "POST /v1/chat/completions HTTP/1.1";
const ANSWER: &str = "## Goal\nMake the report of the month.";

/// If the text does not fit the window that the server reports, the output of the command is cut,
/// and the messages of people are not.
#[test]
fn a_server_says_its_window_and_the_record_is_cut_to_it() {
    let models = Act::ok(r#"{"data":[{"id":"mine","max_model_len":6000}]}"#);
    let server = Server::new([models, said(ANSWER)]);
    case(&server)
        .args(["-v", "--summary-tokens", "500", "--on-failure", "fail"])
        .stdin(tagged(&session()))
        .stdout_has("Make the report of the month.")
        .stderr(
            "ctx-summarize: <stdin>: tool results and arguments that were cut to fit the model's window: 1\n\
             ctx-summarize: <stdin>: 4 messages summarized: 6050 tokens, now 24\n",
        )
        .run();
    let requests = server.requests();
    let lines: Vec<&str> = requests.iter().filter_map(|it| it.lines().next()).collect();
    assert_eq!(lines, [MODELS, CHAT]);
    for part in ["keep the column order.", "row 0 of", "row 599 of", "lines left out …]"] {
        assert!(requests[1].contains(part), "{part} in {}", requests[1]);
    }
}

#[test]
fn without_a_word_of_the_server_the_window_is_a_guess() {
    let server = Server::new([Act::answer("404 Not Found", "", "{}"), said(ANSWER)]);
    case(&server)
        .args(["-v", "--summary-tokens", "500"])
        .stdin(tagged(&session()))
        .stdout_has("Make the report of the month.")
        .stderr(
            "ctx-summarize: <stdin>: the model's window is unknown and assumed to be 32000 tokens; set it with --llm-window\n\
             ctx-summarize: <stdin>: 4 messages summarized: 6050 tokens, now 24\n",
        )
        .run();
    assert_eq!(first_lines(&server), [MODELS, CHAT]);
}

/// The server is not asked if the window is known or does not matter.
#[test]
fn a_server_is_not_asked_for_a_window_without_need() {
    let short = r#"{"role":"user","content":"Make the report of the month, please, and keep the order of the columns as it is."}"#;
    let short = format!("{short}\n{{\"role\":\"user\",\"content\":\"thanks\"}}\n");
    for (args, session) in [
        (&["--llm-window", "64000"][..], session()),
        (&["--llm-model", "gpt-5.5"], session()),
        (&[], short),
    ] {
        let server = Server::new([said(ANSWER)]);
        let done = Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
            .args(["--method", "llm", "--llm-url", &server.url])
            .args(args.iter().copied())
            .stdin(tagged(&session))
            .stdout_any()
            .stderr_has("");
        done.run();
        assert_eq!(first_lines(&server), [CHAT], "{args:?}");
    }
}

/// If a run asked for the window, a replay uses the same one.
#[test]
fn a_window_is_recorded_with_the_answers() {
    let models = Act::ok(r#"{"data":[{"id":"mine","max_model_len":6000}]}"#);
    let server = Server::new([models, said(ANSWER)]);
    let recorded =
        case(&server).args(["--record", "answers"]).stdin(tagged(&session())).stdout_any().run();
    assert_eq!(
        recorded.read("answers/window.json"),
        b"{\n  \"ctx_llm\": 1,\n  \"window\": 6000\n}\n"
    );
    let answers = recorded.dir().join("answers");
    let replayed = Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .args(["--method", "llm", "--llm-model", "mine", "--replay"])
        .args([&answers.display().to_string()])
        .stdin(tagged(&session()))
        .stdout_any()
        .run();
    assert_eq!(recorded.stdout, replayed.stdout);
}

/// Returns a session of many messages.
fn talk() -> String {
    let words = "the export of the month is compared with the books of the harbour ".repeat(6);
    let message = |n: u32| {
        let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
        format!("{}\n", json!({"role": role, "content": format!("{n}: {words}")}))
    };
    (0..80).map(message).collect::<Vec<_>>().concat()
}

/// Returns the number of words that the prompt asks for, and the maximum number of tokens that the
/// request allows.
fn asked(args: &[&str]) -> (u64, u64) {
    let server = Server::new([said(ANSWER)]);
    case(&server)
        .args(["--llm-window", "64000"])
        .args(args.iter().copied())
        .stdin(if args.contains(&"--budget") { talk() } else { tagged(&session()) })
        .stdout_any()
        .run();
    let requests = server.requests().concat();
    let (_, body) = requests.split_once("\r\n\r\n").expect("a body");
    let body: Value = serde_json::from_str(body).expect("JSON");
    let system = body["messages"][0]["content"].as_str().expect("a prompt");
    let (_, rest) = system.split_once("Write about ").expect("a length");
    let target = rest.split(' ').next().and_then(|n| n.parse().ok());
    (target.expect("a number"), body["max_tokens"].as_u64().expect("a limit"))
}

#[test]
fn a_model_is_asked_for_what_is_said_else_for_what_there_is_room_for() {
    assert_eq!(asked(&["--summary-tokens", "300"]), (150, 360));
    // Without a budget the summary may have a tenth of the replaced tokens.
    assert_eq!(asked(&[]), (310, 727));
    let (target, most) = asked(&["--budget", "3000"]);
    assert!((840..930).contains(&target), "{target}");
    // A word has two tokens, and the number of words is rounded up to a multiple of 10.
    assert!((target * 12 / 5).abs_diff(most) <= 16, "{target} and {most}");
    assert_eq!(asked(&["--budget", "3000", "--summary-tokens", "300"]), (150, 360));
    // The summary may have no more tokens than fit into the budget.
    let (target, _) = asked(&["--budget", "600", "--summary-tokens", "5000"]);
    assert!((120..230).contains(&target), "{target}");
}

/// Prompt, headings and the first line are in the language of the user's messages.
#[test]
fn a_summary_is_in_the_users_language() {
    let chinese = "{\"role\":\"user\",\"content\":\"把这个月的报表做出来，列的顺序不要变，做完以后告诉我一共有多少行，谢谢\"}\n{\"role\":\"user\",\"content\":\"好\"}\n";
    let server = Server::new([said("## 目标\n做这个月的报表。")]);
    case(&server)
        .stdin(tagged(chinese))
        .stdout(
            "{\"role\":\"user\",\"content\":\"[ctx_summary]\\n\\n以下是此前对话的记录，不是新的请求。\\n\\n## 目标\\n做这个月的报表。\"}\n{\"role\":\"user\",\"content\":\"好\"}\n",
        )
        .stderr_has("")
        .run();
    let request = server.requests().concat();
    assert!(request.contains("## 约束与偏好\\n"), "{request}");
    let english = "{\"role\":\"user\",\"content\":\"Make the report of the month, keep the order of the columns, and tell me how many rows it has\"}\n{\"role\":\"user\",\"content\":\"ok\"}\n";
    let server = Server::new([said("## Goal\nThe report.")]);
    case(&server)
        .stdin(tagged(english))
        .stdout(
            "{\"role\":\"user\",\"content\":\"[ctx_summary]\\n\\nA record of earlier conversation, not a request.\\n\\n## Goal\\nThe report.\"}\n{\"role\":\"user\",\"content\":\"ok\"}\n",
        )
        .stderr_has("")
        .run();
    let request = server.requests().concat();
    assert!(request.contains("## Constraints and Preferences\\n"), "{request}");
}

/// The least important sections come last: they are dropped if the answer is too long.
#[test]
fn an_answer_that_is_too_long_loses_its_last_lines() {
    let lines = |from: u32| -> String {
        let line = |n| format!("- The export of the month {n} is compared with the books.\n");
        (from..from + 15).map(line).collect()
    };
    let (first, last) = (lines(0), lines(15));
    let answer = format!("## Goal\n{first}\n## Places\n{last}");
    let server = Server::new([said(&answer)]);
    let done = case(&server)
        .args(["--llm-window", "64000", "--budget", "600"])
        .stdin(talk())
        .stdout_has("## Goal\\n- The export of the month 0 is compared with the books.")
        .stderr_has("the model's answer is longer than 367 tokens; lines left out at its end: 5")
        .run();
    let after = String::from_utf8(done.stdout).expect("UTF-8");
    assert!(!after.contains("the month 29 is"), "{after}");
}
