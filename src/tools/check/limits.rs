//! Limits: `--max-…`, for CI.

use clap::Args;
use ctx_select::trigger::Size;

use super::finding::{Finding, Kind};

#[derive(Args, Clone, Copy, Debug)]
pub(super) struct LimitArgs {
    /// Not within limits with more tokens than N
    #[arg(id = "max_tokens", long = "max-tokens", value_name = "N", value_parser = ctx_select::parse_count, help_heading = "Limits")]
    pub(super) tokens: Option<u64>,
    /// Not within limits with more messages than N, system ones left out
    #[arg(id = "max_messages", long = "max-messages", value_name = "N", value_parser = ctx_select::parse_count, help_heading = "Limits")]
    pub(super) messages: Option<u64>,
    /// Not within limits with more bytes of tool results than N
    #[arg(id = "max_tool_bytes", long = "max-tool-bytes", value_name = "N", value_parser = ctx_select::parse_count, help_heading = "Limits")]
    pub(super) tool_bytes: Option<u64>,
}

impl LimitArgs {
    /// Whether messages must be decoded to hold them against the limits.
    pub(super) fn need_content(&self) -> bool {
        self.tokens.is_some() || self.tool_bytes.is_some()
    }

    /// The limits that `size` exceeds; `line` is that of a conversation.
    pub(super) fn exceeded(self, size: &Size, line: Option<u64>) -> impl Iterator<Item = Finding> {
        let limits = [
            ("max-tokens", "tokens", size.tokens, self.tokens),
            ("max-messages", "messages", size.messages, self.messages),
            (
                "max-tool-bytes",
                "bytes of tool results",
                size.tool_bytes,
                self.tool_bytes,
            ),
        ];
        limits
            .into_iter()
            .filter_map(move |(rule, what, value, limit)| {
                let limit = limit.filter(|limit| value > *limit)?;
                Some(Finding {
                    kind: Kind::Limit,
                    line,
                    rule,
                    id: None,
                    message: format!("{value} {what}, {limit} allowed"),
                })
            })
    }
}
