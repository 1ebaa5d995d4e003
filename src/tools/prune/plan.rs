//! What the flags of `ctx-prune` mean.

use std::path::Path;

use ctx_cli::{Failure, Verbosity};
use ctx_passes::prune::{Cache, Plan, references};
use ctx_select::prune::{MAX_NOTE, Policy, ToolFilter, Trim};
use ctx_transcript::Dialect;

use super::Args;
use crate::cache::last_change;

impl Args {
    pub(super) fn plan(
        &self,
        dialect: Option<&dyn Dialect>,
        path: &Path,
        verbosity: Verbosity,
    ) -> Result<Plan, Failure> {
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
        };
        if !policy.does_anything() {
            return Err(Failure::new("no rule is asked for")
                .hint("add --trim, --clear, --drop, --max-argument-chars or --window-messages"));
        }
        if self.placeholder.contains('\n') || self.placeholder.len() > MAX_NOTE {
            return Err(Failure::new(format_args!(
                "the placeholder is not one line of at most {MAX_NOTE} bytes"
            )));
        }
        Ok(Plan {
            policy,
            pins: self.pin.clone(),
            zone: self.zone,
            min_gain: self.min_gain,
            counter: self.counting.resolve()?.counter,
            tell_changes: verbosity >= Verbosity::Debug,
            size: false,
            strict: self.strict,
            cache: self.cache_ttl.map(|ttl| Cache {
                ttl: ttl.0,
                last_call: self.last_call.or_else(|| last_change(path)),
                now: chrono::Utc::now(),
            }),
            temp: std::env::temp_dir(),
        })
    }

    /// Any flag of trimming asks for it.
    fn trimming(&self) -> Result<Option<Trim>, Failure> {
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
            return Err(
                Failure::new("--head-share and --tail-share are more than the whole")
                    .hint("together they are 1 at most"),
            );
        }
        Ok(asked.then_some(trim))
    }
}

/// Shares have six decimals.
const WHOLE: u64 = 1_000_000;

/// No text is longer than memory.
fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
