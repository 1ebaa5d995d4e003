//! The token counts that agents record for each request to the model.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::{Edits, Object};

/// The token counts that an agent recorded for one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The size of the whole prompt in tokens, including tokens that were read from or written to a
    /// cache.
    pub prompt: u64,
    /// The number of tokens that the model wrote, including reasoning. While a reply is being
    /// written, agents record a preliminary count, which may be as small as 1.
    pub output: u64,
    /// The size of the model's context window in tokens, or `None` if the record does not state it.
    pub window: Option<u64>,
    /// The reply to which the counts apply.
    pub of: UsageOf,
    /// Whether the request was made by a subagent, which has its own context.
    pub is_of_helper: bool,
}

/// The reply to which token counts apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UsageOf {
    /// The record that holds the counts. That record is a complete reply.
    #[default]
    Record,
    /// The reply with this id. The record with the counts is a fragment of that reply. If several
    /// fragments of a reply have counts, only the counts in the last fragment are valid.
    Reply(ReplyId),
    /// The last reply before the record that holds the counts. That record is not part of a reply.
    /// If several records after a reply have counts, only the counts in the last record are valid.
    Before,
    /// The next reply after the record that holds the counts. That record is not part of a reply.
    Next,
}

/// A hash of the id shared by all fragments of a reply. Hashes of this type can only be compared
/// with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplyId(u64);

impl ReplyId {
    /// Combines the id of a message with the id of its request.
    pub(crate) fn of(message: &str, request: Option<&str>) -> Self {
        Self(BuildHasherDefault::<DefaultHasher>::default().hash_one((message, request)))
    }
}

impl Usage {
    /// Creates the token counts for a request; `None` if `prompt` is 0, because agents record 0 for
    /// unknown counts.
    pub(crate) fn new(prompt: u64, output: u64) -> Option<Self> {
        (prompt > 0).then_some(Self { prompt, output, ..Self::default() })
    }

    /// The number of tokens in the prompt and the reply. This sum is the size of the context after
    /// the reply.
    pub fn total(&self) -> u64 {
        self.prompt.saturating_add(self.output)
    }
}

/// Returns the sum of the values for `keys`. A value that is not a whole number counts as 0.
pub(crate) fn sum(object: &Object<'_>, keys: &[&str]) -> u64 {
    let numbers = keys.iter().filter_map(|key| object.get(key)?.parse().ok());
    numbers.fold(0, u64::saturating_add)
}

/// Lowers the values of `keys` in `within`, an object in the text of `record`, by a total of `by`.
/// Each value is lowered to 0, if necessary, before the next one is lowered.
pub(crate) fn lessen(
    edits: &mut Edits,
    record: &Object<'_>,
    within: &Object<'_>,
    keys: &[&str],
    mut by: u64,
) {
    for raw in keys.iter().filter_map(|key| within.get(key)) {
        let number = raw.parse().unwrap_or(0);
        let less = by.min(number);
        if less > 0 {
            edits.replace(record.place_of(raw), (number - less).to_string());
        }
        by -= less;
    }
}

#[cfg(test)]
mod tests {
    use super::{ReplyId, Usage, UsageOf};
    use crate::Log;
    use crate::Object;
    use crate::dialect::{Anthropic, ClaudeCode, Codex, Dialect, Gemini, Pi};

    fn usage(dialect: &dyn Dialect, record: &str) -> Option<Usage> {
        dialect.usage(&Object::parse(record).expect("an object"))
    }

    fn numbers(dialect: &dyn Dialect, record: &str) -> Option<(u64, u64)> {
        usage(dialect, record).map(|usage| (usage.prompt, usage.output))
    }

    const OF_REPLY: &str = r#""usage":{"input_tokens":3,"cache_read_input_tokens":400,"cache_creation_input_tokens":50,"output_tokens":7}"#;

    fn claude(beside: &str, message: &str) -> String {
        format!(
            r#"{{"type":"assistant","uuid":"u","parentUuid":null,"sessionId":"s"{beside},"message":{{"role":"assistant","content":[]{message}}}}}"#
        )
    }

    #[test]
    fn the_cache_is_part_of_the_prompt() {
        let line = claude("", &format!(r#","id":"m","model":"claude",{OF_REPLY}"#));
        assert_eq!(numbers(&ClaudeCode, &line), Some((453, 7)));
        let stored = format!(r#"{{"role":"assistant","content":"x",{OF_REPLY}}}"#);
        assert_eq!(numbers(&Anthropic, &stored), Some((453, 7)));
        let pi = r#"{"type":"message","message":{"role":"assistant","stopReason":"stop","usage":{"input":3,"output":7,"cacheRead":400,"cacheWrite":50}}}"#;
        assert_eq!(numbers(&Pi, pi), Some((453, 7)));
    }

    /// OpenAI and Google count cached tokens as part of the input tokens.
    #[test]
    fn the_cache_is_not_counted_twice() {
        let codex = r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900,"output_tokens":90},"last_token_usage":{"input_tokens":453,"cached_input_tokens":400,"output_tokens":7,"reasoning_output_tokens":2,"total_tokens":460},"model_context_window":258400}}}"#;
        let read = usage(&Codex, codex).expect("recorded");
        assert_eq!((read.prompt, read.output, read.total()), (453, 7, 460));
        assert_eq!((read.window, read.of), (Some(258_400), UsageOf::Before));
        let gemini = r#"{"id":"m","timestamp":"t","type":"gemini","content":"x","tokens":{"input":440,"output":5,"cached":400,"thoughts":2,"tool":13,"total":460}}"#;
        assert_eq!(numbers(&Gemini, gemini), Some((453, 7)));
    }

    #[test]
    fn the_lines_of_a_reply_are_known_by_message_and_request() {
        let of = |request: &str| {
            let line = claude(request, &format!(r#","id":"m",{OF_REPLY}"#));
            usage(&ClaudeCode, &line).expect("recorded").of
        };
        assert_eq!(of(r#","requestId":"r""#), UsageOf::Reply(ReplyId::of("m", Some("r"))));
        assert_ne!(of(r#","requestId":"r""#), of(r#","requestId":"q""#));
        assert_ne!(of(""), of(r#","requestId":"r""#));
        let line = claude("", &format!(",{OF_REPLY}"));
        let read = usage(&ClaudeCode, &line).expect("recorded");
        assert_eq!(read.of, UsageOf::Record);
    }

    /// Returns the record's text with its prompt size lowered to `prompt` tokens.
    fn lessened(dialect: &dyn Dialect, record: &str, prompt: u64) -> String {
        let object = Object::parse(record).expect("an object");
        let new = dialect.log().expect("a log").lessened(&object, prompt).of_object(&object);
        let read = numbers(dialect, &new).map(|(read, _)| read);
        let before = numbers(dialect, record).map(|(read, _)| read.min(prompt));
        assert!(read == before, "{new}");
        new
    }

    #[test]
    fn only_the_numbers_of_the_prompt_get_smaller() {
        let line = claude(r#", "n" : 1E2"#, &format!(r#","id":"m",{OF_REPLY}"#));
        for (prompt, [input, read, written]) in
            [(453, [3, 400, 50]), (100, [3, 47, 50]), (20, [3, 0, 17]), (2, [2, 0, 0])]
        {
            let expected = line
                .replace(r#""input_tokens":3"#, &format!(r#""input_tokens":{input}"#))
                .replace(":400", &format!(":{read}"))
                .replace(":50", &format!(":{written}"));
            assert_eq!(lessened(&ClaudeCode, &line, prompt), expected);
        }
        let pi = |input: u64, read: u64, total: u64| {
            format!(
                r#"{{"type":"message","message":{{"role":"assistant","stopReason":"stop","usage":{{"input":{input},"output":7,"cacheRead":{read},"cacheWrite":0,"totalTokens":{total},"cost":{{"input":9}}}}}}}}"#
            )
        };
        assert_eq!(lessened(&Pi, &pi(3, 400, 410), 100), pi(3, 97, 107));
        let codex = |input: u64, cached: u64, total: u64| {
            format!(
                r#"{{"timestamp":"t","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":900,"total_tokens":990}},"last_token_usage":{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":7,"total_tokens":{total}}}}}}}}}"#
            )
        };
        let expected = codex(100, 100, 107);
        assert_eq!(lessened(&Codex, &codex(453, 400, 460), 100), expected);
        assert_eq!(lessened(&Codex, &expected, 200), expected);
    }

    /// The client uses the sum over all requests, but the tools use only the last request.
    #[test]
    fn of_several_requests_the_sum_gets_smaller_too() {
        let with = |read: u64, last: u64| {
            let beside = format!(
                r#","id":"m","usage":{{"input_tokens":3,"cache_read_input_tokens":{read},"output_tokens":7,"iterations":[{{"type":"compaction","input_tokens":900}},{{"type":"message","input_tokens":{last},"output_tokens":5}}]}}"#
            );
            claude("", &beside)
        };
        assert_eq!(lessened(&ClaudeCode, &with(933, 34), 20), with(17, 20));
    }

    /// The Gemini CLI does not use these counts, but estimates the size of its history itself.
    #[test]
    fn what_the_gemini_cli_does_not_go_by_stays() {
        let line = r#"{"id":"m","timestamp":"t","type":"gemini","content":"x","tokens":{"input":440,"output":5,"total":445}}"#;
        let object = Object::parse(line).expect("an object");
        assert!(Gemini.lessened(&object, 1).is_empty());
    }

    #[test]
    fn what_is_no_usage_does_not_change() {
        let no_object = claude("", r#","usage":7"#);
        for (dialect, line) in [
            (&ClaudeCode as &dyn Dialect, &*no_object),
            (&Codex, r#"{"type":"event_msg","payload":7}"#),
            (&Pi, r#"{"type":"message","message":{"role":"user","usage":{"input":9}}}"#),
        ] {
            let object = Object::parse(line).expect("an object");
            let lessened = dialect.log().map(|log| log.lessened(&object, 1));
            assert!(lessened.is_none_or(|edits| edits.is_empty()), "{line}");
        }
    }

    #[test]
    fn a_helper_has_a_context_of_its_own() {
        let line = claude(r#","isSidechain":true"#, &format!(r#","id":"m",{OF_REPLY}"#));
        assert!(usage(&ClaudeCode, &line).expect("recorded").is_of_helper);
    }

    /// If the server calls tools or compacts the context, the counts are sums over several
    /// requests.
    #[test]
    fn of_several_requests_the_last_one_counts() {
        let with = |iterations: &str| {
            let usage =
                format!(r#"{},"iterations":{iterations}}}"#, &OF_REPLY[..OF_REPLY.len() - 1]);
            numbers(&ClaudeCode, &claude("", &format!(r#","id":"m",{usage}"#)))
        };
        let last =
            r#"{"type":"message","input_tokens":30,"cache_read_input_tokens":4,"output_tokens":5}"#;
        let compaction = r#"{"type":"compaction","input_tokens":900,"output_tokens":90}"#;
        assert_eq!(with("[]"), Some((453, 7)));
        assert_eq!(with("null"), Some((453, 7)));
        assert_eq!(with(&format!("[{compaction},{last}]")), Some((34, 5)));
        assert_eq!(with(&format!("[{compaction}]")), Some((453, 7)));
    }

    #[test]
    fn numbers_that_stand_for_unknown_ones_are_none() {
        let zero = r#","usage":{"input_tokens":0,"output_tokens":0}"#;
        let wrong = r#","usage":{"input_tokens":"many","output_tokens":-1}"#;
        for line in [
            claude("", ""),
            claude("", zero),
            claude("", wrong),
            claude("", r#","usage":7"#),
            claude("", &format!(r#","model":"<synthetic>",{OF_REPLY}"#)),
            claude(r#","isApiErrorMessage":true"#, &format!(",{OF_REPLY}")),
        ] {
            assert_eq!(usage(&ClaudeCode, &line), None, "{line}");
        }
        for stop in ["aborted", "error"] {
            let line = format!(
                r#"{{"type":"message","message":{{"role":"assistant","stopReason":"{stop}","usage":{{"input":3,"output":7}}}}}}"#
            );
            assert_eq!(usage(&Pi, &line), None, "{line}");
        }
        for info in ["null", r#"{"last_token_usage":{"input_tokens":0,"total_tokens":9000}}"#] {
            let line = format!(
                r#"{{"timestamp":"t","type":"event_msg","payload":{{"type":"token_count","info":{info}}}}}"#
            );
            assert_eq!(usage(&Codex, &line), None, "{line}");
        }
    }

    #[test]
    fn the_model_is_named_with_the_reply_or_before_it() {
        let model = |dialect: &dyn Dialect, record: &str| {
            let object = Object::parse(record).expect("an object");
            dialect.model(&object).map(std::borrow::Cow::into_owned)
        };
        let named = Some("m".to_owned());
        assert_eq!(model(&ClaudeCode, &claude("", r#","model":"m""#)), named);
        assert_eq!(model(&ClaudeCode, &claude("", r#","model":"<synthetic>""#)), None);
        let codex = r#"{"timestamp":"t","type":"turn_context","payload":{"model":"m"}}"#;
        assert_eq!(model(&Codex, codex), named);
        let pi = r#"{"type":"message","message":{"role":"assistant","model":"m"}}"#;
        assert_eq!(model(&Pi, pi), named);
        let changed = r#"{"type":"model_change","id":"a","provider":"p","modelId":"m"}"#;
        assert_eq!(model(&Pi, changed), named);
        let gemini = r#"{"id":"1","timestamp":"t","type":"gemini","content":"x","model":"m"}"#;
        assert_eq!(model(&Gemini, gemini), named);
        assert_eq!(model(&Anthropic, r#"{"role":"user","content":"x"}"#), None);
    }
}
