//! The flags that say how tokens are counted, the same in every tool.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ctx_cli::{Failure, Io};
use ctx_policy::Policy;
use ctx_select::count::MessageCounter;
use ctx_tokens::{Encoding, Model};

use crate::models::ModelArgs;

/// Flags of every tool that counts tokens.
#[derive(Args, Clone, Debug, Default)]
pub struct CountingArgs {
    /// Count tokens with this encoding [default: the model's, or `o200k_base`]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = encodings(),
        help_heading = "Input"
    )]
    pub encoding: Option<Encoding>,
    /// The model that is counted for.
    #[command(flatten)]
    pub models: ModelArgs,
}

fn encodings() -> impl TypedValueParser<Value = Encoding> {
    PossibleValuesParser::new(Encoding::ALL.iter().map(|encoding| encoding.name()))
        .try_map(|name| name.parse::<Encoding>())
}

/// How tokens are counted.
#[derive(Clone, Copy)]
pub struct Counting {
    /// What counts.
    pub counter: MessageCounter,
    /// The model, when one was named.
    pub model: Option<&'static Model>,
    /// Its full name, when it was named by a short one.
    pub full_name: Option<&'static str>,
}

impl CountingArgs {
    /// What the flags mean; a model that is not in the table is a usage error.
    pub fn resolve(&self) -> Result<Counting, Failure> {
        self.resolve_under(None)
    }

    /// The same, where a policy says what the flags leave out.
    pub fn resolve_under(&self, policy: Option<&Policy>) -> Result<Counting, Failure> {
        let model = self.models.resolve("--encoding NAME counts for another")?;
        let of_policy = policy.and_then(|policy| policy.encoding);
        let of_model = model.map(|model| model.encoding);
        let encoding = self.encoding.or(of_policy).or(of_model);
        Ok(Counting {
            counter: MessageCounter::new(encoding.unwrap_or_default()),
            model,
            full_name: self.models.full_name(),
        })
    }
}

impl Counting {
    /// Whether the encoding is the named model's own.
    pub fn is_exact(&self) -> bool {
        self.model
            .is_some_and(|model| model.exact && model.encoding == self.counter.encoding())
    }

    /// Says what a short name stands for.
    pub fn report_name(&self, io: &mut Io) {
        if let Some(full) = self.full_name {
            let day = Model::listed_on();
            io.note(format_args!(
                "the model is {full}, the newest of that name in the list of {day}"
            ));
        }
    }

    /// The same, and warns when another encoding stands in for the model's own.
    pub fn report(&self, io: &mut Io) {
        self.report_name(io);
        if let Some(model) = self.model
            && !model.exact
        {
            let why = if model.open { "built in" } else { "published" };
            io.warn(format_args!(
                "the tokenizer of {}… is not {why}: counts by {} are estimates",
                model.prefix,
                self.counter.encoding()
            ));
        }
    }
}
