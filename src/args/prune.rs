//! The flags of `ctx-prune` that say what is pruned and what stays.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use ctx_cli::Failure;
use ctx_engine::placeholder::{MAX_PLACEHOLDER, references};
use ctx_engine::prune::{Options, Trim, saturating_usize};
use ctx_engine::{Pin, Time};
use ctx_format::{Dialect, Saved, Zone};
use ctx_policy::duration::FixedSpan;
use ctx_policy::parse_count;
use ctx_policy::share::Share;
use ctx_policy::{Glob, Rule, ToolFilter};

/// The rules, and what they leave alone.
#[derive(Args, Clone, Debug)]
pub struct PruneFlags {
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
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = "Rules")]
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
    pub pin: Vec<Pin>,
    /// Prune only records that ctx-split put into this zone
    #[arg(long, value_parser = zones(), value_name = "ZONE", help_heading = "What is kept")]
    pub zone: Option<Zone>,
    /// Change nothing if fewer tokens would be freed
    #[arg(
        long,
        value_name = "TOKENS",
        value_parser = parse_count,
        default_value = "0",
        help_heading = "What is kept"
    )]
    pub min_gain: u64,
    /// Change nothing unless the last call of the model is older: 5m, 1h
    ///
    /// The units are w, d, h, min (or m), s and ms.
    /// Its time is that of the last reply that has one (`timestamp` and the like),
    /// else --last-call, else the file's time of change.
    #[arg(long, value_name = "DURATION", help_heading = "What is kept")]
    pub cache_ttl: Option<FixedSpan>,
    /// When the model was last called, if the session has no times
    #[arg(long, value_name = "TIME", requires = "cache_ttl", help_heading = "What is kept")]
    pub last_call: Option<Time>,
}

/// System messages are never pruned.
fn zones() -> impl TypedValueParser<Value = Zone> {
    let zones = [Zone::Old, Zone::Keep];
    PossibleValuesParser::new(zones.iter().filter_map(Zone::to_possible_value))
        .try_map(|word| Zone::from_str(&word, false))
}

impl PruneFlags {
    /// The rules for a session of `dialect`.
    pub fn options(&self, dialect: Option<&dyn Dialect>, saved: Saved) -> Result<Options, Failure> {
        let options = Options {
            trim: self.trim()?,
            clear: self.clear.then(|| self.placeholder.clone()),
            drop: self.drop.clone(),
            references: references(&ctx_policy::Policy::default().offload),
            argument_chars: self.max_argument_chars.map(saturating_usize),
            window_messages: self.window_messages,
            protect_last: saturating_usize(self.protect_last),
            tools: ToolFilter { allow: self.allow_tool.clone(), deny: self.deny_tool.clone() },
            user_first: dialect.is_some_and(|dialect| dialect.output_rules().user_first),
            saved,
        };
        if !options.has_rules() {
            return Err(Failure::new(
                "no rule is asked for; add --trim, --clear, --drop, --max-argument-chars or --window-messages",
            ));
        }
        if self.placeholder.contains('\n') || self.placeholder.len() > MAX_PLACEHOLDER {
            return Err(Failure::new(format_args!(
                "the placeholder is not one line of at most {MAX_PLACEHOLDER} bytes"
            )));
        }
        Ok(options)
    }

    /// Each flag about trimming turns it on.
    fn trim(&self) -> Result<Option<Trim>, Failure> {
        /// Shares have six decimals.
        const WHOLE: u64 = 1_000_000;
        let is_on = self.trim
            || self.max_chars.is_some()
            || self.head_share.is_some()
            || self.tail_share.is_some()
            || self.rescue_lines.is_some();
        let default = Trim::default();
        let trim = Trim {
            max_chars: self.max_chars.map_or(default.max_chars, saturating_usize),
            head_share: self.head_share.unwrap_or(default.head_share),
            tail_share: self.tail_share.unwrap_or(default.tail_share),
            rescue_lines: self.rescue_lines.map_or(default.rescue_lines, saturating_usize),
            cut: default.cut,
        };
        if trim.head_share.of(WHOLE) + trim.tail_share.of(WHOLE) > WHOLE {
            return Err(Failure::new(
                "--head-share and --tail-share are more than the whole; together they are 1 at most",
            ));
        }
        Ok(is_on.then_some(trim))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ctx_format::Saved;
    use ctx_format::dialect::Chat;

    use super::PruneFlags;

    #[derive(Parser)]
    struct Tool {
        #[command(flatten)]
        flags: PruneFlags,
    }

    /// The length that the flags trim to, or the error.
    fn max_chars(flags: &[&str]) -> Result<Option<usize>, String> {
        let flags = Tool::parse_from([&["t"], flags].concat()).flags;
        let options = flags.options(Some(&Chat), Saved::Perhaps);
        let options = options.map_err(|failure| failure.to_string())?;
        Ok(options.trim.map(|trim| trim.max_chars))
    }

    #[test]
    fn each_flag_about_trimming_turns_it_on_and_shares_are_of_one_whole() {
        assert_eq!(max_chars(&["--trim"]), Ok(Some(10_000)));
        assert_eq!(max_chars(&["--max-chars", "500"]), Ok(Some(500)));
        assert_eq!(max_chars(&["--clear"]), Ok(None));
        assert_eq!(max_chars(&["--tail-share", "0.7"]), Ok(Some(10_000)));
        let error = max_chars(&["--tail-share", "0.71"]).expect_err("more than the whole");
        assert!(error.contains("--tail-share"), "{error}");
    }

    #[test]
    fn a_rule_is_needed_and_a_placeholder_is_one_short_line() {
        let error = max_chars(&["--min-gain", "9"]).expect_err("no rule");
        assert!(error.contains("no rule"), "{error}");
        let long = "x".repeat(1_000);
        for text in ["a\nb", long.as_str()] {
            let flags = ["--clear", "--placeholder", text];
            assert!(max_chars(&flags).expect_err("too long").contains("placeholder"));
        }
        assert!(max_chars(&["--clear", "--placeholder", "gone"]).is_ok());
    }
}
