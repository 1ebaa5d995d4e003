//! Tests the client against servers on the loopback interface, some of which misbehave in all known
//! ways.

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::net::TcpListener;
use std::time::Duration;

use chrono::{DateTime, TimeZone, Utc};
use ctx_llm::{
    Api, Client, Clock, Completion, Endpoint, Key, LlmError, Question, RetryPolicy, Settings, Usage,
};
use ctx_testkit::{Act, Server};

const KEY: &str = "sk-this-key-must-stay-hidden-0123456789";

/// The time limit for tests that expect an answer; long enough for a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// The time limit for tests in which the server does not answer.
const SHORT: Duration = Duration::from_millis(400);

fn ok(text: &str) -> Act {
    let body =
        serde_json::json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
    Act::ok(&body.to_string())
}

fn settings(url: &str, api: Api) -> Settings {
    Settings {
        endpoint: Endpoint::new(url, Some(api)).unwrap(),
        model: Some("m".to_owned()),
        key: Key::new(KEY),
        key_in_clear: false,
        connect_timeout: Duration::from_secs(5),
        answer_timeout: LONG,
        retry: RetryPolicy { attempts: 4, backoff: Duration::from_secs(1) },
        proxy: None,
    }
}

fn noon() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 1, 2, 12, 0, 0).unwrap()
}

/// Asks a question through a client that retries. Also returns the waits between attempts in
/// seconds.
fn ask_with(settings: Settings) -> (Result<Completion, LlmError>, Vec<u64>) {
    let (outcome, slept, _) = asked_with(settings);
    (outcome, slept)
}

/// Like `ask_with`, but also returns the cost.
fn asked_with(settings: Settings) -> (Result<Completion, LlmError>, Vec<u64>, Usage) {
    let slept = RefCell::new(Vec::new());
    let sleep = |time: Duration| slept.borrow_mut().push(time.as_secs());
    let question =
        Question { instructions: "summarize", text: "user: hello", max_tokens: 50, part: (1, 1) };
    let clock = Clock { now: &noon, sleep: &sleep };
    let mut usage = Usage::default();
    let client = Client::new(settings).unwrap();
    let outcome = client.ask(&question, clock, &mut usage);
    // The key must not be in any message or debug output.
    assert!(!format!("{outcome:?}").contains(KEY));
    if let Err(error) = &outcome {
        assert!(!error.to_string().contains(KEY), "{error}");
    }
    (outcome, slept.into_inner(), usage)
}

fn ask(acts: Vec<Act>) -> (Result<Completion, LlmError>, Vec<u64>) {
    let server = Server::new(acts);
    ask_with(settings(&server.url, Api::OpenAi))
}

fn text(outcome: Result<Completion, LlmError>) -> String {
    outcome.unwrap().text
}

fn error(acts: Vec<Act>) -> LlmError {
    ask(acts).0.expect_err("no answer")
}

#[test]
fn open_ai_request_carries_model_key_and_text() {
    let server = Server::new(vec![ok("done")]);
    let (outcome, slept) = ask_with(settings(&server.url, Api::OpenAi));
    assert_eq!(text(outcome), "done");
    assert!(slept.is_empty(), "{slept:?}");
    let request = server.requests().concat();
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {KEY}\r\n")), "{request}");
    assert!(request.contains(r#""model":"m""#), "{request}");
    assert!(request.contains("user: hello"), "{request}");
}

#[test]
fn anthropic_request_has_its_own_headers() {
    let body = r#"{"content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}"#;
    let server = Server::new(vec![Act::ok(body)]);
    let (outcome, _) = ask_with(settings(&server.url, Api::Anthropic));
    assert_eq!(text(outcome), "done");
    let request = server.requests().concat();
    assert!(request.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("x-api-key: {KEY}\r\n")), "{request}");
    assert!(request.contains("anthropic-version: 2023-06-01\r\n"), "{request}");
    assert!(!request.contains("authorization:"), "{request}");
}

/// Other computers on the network could read the key.
#[test]
fn a_key_goes_through_no_network_in_clear() {
    let server = Server::new(vec![ok("done")]);
    // The address is this machine's, but the client cannot know that.
    let beyond = server.url.replace("127.0.0.1", "0.0.0.0");
    let refused = Client::new(settings(&beyond, Api::OpenAi)).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "the key would be sent to 0.0.0.0 in clear text, because the LLM URL begins with http://"
    );
    assert!(server.requests().is_empty());
    for harmless in [
        settings("https://models.example", Api::OpenAi),
        settings("http://localhost:1", Api::OpenAi),
        settings("http://[::1]:1", Api::Anthropic),
        Settings { key: None, ..settings(&beyond, Api::OpenAi) },
    ] {
        assert!(Client::new(harmless).is_ok());
    }
    let allowed = Settings { key_in_clear: true, ..settings(&beyond, Api::OpenAi) };
    assert_eq!(text(ask_with(allowed).0), "done");
    assert!(server.requests().concat().contains(KEY));
}

#[test]
fn a_server_that_wants_a_key_is_told_from_one_that_refuses_it() {
    let keyless = |url: &str| Settings { key: None, ..settings(url, Api::OpenAi) };
    let server = Server::new(vec![Act::answer("401 Unauthorized", "", "{}")]);
    let error = ask_with(keyless(&server.url)).0.expect_err("no key");
    assert_eq!(error.to_string(), "the server requires a key, but none was sent (status 401)");
}

#[test]
fn too_many_requests_waits_as_long_as_the_server_says() {
    let busy = |after: &str| {
        Act::answer("429 Too Many Requests", &format!("Retry-After: {after}\r\n"), "{}")
    };
    let (outcome, slept) = ask(vec![busy("7"), busy("Fri, 02 Jan 2026 12:00:20 GMT"), ok("done")]);
    assert_eq!(text(outcome), "done");
    assert_eq!(slept, [7, 20]);
}

#[test]
fn a_failing_server_is_asked_four_times() {
    let fail = || {
        Act::answer(
            "500 Internal Server Error",
            "",
            &format!(r#"{{"error":{{"message":"crashed on key {KEY}"}}}}"#),
        )
    };
    let server = Server::new(vec![fail(), fail(), fail(), ok("done")]);
    let (outcome, slept, usage) = asked_with(settings(&server.url, Api::OpenAi));
    assert_eq!(text(outcome), "done");
    assert_eq!(slept, [1, 2, 3]);
    assert_eq!((usage.calls, usage.tokens_in), (4, None));
    let error = error(vec![fail(), fail(), fail(), fail(), ok("too late")]);
    assert_eq!(
        error.to_string(),
        "the server is busy or failing (status 500): crashed on key [key]"
    );
}

#[test]
fn a_server_that_hangs_is_left_in_time() {
    let within = |time, acts| {
        let server = Server::new(acts);
        let mut settings = settings(&server.url, Api::OpenAi);
        settings.answer_timeout = time;
        ask_with(settings)
    };
    let (outcome, slept) = within(Duration::from_secs(3), vec![Act::Hang, ok("done")]);
    assert_eq!(text(outcome), "done");
    assert_eq!(slept, [1]);
    let (outcome, _) = within(SHORT, vec![Act::Hang, Act::Hang, Act::Hang, Act::Hang]);
    assert_eq!(outcome.unwrap_err().to_string(), "no answer within 0.4 s");
}

#[test]
fn a_body_that_never_ends_in_time_is_a_timeout() {
    let server = Server::new([Act::Dribble]);
    let mut settings = settings(&server.url, Api::OpenAi);
    settings.retry.attempts = 1;
    settings.answer_timeout = SHORT;
    let (outcome, _) = ask_with(settings);
    assert_eq!(outcome, Err(LlmError::Timeout(SHORT)));
}

#[test]
fn cut_connections_are_tried_again() {
    let half_a_body =
        || Act::Send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"choices\":[".to_vec());
    let (outcome, slept) = ask(vec![Act::Cut, half_a_body(), ok("done")]);
    assert_eq!(text(outcome), "done");
    assert_eq!(slept, [1, 2]);
    let error = error(vec![Act::Cut, Act::Cut, half_a_body()]);
    assert!(matches!(error, LlmError::Connection(_)), "{error}");
}

#[test]
fn nobody_listening_is_a_failed_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (outcome, slept) = ask_with(settings(&url, Api::OpenAi));
    assert!(matches!(outcome, Err(LlmError::Connection(_))), "{outcome:?}");
    assert_eq!(slept, [1, 2, 3]);
}

#[test]
fn no_http_is_a_failed_connection() {
    let error = error((0..3).map(|_| Act::Send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec())).collect());
    assert!(matches!(error, LlmError::Connection(_)), "{error}");
}

#[test]
fn invalid_json_and_empty_text_are_errors_of_their_own() {
    let html = || Act::ok("<html>gateway</html>");
    assert!(matches!(error(vec![html(), html(), html(), html()]), LlmError::NotJson(_)));
    let empty = || ok("  \n");
    assert_eq!(
        error(vec![empty(), empty(), empty(), empty()]),
        LlmError::Empty { finish: Some("stop".to_owned()) }
    );
    assert_eq!(text(ask(vec![html(), empty(), ok("done")]).0), "done");
}

#[test]
fn a_refusal_is_not_asked_again() {
    let (outcome, slept) = ask(vec![ok("I'm sorry, but I can't help with that."), ok("done")]);
    assert_eq!(
        outcome.expect_err("a refusal").to_string(),
        "the model refused: I'm sorry, but I can't help with that."
    );
    assert!(slept.is_empty(), "{slept:?}");
}

#[test]
fn a_wrong_shape_is_not_asked_again() {
    let (outcome, slept) = ask(vec![Act::ok(r#"{"ok":true}"#), ok("done")]);
    assert!(matches!(outcome, Err(LlmError::WrongShape(_))), "{outcome:?}");
    assert!(slept.is_empty(), "{slept:?}");
}

#[test]
fn a_rejected_key_is_told_without_the_key() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let (outcome, slept) = ask(vec![Act::answer("401 Unauthorized", "", &body)]);
    assert_eq!(
        outcome.expect_err("rejected").to_string(),
        "the server refused the request (status 401): Incorrect API key provided: [key]"
    );
    assert!(slept.is_empty(), "{slept:?}");
}

#[test]
fn an_answer_that_quotes_the_key_loses_it() {
    assert_eq!(text(ask(vec![ok(&format!("the key was {KEY}"))]).0), "the key was [key]");
}

#[test]
fn too_long_an_input_is_its_own_error() {
    let body =
        r#"{"error":{"code":400,"message":"the request exceeds the available context size"}}"#;
    assert!(matches!(error(vec![Act::answer("400 Bad Request", "", body)]), LlmError::TooLong(_)));
    assert!(matches!(
        error(vec![Act::answer("413 Payload Too Large", "", "")]),
        LlmError::TooLong(_)
    ));
}

/// Whatever status a redirect has, the key must not be passed on.
#[test]
fn redirects_are_not_followed() {
    let other = Server::new(vec![ok("stolen")]);
    let elsewhere = &other.url;
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let redirect =
            Act::answer(status, &format!("Location: {elsewhere}/v1/chat/completions\r\n"), "");
        let error = error(vec![redirect]);
        assert!(matches!(error, LlmError::Redirect { .. }), "{error}");
        assert!(error.to_string().ends_with("): 127.0.0.1"), "{error}");
    }
    assert!(other.requests().is_empty(), "nothing was sent elsewhere");
}

#[test]
fn an_endless_answer_is_cut_off() {
    let mut body = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    body.resize(9 * 1024 * 1024, b' ');
    let server = Server::new(vec![Act::Send(body)]);
    assert_eq!(
        ask_with(settings(&server.url, Api::OpenAi)).0,
        Err(LlmError::TooLarge(8 * 1024 * 1024))
    );
}

#[test]
fn long_messages_of_a_server_are_shortened() {
    let body = format!(r#"{{"error":"{}"}}"#, "长".repeat(2000));
    let error = error(vec![Act::answer("404 Not Found", "", &body)]).to_string();
    assert!(error.chars().count() < 400, "{error}");
    assert!(error.ends_with("长…"), "{error}");
}

/// The window that the server reports, and the addresses that were requested.
fn window(acts: Vec<Act>) -> (Option<u64>, Vec<String>) {
    let server = Server::new(acts);
    let settings = Settings { answer_timeout: SHORT, ..settings(&server.url, Api::OpenAi) };
    let window = Client::new(settings).unwrap().window();
    let requests = server.requests();
    let first = requests.iter().filter_map(|request| request.lines().next());
    (window, first.map(str::to_owned).collect())
}

#[test]
fn a_server_tells_its_window_in_one_request_or_two() {
    let models = "GET /v1/models HTTP/1.1".to_owned();
    let list = |entry: &str| Act::ok(&format!(r#"{{"data":[{{"id":"m",{entry}}}]}}"#));
    let (found, asked) = window(vec![list(r#""max_model_len":32768"#)]);
    assert_eq!((found, asked), (Some(32_768), vec![models.clone()]));
    let trained = || list(r#""meta":{"n_ctx_train":131072}"#);
    let props = Act::ok(r#"{"default_generation_settings":{"n_ctx":16384}}"#);
    let (found, asked) = window(vec![trained(), props]);
    let both = vec![models, "GET /props HTTP/1.1".to_owned()];
    assert_eq!((found, asked), (Some(16_384), both));
    let (found, _) = window(vec![trained(), Act::answer("404 Not Found", "", "")]);
    assert_eq!(found, Some(131_072));
}

#[test]
fn a_server_that_does_not_tell_its_window_is_asked_once() {
    for act in [
        Act::answer("404 Not Found", "", "{}"),
        Act::answer("401 Unauthorized", "", "{}"),
        Act::answer("302 Found", "Location: http://127.0.0.1/x\r\n", ""),
        Act::ok("<html>"),
        Act::ok(r#"{"data":[]}"#),
        Act::Cut,
        Act::Hang,
        Act::Dribble,
    ] {
        let (found, asked) = window(vec![act]);
        assert_eq!((found, asked.len()), (None, 1));
    }
}

/// Unusable answers count too, because they are billed.
#[test]
fn every_try_counts_and_every_answer_that_tells_its_tokens() {
    let told = |content: &str, usage: &str| {
        let choice = format!(r#"{{"message":{{"content":"{content}"}}}}"#);
        Act::ok(&format!(r#"{{"choices":[{choice}],"usage":{usage}}}"#))
    };
    let usage = r#"{"prompt_tokens":900,"completion_tokens":40}"#;
    for (acts, expected) in [
        (vec![Act::Cut, told("done", usage)], (2, Some(900), Some(40))),
        (vec![told("I'M SORRY, BUT no", usage)], (1, Some(900), Some(40))),
        (vec![ok("done")], (1, None, None)),
    ] {
        let server = Server::new(acts);
        let (_, _, usage) = asked_with(settings(&server.url, Api::OpenAi));
        assert_eq!((usage.calls, usage.tokens_in, usage.tokens_out), expected);
    }
}
