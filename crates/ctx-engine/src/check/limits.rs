//! Limits of a session's size, for CI.

use ctx_policy::trigger::Size;

use super::{Fault, Finding};

/// The last values that are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Limits {
    /// Report a session of more than N tokens
    #[cfg_attr(feature = "clap", arg(id = "max_tokens", long = "max-tokens", value_name = "N", value_parser = ctx_policy::parse_count, help_heading = "Limits"))]
    pub tokens: Option<u64>,
    /// Report more than N messages, not counting system messages
    #[cfg_attr(feature = "clap", arg(id = "max_messages", long = "max-messages", value_name = "N", value_parser = ctx_policy::parse_count, help_heading = "Limits"))]
    pub messages: Option<u64>,
    /// Report more than N bytes of tool results
    #[cfg_attr(feature = "clap", arg(id = "max_tool_bytes", long = "max-tool-bytes", value_name = "N", value_parser = ctx_policy::parse_count, help_heading = "Limits"))]
    pub tool_bytes: Option<u64>,
    /// Allow N lines that are not JSON objects
    #[cfg_attr(feature = "clap", arg(id = "max_bad_lines", long = "max-bad-lines", value_name = "N", value_parser = ctx_policy::parse_count, default_value_t, help_heading = "Limits"))]
    pub bad_lines: u64,
}

impl Limits {
    /// Whether messages must be decoded to hold them against the limits.
    pub fn need_content(&self) -> bool {
        self.tokens.is_some() || self.tool_bytes.is_some()
    }

    /// The limits that `size` exceeds; `line` is that of a conversation.
    pub fn exceeded(self, size: &Size, line: Option<u64>) -> impl Iterator<Item = Finding> {
        let (tokens, messages, tool_bytes) = (self.tokens, self.messages, self.tool_bytes);
        let what_tokens = match size.calibrated {
            Some(_) => "tokens (calibrated)",
            None => "tokens",
        };
        let limits = [
            ("max-tokens", what_tokens, size.context(), tokens),
            ("max-messages", "messages", size.messages, messages),
            ("max-tool-bytes", "bytes of tool results", size.tool_bytes, tool_bytes),
        ];
        limits.into_iter().filter_map(move |(rule, what, value, limit)| {
            let limit = limit.filter(|limit| value > *limit)?;
            Some(Finding {
                fault: Fault::Limit,
                line,
                rule,
                id: None,
                message: format!("{value} {what}, {limit} allowed"),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use ctx_policy::trigger::Size;

    use super::Limits;

    #[test]
    fn a_limit_is_the_last_value_that_is_allowed() {
        let size = Size { tokens: 100, messages: 5, tool_bytes: 7, ..Size::default() };
        let found = |limits: Limits| -> Vec<String> {
            let found = limits.exceeded(&size, Some(3));
            found.map(|finding| finding.message).collect()
        };
        assert!(found(Limits::default()).is_empty());
        let exact =
            Limits { tokens: Some(100), messages: Some(5), tool_bytes: Some(7), bad_lines: 0 };
        assert!(found(exact).is_empty());
        let less =
            Limits { tokens: Some(99), messages: Some(0), tool_bytes: Some(6), bad_lines: 0 };
        assert_eq!(
            found(less),
            [
                "100 tokens, 99 allowed",
                "5 messages, 0 allowed",
                "7 bytes of tool results, 6 allowed"
            ]
        );
    }

    #[test]
    fn a_calibrated_size_is_held_against_the_limit() {
        let size = Size { tokens: 100, calibrated: Some(900), ..Size::default() };
        let limits = Limits { tokens: Some(500), ..Limits::default() };
        let found: Vec<String> = limits.exceeded(&size, None).map(|it| it.message).collect();
        assert_eq!(found, ["900 tokens (calibrated), 500 allowed"]);
    }

    #[test]
    fn the_number_of_messages_needs_no_content() {
        let limits =
            |tokens, messages, tool_bytes| Limits { tokens, messages, tool_bytes, bad_lines: 0 };
        assert!(!limits(None, Some(1), None).need_content());
        assert!(limits(Some(1), None, None).need_content());
        assert!(limits(None, None, Some(1)).need_content());
    }
}
