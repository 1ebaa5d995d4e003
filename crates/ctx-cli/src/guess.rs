//! What was meant by a flag or a word that there is not: what people who know other tools
//! type, then what is spelled alike. Where neither is sure nothing is proposed.

use clap::Command;

/// What any tool understands, where it has the flag: `(typed, meant)`, as in
/// [`Page::guesses`](crate::Page::guesses), which goes before it.
#[rustfmt::skip]
const COMMON: &[(&str, &str)] = &[
    ("-R", "--recursive"), ("--recurse", "--recursive"),
    ("-m", "--model"), ("--tokenizer", "--encoding"), ("--context-window", "--window"),
    ("--context-size", "--window"), ("--num-ctx", "--window"), ("--window-tokens", "--window"),
    ("--max-context", "--window"),
    ("--dryrun", "--dry-run"), ("--simulate", "--dry-run"), ("--no-act", "--dry-run"),
    ("--preview", "--dry-run"), ("--what-if", "--dry-run"),
    ("--out", "--output"), ("--output-file", "--output"), ("--outfile", "--output"),
    ("-O", "--output"), ("--inplace", "--in-place"),
    ("--threads", "--jobs"), ("--parallel", "--jobs"), ("--workers", "--jobs"), ("-P", "--jobs"),
    ("--silent", "--quiet"), ("--debug", "-vv"), ("--colour", "--color"),
    ("--no-color", "--color never"), ("--no-colour", "--color never"),
    ("-f", "--json"), ("--format", "--json"), ("--output-format", "--json"), ("-J", "--json"),
    ("--jsonl", "--json"),
    ("--repo", "--store"), ("--home", "--store"), ("--dir", "--store"), ("--state-dir", "--store"),
    ("--session-id", "--session"), ("--id", "--session"), ("--name", "--session"),
    ("-c", "--config"), ("--config-file", "--config"), ("--policy", "--preset"),
    ("--format-in", "--dialect"), ("--input-format", "--dialect"), ("--from", "--dialect"),
    ("--api", "--dialect"),
    ("--url", "--llm-url"), ("--base-url", "--llm-url"), ("--endpoint", "--llm-url"),
    ("--timeout", "--llm-timeout"), ("--context", "--window"), ("--skip-invalid", "--invalid drop"),
    ("--trigger-turns", "--set trigger.turns=N"), ("--reserve", "--set trigger.reserve=N"),
    ("--trigger-tool-bytes", "--set trigger.tool_bytes=N"),
    ("--min-messages", "--set trigger.min_messages=N"),
    ("--flush-share", "--set trigger.flush_share=0.9"),
    ("--api-key", "the key of a model's server comes from the variable CTX_LLM_KEY"),
    ("--key", "the key of a model's server comes from the variable CTX_LLM_KEY"),
    ("-n", "it changes no session, so there is nothing to try first"),
    ("--dry-run", "it changes no session, so there is nothing to try first"),
    ("-o", "it prints to stdout: > FILE writes that to a file"),
    ("--output", "it prints to stdout: > FILE writes that to a file"),
    ("-r", "it reads no folder; name the files: DIR/*.jsonl"),
    ("-R", "it reads no folder; name the files: DIR/*.jsonl"),
    ("--recursive", "it reads no folder; name the files: DIR/*.jsonl"),
    ("-j", "it uses one core; xargs -P runs it on several"),
    ("--jobs", "it uses one core; xargs -P runs it on several"),
    ("-l", "ctx-ls lists sessions, ctx-snapshot -l snapshots"),
    ("--list", "ctx-ls lists sessions, ctx-snapshot -l snapshots"),
    ("--list-presets", "ctx-compact --show-preset NAME prints one; docs/policies.md lists them"),
    ("-i", "to change a session in place: ctx-compact, ctx-prune -i, ctx-offload -i"),
    ("--in-place", "to change a session in place: ctx-compact, ctx-prune -i, ctx-offload -i"),
    ("-y", "it never asks, so there is nothing to confirm"),
    ("--yes", "it never asks, so there is nothing to confirm"),
    ("-f", "name files without a flag"),
    ("--file", "name files without a flag"),
    ("--files", "name files without a flag"),
    ("--input", "name files without a flag"),
    ("--stdin", "it reads stdin where no file is named, or for -"),
    ("--pretty", "jq formats JSON: … | jq"),
    ("--csv", "jq makes CSV of JSON: --json | jq -r '[.name] | @csv'"),
];

/// So many names are proposed at most.
const PROPOSED: usize = 4;

/// How alike two names are that differ by a slip of the fingers: 1 is the same.
const ALIKE: f64 = 0.75;

/// The first entry for what was typed whose flag there is, or that is a sentence.
pub(crate) fn meant(own: Guesses, typed: &str, command: &Command) -> Option<String> {
    let fits = |meant: &str| !meant.starts_with('-') || has(command, meant);
    let entries = own.iter().chain(COMMON);
    let mut entries = entries.filter(|(key, meant)| *key == typed && fits(meant));
    entries.next().map(|(_, meant)| tip(meant))
}

/// A table of what is typed and what is meant.
pub(crate) type Guesses = &'static [(&'static str, &'static str)];

/// Flags are a question; a sentence stands as it is.
fn tip(meant: &str) -> String {
    if meant.starts_with('-') {
        format!("did you mean {meant}?")
    } else {
        meant.to_owned()
    }
}

/// Whether the first flag of `meant` is the command's, for people to see.
fn has(command: &Command, meant: &str) -> bool {
    let flag = meant.split([' ', '=']).next().unwrap_or(meant);
    let mut arguments = command.get_arguments().filter(|arg| !arg.is_hide_set());
    if let Some(long) = flag.strip_prefix("--") {
        return arguments.any(|arg| arg.get_long() == Some(long));
    }
    let short = flag.trim_start_matches('-').chars().next();
    arguments.any(|arg| arg.get_short() == short)
}

/// The flags whose names begin with what was typed, else those spelled alike.
pub(crate) fn near_flags(typed: &str, command: &Command) -> Option<String> {
    let arguments = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let longs = arguments.filter_map(|arg| arg.get_long());
    let near = near(typed.trim_start_matches('-'), longs);
    let near: Vec<String> = near.iter().map(|name| format!("--{name}")).collect();
    question(&near)
}

/// "did you mean a, b or c?"
pub(crate) fn question(names: &[String]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// The names that begin with what was typed, else those spelled alike, the most alike first.
pub(crate) fn near<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
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

    use super::{COMMON, meant, near, near_flags};

    fn command(longs: &[&'static str]) -> Command {
        let args = longs.iter().map(|long| {
            let short = if *long == "dry-run" { Some('n') } else { None };
            Arg::new(*long)
                .long(*long)
                .short(short)
                .action(ArgAction::SetTrue)
        });
        Command::new("ctx-sample").args(args)
    }

    /// 17: a table of the tool goes before the common one, and no flag is named that it lacks.
    #[test]
    fn what_is_meant_is_a_flag_of_the_tool_or_a_sentence() {
        let command = command(&["dry-run", "json", "budget"]);
        let own = &[
            ("--max-tokens", "--budget"),
            ("-f", "--nowhere"),
            ("-l", "-n"),
        ];
        let meant = |typed| meant(own, typed, &command);
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(meant("--max-tokens"), said("did you mean --budget?"));
        assert_eq!(meant("--simulate"), said("did you mean --dry-run?"));
        assert_eq!(meant("-f"), said("did you mean --json?"));
        assert_eq!(meant("-l"), said("did you mean -n?"));
        assert_eq!(meant("-m"), None);
        assert_eq!(meant("--file"), said("name files without a flag"));
    }

    /// 17: a slip is repaired; what is merely of the same length is not.
    #[test]
    fn only_what_is_spelled_alike_is_proposed() {
        let names = [
            "window",
            "store",
            "method",
            "max-tokens",
            "max-messages",
            "purge",
        ];
        let near = |typed| near(typed, names.into_iter());
        assert_eq!(near("methd"), ["method"]);
        assert_eq!(near("max"), ["max-tokens", "max-messages"]);
        for typed in ["undo", "tokens", "prune", "s", "threshold"] {
            assert_eq!(near(typed), Vec::<&str>::new(), "{typed}");
        }
        assert_eq!(
            near_flags("--max", &command(&names)).as_deref(),
            Some("did you mean --max-tokens or --max-messages?")
        );
    }

    #[test]
    fn the_common_table_has_each_pair_once() {
        for (place, entry) in COMMON.iter().enumerate() {
            assert!(!COMMON[..place].contains(entry), "{entry:?}");
        }
    }
}
