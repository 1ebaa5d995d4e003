//! What the flags of `ctx-prune` mean.

use std::path::Path;

use ctx_cli::Failure;
use ctx_policy::Offload;
use ctx_select::prune::{MAX_NOTE, Policy, ReferencePattern, ToolFilter, Trim};
use ctx_transcript::{Dialect, Zone};

use super::Args;
use super::ttl::Cache;
use crate::counting::Counting;
use ctx_passes::Pin;

/// What the flags mean.
pub(crate) struct Plan {
    pub(super) policy: Policy,
    pub(super) pins: Vec<Pin>,
    pub(super) zone: Option<Zone>,
    pub(super) min_gain: u64,
    pub(super) counting: Counting,
    pub(super) strict: bool,
    /// What must be cold before anything changes.
    pub(super) cache: Option<Cache>,
}

impl Args {
    pub(super) fn plan(&self, dialect: Option<&dyn Dialect>, path: &Path) -> Result<Plan, Failure> {
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
            user_first: dialect.is_some_and(|dialect| dialect.rules().user_first),
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
            counting: self.counting.resolve()?,
            strict: self.strict,
            cache: self.cache_ttl.map(|ttl| Cache {
                ttl,
                last_call: self.last_call,
                path: path.to_owned(),
            }),
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

impl Plan {
    /// What a compaction's policy says of pruning; `None` when it says nothing.
    /// Whether old results are cleared, its caller decides.
    pub(crate) fn of_policy(
        whole: &ctx_policy::Policy,
        clears: bool,
        dialect: &dyn Dialect,
        pins: &[Pin],
        counting: Counting,
        cache: Option<Cache>,
    ) -> Option<Self> {
        let prune = &whole.prune;
        let trim = prune.max_chars.map(|chars| Trim {
            max_chars: size(chars),
            head_share: prune.head_share,
            tail_share: prune.tail_share,
            cut: prune.cut.clone().into(),
            ..Trim::default()
        });
        let policy = Policy {
            trim,
            clear: clears.then(|| prune.placeholder.clone()),
            drop: prune.drop.clone(),
            references: references(&whole.offload),
            argument_chars: None,
            window_messages: prune.window_messages,
            protect_last: size(prune.protect_last),
            tools: ToolFilter {
                allow: prune.allow.clone(),
                deny: prune.deny.clone(),
            },
            user_first: dialect.rules().user_first,
        };
        policy.does_anything().then(|| Self {
            policy,
            pins: pins.to_vec(),
            zone: None,
            min_gain: prune.min_gain.unwrap_or(0),
            counting,
            strict: false,
            cache,
        })
    }
}

/// What the session may hold in the place of results: as this policy writes it, or as
/// `ctx-offload` does by itself.
fn references(offload: &Offload) -> Vec<ReferencePattern> {
    let built_in = ctx_policy::Policy::default().offload;
    let templates = [offload, &built_in].map(|offload| [&offload.reference, &offload.unavailable]);
    let templates = templates.iter().flatten();
    templates
        .filter_map(|template| ReferencePattern::of(template))
        .collect()
}

/// Shares have six decimals.
const WHOLE: u64 = 1_000_000;

/// No text is longer than memory.
fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
