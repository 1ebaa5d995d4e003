//! What is asked of pruning by flags, and the plan that comes of it.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use ctx_select::count::MessageCounter;
use ctx_select::duration::FixedSpan;
use ctx_select::parse_count;
use ctx_select::prune::{Glob, MAX_NOTE, Policy, Rule, ToolFilter, Trim};
use ctx_select::share::Share;
use ctx_transcript::{Dialect, Saved, Zone};

use super::{Cache, Plan, references, size};
use crate::Pin;
use crate::Time;

/// The rules, and what they leave alone.
#[derive(Args, Clone, Debug)]
pub struct Asked {
    /// Shorten long tool results: keep beginning, end, and errors
    #[arg(long, help_heading = "Rules")]
    trim: bool,
    /// Shorten results of more than N characters [default: 10000]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    max_chars: Option<u64>,
    /// Share of N that is kept of the beginning [default: 0.3]
    #[arg(long, value_name = "SHARE", help_heading = "Rules")]
    head_share: Option<Share>,
    /// Share of N that is kept of the end [default: 0.3]
    #[arg(long, value_name = "SHARE", help_heading = "Rules")]
    tail_share: Option<Share>,
    /// Keep N lines that look like errors of what is cut out [default: 10]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    rescue_lines: Option<u64>,
    /// Replace tool results by a placeholder
    #[arg(long, help_heading = "Rules")]
    clear: bool,
    /// The placeholder
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "[Old tool result content cleared]",
        help_heading = "Rules"
    )]
    placeholder: String,
    /// Drop what is not needed (can be repeated)
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        help_heading = "Rules"
    )]
    drop: Vec<Rule>,
    /// Shorten strings in call arguments of more than N characters
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    max_argument_chars: Option<u64>,
    /// Drop all but the last N messages, and system messages
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    window_messages: Option<u64>,

    /// Keep the last N assistant messages and what follows
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_count,
        default_value = "3",
        help_heading = "What is kept"
    )]
    protect_last: u64,
    /// Change only results of tools whose name matches (can be repeated)
    #[arg(long, value_name = "GLOB", help_heading = "What is kept")]
    allow_tool: Vec<Glob>,
    /// Change no results of tools whose name matches (can be repeated)
    #[arg(long, value_name = "GLOB", help_heading = "What is kept")]
    deny_tool: Vec<Glob>,
    /// Keep these records: role:NAME, line:N, line:N-M or re:REGEX
    ///
    /// Can be repeated; the results of a pinned call stay with it.
    #[arg(long, value_name = "SELECTOR", help_heading = "What is kept")]
    pin: Vec<Pin>,
    /// Prune only records that ctx-split put into this zone
    #[arg(long, value_parser = zones(), value_name = "ZONE", help_heading = "What is kept")]
    zone: Option<Zone>,
    /// Change nothing if fewer tokens would be freed
    #[arg(
        long,
        value_name = "TOKENS",
        value_parser = parse_count,
        default_value = "0",
        help_heading = "What is kept"
    )]
    min_gain: u64,
    /// Change nothing unless the last call of the model is older: 5m, 1h
    ///
    /// The units are w, d, h, min (or m), s and ms.
    /// Its time is that of the last reply that has one (`timestamp` and the like),
    /// else --last-call, else the file's time of change.
    #[arg(long, value_name = "DURATION", help_heading = "What is kept")]
    cache_ttl: Option<FixedSpan>,
    /// When the model was last called, if the session has no times
    #[arg(
        long,
        value_name = "TIME",
        requires = "cache_ttl",
        help_heading = "What is kept"
    )]
    last_call: Option<Time>,
}

/// System messages are never pruned.
fn zones() -> impl TypedValueParser<Value = Zone> {
    let zones = [Zone::Old, Zone::Keep];
    PossibleValuesParser::new(zones.iter().filter_map(Zone::to_possible_value))
        .try_map(|word| Zone::from_str(&word, false))
}

/// What else a plan needs to know.
pub struct Given {
    /// The session's dialect.
    pub dialect: Option<&'static dyn Dialect>,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// Whether each change is told.
    pub tell_changes: bool,
    /// Whether an input that breaks a rule of its dialect is refused.
    pub strict: bool,
    /// When the session changed last, where that tells anything.
    pub last_change: Option<Time>,
    /// What handles may promise of what is taken out.
    pub saved: Saved,
    /// The time.
    pub now: DateTime<Utc>,
    /// Where temporary files lie.
    pub temp: PathBuf,
}

/// Why no plan comes of the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// Nothing would be done.
    #[error(
        "no rule is asked for; add --trim, --clear, --drop, --max-argument-chars or --window-messages"
    )]
    NoRule,
    /// A handle has no room behind it.
    #[error("the placeholder is not one line of at most {MAX_NOTE} bytes")]
    Placeholder,
    /// Beginning and end would overlap.
    #[error("--head-share and --tail-share are more than the whole; together they are 1 at most")]
    Shares,
}

impl Asked {
    /// The plan for a session.
    pub fn plan(&self, given: Given) -> Result<Plan, NoPlan> {
        let dialect = given.dialect;
        let policy = Policy {
            trim: self.trimming()?,
            clear: self.clear.then(|| self.placeholder.clone()),
            drop: self.drop.clone(),
            references: references(&ctx_policy::Policy::default().offload),
            argument_chars: self.max_argument_chars.map(size),
            window_messages: self.window_messages,
            protect_last: size(self.protect_last),
            tools: ToolFilter {
                allow: self.allow_tool.clone(),
                deny: self.deny_tool.clone(),
            },
            user_first: dialect.is_some_and(|dialect| dialect.output_rules().user_first),
            saved: given.saved,
        };
        if !policy.does_anything() {
            return Err(NoPlan::NoRule);
        }
        if self.placeholder.contains('\n') || self.placeholder.len() > MAX_NOTE {
            return Err(NoPlan::Placeholder);
        }
        Ok(Plan {
            policy,
            pins: self.pin.clone(),
            zone: self.zone,
            min_gain: self.min_gain,
            counter: given.counter,
            tell_changes: given.tell_changes,
            size: false,
            strict: given.strict,
            cache: self.cache_ttl.map(|ttl| Cache {
                ttl: ttl.0,
                last_call: self.last_call.or(given.last_change),
                now: given.now,
            }),
            temp: given.temp,
        })
    }

    /// Any flag of trimming asks for it.
    fn trimming(&self) -> Result<Option<Trim>, NoPlan> {
        let asked = self.trim
            || self.max_chars.is_some()
            || self.head_share.is_some()
            || self.tail_share.is_some()
            || self.rescue_lines.is_some();
        let default = Trim::default();
        let trim = Trim {
            max_chars: self.max_chars.map_or(default.max_chars, size),
            head_share: self.head_share.unwrap_or(default.head_share),
            tail_share: self.tail_share.unwrap_or(default.tail_share),
            rescue_lines: self.rescue_lines.map_or(default.rescue_lines, size),
            cut: default.cut,
        };
        if trim.head_share.of(WHOLE) + trim.tail_share.of(WHOLE) > WHOLE {
            return Err(NoPlan::Shares);
        }
        Ok(asked.then_some(trim))
    }
}

/// Shares have six decimals.
const WHOLE: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use ctx_select::count::MessageCounter;
    use ctx_tokens::Encoding;
    use ctx_transcript::Saved;
    use ctx_transcript::dialect::Chat;

    use super::super::Plan;
    use super::{Asked, Given, NoPlan};
    use crate::flags::asked;

    fn plan(flags: &[&str]) -> Result<Plan, NoPlan> {
        asked::<Asked>(flags).plan(Given {
            dialect: Some(&Chat),
            counter: MessageCounter::new(Encoding::Chars4),
            tell_changes: false,
            strict: false,
            last_change: None,
            saved: Saved::Perhaps,
            now: chrono::DateTime::UNIX_EPOCH,
            temp: std::env::temp_dir(),
        })
    }

    #[test]
    fn any_flag_of_trimming_asks_for_it_and_shares_are_of_one_whole() {
        let chars = |flags: &[&str]| {
            let trim = plan(flags).map(|plan| plan.policy.trim);
            trim.map(|trim| trim.map(|trim| trim.max_chars))
        };
        assert_eq!(chars(&["--trim"]), Ok(Some(10_000)));
        assert_eq!(chars(&["--max-chars", "500"]), Ok(Some(500)));
        assert_eq!(chars(&["--clear"]), Ok(None));
        assert_eq!(chars(&["--tail-share", "0.7"]), Ok(Some(10_000)));
        assert_eq!(chars(&["--tail-share", "0.71"]), Err(NoPlan::Shares));
    }

    #[test]
    fn without_a_rule_or_with_a_long_placeholder_there_is_no_plan() {
        let error = |flags: &[&str]| plan(flags).err();
        assert_eq!(error(&["--min-gain", "9"]), Some(NoPlan::NoRule));
        let long = "x".repeat(1_000);
        for text in ["a\nb", long.as_str()] {
            let flags = ["--clear", "--placeholder", text];
            assert_eq!(error(&flags), Some(NoPlan::Placeholder));
        }
        assert_eq!(error(&["--clear", "--placeholder", "gone"]), None);
    }
}
