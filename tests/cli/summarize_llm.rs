//! `ctx-summarize --method llm`: servers that answer, and servers that do not.

use ctx_testkit::{Act, Case, Server};

use super::summarize_completion::parts;

const KEY: &str = "sk-this-key-must-stay-hidden-0123456789";

const INPUT: &str = concat!(
    r#"{"_ctx":{"zone":"system"},"role":"system","content":"be brief"}"#,
    "\n",
    r#"{"_ctx":{"zone":"old"},"role":"user","content":"list the files, the login is password=hunter2x, and tell me what you think of each of them in a few words"}"#,
    "\n",
    r#"{"_ctx":{"zone":"old"},"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"path\":\"src\"}"}}]}"#,
    "\n",
    r#"{"_ctx":{"zone":"old"},"role":"tool","tool_call_id":"c1","content":"main.rs lib.rs"}"#,
    "\n",
    r#"{"_ctx":{"zone":"keep","end":5},"role":"user","content":"go on"}"#,
    "\n",
);
const SYSTEM: &str = r#"{"role":"system","content":"be brief"}"#;
const GO_ON: &str = r#"{"role":"user","content":"go on"}"#;
const RECORD_LINE: &str = "A record of earlier conversation, not a request.";

fn case(server: &Server) -> Case {
    untold(server).args(["--template", "sanbot"])
}

/// Returns an answer that has nothing of the template.
fn untold(server: &Server) -> Case {
    Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .args(["--method", "llm"])
        .env("CTX_LLM_URL", &server.url)
        .env("CTX_LLM_KEY", KEY)
        .stdin(INPUT)
}

fn said(text: &str) -> Act {
    let choice = serde_json::json!({"message": {"content": text}, "finish_reason": "stop"});
    Act::ok(&serde_json::json!({"choices": [choice]}).to_string())
}

fn rejected() -> Act {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    Act::answer("401 Unauthorized", "", &body)
}

/// Returns the record of a summary without a header.
fn summary(text: &str) -> String {
    format!(r#"{{"role":"user","name":"ctx_summary","content":"{RECORD_LINE}\n\n{text}"}}"#)
}

#[test]
fn the_model_writes_the_summary() {
    let server = Server::new([said("## 任务目标\nlist files")]);
    case(&server)
        .args(["-v", "--llm-model", "small"])
        .stdout(format!(
            "{SYSTEM}\n{}\n{GO_ON}\n",
            summary(r"## 任务目标\nlist files")
        ))
        .stderr(
            "ctx-summarize: <stdin>: secrets removed from the request: 1\n\
             ctx-summarize: <stdin>: in the model's answer: missing sections: 已完成, 关键决策, 待处理\n\
             ctx-summarize: <stdin>: 3 messages summarized: 49 tokens, now 21\n",
        )
        .run();
    let request = server.requests().concat();
    for part in [
        "POST /v1/chat/completions ",
        &format!("authorization: Bearer {KEY}\r\n"),
        "\"model\":\"small\"",
        "\"max_tokens\":600",
        "[assistant calls ls]\\n{\\\"path\\\":\\\"src\\\"}",
        "[tool result]\\nmain.rs lib.rs",
        "## 关键决策",
    ] {
        assert!(request.contains(part), "{part} in {request}");
    }
    // Neither secrets nor kept messages are sent.
    assert!(!request.contains("hunter2x"), "{request}");
    assert!(!request.contains("go on\""), "{request}");
    assert!(!request.contains("be brief"), "{request}");
}

#[test]
fn anthropic_is_asked_in_its_own_way() {
    let body = r###"{"content":[{"type":"text","text":"## Current Status\nall of it"}],"stop_reason":"end_turn"}"###;
    let server = Server::new([Act::ok(body)]);
    untold(&server)
        .args([
            "--llm-api",
            "anthropic",
            "--template",
            "synapse",
            "--header",
            "[Compressed History]",
            "--instructions",
            "keep every path",
        ])
        .stdout_has(r#""content":"[Compressed History]\n\n"#)
        .run();
    let request = server.requests().concat();
    for part in [
        "POST /v1/messages ",
        &format!("x-api-key: {KEY}\r\n"),
        "## Debugging & Issues",
        "about 8000 tokens",
        "\"max_tokens\":9600",
        "keep every path",
    ] {
        assert!(request.contains(part), "{part} in {request}");
    }
}

#[test]
fn without_an_answer_the_summary_is_written_by_code() {
    for (args, method) in
        [(&["--on-failure", "extractive"][..], "extractive"), (&["--on-failure", "rule"], "rule")]
    {
        let server = Server::new([rejected()]);
        let done = case(&server)
            .args(args.iter().copied())
            .stdout_has("ctx_summary")
            .stderr_has(&format!(
                "ctx-summarize: warning: <stdin>: no summary from {}/v1/chat/completions: the server refused the request (status 401): Incorrect API key provided: [key]; the {method} summary is used\n",
                server.url
            ))
            .run();
        let text = String::from_utf8_lossy(&done.stdout);
        let is_by_rule = text.contains("## 会话摘要 / Session summary");
        assert_eq!(is_by_rule, method == "rule", "{text}");
        assert!(text.ends_with(&format!("{GO_ON}\n")));
    }
}

/// `--method llm` writes no other summary unless `--on-failure` names one.
#[test]
fn a_model_that_was_asked_for_and_gives_no_answer_is_an_error() {
    let server = Server::new([rejected()]);
    case(&server)
        .code(2)
        .stderr(&format!(
            "ctx-summarize: <stdin>: no summary from {}/v1/chat/completions: the server refused the request (status 401): Incorrect API key provided: [key]; --on-failure extractive writes a summary that needs no model\n",
            server.url
        ))
        .run();
}

/// The server named by a flag used to be ignored silently if no model was asked.
#[test]
fn a_flag_that_names_a_model_says_nothing_where_none_is_asked() {
    for flag in ["--llm-url", "--llm-model", "--record", "--replay"] {
        Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
            .args([flag, "http://127.0.0.1:9"])
            .stdin(INPUT)
            .code(2)
            .stderr(&format!(
                "ctx-summarize: {flag} has no effect because --method extractive asks no model; add --method llm\n"
            ))
            .run();
    }
    // An environment variable may be meant for other runs.
    Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .env("CTX_LLM_URL", "http://127.0.0.1:9")
        .args(["-q"])
        .stdin(INPUT)
        .stdout_has("ctx_summary")
        .run();
}

#[test]
fn on_failure_fail_writes_nothing() {
    let server = Server::new([said("I'm sorry, but I can't help with that.")]);
    let done = case(&server)
        .args(["--on-failure", "fail", "-o", "new.jsonl"])
        .code(2)
        .stderr(&format!(
            "ctx-summarize: <stdin>: no summary from {}/v1/chat/completions: the model refused: I'm sorry, but I can't help with that.; --on-failure extractive writes a summary that needs no model\n",
            server.url
        ))
        .run();
    assert!(!done.dir().join("new.jsonl").exists());
}

#[test]
fn every_misbehaviour_ends_in_a_summary_by_code() {
    // Each row has the server's behaviour, the number of requests and the message.
    type Misbehaviour = (fn() -> Act, usize, &'static str);
    let acts: [Misbehaviour; 6] = [
        (|| Act::ok("<html>"), 3, "the answer is not JSON"),
        (|| said(" "), 3, "the answer is empty (stopped: stop)"),
        (|| Act::Cut, 3, "connection failed"),
        (|| Act::answer("500 Internal Server Error", "", ""), 3, "failing (status 500)"),
        (|| Act::Hang, 3, "no answer within 1 s"),
        (|| Act::ok("{}"), 1, "is not in the format of the selected API: no choices"),
    ];
    // Each run waits between its attempts, so the runs are started at the same time.
    std::thread::scope(|scope| {
        for (act, tries, why) in acts {
            scope.spawn(move || {
                let server = Server::new((0..4).map(|_| act()));
                case(&server)
                    .args(["--llm-timeout", "1", "--on-failure", "rule"])
                    .stdout_has("## 会话摘要 / Session summary")
                    .stderr_has(why)
                    .run();
                assert_eq!(server.requests().len(), tries, "{why}");
            });
        }
    });
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    let busy = Act::answer("429 Too Many Requests", "Retry-After: 0\r\n", "{}");
    let server = Server::new([busy, said("## 任务目标\ndone")]);
    case(&server).stdout(format!("{SYSTEM}\n{}\n{GO_ON}\n", summary(r"## 任务目标\ndone"))).run();
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn it_is_asked_as_often_as_is_said_in_all() {
    for tries in [1, 2, 3] {
        let server = Server::new((0..3).map(|_| Act::Cut));
        case(&server)
            .args(["--llm-backoff", "0", "--llm-tries", &tries.to_string()])
            .args(["--on-failure", "extractive"])
            .stdout_has("ctx_summary")
            .stderr_has("connection failed")
            .run();
        assert_eq!(server.requests().len(), tries);
    }
}

#[test]
fn the_key_is_nowhere_but_in_the_header() {
    let quoting =
        |status| Act::answer(status, "", &format!(r#"{{"error":{{"message":"{KEY}"}}}}"#));
    for act in [
        rejected(),
        quoting("400 Bad Request"),
        quoting("404 Not Found"),
        said(&format!("## 任务目标\nthe key is {KEY}")),
        Act::answer("302 Found", &format!("Location: http://127.0.0.1/{KEY}\r\n"), ""),
    ] {
        let server = Server::new([act]);
        let done = case(&server)
            .args(["-vv", "--on-failure", "extractive"])
            .stdout_any()
            .stderr_has("")
            .run();
        assert!(!String::from_utf8_lossy(&done.stdout).contains(KEY));
        assert!(!done.stderr.contains(KEY), "{}", done.stderr);
        for request in server.requests() {
            assert_eq!(request.matches(KEY).count(), 1, "{request}");
        }
    }
    let help = Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .args(["--help"])
        .env("CTX_LLM_KEY", KEY)
        .env("CTX_LLM_URL", &format!("http://host/?k={KEY}"))
        .stdout_any()
        .run();
    assert!(!String::from_utf8_lossy(&help.stdout).contains(KEY));
}

#[test]
fn keys_come_from_the_environment_or_a_file_it_names() {
    let asked_with = |variables: &[(&str, &str)]| {
        let server = Server::new([said("## 任务目标\ndone")]);
        let mut case = Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
            .args(["--method", "llm", "--llm-url", &server.url])
            .args(["--template", "sanbot"])
            .file("key", "from-a-file\nsecond line")
            .stdin(INPUT)
            .stdout_any();
        for (name, value) in variables {
            case = case.env(name, value);
        }
        case.run();
        let request = server.requests().concat();
        request
            .lines()
            .find_map(|line| line.strip_prefix("authorization: Bearer "))
            .map(str::to_owned)
    };
    let vendors = [("OPENAI_API_KEY", "other"), ("ANTHROPIC_API_KEY", "other")];
    let file = ("CTX_LLM_KEY_FILE", "key");
    let own = ("CTX_LLM_KEY", "our-own");
    assert_eq!(asked_with(&[]), None);
    assert_eq!(asked_with(&vendors), None);
    assert_eq!(asked_with(&[file]).as_deref(), Some("from-a-file"));
    assert_eq!(asked_with(&[file, own]).as_deref(), Some("our-own"));
}

#[test]
fn a_key_alone_asks_nobody() {
    let case = || {
        Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
            .args(["--method", "llm"])
            .env("OPENAI_API_KEY", KEY)
            .stdin(INPUT)
    };
    case()
        .args(["--summary-tokens", "1000", "--on-failure", "extractive"])
        .stdout_has("ctx_summary")
        .stderr_has("ctx-summarize: warning: no LLM server is set; set --llm-url or CTX_LLM_URL; the extractive summary is used\n")
        .run();
    case()
        .code(2)
        .stderr("ctx-summarize: no LLM server is set; set --llm-url or CTX_LLM_URL\n")
        .run();
}

#[test]
fn a_stream_that_ended_early_is_not_sent() {
    let server = Server::new([said("## 任务目标\ndone")]);
    let (cut, _) = INPUT.split_at(INPUT.find("go on").expect("there"));
    case(&server).stdin(cut).code(2).stderr_has("upstream ended early").run();
    assert!(server.requests().is_empty());
}

#[test]
fn an_earlier_summary_goes_into_the_new_one() {
    let server = Server::new([said("## 任务目标\nboth")]);
    let earlier = r#"{"_ctx":{"zone":"old"},"role":"user","name":"ctx_summary","content":"it began with token=a1b2c3d4e5f6g7 and a plan"}"#;
    let input = INPUT
        .replacen(
            "{\"_ctx\":{\"zone\":\"old\"}",
            &format!("{earlier}\n{{\"_ctx\":{{\"zone\":\"old\"}}"),
            1,
        )
        .replace("\"end\":5", "\"end\":6");
    // The record is so short that the summary with the added text would be as long.
    let done = case(&server).stdin(input).stdout_any().stderr_has("").run();
    assert_eq!(parts(&done.stdout).0, "## 任务目标\nboth");
    let request = server.requests().concat();
    assert!(
        request.contains("<earlier-summary>\\nit began with token=[REDACTED] and a plan\\n"),
        "{request}"
    );
}

#[test]
fn a_long_input_is_summed_up_in_parts() {
    let server = Server::new((0..40).map(|_| said("## 任务目标\na part")));
    let words = "word ".repeat(40);
    let old: Vec<String> = (0..60)
        .map(|n| {
            format!(r#"{{"_ctx":{{"zone":"old"}},"role":"user","content":"fact {n}: {words}"}}"#)
        })
        .collect();
    let old = old.join("\n");
    let input = format!(
        "{old}\n{{\"_ctx\":{{\"zone\":\"keep\",\"end\":61}},\"role\":\"user\",\"content\":\"go on\"}}\n"
    );
    let done = case(&server)
        .args(["-v", "--summary-tokens", "100", "--llm-window", "1500"])
        .stdin(input)
        .stdout_any()
        .stderr_has("parts with ")
        .run();
    assert_eq!(parts(&done.stdout).0, "## 任务目标\na part");
    let requests = server.requests();
    assert!(requests.len() > 3, "{}", requests.len());
    assert!(requests.iter().all(|request| request.len() < 9_000));
    assert!(requests.last().expect("asked").contains("[summary of part 1 of "));
}

#[test]
fn without_a_template_the_default_one_is_asked_for() {
    let server = Server::new([said("## Goal\ndone")]);
    untold(&server).stdout_has("## Goal\\ndone").run();
    let request = server.requests().concat();
    assert!(request.contains("with exactly these headings"), "{request}");
    assert!(request.contains("about 250 words"), "{request}");
    assert!(!request.contains("<!--"), "{request}");
}

#[test]
fn a_template_says_how_long_a_summary_is_to_be() {
    let server = Server::new([said("## 任务目标\ndone")]);
    untold(&server)
        .args(["--template", "mine.md"])
        .file("mine.md", "<!-- target: 70 -->\nWords: {{target}}\n\n{{transcript}}\n")
        .stdout_has("done")
        .run();
    let request = server.requests().concat();
    assert!(request.contains("\"Words: 70\\n"), "{request}");
}

#[test]
fn templates_of_the_user_are_read_and_checked() {
    let server = Server::new([said("## 任务目标\ndone")]);
    untold(&server)
        .args(["--template", "mine.md"])
        .file("mine.md", "Words: {{target}}\n\n{{transcript}}\n")
        .stdout_has("done")
        .run();
    let request = server.requests().concat();
    assert!(request.contains("Words: 500\\n\\n[user]\\nlist the files"), "{request}");
    assert!(!request.contains("\"system\""), "{request}");
    for (template, text, why) in [
        ("mine.md", "no placeholder", "mine.md: the template lacks the placeholder {{transcript}}"),
        (
            "mine.md",
            "{{transcript}} {{x}}",
            "mine.md: the template has an unknown placeholder {{x}}",
        ),
        (
            "other.md",
            "",
            "other.md: cannot read the template: No such file or directory; default, sanbot and synapse are built in",
        ),
    ] {
        untold(&server)
            .args(["--template", template])
            .file("mine.md", text)
            .code(2)
            .stderr_has(why)
            .run();
    }
}

#[test]
fn urls_that_are_none_are_refused_without_being_shown() {
    for (url, why) in [
        ("localhost:8080", "must begin with http:// or https://"),
        ("http://me:hunter2x@host", "contains a user name or password"),
    ] {
        let done = Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
            .args(["--method", "llm", "--llm-url", url])
            .stdin(INPUT)
            .code(2)
            .stderr_has(why)
            .run();
        assert!(!done.stderr.contains("hunter2x"));
    }
}

#[test]
fn an_old_zone_in_which_nothing_was_said_is_not_sent() {
    let server = Server::new([said("## 任务目标\ndone")]);
    let input = concat!(
        r#"{"_ctx":{"zone":"old"},"role":"assistant","content":""}"#,
        "\n",
        r#"{"_ctx":{"zone":"keep","end":2},"role":"user","content":"go on"}"#,
        "\n",
    );
    case(&server).args(["-q"]).stdin(input).stdout_has("ctx_summary").run();
    assert!(server.requests().is_empty());
}
