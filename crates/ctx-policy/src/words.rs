//! The settings that are one word out of a few.

use std::fmt;

use serde_json::Value;

use crate::setting::Setting;

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $word,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$word),*];

            /// As it is written in a policy.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Setting for $name {
            fn wanted() -> String {
                format!("one of {}", [$($text),*].join(", "))
            }

            fn read(value: &Value) -> Option<Self> {
                Self::parse(value.as_str()?)
            }

            fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text)
            }

            fn show(&self) -> Value {
                self.as_str().into()
            }
        }
    };
}

words! {
    /// What a compaction may do.
    Mode {
        /// Sums up the old part, prunes nothing.
        SummaryOnly = "summary_only",
        /// Sums up the old part and prunes as `prune.when` says.
        SummaryPlusPrune = "summary_plus_prune",
        /// Prunes; nothing is summed up.
        PruneOnly = "prune_only",
    }
}

words! {
    /// When pruning takes place.
    When {
        /// Not at all.
        Never = "never",
        /// Before the history is split: the summary is of what is left.
        Before = "before",
        /// When the summary failed, or the result is still over its target.
        Fallback = "fallback",
        /// In what is sent to the model (stdout), never in a stored session.
        Sent = "sent",
    }
}

words! {
    /// Whether old tool results give way to a fixed text.
    Clear {
        /// They are trimmed only.
        Never = "never",
        /// When the context is still over its limit after trimming.
        IfNeeded = "if_needed",
        /// All that are not protected.
        Always = "always",
    }
}

words! {
    /// How the old part is summed up.
    #[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
    Method {
        /// Quotes what is most likely to be needed, offline
        Extractive = "extractive",
        /// Counts and quotes, offline
        Rule = "rule",
        /// Asks a language model
        Llm = "llm",
        /// Leaves it out without a summary
        #[cfg_attr(feature = "clap", value(skip))]
        None = "none",
    }
}

words! {
    /// What is tried when the summary failed or the result is too large. Flags have
    /// what takes the place of a model's answer that does not come.
    #[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
    Fallback {
        /// The same summary, half as long.
        #[cfg_attr(feature = "clap", value(skip))]
        Smaller = "smaller",
        /// Take the extractive summary, and say so
        Extractive = "extractive",
        /// Take the rule summary, and say so
        Rule = "rule",
        /// Pruning of what is kept.
        #[cfg_attr(feature = "clap", value(skip))]
        Prune = "prune",
        /// The last turns only, without a summary of the others.
        #[cfg_attr(feature = "clap", value(skip))]
        LastTurns = "last_turns",
        /// Fail, and write nothing
        Fail = "fail",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Fallback, Method, Mode};
    use crate::setting::Setting;

    #[test]
    fn words_are_read_as_they_are_shown() {
        for mode in Mode::ALL {
            assert_eq!(Mode::read(&mode.show()), Some(*mode));
        }
        assert_eq!(Method::parse("llm"), Some(Method::Llm));
        assert_eq!(Method::parse("LLM"), None);
        assert_eq!(Fallback::read(&json!(1)), None);
        assert_eq!(
            Mode::wanted(),
            "one of summary_only, summary_plus_prune, prune_only"
        );
    }
}
