//! A policy: what a compaction does, and when, as plain data.

use std::time::Duration;

use ctx_select::prune::Rule;
use ctx_select::share::Share;
use ctx_tokens::Encoding;
use ctx_transcript::SummaryRole;
use serde_json::Value;

use crate::env::variable_of;
use crate::error::ConfigError;
use crate::section::{Source, full_key, section};
use crate::words::{Clear, Fallback, Method, Mode, When};

section! {
    /// What concerns the whole.
    General / GeneralLayer in "" {
        /// Its name, for reports.
        name: String = "built-in".to_owned(),
        /// Without this a compaction does nothing and says so.
        enabled: bool = true,
        /// What a compaction may do.
        mode: Mode = Mode::SummaryPlusPrune,
        /// How tokens are counted; the model's own encoding where none is named.
        encoding: Option<Encoding> = None,
    }
}

section! {
    /// When a compaction is due: any of the triggers. Each limit is the last
    /// value that is still allowed.
    Trigger / TriggerLayer in "trigger" {
        /// Messages, system ones left out.
        messages: Option<u64> = None,
        /// Tokens of the context.
        tokens: Option<u64> = None,
        /// Tokens of the context, as a share of the window.
        share: Option<Share> = None,
        /// The model's window in tokens; the model's own where none is given.
        window: Option<u64> = None,
        /// So many tokens of the window stay free.
        reserve: Option<u64> = None,
        /// Bytes of tool results.
        tool_bytes: Option<u64> = None,
        /// Turns.
        turns: Option<u64> = None,
        /// With fewer messages than this nothing is due.
        min_messages: Option<u64> = None,
        /// Above this share of a limit, what is worth it is saved to the memory;
        /// the history stays as it is.
        flush_share: Option<Share> = None,
        /// Whether an overflow that the model reported is a trigger.
        on_overflow: bool = true,
    }
}

section! {
    /// What stays as it is: whatever any of these keeps.
    Keep / KeepLayer in "keep" {
        /// The last messages.
        messages: Option<u64> = None,
        /// The last turns.
        turns: Option<u64> = None,
        /// The last messages, up to so many tokens.
        tokens: Option<u64> = None,
        /// The last messages, up to this share of what the target leaves for the
        /// conversation.
        recent_share: Option<Share> = None,
        /// System messages.
        system: bool = true,
    }
}

section! {
    /// How large the result may be.
    Target / TargetLayer in "target" {
        /// Tokens of the context.
        tokens: Option<u64> = None,
        /// Tokens of the context, as a share of the window.
        share: Option<Share> = None,
        /// The budget of a history: this share of the window, ...
        max_history_share: Option<Share> = None,
        /// ... and not more than the window without so many tokens.
        reserve: Option<u64> = None,
        /// Tokens set aside in that budget, beside the system messages.
        overhead: u64 = 0,
        /// After so many runs in a row that made a session no smaller, or not small
        /// enough, it is left alone until it has grown.
        max_attempts: u64 = 2,
    }
}

section! {
    /// Large tool results that are put into files before anything is summed up.
    Offload / OffloadLayer in "offload" {
        /// Tool results of so many tokens and more are put into files.
        min_tokens: Option<u64> = None,
        /// When that freed so many tokens, the history is not summed up.
        enough_tokens: Option<u64> = None,
        /// What stands in the place of a result; `{path}` is its file.
        reference: String = "Tool result is at: {path}".to_owned(),
        /// What stands there when the file cannot be read back.
        unavailable: String = "[Content unavailable: {path}]".to_owned(),
        /// The summary is of the results themselves, not of the references.
        restore_before_summary: bool = true,
        /// Files that the new history does not name any more are deleted.
        delete_unreferenced: bool = false,
    }
}

section! {
    /// What is cut out of the messages without summing up.
    Prune / PruneLayer in "prune" {
        /// When it takes place.
        when: When = When::Before,
        /// Tool results of more characters than this are trimmed, ...
        max_chars: Option<u64> = Some(10_000),
        /// ... to the first part of so many characters, ...
        head_share: Share = Share::of_percent(30),
        /// ... and the last.
        tail_share: Share = Share::of_percent(30),
        /// What stands between the two; `{chars}` is how many are left out.
        cut: String = "... ({chars} chars truncated) ...".to_owned(),
        /// Whether old tool results are cleared.
        clear: Clear = Clear::Never,
        /// What stands in the place of a cleared result.
        placeholder: String = "[Old tool result content cleared]".to_owned(),
        /// What is left out.
        drop: Vec<Rule> = vec![Rule::Empty, Rule::Noise, Rule::Superseded, Rule::Duplicates],
        /// The last assistant messages, and what follows them, are not touched.
        protect_last: u64 = 3,
        /// Only results of tools whose name matches one of these; empty: all.
        allow: Vec<String> = Vec::new(),
        /// No results of tools whose name matches one of these.
        deny: Vec<String> = Vec::new(),
        /// Only when the last call of the model is older than this.
        cache_ttl: Option<Duration> = None,
        /// No more than the last messages, system ones left out.
        window_messages: Option<u64> = None,
        /// Only when it frees so many tokens.
        min_gain: Option<u64> = None,
    }
}

section! {
    /// The message that takes the place of the old part.
    Summary / SummaryLayer in "summary" {
        /// How it is made.
        method: Method = Method::Extractive,
        /// How it is made where `method` asks a model and no server is named.
        offline: Method = Method::Extractive,
        /// What is tried, in this order, when the method failed or the result is
        /// over its target.
        fallback: Vec<Fallback> = Vec::new(),
        /// The most tokens it may have.
        tokens: Option<u64> = None,
        /// The length it is asked to have, in tokens.
        target_tokens: Option<u64> = None,
        /// A model may write so many times the length it was asked for [default: no more
        /// than `tokens` where that is said, else a fifth more].
        max_output_factor: Option<f64> = None,
        /// No more than this share of what it sums up.
        max_share: Option<Share> = None,
        /// Name of the model; the session's own where none is given.
        model: Option<String> = None,
        /// How often a model is asked again.
        retries: u64 = 3,
        /// Seconds before the first of them; before the n-th, n times as long.
        backoff_seconds: u64 = 1,
        /// A summary is checked, and asked for again; when it fails the check
        /// again, less is kept.
        safeguard: bool = false,
        /// What a model's summary lacks of what was asked, decided, found and left
        /// open is added to it by code.
        complete: bool = false,
        /// Whose message it is; user where the dialect allows no other.
        role: SummaryRole = SummaryRole::User,
        /// The message begins with this. One that ends in a blank stands on the
        /// line of the summary, any other above it.
        header: Option<String> = None,
        /// Written as the dialect's own compaction record, where it has one.
        native: bool = false,
        /// The prompt for a model: a name in prompts/.
        template: String = "default".to_owned(),
        /// Headings that a summary must have.
        sections: Vec<String> = Vec::new(),
        /// What it should stress.
        instructions: Option<String> = None,
        /// It is also appended to the session's summary file in the store.
        cumulative: bool = true,
        /// Decisions, facts, preferences and errors of the old part go into the
        /// memory.
        extract: bool = false,
    }
}

section! {
    /// What becomes of snapshots.
    Retention / RetentionLayer in "retention" {
        /// Days that they are kept.
        keep_days: Option<u64> = None,
    }
}

macro_rules! policy {
    ($($(#[$doc:meta])* $field:ident: $section:ident / $layer:ident,)*) => {
        /// What a compaction does, and when: every setting has its value.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Policy {
            $($(#[$doc])* pub $field: $section,)*
        }

        impl Policy {
            /// The policy with what `over` says instead.
            #[must_use]
            pub fn layer(mut self, over: &Layer) -> Self {
                $(self.$field.layer(&over.$field);)*
                self
            }

            fn sections(&self) -> Vec<(&'static str, crate::section::Shown)> {
                vec![$((stringify!($field), self.$field.show())),*]
            }
        }

        /// What a preset, a file, the environment or the flags say of a policy.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Layer {
            $($(#[$doc])* pub $field: $layer,)*
        }

        impl Layer {
            /// The keys of each table, and what they are.
            pub(crate) const SECTIONS: &[(&str, &[(&str, &str)])] =
                &[$((stringify!($field), $layer::KEYS)),*];

            pub(crate) fn read(source: &mut impl Source) -> Result<Self, ConfigError> {
                Ok(Self { $($field: $layer::read(source)?,)* })
            }
        }
    };
}

policy! {
    /// At the top of the file, in no table.
    general: General / GeneralLayer,
    /// `[trigger]`
    trigger: Trigger / TriggerLayer,
    /// `[keep]`
    keep: Keep / KeepLayer,
    /// `[target]`
    target: Target / TargetLayer,
    /// `[offload]`
    offload: Offload / OffloadLayer,
    /// `[prune]`
    prune: Prune / PruneLayer,
    /// `[summary]`
    summary: Summary / SummaryLayer,
    /// `[retention]`
    retention: Retention / RetentionLayer,
}

/// A setting, for those who read about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// With the table it stands in: `trigger.messages`.
    pub key: String,
    /// Its environment variable, if it has one.
    pub variable: Option<String>,
    /// What it is.
    pub what: &'static str,
}

/// Every setting that there is.
pub fn settings() -> impl Iterator<Item = Known> {
    Layer::SECTIONS.iter().flat_map(|(name, keys)| {
        let table = if *name == "general" { "" } else { *name };
        keys.iter().map(move |(key, what)| Known {
            key: full_key(table, key),
            variable: variable_of(table, key),
            what: what.trim(),
        })
    })
}

impl Layer {
    /// Whether `table` has such a key.
    pub(crate) fn has(table: &str, key: &str) -> bool {
        let mut sections = Self::SECTIONS.iter();
        let found = sections.find(|(name, _)| *name == table);
        found.is_some_and(|(_, keys)| keys.iter().any(|(known, _)| *known == key))
    }
}

impl Policy {
    /// Every setting with its value, as a configuration file would say it;
    /// `false` is one that is not set.
    pub fn to_json(&self) -> Value {
        let mut root = serde_json::Map::new();
        for (name, shown) in self.sections() {
            if name == "general" {
                root.extend(shown);
            } else {
                root.insert(name.to_owned(), Value::Object(shown));
            }
        }
        Value::Object(root)
    }
}
