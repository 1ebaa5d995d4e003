//! Flags that choose how tokens are counted and when a compaction is due.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ctx_cli::{Io, Result};
use ctx_engine::message_counter::MessageCounter;
use ctx_policy::Policy;
use ctx_policy::trigger::{DEFAULT_SHARE, Triggers};
use ctx_tokens::{Encoding, Model};

use crate::args::ModelArgs;

/// Flags shared by all tools that count tokens.
#[derive(Args, Clone, Debug, Default)]
pub struct CountingArgs {
    /// Count tokens with this encoding [default: the model's, or `o200k_base`]
    #[arg(long, value_name = "NAME", value_parser = encodings(), help_heading = "Input")]
    pub encoding: Option<Encoding>,
    /// The model to count tokens for.
    #[command(flatten)]
    pub models: ModelArgs,
}

fn encodings() -> impl TypedValueParser<Value = Encoding> {
    PossibleValuesParser::new(Encoding::ALL.iter().map(|encoding| encoding.name()))
        .try_map(|name| name.parse::<Encoding>())
}

/// The token counter and the model that the flags select.
#[derive(Clone, Copy)]
pub struct Counting {
    /// The message counter.
    pub counter: MessageCounter,
    /// The model, if the user named one.
    pub model: Option<&'static Model>,
    /// The full name of the model, if the user typed a short name.
    pub full_name: Option<&'static str>,
}

impl CountingArgs {
    /// Resolves the flags. A model that is not in the table is a usage error.
    pub fn resolve(&self) -> Result<Counting> {
        self.resolve_under(None)
    }

    /// Resolves the flags. If no flag sets the encoding, it is taken from the policy, or else from
    /// the model.
    pub fn resolve_under(&self, policy: Option<&Policy>) -> Result<Counting> {
        let model = self.models.resolve("for other models, use --encoding NAME")?;
        let of_policy = policy.and_then(|policy| policy.encoding);
        let of_model = model.map(|model| model.encoding);
        let encoding = self.encoding.or(of_policy).or(of_model).unwrap_or_default();
        let counter = MessageCounter::new(encoding);
        Ok(Counting { counter, model, full_name: self.models.full_name() })
    }
}

impl Counting {
    /// Returns true if the encoding is exactly the one that the named model uses.
    pub fn is_exact(&self) -> bool {
        self.model.is_some_and(|model| model.exact && model.encoding == self.counter.encoding)
    }

    /// Reports the full name of the model if the user typed a short name.
    pub fn report_name(&self, io: &mut Io) {
        if let Some(full) = self.full_name {
            let day = Model::listed_on();
            io.note(format_args!(
                "the model is {full}, the newest model in its family as of {day}"
            ));
        }
    }

    /// Reports the model, and warns if its exact encoding is not available.
    pub fn report(&self, io: &mut Io) {
        self.report_name(io);
        if let Some(model) = self.model
            && !model.exact
        {
            let why = if model.open { "built in" } else { "published" };
            io.warn(format_args!(
                "the tokenizer of {}… is not {why}: counts with {} are estimates",
                model.prefix, self.counter.encoding
            ));
        }
    }
}

/// Flags shared by all tools that decide whether a compaction is due.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct TriggerArgs {
    /// The limits above which a compaction is due.
    #[command(flatten)]
    pub triggers: Triggers,
    /// Treat the session as due because the model rejected it as too long
    #[arg(long, help_heading = "Policy")]
    pub overflow: bool,
}

impl TriggerArgs {
    /// Returns true if the user gave any of these flags.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Resolves the flags. Limits that no flag sets are taken from the policy. If there is neither
    /// a policy nor a limit, the trigger is the default share of the window.
    pub fn resolve(&self, policy: Option<&Policy>, counting: &Counting) -> Triggers {
        if policy.is_some_and(|policy| !policy.enabled) {
            return Triggers::default();
        }
        let below = policy.map(|policy| policy.trigger).unwrap_or_default();
        let window = counting.model.map(|model| model.window);
        let mut triggers = self.triggers.over(below).with_model(window);
        if policy.is_none() && triggers.is_empty() {
            triggers.share = Some(DEFAULT_SHARE);
        }
        // The overflow trigger applies only if the user says that the model rejected the session.
        triggers.on_overflow =
            self.overflow && policy.is_none_or(|policy| policy.trigger.on_overflow);
        triggers
    }
}
