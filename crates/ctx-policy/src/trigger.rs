//! Decides whether a session needs a compaction: measures the session and compares it with limits.
//!
//! Every limit is the last value that is still allowed: a trigger fires if the value exceeds it.
//! "80 messages" fires at the 81st message, "0.8 of a window of 128,000" at 102,401 tokens. With
//! [`Triggers::at_limit`], it fires one earlier.

use ctx_format::Outline;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::share::Share;

/// The window to use if no model shows one.
pub const DEFAULT_WINDOW: u64 = 128_000;

/// The share of the window to use if no trigger is given.
pub const DEFAULT_SHARE: Share = Share::of_percent(80);

/// The size of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Messages, without system messages.
    pub messages: u64,
    /// User messages that start a turn.
    pub turns: u64,
    /// Counted tokens of all messages, including system messages.
    pub tokens: u64,
    /// The likely tokens of the whole context, including system prompt and tools, if recorded usage
    /// shows them.
    #[serde(rename = "calibrated_tokens", skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<u64>,
    /// The tokens of the window, if the session or its model shows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Bytes of the text of all tool results.
    pub tool_bytes: u64,
    /// Whether the model refused the session because its window was full.
    #[serde(skip)]
    pub overflow: bool,
}

impl Size {
    /// The tokens that are compared with limits.
    pub fn context(&self) -> u64 {
        self.calibrated.unwrap_or(self.tokens)
    }

    /// Adds a message, or another fragment of one.
    pub fn add_outline(&mut self, outline: &Outline<'_>) {
        self.messages += u64::from(!outline.role.is_system() && outline.begins_message());
        self.turns += u64::from(outline.begins_turn);
    }
}

/// When a session needs a compaction: if any of these triggers fires. Flags and policies share this
/// type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Policy"))]
pub struct Triggers {
    /// Trigger above N messages, not counting system messages
    #[cfg_attr(feature = "clap", arg(id = "trigger_messages", long = "trigger-messages", value_name = "N", value_parser = crate::parse_count))]
    pub messages: Option<u64>,
    /// Trigger above N tokens
    #[cfg_attr(feature = "clap", arg(id = "trigger_tokens", long = "trigger-tokens", value_name = "N", value_parser = crate::parse_count))]
    pub tokens: Option<u64>,
    /// Trigger above this share of the window [default: 0.8]
    #[cfg_attr(
        feature = "clap",
        arg(id = "trigger_share", long = "trigger-share", value_name = "SHARE")
    )]
    pub share: Option<Share>,
    /// Trigger above N bytes of tool results
    #[cfg_attr(feature = "clap", arg(skip))]
    pub tool_bytes: Option<u64>,
    /// Trigger above N turns
    #[cfg_attr(feature = "clap", arg(skip))]
    pub turns: Option<u64>,
    /// Trigger when fewer than N tokens of the window are free. For a small window, N counts as at
    /// most half of it.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub reserve: Option<u64>,
    /// Tokens of the window [default: the model's, the file's own, or 128k]
    ///
    /// If no model is named, an agent's own file shows its window, or else its model does.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = crate::parse_count))]
    pub window: Option<u64>,
    /// With fewer than N messages, only an overflow triggers a compaction
    #[cfg_attr(feature = "clap", arg(skip))]
    pub min_messages: Option<u64>,
    /// Above this share of a limit, a flush is needed, which saves what may be lost
    #[cfg_attr(feature = "clap", arg(skip))]
    pub flush_share: Option<Share>,
    /// Whether a limit that is reached counts as exceeded
    #[cfg_attr(feature = "clap", arg(skip))]
    pub at_limit: bool,
    /// Whether an overflow that the model reported is a trigger
    #[cfg_attr(feature = "clap", arg(skip))]
    pub on_overflow: bool,
}

/// The name of one trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// [`Triggers::messages`].
    Messages,
    /// [`Triggers::tokens`].
    Tokens,
    /// [`Triggers::share`].
    Share,
    /// [`Triggers::reserve`].
    Reserve,
    /// [`Triggers::tool_bytes`].
    ToolBytes,
    /// [`Triggers::turns`].
    Turns,
    /// [`Triggers::on_overflow`].
    Overflow,
}

impl Trigger {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The step that a session needs, in increasing order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Nothing to do.
    #[default]
    None,
    /// Save what is worth keeping. The session does not change.
    Flush,
    /// Compact the session.
    Compact,
}

impl Step {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One trigger, compared with a session. The keys of its JSON are a contract.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The trigger.
    pub trigger: Trigger,
    /// The value of the session. For [`Trigger::Overflow`] it is 1 or 0.
    pub value: u64,
    /// The last value that is still allowed.
    pub limit: u64,
    /// The fraction of the limit that is reached, `value / limit`; `None` if the limit is 0.
    pub reached: Option<f64>,
    /// Whether it fired. A flush does not count.
    pub fired: bool,
    /// The step that the trigger requires.
    pub step: Step,
}

/// The result of comparing a session with the triggers.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// All given triggers, in the order of [`Trigger`].
    pub readings: Vec<Reading>,
    /// [`Triggers::min_messages`], if there are fewer messages. Then only an overflow can fire.
    pub held_back: Option<u64>,
    /// The largest step that any trigger requires.
    pub step: Step,
}

impl Due {
    /// The triggers that fired.
    pub fn fired(&self) -> impl Iterator<Item = &Reading> {
        self.readings.iter().filter(|reading| reading.fired)
    }
}

impl Triggers {
    /// Puts the triggers of flags on top of those of a policy.
    #[must_use]
    pub fn over(self, policy: Self) -> Self {
        Self {
            messages: self.messages.or(policy.messages),
            tokens: self.tokens.or(policy.tokens),
            share: self.share.or(policy.share),
            window: self.window.or(policy.window),
            ..policy
        }
    }

    /// The window for `share` and `reserve`.
    pub fn window(&self) -> u64 {
        self.window.unwrap_or(DEFAULT_WINDOW)
    }

    /// The triggers with the window of a model if they have none.
    #[must_use]
    pub fn with_model(self, window: Option<u64>) -> Self {
        Self { window: self.window.or(window), ..self }
    }

    /// Whether no trigger is given.
    pub fn is_empty(&self) -> bool {
        let limits = self.limits(&Size::default());
        limits.iter().all(|(_, _, limit)| limit.is_none())
    }

    /// Compares all given triggers with `size`.
    pub fn check(&self, size: &Size) -> Due {
        let held_back = self.min_messages.filter(|least| size.messages < *least);
        let readings: Vec<Reading> = self
            .limits(size)
            .into_iter()
            .filter_map(|(trigger, value, limit)| {
                let limit = limit?;
                let held = held_back.is_some() && trigger != Trigger::Overflow;
                let step = if held { Step::None } else { self.step(value, limit) };
                let reached = (limit > 0).then(|| value as f64 / limit as f64);
                let fired = step == Step::Compact;
                Some(Reading { trigger, value, limit, reached, fired, step })
            })
            .collect();
        Due {
            step: readings.iter().map(|reading| reading.step).max().unwrap_or_default(),
            readings,
            held_back,
        }
    }

    /// All triggers with the measured value and the limit.
    fn limits(&self, size: &Size) -> [(Trigger, u64, Option<u64>); 7] {
        let window = self.with_model(size.window).window();
        let share = self.share.map(|share| share.of(window));
        let reserve = self.reserve.map(|tokens| without_reserve(window, tokens));
        let overflow = self.on_overflow.then_some(0);
        [
            (Trigger::Messages, size.messages, self.messages),
            (Trigger::Tokens, size.context(), self.tokens),
            (Trigger::Share, size.context(), share),
            (Trigger::Reserve, size.context(), reserve),
            (Trigger::ToolBytes, size.tool_bytes, self.tool_bytes),
            (Trigger::Turns, size.turns, self.turns),
            (Trigger::Overflow, u64::from(size.overflow), overflow),
        ]
    }

    fn step(&self, value: u64, limit: u64) -> Step {
        // An overflow has no limit to compare with.
        let at_limit = self.at_limit && limit > 0;
        if value > limit || at_limit && value == limit {
            return Step::Compact;
        }
        let is_near =
            |share: Share| value > share.of(limit) || at_limit && share.is_reached(value, limit);
        if self.flush_share.is_some_and(is_near) { Step::Flush } else { Step::None }
    }
}

/// The window without the reserve, but at least half of the window. Otherwise a reserve for larger
/// windows would make every small session need a compaction, or leave nothing.
pub fn without_reserve(window: u64, reserve: u64) -> u64 {
    window - reserve.min(window / 2)
}

#[cfg(test)]
mod tests;
