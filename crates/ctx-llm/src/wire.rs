//! The JSON formats of both APIs: questions, answers, usage, and the model's context window.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Result;
use crate::{Api, Endpoint, LlmError};

/// A question to a model, independent of the API.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The instructions, which become the system prompt.
    pub instructions: &'a str,
    /// The text of the user message.
    pub text: &'a str,
    /// The maximum number of tokens in the answer.
    pub max_tokens: u64,
    /// The 1-based number of this question, and the total number of questions.
    pub part: (usize, usize),
}

/// An answer that contains text.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Completion {
    /// The text of the answer, without surrounding whitespace and never empty.
    pub text: String,
    /// Whether the answer was cut off at `max_tokens`.
    pub cut: bool,
}

/// The cost of the questions sent to a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// The number of requests, including those that got no answer.
    #[serde(rename = "model_calls")]
    pub calls: u64,
    /// The number of input tokens; `None` if no response reported this number.
    #[serde(rename = "model_tokens_in")]
    pub tokens_in: Option<u64>,
    /// The number of output tokens; `None` if no response reported this number.
    #[serde(rename = "model_tokens_out")]
    pub tokens_out: Option<u64>,
    /// The time taken in milliseconds, including the waits between attempts.
    #[serde(rename = "model_ms")]
    pub ms: u64,
}

impl Usage {
    /// Returns the token counts reported in a response. Unusable responses are included, because
    /// they are billed too.
    pub(crate) fn of_answer(api: Api, body: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let sum = |names: &str| {
            let counts = names.split(' ').filter_map(|name| value["usage"][name].as_u64());
            counts.reduce(u64::saturating_add)
        };
        let (tokens_in, tokens_out) = match api {
            Api::OpenAi => ("prompt_tokens", "completion_tokens"),
            // `input_tokens` does not include tokens that were read from or written to the cache.
            Api::Anthropic => (
                "input_tokens cache_read_input_tokens cache_creation_input_tokens",
                "output_tokens",
            ),
        };
        Self { tokens_in: sum(tokens_in), tokens_out: sum(tokens_out), ..Self::default() }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let sum =
            |counts: [Option<u64>; 2]| counts.into_iter().flatten().reduce(u64::saturating_add);
        self.calls += other.calls;
        self.ms += other.ms;
        self.tokens_in = sum([self.tokens_in, other.tokens_in]);
        self.tokens_out = sum([self.tokens_out, other.tokens_out]);
    }
}

/// Builds the body of a request. No temperature is set, because newer models accept only the
/// default.
pub(crate) fn request(endpoint: &Endpoint, model: Option<&str>, question: &Question<'_>) -> Value {
    let mut messages = vec![json!({"role": "user", "content": question.text})];
    let system = question.instructions;
    let mut body = match endpoint.api {
        Api::OpenAi => {
            if !system.is_empty() {
                messages.insert(0, json!({"role": "system", "content": system}));
            }
            // OpenAI's newer models reject `max_tokens`, but most other servers accept no other
            // name for the limit.
            let is_open_ai = endpoint.vendor() == Some(Api::OpenAi);
            let limit = if is_open_ai { "max_completion_tokens" } else { "max_tokens" };
            json!({"messages": messages, limit: question.max_tokens, "stream": false})
        }
        Api::Anthropic => {
            let mut body = json!({"messages": messages, "max_tokens": question.max_tokens});
            if !system.is_empty() {
                body["system"] = json!(system);
            }
            body
        }
    };
    if let Some(model) = model {
        body["model"] = json!(model);
    }
    body
}

/// Parses the body of a response.
pub(crate) fn answer(api: Api, body: &[u8]) -> Result<Completion> {
    let value: Value =
        serde_json::from_slice(body).map_err(|error| LlmError::NotJson(error.to_string()))?;
    if !value.is_object() {
        return Err(LlmError::WrongShape("not an object"));
    }
    // Some gateways report an error in a response with status 200.
    if !value["error"].is_null() {
        return Err(LlmError::Rejected { status: 200, message: error_message(body) });
    }
    match api {
        Api::OpenAi => open_ai(&value),
        Api::Anthropic => anthropic(&value),
    }
}

fn open_ai(value: &Value) -> Result<Completion> {
    let choice = value.pointer("/choices/0").ok_or(LlmError::WrongShape("no choices"))?;
    let message = choice.get("message").ok_or(LlmError::WrongShape("no message"))?;
    let finish = choice["finish_reason"].as_str();
    if let Some(refusal) = message["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
        return Err(LlmError::Refused(refusal.to_owned()));
    }
    if finish == Some("content_filter") {
        return Err(LlmError::Refused("content filter".to_owned()));
    }
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => texts(parts),
        Value::Null => String::new(),
        _ => return Err(LlmError::WrongShape("content is not text")),
    };
    completion(&text, finish, "length")
}

fn anthropic(value: &Value) -> Result<Completion> {
    let blocks = value["content"].as_array().ok_or(LlmError::WrongShape("no content"))?;
    let finish = value["stop_reason"].as_str();
    if finish == Some("refusal") {
        return Err(LlmError::Refused(texts(blocks)));
    }
    completion(&texts(blocks), finish, "max_tokens")
}

fn texts(parts: &[Value]) -> String {
    let parts = parts.iter().filter(|part| part["type"] == "text");
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Checks that the text of an answer can be used as a summary. `finish` is the stop reason in the
/// response, and `limit` is the stop reason that the API uses for an answer that reached
/// `max_tokens`.
fn completion(text: &str, finish: Option<&str>, limit: &str) -> Result<Completion> {
    let mut text = text.trim_start();
    // Some local servers leave the model's reasoning at the start of the answer.
    if let Some(thoughts) = text.strip_prefix("<think>") {
        text = thoughts.split_once("</think>").map_or("", |(_, rest)| rest);
    }
    let text = text.trim();
    if text.is_empty() {
        return Err(LlmError::Empty { finish: finish.map(str::to_owned) });
    }
    if is_refusal(text) {
        return Err(LlmError::Refused(text.to_owned()));
    }
    Ok(Completion { text: text.to_owned(), cut: finish == Some(limit) })
}

/// Returns true if the text is short and begins like a refusal. A refusal must not become a
/// summary, because the model would take it for its own words when it continues the session.
pub fn is_refusal(text: &str) -> bool {
    const BEGINNINGS: &str = "i'm sorry, but|i am sorry, but|sorry, but i|i'm sorry, i can|\
        i can't help|i can't assist|i cannot help|i cannot assist|i'm unable to|i am unable to|\
        i won't be able to|i'm not able to|as an ai language model|抱歉，我|很抱歉，我|对不起，我";
    // The maximum length of a refusal, in characters.
    const SHORT: usize = 400;
    if text.chars().count() > SHORT {
        return false;
    }
    let text = text.to_lowercase().replace('’', "'");
    BEGINNINGS.split('|').any(|beginning| text.starts_with(beginning))
}

/// Returns the message in an error response, in any of the formats that servers use. Returns an
/// empty string if the response contains no message.
pub(crate) fn error_message(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let members = ["/error/message", "/message", "/error", "/detail"];
    let message = members.iter().find_map(|member| value.pointer(member).and_then(Value::as_str));
    message.unwrap_or_default().to_owned()
}

/// Returns true if a server's message means that the input does not fit into the context window.
pub(crate) fn says_too_long(message: &str) -> bool {
    const SIGNS: &str = "context length|context size|context window|context_length|too long|\
        too many tokens|maximum number of tokens";
    let message = message.to_lowercase();
    SIGNS.split('|').any(|sign| message.contains(sign))
}

/// A model's context window as reported by `GET /v1/models`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListedWindow {
    /// The context window that the server has configured for the model.
    Running(u64),
    /// The context window that the model was trained with. The server may have configured a smaller
    /// window.
    Trained(u64),
}

/// The JSON members in which servers report a running model's context window, most reliable first:
/// - `max_model_len`: vLLM, `SGLang`,
/// - `meta.n_ctx`: llama.cpp since 2026,
/// - `loaded_context_length`: LM Studio,
/// - `context_length`: `OpenRouter`, Together,
/// - `context_window`: Groq,
/// - `max_context_length`: LM Studio, Mistral,
/// - `max_input_tokens`: Anthropic.
const RUNNING: &str = "/max_model_len /meta/n_ctx /loaded_context_length /context_length \
    /context_window /max_context_length /max_input_tokens";
/// The JSON member in which llama.cpp reports the context window used in a model's training.
const TRAINED: &str = "/meta/n_ctx_train";
/// The path of the running model's context window in llama.cpp's response to `GET /props`.
const PROPS_RUNNING: &str = "/default_generation_settings/n_ctx";
/// The smallest plausible context window, in tokens. Smaller values from a server are ignored.
const SMALLEST_WINDOW: u64 = 256;

/// Returns true if a list of models contains `model`.
pub(crate) fn lists(body: &[u8], model: &str) -> bool {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    value["data"].as_array().is_some_and(|models| models.iter().any(|entry| entry["id"] == model))
}

/// Finds the context window of `model` in a list of models. If `model` is `None` or not in the
/// list, the list must contain exactly one model.
pub(crate) fn listed_window(body: &[u8], model: Option<&str>) -> Option<ListedWindow> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let models = value["data"].as_array()?;
    let named = models.iter().find(|entry| model.is_some() && entry["id"].as_str() == model);
    let ((Some(entry), _) | (None, [entry])) = (named, models.as_slice()) else { return None };
    let running = RUNNING.split(' ').find_map(|member| window(entry, member));
    running.map(ListedWindow::Running).or_else(|| window(entry, TRAINED).map(ListedWindow::Trained))
}

/// Finds the running model's context window in a llama.cpp server's properties.
pub(crate) fn running_window(props: &[u8]) -> Option<u64> {
    window(&serde_json::from_slice(props).ok()?, PROPS_RUNNING)
}

fn window(value: &Value, member: &str) -> Option<u64> {
    let window = value.pointer(member)?.as_u64()?;
    (window >= SMALLEST_WINDOW).then_some(window)
}

#[cfg(test)]
mod tests {

    use super::{
        ListedWindow, Usage, answer, completion, error_message, listed_window, request,
        running_window, says_too_long,
    };
    use crate::{Api, Completion, Endpoint, LlmError, Question};

    const QUESTION: Question<'_> =
        Question { instructions: "be short", text: "a\n\"b\"", max_tokens: 600, part: (1, 1) };

    fn body(url: &str) -> String {
        let endpoint = Endpoint::new(url, None).expect("an address");
        request(&endpoint, Some("m"), &QUESTION).to_string()
    }

    #[test]
    fn requests_have_the_shape_of_their_api() {
        assert_eq!(
            body("http://localhost"),
            r#"{"max_tokens":600,"messages":[{"content":"be short","role":"system"},{"content":"a\n\"b\"","role":"user"}],"model":"m","stream":false}"#
        );
        assert_eq!(
            body("http://localhost/v1/messages"),
            r#"{"max_tokens":600,"messages":[{"content":"a\n\"b\"","role":"user"}],"model":"m","system":"be short"}"#
        );
        assert!(body("https://api.openai.com").contains(r#""max_completion_tokens":600"#));
    }

    fn open_ai(json: &str) -> Result<Completion, LlmError> {
        answer(Api::OpenAi, json.as_bytes())
    }

    fn anthropic(json: &str) -> Result<Completion, LlmError> {
        answer(Api::Anthropic, json.as_bytes())
    }

    #[expect(clippy::unnecessary_wraps, reason = "compared with results")]
    fn said(text: &str, cut: bool) -> Result<Completion, LlmError> {
        Ok(Completion { text: text.to_owned(), cut })
    }

    #[test]
    fn answers_are_text() {
        assert_eq!(
            open_ai(r#"{"choices":[{"message":{"content":" yes\n"},"finish_reason":"stop"}]}"#),
            said("yes", false)
        );
        assert_eq!(
            open_ai(
                r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}"#
            ),
            said("a\nb", false)
        );
        assert_eq!(
            anthropic(
                r#"{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"}],"stop_reason":"end_turn"}"#
            ),
            said("yes", false)
        );
    }

    #[test]
    fn a_text_cut_at_its_limit_is_accepted_and_marked() {
        assert_eq!(
            open_ai(r#"{"choices":[{"message":{"content":"half a"},"finish_reason":"length"}]}"#),
            said("half a", true)
        );
        assert_eq!(
            anthropic(
                r#"{"content":[{"type":"text","text":"half a"}],"stop_reason":"max_tokens"}"#
            ),
            said("half a", true)
        );
    }

    #[test]
    fn empty_and_wrong_shapes_are_told_apart() {
        let empty =
            |finish: Option<&str>| Err(LlmError::Empty { finish: finish.map(str::to_owned) });
        assert_eq!(
            open_ai(r#"{"choices":[{"message":{"content":null},"finish_reason":"tool_calls"}]}"#),
            empty(Some("tool_calls"))
        );
        assert_eq!(open_ai(r#"{"choices":[{"message":{"content":" \n"}}]}"#), empty(None));
        assert_eq!(anthropic(r#"{"content":[]}"#), empty(None));
        for wrong in [
            "{}",
            "[]",
            r#"{"choices":[]}"#,
            r#"{"choices":[{}]}"#,
            r#"{"choices":[{"message":{"content":7}}]}"#,
        ] {
            assert!(matches!(open_ai(wrong), Err(LlmError::WrongShape(_))), "{wrong}");
        }
        assert!(matches!(anthropic(r#"{"choices":[]}"#), Err(LlmError::WrongShape("no content"))));
        for no_json in ["", "<html>", r#"{"choices":[{"mess"#] {
            assert!(matches!(open_ai(no_json), Err(LlmError::NotJson(_))), "{no_json}");
        }
    }

    #[test]
    fn refusals_are_not_summaries() {
        for refusal in [
            r#"{"choices":[{"message":{"content":null,"refusal":"no"}}]}"#,
            r#"{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}]}"#,
            r#"{"choices":[{"message":{"content":"I’m sorry, but I can’t help with that."}}]}"#,
            r#"{"choices":[{"message":{"content":"抱歉，我无法完成这个请求。"}}]}"#,
        ] {
            assert!(matches!(open_ai(refusal), Err(LlmError::Refused(_))), "{refusal}");
        }
        assert!(matches!(
            anthropic(r#"{"content":[],"stop_reason":"refusal"}"#),
            Err(LlmError::Refused(_))
        ));
        // Text that merely mentions an apology is accepted.
        for fine in ["## Goal\nI'm sorry, but …", "Sorry state of the build: 3 errors"] {
            let json = serde_json::json!({"choices": [{"message": {"content": fine}}]});
            assert_eq!(open_ai(&json.to_string()), said(fine, false));
        }
    }

    #[test]
    fn errors_are_found_in_every_shape() {
        for (body, message) in [
            (r#"{"error":{"message":"no such model"}}"#, "no such model"),
            (r#"{"type":"error","error":{"type":"x","message":"busy"}}"#, "busy"),
            (r#"{"error":"plain"}"#, "plain"),
            (r#"{"detail":"not found"}"#, "not found"),
            ("<html>", ""),
        ] {
            assert_eq!(error_message(body.as_bytes()), message);
        }
        assert_eq!(
            open_ai(r#"{"error":{"message":"upstream died"}}"#),
            Err(LlmError::Rejected { status: 200, message: "upstream died".to_owned() })
        );
    }

    #[test]
    fn too_long_is_recognized() {
        for message in [
            "This model's maximum context length is 8192 tokens",
            "the request exceeds the available context size, try increasing it",
            "prompt is too long: 208310 tokens > 200000 maximum",
        ] {
            assert!(says_too_long(message), "{message}");
        }
        assert!(!says_too_long("invalid x-api-key"));
    }

    fn text_of(text: &str) -> Result<String, LlmError> {
        completion(text, Some("length"), "length").map(|completion| completion.text)
    }

    #[test]
    fn thoughts_are_not_text() {
        assert_eq!(text_of("<think>hm</think>\n\nyes").as_deref(), Ok("yes"));
        let error = text_of("<think>hm, ").expect_err("thoughts only");
        assert_eq!(error.to_string(), "the answer is empty (the model ran out of tokens)");
    }

    #[test]
    fn a_short_apology_is_a_refusal() {
        for refusal in [
            "I’m sorry, but I can’t help with that.",
            "I'M SORRY, BUT no",
            "抱歉，我无法完成这个请求。",
        ] {
            assert!(matches!(text_of(refusal), Err(LlmError::Refused(_))), "{refusal}");
        }
    }

    #[test]
    fn a_summary_that_mentions_a_refusal_is_fine() {
        for fine in [
            "## Goal\nI'm sorry, but …",
            "Sorry state of the build: 3 errors",
            "抱歉这个词出现了两次",
        ] {
            assert_eq!(text_of(fine).as_deref(), Ok(fine));
        }
        let long = format!("I'm sorry, but {}", "there is much to tell. ".repeat(30));
        assert_eq!(text_of(&long).as_deref(), Ok(long.trim()));
    }

    fn tokens_of(api: Api, body: &str) -> (Option<u64>, Option<u64>) {
        let usage = Usage::of_answer(api, body.as_bytes());
        (usage.tokens_in, usage.tokens_out)
    }

    #[test]
    fn both_apis_say_what_they_read_and_wrote() {
        let body = r#"{"usage":{"prompt_tokens":900,"completion_tokens":70,"total_tokens":970}}"#;
        assert_eq!(tokens_of(Api::OpenAi, body), (Some(900), Some(70)));
        let body =
            r#"{"usage":{"input_tokens":9,"cache_read_input_tokens":800,"output_tokens":7}}"#;
        assert_eq!(tokens_of(Api::Anthropic, body), (Some(809), Some(7)));
    }

    #[test]
    fn an_unknown_number_of_tokens_is_not_zero() {
        for body in ["", "no JSON", "{}", r#"{"usage":null}"#, r#"{"usage":{"prompt_tokens":-1}}"#]
        {
            assert_eq!(tokens_of(Api::OpenAi, body), (None, None), "{body}");
        }
        let mut all = Usage { calls: 1, ..Usage::default() };
        all += all;
        assert_eq!((all.calls, all.tokens_in, all.tokens_out), (2, None, None));
        all += Usage { calls: 1, tokens_in: Some(0), tokens_out: Some(3), ms: 5 };
        all += Usage { calls: 1, tokens_in: None, tokens_out: Some(4), ms: 7 };
        assert_eq!(all.ms, 12);
        assert_eq!((all.calls, all.tokens_in, all.tokens_out), (4, Some(0), Some(7)));
    }

    #[expect(clippy::unnecessary_wraps, reason = "compared with options")]
    fn running(window: u64) -> Option<ListedWindow> {
        Some(ListedWindow::Running(window))
    }

    #[test]
    fn each_server_has_its_own_member() {
        for (entry, told) in [
            (r#""max_model_len":32768"#, running(32_768)),
            (r#""context_length":131072"#, running(131_072)),
            (r#""context_window":131072"#, running(131_072)),
            (r#""meta":{"n_ctx":8192,"n_ctx_train":131072}"#, running(8_192)),
            (r#""meta":{"n_ctx_train":131072}"#, Some(ListedWindow::Trained(131_072))),
            (r#""max_model_len":0"#, None),
            (r#""max_model_len":"many""#, None),
            (r#""owned_by":"x""#, None),
        ] {
            let body = format!(r#"{{"object":"list","data":[{{"id":"m",{entry}}}]}}"#);
            assert_eq!(listed_window(body.as_bytes(), Some("m")), told, "{entry}");
            // If the server has only one model, any name is accepted.
            assert_eq!(listed_window(body.as_bytes(), None), told, "{entry}");
        }
        let props = br#"{"default_generation_settings":{"n_ctx":4096}}"#;
        assert_eq!(running_window(props), Some(4_096));
        assert_eq!(running_window(b"{}"), None);
    }

    #[test]
    fn the_named_model_counts() {
        let body = br#"{"data":[{"id":"a","max_model_len":1000},{"id":"b","max_model_len":2000}]}"#;
        assert_eq!(listed_window(body, Some("b")), running(2_000));
        assert_eq!(listed_window(body, Some("c")), None);
        assert_eq!(listed_window(body, None), None);
        for body in [&b"no"[..], b"[]", b"{}", br#"{"data":{}}"#] {
            assert_eq!(listed_window(body, None), None);
        }
    }
}
