//! What a model was asked, and what that took.

use std::ops::AddAssign;
use std::time::Duration;

use serde_json::Value;

use super::Api;

/// What the calls of a model took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Requests, each try counted, also one that nobody answered.
    pub calls: u64,
    /// Tokens that the model read, as the server says; `None` where it says nothing.
    pub tokens_in: Option<u64>,
    /// Tokens that it wrote.
    pub tokens_out: Option<u64>,
    /// How long it took, pauses between tries included.
    pub time: Duration,
}

impl Usage {
    /// What an answer says that it took, also one that cannot be used: it was paid for.
    pub(super) fn of_answer(api: Api, body: &[u8]) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let usage = &value["usage"];
        let sum = |names: &[&str]| {
            let told = names.iter().filter_map(|name| usage[*name].as_u64());
            told.reduce(u64::saturating_add)
        };
        let (read, written) = match api {
            Api::OpenAi => (sum(&["prompt_tokens"]), sum(&["completion_tokens"])),
            // What comes out of the API's cache is not in `input_tokens`.
            Api::Anthropic => (
                sum(&[
                    "input_tokens",
                    "cache_read_input_tokens",
                    "cache_creation_input_tokens",
                ]),
                sum(&["output_tokens"]),
            ),
        };
        Self {
            tokens_in: read,
            tokens_out: written,
            ..Self::default()
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        self.calls += other.calls;
        self.time += other.time;
        self.tokens_in = sum(self.tokens_in, other.tokens_in);
        self.tokens_out = sum(self.tokens_out, other.tokens_out);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Usage;
    use crate::Api;

    fn of(api: Api, body: &str) -> (Option<u64>, Option<u64>) {
        let usage = Usage::of_answer(api, body.as_bytes());
        (usage.tokens_in, usage.tokens_out)
    }

    #[test]
    fn both_apis_say_what_they_read_and_wrote() {
        let body = r#"{"usage":{"prompt_tokens":900,"completion_tokens":70,"total_tokens":970}}"#;
        assert_eq!(of(Api::OpenAi, body), (Some(900), Some(70)));
        let body =
            r#"{"usage":{"input_tokens":9,"cache_read_input_tokens":800,"output_tokens":7}}"#;
        assert_eq!(of(Api::Anthropic, body), (Some(809), Some(7)));
    }

    #[test]
    fn a_server_that_says_nothing_is_no_server_that_says_zero() {
        for body in [
            "",
            "no JSON",
            "{}",
            r#"{"usage":null}"#,
            r#"{"usage":{"prompt_tokens":-1}}"#,
        ] {
            assert_eq!(of(Api::OpenAi, body), (None, None), "{body}");
        }
        let mut all = Usage {
            calls: 1,
            ..Usage::default()
        };
        all += all;
        assert_eq!((all.calls, all.tokens_in, all.tokens_out), (2, None, None));
        all += Usage {
            calls: 1,
            tokens_in: Some(0),
            tokens_out: Some(3),
            time: Duration::from_millis(5),
        };
        all += Usage {
            calls: 1,
            tokens_in: None,
            tokens_out: Some(4),
            time: Duration::from_millis(7),
        };
        assert_eq!(all.time.as_millis(), 12);
        assert_eq!(
            (all.calls, all.tokens_in, all.tokens_out),
            (4, Some(0), Some(7))
        );
    }
}
