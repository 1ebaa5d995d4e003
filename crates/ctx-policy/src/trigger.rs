//! Decides whether a session needs a compaction by comparing its size with limits.
//!
//! A limit is the largest value that is still allowed, so a trigger fires if the value exceeds its
//! limit. With a limit of 80 messages, the trigger fires at the 81st message. With a limit of 0.8
//! and a window of 128,000 tokens, the trigger fires at 102,401 tokens. With
//! [`Triggers::at_limit`], a trigger fires as soon as the value reaches its limit.

use ctx_format::Outline;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::share::Share;

/// The size of the window in tokens if neither a setting nor the model determines it.
pub const DEFAULT_WINDOW: u64 = 128_000;

/// The share of the window above which a compaction is due if no trigger is set.
pub const DEFAULT_SHARE: Share = Share::of_percent(80);

/// The size of a session.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Size {
    /// The number of messages.
    pub messages: u64,
    /// How many of the messages are system messages.
    #[serde(skip)]
    pub system_messages: u64,
    /// The number of user messages that start a turn.
    pub turns: u64,
    /// The token count of all messages, including system messages.
    pub tokens: u64,
    /// The estimated token count of the whole context, including the system prompt and the tools,
    /// or `None` if the session has no usage records.
    #[serde(rename = "calibrated_tokens")]
    pub calibrated: Option<u64>,
    /// The size of the window in tokens, if it is known from the session or its model.
    pub window: Option<u64>,
    /// The total text size of all tool results, in bytes.
    pub tool_bytes: u64,
    /// Whether the model rejected the session because the window was full.
    #[serde(skip)]
    pub overflow: bool,
}

impl Size {
    /// Returns the token count that is compared with the limits.
    pub fn context(&self) -> u64 {
        self.calibrated.unwrap_or(self.tokens)
    }

    /// Returns the number of messages that is compared with the limits.
    pub fn conversation(&self) -> u64 {
        self.messages.saturating_sub(self.system_messages)
    }

    /// Adds a message to the counts. The fragments of a message are added one by one but counted as
    /// one message.
    pub fn add_outline(&mut self, outline: &Outline<'_>) {
        let begins = outline.begins_message();
        self.messages += u64::from(begins);
        self.system_messages += u64::from(begins && outline.role.is_system());
        self.turns += u64::from(outline.begins_turn);
    }
}

/// The triggers for a compaction. A compaction is due if any trigger fires. Both flags and policies
/// use this type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::Args), command(next_help_heading = "Policy"))]
#[must_use]
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
    /// Trigger when fewer than N tokens of the window are free. N is capped at half the window.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub reserve: Option<u64>,
    /// Window in tokens [default: the model's, the file's own, or 128k]
    ///
    /// If no model is given, the window is the one recorded in an agent's own file, or else the
    /// window of the model that the file names.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = crate::parse_count))]
    pub window: Option<u64>,
    /// With fewer than N messages, only an overflow triggers a compaction
    #[cfg_attr(feature = "clap", arg(skip))]
    pub min_messages: Option<u64>,
    /// The share of a limit above which to flush, that is, to save what a compaction could lose
    #[cfg_attr(feature = "clap", arg(skip))]
    pub flush_share: Option<Share>,
    /// Whether reaching a limit counts as exceeding it
    #[cfg_attr(feature = "clap", arg(skip))]
    pub at_limit: bool,
    /// Whether an overflow that the model reported triggers a compaction
    #[cfg_attr(feature = "clap", arg(skip))]
    pub on_overflow: bool,
}

/// The kind of trigger.
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

/// What should be done about a session. The steps are ordered from the least to the most drastic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Nothing to do.
    #[default]
    None,
    /// Save important items to the memory files without changing the session.
    Flush,
    /// Compact the session.
    Compact,
}

/// The result of checking a session against one trigger. Later versions may add JSON keys but never
/// remove any.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The trigger.
    pub trigger: Trigger,
    /// The measured value. For [`Trigger::Overflow`], the value is 1 or 0.
    pub value: u64,
    /// The largest value that is still allowed.
    pub limit: u64,
    /// `value` divided by `limit`, or `None` if the limit is 0.
    pub reached: Option<f64>,
    /// Whether the trigger fired. A trigger that only requires a flush has not fired.
    pub fired: bool,
    /// The step that the trigger requires.
    pub step: Step,
}

/// The result of checking a session against all triggers.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// The readings of all triggers that are set, in the order of [`Trigger`].
    pub readings: Vec<Reading>,
    /// The value of [`Triggers::min_messages`] if the session has fewer messages, so that only an
    /// overflow can trigger a compaction.
    pub held_back: Option<u64>,
    /// The most drastic step that any trigger requires.
    pub step: Step,
}

impl Due {
    /// Returns the triggers that fired.
    pub fn fired(&self) -> impl Iterator<Item = &Reading> {
        self.readings.iter().filter(|reading| reading.fired)
    }
}

impl Triggers {
    /// Returns the policy's triggers, overridden by these triggers from flags.
    pub fn over(self, policy: Self) -> Self {
        Self {
            messages: self.messages.or(policy.messages),
            tokens: self.tokens.or(policy.tokens),
            share: self.share.or(policy.share),
            window: self.window.or(policy.window),
            ..policy
        }
    }

    /// Returns the window that `share` and `reserve` refer to.
    pub fn window(&self) -> u64 {
        self.window.unwrap_or(DEFAULT_WINDOW)
    }

    /// Returns these triggers, with the model's window if they set no window.
    pub fn with_model(self, window: Option<u64>) -> Self {
        Self { window: self.window.or(window), ..self }
    }

    /// Returns true if no trigger is set.
    pub fn is_empty(&self) -> bool {
        self.limits(&Size::default()).iter().all(|(_, _, limit)| limit.is_none())
    }

    /// Compares `size` with the limits of all triggers that are set.
    pub fn check(&self, size: &Size) -> Due {
        let held_back = self.min_messages.filter(|least| size.conversation() < *least);
        let reading = |(trigger, value, limit): (_, u64, Option<u64>)| {
            let limit = limit?;
            let held = held_back.is_some() && trigger != Trigger::Overflow;
            let step = if held { Step::None } else { self.step(value, limit) };
            let reached = (limit > 0).then(|| value as f64 / limit as f64);
            Some(Reading { trigger, value, limit, reached, fired: step == Step::Compact, step })
        };
        let readings: Vec<Reading> = self.limits(size).into_iter().filter_map(reading).collect();
        Due {
            step: readings.iter().map(|reading| reading.step).max().unwrap_or_default(),
            readings,
            held_back,
        }
    }

    /// Returns all triggers, each with the measured value and the limit, if one is set.
    fn limits(&self, size: &Size) -> [(Trigger, u64, Option<u64>); 7] {
        let window = self.with_model(size.window).window();
        let share = self.share.map(|share| share.of(window));
        let reserve = self.reserve.map(|tokens| without_reserve(window, tokens));
        let overflow = self.on_overflow.then_some(0);
        [
            (Trigger::Messages, size.conversation(), self.messages),
            (Trigger::Tokens, size.context(), self.tokens),
            (Trigger::Share, size.context(), share),
            (Trigger::Reserve, size.context(), reserve),
            (Trigger::ToolBytes, size.tool_bytes, self.tool_bytes),
            (Trigger::Turns, size.turns, self.turns),
            (Trigger::Overflow, u64::from(size.overflow), overflow),
        ]
    }

    fn step(&self, value: u64, limit: u64) -> Step {
        // The limit of the overflow trigger is 0. A value of 0 means that there was no overflow.
        let at_limit = self.at_limit && limit > 0;
        if value > limit || at_limit && value == limit {
            return Step::Compact;
        }
        let is_near =
            |share: Share| value > share.of(limit) || at_limit && share.is_reached(value, limit);
        if self.flush_share.is_some_and(is_near) { Step::Flush } else { Step::None }
    }
}

/// Returns the window minus the reserve, but at least half the window. Without this minimum, a
/// reserve meant for large windows could use up most or all of a small window.
pub fn without_reserve(window: u64, reserve: u64) -> u64 {
    window - reserve.min(window / 2)
}

#[cfg(test)]
mod tests;
