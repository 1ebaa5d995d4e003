//! The JSON of the two APIs: what is asked, and what an answer means.

use serde_json::{Value, json};

use super::said::completion;
use super::{Api, Completion, Endpoint, LlmError, Question, Vendor};

/// The body of a request. No temperature is set: newer models refuse any but
/// their own.
pub(super) fn request(endpoint: &Endpoint, model: Option<&str>, question: &Question<'_>) -> Value {
    let user = json!({"role": "user", "content": question.text});
    let system = Some(question.instructions).filter(|text| !text.is_empty());
    let mut body = match endpoint.api() {
        Api::OpenAi => {
            // OpenAI's servers refuse `max_tokens` for their newer models; most other
            // servers know nothing else.
            let limit = if endpoint.vendor() == Some(Vendor::OpenAi) {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
            let system = system.map(|text| json!({"role": "system", "content": text}));
            let messages: Vec<Value> = system.into_iter().chain([user]).collect();
            json!({"messages": messages, limit: question.max_tokens, "stream": false})
        }
        Api::Anthropic => {
            let mut body = json!({"messages": [user], "max_tokens": question.max_tokens});
            if let Some(text) = system {
                body["system"] = json!(text);
            }
            body
        }
    };
    if let Some(model) = model {
        body["model"] = json!(model);
    }
    body
}

/// The text of an answer, or why it holds none.
pub(super) fn answer(api: Api, body: &[u8]) -> Result<Completion, LlmError> {
    let value: Value =
        serde_json::from_slice(body).map_err(|error| LlmError::NotJson(error.to_string()))?;
    if !value.is_object() {
        return Err(LlmError::WrongShape("no object"));
    }
    // Some gateways report an error with status 200.
    if !value["error"].is_null() {
        return Err(LlmError::Rejected {
            status: 200,
            message: error_message(body),
        });
    }
    match api {
        Api::OpenAi => open_ai(&value),
        Api::Anthropic => anthropic(&value),
    }
}

fn open_ai(value: &Value) -> Result<Completion, LlmError> {
    let choice = value.pointer("/choices/0");
    let choice = choice.ok_or(LlmError::WrongShape("no choices"))?;
    let message = choice.get("message");
    let message = message.ok_or(LlmError::WrongShape("no message"))?;
    let finish = choice["finish_reason"].as_str();
    let refusal = message["refusal"].as_str();
    if let Some(refusal) = refusal.filter(|refusal| !refusal.is_empty()) {
        return Err(LlmError::Refused(refusal.to_owned()));
    }
    if finish == Some("content_filter") {
        return Err(LlmError::Refused("content filter".to_owned()));
    }
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => texts(parts),
        Value::Null => String::new(),
        _ => return Err(LlmError::WrongShape("content is no text")),
    };
    completion(&text, finish, "length")
}

fn anthropic(value: &Value) -> Result<Completion, LlmError> {
    let blocks = value["content"].as_array();
    let blocks = blocks.ok_or(LlmError::WrongShape("no content"))?;
    let finish = value["stop_reason"].as_str();
    if finish == Some("refusal") {
        return Err(LlmError::Refused(texts(blocks)));
    }
    completion(&texts(blocks), finish, "max_tokens")
}

fn texts(parts: &[Value]) -> String {
    let parts = parts.iter().filter(|part| part["type"] == "text");
    let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// What a failed answer says went wrong, in any of the shapes servers use.
pub(super) fn error_message(body: &[u8]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return String::new();
    };
    ["/error/message", "/message", "/error", "/detail"]
        .iter()
        .find_map(|place| value.pointer(place).and_then(Value::as_str))
        .unwrap_or_default()
        .to_owned()
}

/// Whether a server's message means that the input does not fit.
pub(super) fn says_too_long(message: &str) -> bool {
    const SIGNS: [&str; 7] = [
        "context length",
        "context size",
        "context window",
        "context_length",
        "too long",
        "too many tokens",
        "maximum number of tokens",
    ];
    let message = message.to_lowercase();
    SIGNS.iter().any(|sign| message.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::{answer, error_message, request, says_too_long};
    use crate::{Api, Completion, Endpoint, LlmError, Question};

    const QUESTION: Question<'_> = Question {
        instructions: "be short",
        text: "a\n\"b\"",
        max_tokens: 600,
        part: (1, 1),
    };

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
        Ok(Completion {
            text: text.to_owned(),
            cut,
        })
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
        let empty = |finish: Option<&str>| {
            Err(LlmError::Empty {
                finish: finish.map(str::to_owned),
            })
        };
        assert_eq!(
            open_ai(r#"{"choices":[{"message":{"content":null},"finish_reason":"tool_calls"}]}"#),
            empty(Some("tool_calls"))
        );
        assert_eq!(
            open_ai(r#"{"choices":[{"message":{"content":" \n"}}]}"#),
            empty(None)
        );
        assert_eq!(anthropic(r#"{"content":[]}"#), empty(None));
        for wrong in [
            "{}",
            "[]",
            r#"{"choices":[]}"#,
            r#"{"choices":[{}]}"#,
            r#"{"choices":[{"message":{"content":7}}]}"#,
        ] {
            assert!(
                matches!(open_ai(wrong), Err(LlmError::WrongShape(_))),
                "{wrong}"
            );
        }
        assert!(matches!(
            anthropic(r#"{"choices":[]}"#),
            Err(LlmError::WrongShape("no content"))
        ));
        for no_json in ["", "<html>", r#"{"choices":[{"mess"#] {
            assert!(
                matches!(open_ai(no_json), Err(LlmError::NotJson(_))),
                "{no_json}"
            );
        }
    }

    #[test]
    fn refusals_are_no_summaries() {
        for refusal in [
            r#"{"choices":[{"message":{"content":null,"refusal":"no"}}]}"#,
            r#"{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}]}"#,
            r#"{"choices":[{"message":{"content":"I’m sorry, but I can’t help with that."}}]}"#,
            r#"{"choices":[{"message":{"content":"抱歉，我无法完成这个请求。"}}]}"#,
        ] {
            assert!(
                matches!(open_ai(refusal), Err(LlmError::Refused(_))),
                "{refusal}"
            );
        }
        assert!(matches!(
            anthropic(r#"{"content":[],"stop_reason":"refusal"}"#),
            Err(LlmError::Refused(_))
        ));
        // A summary of a session about an apology is a summary.
        for fine in [
            "## Goal\nI'm sorry, but …",
            "Sorry state of the build: 3 errors",
        ] {
            let json = serde_json::json!({"choices": [{"message": {"content": fine}}]});
            assert_eq!(open_ai(&json.to_string()), said(fine, false));
        }
    }

    #[test]
    fn errors_are_found_in_every_shape() {
        for (body, message) in [
            (r#"{"error":{"message":"no such model"}}"#, "no such model"),
            (
                r#"{"type":"error","error":{"type":"x","message":"busy"}}"#,
                "busy",
            ),
            (r#"{"error":"plain"}"#, "plain"),
            (r#"{"detail":"not found"}"#, "not found"),
            ("<html>", ""),
        ] {
            assert_eq!(error_message(body.as_bytes()), message);
        }
        assert_eq!(
            open_ai(r#"{"error":{"message":"upstream died"}}"#),
            Err(LlmError::Rejected {
                status: 200,
                message: "upstream died".to_owned()
            })
        );
    }

    #[test]
    fn too_long_is_recognised() {
        for message in [
            "This model's maximum context length is 8192 tokens",
            "the request exceeds the available context size, try increasing it",
            "prompt is too long: 208310 tokens > 200000 maximum",
        ] {
            assert!(says_too_long(message), "{message}");
        }
        assert!(!says_too_long("invalid x-api-key"));
    }
}
