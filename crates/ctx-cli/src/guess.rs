//! Suggestions for unknown flags and words: first for words that other tools use, then by spelling.
//! If neither gives a clear answer, there is no suggestion.

use clap::Command;

use crate::tool::Page;

/// Words that apply to every tool that has the suggested flag. A tool's own [`Page::guesses`] come
/// first.
const COMMON: &str = include_str!("guesses.toml");

/// The most names that one suggestion has.
const PROPOSED: usize = 4;

/// The similarity of two names that differ by a typing error; 1 is equality.
const ALIKE: f64 = 0.75;

/// The first suggestion that is a sentence, or whose flag the command has.
pub(crate) fn suggestion(own: &Page, typed: &str, command: &Command) -> Option<String> {
    let common = Page::parse(COMMON);
    let applies = |answer: &str| !answer.starts_with('-') || has(command, answer);
    let mut rows = own.guesses().chain(common.guesses());
    rows.find(|(key, answer)| *key == typed && applies(answer)).map(|(_, answer)| tip(answer))
}

/// Flags are a question; a sentence stands as it is.
fn tip(suggestion: &str) -> String {
    if suggestion.starts_with('-') {
        format!("did you mean {suggestion}?")
    } else {
        suggestion.to_owned()
    }
}

/// Whether the command has the first flag of `suggestion` as a visible flag.
fn has(command: &Command, suggestion: &str) -> bool {
    let flag = suggestion.split([' ', '=']).next().unwrap_or(suggestion);
    let mut arguments = command.get_arguments().filter(|arg| !arg.is_hide_set());
    if let Some(long) = flag.strip_prefix("--") {
        return arguments.any(|arg| arg.get_long() == Some(long));
    }
    let short = flag.trim_start_matches('-').chars().next();
    arguments.any(|arg| arg.get_short() == short)
}

/// The flags that begin with the typed word, else those with a similar spelling.
pub(crate) fn similar_flags(typed: &str, command: &Command) -> Option<String> {
    let arguments = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let longs = arguments.filter_map(|arg| arg.get_long());
    let similar = similar(typed.trim_start_matches('-'), longs);
    let similar: Vec<String> = similar.iter().map(|name| format!("--{name}")).collect();
    question(&similar)
}

/// "did you mean a, b or c?"
pub(crate) fn question(names: &[String]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// The names that begin with the typed word, else those with a similar spelling, most similar
/// first.
pub(crate) fn similar<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let names: Vec<&str> = names.collect();
    let begun = names.iter().copied().filter(|name| name.starts_with(typed));
    let begun: Vec<&str> = begun.collect();
    if typed.len() > 1 && (1..=PROPOSED).contains(&begun.len()) {
        return begun;
    }
    let mut alike: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(typed, name), name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let best = alike.first().map(|(alike, _)| *alike);
    let best = alike.iter().filter(|(alike, _)| Some(*alike) == best);
    best.map(|(_, name)| *name).take(PROPOSED).collect()
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction, Command};

    use super::{COMMON, similar, similar_flags, suggestion};
    use crate::tool::Page;

    fn command(longs: &[&'static str]) -> Command {
        let args = longs.iter().map(|long| {
            let short = if *long == "dry-run" { Some('n') } else { None };
            Arg::new(*long).long(*long).short(short).action(ArgAction::SetTrue)
        });
        Command::new("ctx-sample").args(args)
    }

    /// A tool's own answers come first, and no answer names a flag that the tool lacks.
    #[test]
    fn what_is_meant_is_a_flag_of_the_tool_or_a_sentence() {
        let command = command(&["dry-run", "json", "budget"]);
        let own = Page::parse(
            r#"guesses = [["--max-tokens", "--budget"], ["-f", "--nowhere"], ["-l", "-n"]]"#,
        );
        let suggestion = |typed| suggestion(&own, typed, &command);
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(suggestion("--max-tokens"), said("did you mean --budget?"));
        assert_eq!(suggestion("--simulate"), said("did you mean --dry-run?"));
        assert_eq!(suggestion("-f"), said("did you mean --json?"));
        assert_eq!(suggestion("-l"), said("did you mean -n?"));
        assert_eq!(suggestion("-m"), None);
        assert_eq!(suggestion("--file"), said("name files without a flag"));
    }

    /// A typing error gets a suggestion; a different word of the same length gets none.
    #[test]
    fn only_what_is_spelled_alike_is_proposed() {
        let names = ["window", "store", "method", "max-tokens", "max-messages", "purge"];
        let similar = |typed| similar(typed, names.into_iter());
        assert_eq!(similar("methd"), ["method"]);
        assert_eq!(similar("max"), ["max-tokens", "max-messages"]);
        for typed in ["undo", "tokens", "prune", "s", "threshold"] {
            assert_eq!(similar(typed), Vec::<&str>::new(), "{typed}");
        }
        assert_eq!(
            similar_flags("--max", &command(&names)).as_deref(),
            Some("did you mean --max-tokens or --max-messages?")
        );
    }

    #[test]
    fn the_common_table_has_each_pair_once() {
        let common = Page::parse(COMMON);
        let rows: Vec<_> = common.guesses().collect();
        for (index, row) in rows.iter().enumerate() {
            assert!(!rows[..index].contains(row), "{row:?}");
        }
    }
}
