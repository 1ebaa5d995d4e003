//! The flags that name a model or list the known models.

use clap::{ArgMatches, Args};
use ctx_cli::{Failure, Io, Listing, Result, json_line, question};
use ctx_tokens::Model;
use serde::Serialize;

/// The flags that name a model or list the known models.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelArgs {
    /// Count with the encoding and the window of this model
    ///
    /// Short names also work: sonnet is the newest Sonnet in the list that --list-models prints.
    #[arg(
        long,
        value_name = "NAME",
        env = "CTX_MODEL",
        hide_env_values = true,
        help_heading = "Input"
    )]
    pub model: Option<String>,
    /// Print the known models with their windows, and exit
    #[arg(long, help_heading = "Input", hide_short_help = true)]
    pub list_models: bool,
}

impl ModelArgs {
    /// Returns the table entry for the named model. If the model is not in the table, the error
    /// includes the hint `otherwise`.
    pub fn resolve(&self, otherwise: &str) -> Result<Option<&'static Model>> {
        let known = |name| ctx_tokens::model(name).ok_or_else(|| unknown(name, otherwise));
        self.name().map(known).transpose()
    }

    /// Returns the name of the model, in full if the user typed a short name.
    pub fn name(&self) -> Option<&str> {
        self.full_name().or(self.model.as_deref())
    }

    /// Returns the full name of the model if the user typed a short name.
    pub fn full_name(&self) -> Option<&'static str> {
        self.model.as_deref().and_then(ctx_tokens::full_name)
    }
}

/// If `--list-models` is given, prints the known models and returns true.
pub fn list_models(matches: &ArgMatches, io: &mut Io) -> Result<bool> {
    let matches = matches.subcommand().map_or(matches, |(_, of_command)| of_command);
    let has = |flag| matches!(matches.try_get_one(flag), Ok(Some(true)));
    if has("list_models") {
        let objects = || rows().map(|model| json_line(&model)).collect();
        io.print(if has("json") { objects() } else { table() })?;
    }
    Ok(has("list_models"))
}

fn unknown(name: &str, otherwise: &str) -> Failure {
    let near = question(&similar(name)).map_or_else(String::new, |near| near + " ");
    Failure::new(format_args!("unknown model {name:?}"))
        .hint(format!("{near}--list-models prints the known models; {otherwise}"))
}

/// The maximum number of suggestions for an unknown model.
const PROPOSED: usize = 3;

/// Returns the names of known models that the user may have meant, most similar first.
fn similar(name: &str) -> Vec<&'static str> {
    let name = name.to_ascii_lowercase();
    let shorts = Model::short_names().iter().map(|(short, _)| *short);
    let known = shorts.chain(Model::all().iter().map(|model| model.prefix));
    // A name is similar if at most a third of its letters differ, or if a word in it matches, as in
    // `sonnet-4-5` and `claude3`.
    let most = (name.len() / 3).max(1);
    let plain = |name: &str| name.replace(['-', '.', '_', ' '], "");
    let words = name.split(|c: char| !c.is_ascii_alphabetic());
    let words: Vec<&str> = words.filter(|word| word.len() > 2).collect();
    let mut near: Vec<(usize, &str)> = known
        .filter_map(|known| {
            let distance = strsim::damerau_levenshtein(&plain(&name), &plain(known));
            let is_near = distance <= most || words.iter().any(|word| known.contains(word));
            is_near.then_some((distance, known))
        })
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(PROPOSED);
    near.into_iter().map(|(_, name)| name).collect()
}

/// A model, as printed by `--list-models --json`.
#[derive(Serialize)]
struct ModelRow {
    model: &'static str,
    window: u64,
    encoding: &'static str,
    exact: bool,
    open: bool,
    short_names: Vec<&'static str>,
    listed_on: &'static str,
}

fn rows() -> impl Iterator<Item = ModelRow> {
    let shorts = Model::short_names().iter();
    Model::all().iter().map(move |model| ModelRow {
        model: model.prefix,
        window: model.window,
        encoding: model.encoding.name(),
        exact: model.exact,
        open: model.open,
        short_names: shorts
            .clone()
            .filter(|(_, full)| *full == model.prefix)
            .map(|(short, _)| *short)
            .collect(),
        listed_on: Model::listed_on(),
    })
}

/// Formats the list as a table. The only column that may be empty is the last, so that awk and sort
/// can use the columns before it.
fn table() -> String {
    let mut listing = Listing::new("MODEL|>WINDOW|ENCODING|COUNT|SHORT NAME");
    for model in rows() {
        let count = if model.exact { "exact" } else { "estimate" };
        listing.push([
            model.model.to_owned(),
            model.window.to_string(),
            model.encoding.to_owned(),
            count.to_owned(),
            model.short_names.join(" "),
        ]);
    }
    let day = Model::listed_on();
    listing.text(None)
        + &format!(
            "\nAs documented by the vendors on {day}. A model belongs to the longest name in this list that its own name begins with.\n\
             Give --encoding NAME for a model that is not listed.\n"
        )
}

#[cfg(test)]
mod tests {
    use super::similar;

    /// There are suggestions for typing errors, other spellings and incomplete names.
    #[test]
    fn near_models_are_proposed() {
        for (name, first) in [
            ("sonet", "sonnet"),
            ("Sonnet-4-5", "sonnet"),
            ("cluade-opus-5", "claude-opus-5"),
            ("gtp-4o", "gpt-4o"),
            ("gpt4", "gpt-4"),
            ("kimi2", "kimi"),
            ("opus4.6", "opus"),
        ] {
            assert_eq!(similar(name).first(), Some(&first), "{name}: {:?}", similar(name));
            assert!(similar(name).len() <= 3);
        }
        assert!(similar("parrot").is_empty());
        assert!(similar("").is_empty());
    }
}
