//! `docs/policies.md`: what each preset does, and every setting there is.

use std::fmt::Write as _;

use ctx_policy::{
    BUILT_IN, Clear, Fallback, Keep, Method, Mode, Policy, Prune, Summary, Target, When,
};
use ctx_select::prune::Glob;
use ctx_select::trigger::Triggers;
use ctx_transcript::SummaryRole;
use serde_json::Value;

const HEAD: &str = "# Policies

<!-- Written by `cargo run -p xtask -- gen` from presets/*.toml. -->

`ctx-compact --preset NAME` runs by one of these policies; `ctx-compact --show-preset NAME` prints it with comments. A
preset is only data. It is made in layers, and the later one wins, setting by setting: what is built in, the preset, a
configuration file, the environment, flags.

In every preset: system messages are not counted among the messages to keep and never summarized; a tool call stays with
its results, so more may be kept than asked for, never less; a summary whose role the format forbids is the user's;
`enabled = false` does nothing. Every limit is the last value that is still allowed: 80 messages are exceeded by the 81st.
";

const FILES_HEAD: &str = "
## Configuration files

Read as they are; what the text begins with tells TOML from JSON5, which JSON and JSON with comments are, too. A file of
another system builds on the preset of that system. An unknown key is a warning; a value of the wrong type is an error that
names the key and what is wanted.

| shape | where | keys |
|---|---|---|
| ours | TOML, or the same tables in JSON5 | the settings below, and `preset`, the name of the one it builds on |
";

const SETTINGS_HEAD: &str = "
## Settings

Each is a key of a configuration file, of `--set KEY=VALUE`, and a variable of the environment; an empty variable is none. A setting whose
built-in value is `false` where it is not a yes or no can be switched off with `false`, in the environment with `off`.
Lists stand between commas in the environment. Some presets read the variables of their system as well; where both are
set, ours wins.

| setting | variable | built-in | what it is |
|---|---|---|---|
";

/// The page.
pub(crate) fn page() -> Vec<u8> {
    let mut page = String::from(HEAD);
    for name in ctx_policy::names() {
        let policy = ctx_policy::preset(name).expect("a name of a preset");
        let _ = write!(page, "\n## {name}\n\n| matter | rule |\n|---|---|\n");
        for (matter, rule) in rows(&policy) {
            let _ = writeln!(page, "| {matter} | {} |", rule.replace('|', "\\|"));
        }
    }
    page.push_str(FILES_HEAD);
    for name in ctx_policy::names() {
        foreign(&mut page, name);
    }
    page.push_str(SETTINGS_HEAD);
    let built_in = Policy::default().to_json();
    for (key, what) in documented() {
        let value = key.split('.').fold(&built_in, |value, key| &value[key]);
        let variable = ctx_policy::variable_of(&key).map(|name| code(&name));
        let variable = variable.unwrap_or_default();
        let _ = writeln!(page, "| `{key}` | {variable} | `{value}` | {what} |");
    }
    page.into_bytes()
}

/// What is read of the configuration file of the system that a preset is made after.
fn foreign(page: &mut String, name: &str) {
    let policy = ctx_policy::preset(name).expect("a name of a preset");
    let source: Value = ctx_policy::source(name)
        .and_then(|text| toml::from_str(text).ok())
        .expect("a preset is TOML");
    let configuration = &source["configuration"];
    for (table, keys) in members(&configuration["tables"]) {
        let places: Vec<String> = configuration["roots"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|root| code(format!("{root}.{table}").trim_start_matches('.')))
            .collect();
        let keys: Vec<String> = members(keys)
            .map(|(key, entry)| match values_of(entry, &policy) {
                None => code(key),
                Some(values) => format!("{} ({values})", code(key)),
            })
            .collect();
        let (places, keys) = (places.join(" or "), keys.join(", "));
        let _ = writeln!(page, "| {name} | {places} | {keys} |");
    }
}

/// What is to be known of a key's values.
fn values_of(entry: &Value, policy: &Policy) -> Option<String> {
    let setting = entry.as_str().or(entry["to"].as_str()).unwrap_or_default();
    if let Some(bounds) = policy.bounds.get(setting) {
        return Some(bounds.to_string());
    }
    if let Some(words) = entry["words"].as_array() {
        let words = words.iter().filter_map(|word| word[0].as_str());
        let words: Vec<String> = words.map(code).collect();
        return (!words.is_empty()).then(|| words.join(", "));
    }
    if let Some(unit) = entry["unit"].as_str() {
        return Some(format!("{} where it has no unit", code(unit)));
    }
    entry["because"].as_str().map(str::to_owned)
}

fn members(table: &Value) -> impl Iterator<Item = (&String, &Value)> {
    table.as_object().into_iter().flatten()
}

/// Every setting with the comment that stands above it, in the order of the file.
fn documented() -> Vec<(String, String)> {
    let (mut settings, mut table, mut what) = (Vec::new(), String::new(), String::new());
    for line in BUILT_IN.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            what.push_str(comment);
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            table = name.trim_end_matches(']').to_owned() + ".";
        } else if let Some((key, _)) = line.split_once(" = ") {
            settings.push((format!("{table}{key}"), what.trim().to_owned()));
        }
        what.clear();
    }
    settings
}

fn rows(policy: &Policy) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("trigger, any of", trigger(&policy.trigger)),
        ("keep", keep(&policy.keep)),
        ("target", target(&policy.target)),
        ("order", order(policy)),
    ];
    if let Some(min) = policy.offload.min_tokens {
        let mut rule = format!(
            "results of {} tokens and more, the oldest first; {} in their place",
            number(min),
            code(&policy.offload.reference)
        );
        if let Some(enough) = policy.offload.enough_tokens {
            let _ = write!(
                rule,
                "; nothing is summarized when that freed {} tokens, or brought the context under its limit",
                number(enough)
            );
        }
        rows.push(("offload", rule));
    }
    rows.push(("summary", summary(&policy.summary)));
    rows.push(("fallback", fallback(policy)));
    if policy.mode != Mode::SummaryOnly {
        rows.push(("pruning", pruning(&policy.prune)));
    }
    if let Some(days) = policy.retention.keep_days {
        rows.push((
            "snapshots",
            format!(
                "`ctx-gc --preset {}` keeps them for {days} days",
                policy.name
            ),
        ));
    }
    if let Some(encoding) = policy.encoding {
        rows.push(("counting", code(&encoding.to_string())));
    }
    let names: Vec<String> = policy
        .environment
        .iter()
        .map(|(variable, setting)| format!("`{variable}` ({setting})"))
        .collect();
    if !names.is_empty() {
        rows.push(("environment", names.join(", ")));
    }
    rows
}

fn trigger(trigger: &Triggers) -> String {
    let mut rules = Vec::new();
    if let Some(n) = trigger.messages {
        rules.push(format!("more than {n} messages"));
    }
    if let Some(n) = trigger.turns {
        rules.push(format!("more than {n} turns"));
    }
    if let Some(n) = trigger.tokens {
        rules.push(format!("more than {} tokens", number(n)));
    }
    if let Some(share) = trigger.share {
        rules.push(format!("more than {share} of the window"));
    }
    if let Some(n) = trigger.reserve {
        rules.push(format!("more than the window less {} tokens", number(n)));
    }
    if let Some(n) = trigger.tool_bytes {
        rules.push(format!("more than {} bytes of tool results", number(n)));
    }
    if trigger.on_overflow {
        rules.push("the model reported an overflow".to_owned());
    }
    if let Some(n) = trigger.min_messages {
        rules.push(format!(
            "nothing but an overflow counts with fewer than {n} messages"
        ));
    }
    if let Some(n) = trigger.window {
        rules.push(format!("the window has {} tokens", number(n)));
    }
    if let Some(share) = trigger.flush_share {
        let from = if trigger.at_limit { "from" } else { "above" };
        rules.push(format!(
            "{from} {share} of a limit: into the memory, the history untouched"
        ));
    }
    if trigger.at_limit {
        rules.push("a limit counts once it is reached".to_owned());
    }
    rules.join("; ")
}

fn keep(keep: &Keep) -> String {
    let mut rules = vec!["system messages".to_owned()];
    if let Some(n) = keep.messages {
        rules.push(format!("the last {n} messages"));
    }
    if let Some(n) = keep.turns {
        rules.push(match n {
            1 => "the last turn".to_owned(),
            n => format!("the last {n} turns"),
        });
    }
    if let Some(n) = keep.tokens {
        rules.push(format!("the last {} tokens", number(n)));
    }
    if let Some(share) = keep.recent_share {
        rules.push(format!(
            "the last messages, up to {share} of what the target leaves"
        ));
    }
    rules.join("; ")
}

fn target(target: &Target) -> String {
    let mut rules = Vec::new();
    if let Some(n) = target.tokens {
        rules.push(format!("{} tokens", number(n)));
    }
    if let Some(share) = target.share {
        rules.push(format!("{share} of the window"));
    }
    if let Some(share) = target.max_history_share {
        let reserve = number(target.reserve.unwrap_or(0));
        rules.push(format!(
            "{share} of the window, and not more than the window less {reserve} tokens"
        ));
    }
    if target.overhead > 0 {
        rules.push(format!("{} tokens of it set aside", target.overhead));
    }
    if rules.is_empty() {
        rules.push("smaller than before".to_owned());
    }
    rules.push(match target.max_attempts {
        1 => "left alone after 1 run that gained nothing".to_owned(),
        n => format!("left alone after {n} runs that gained nothing"),
    });
    rules.join("; ")
}

fn order(policy: &Policy) -> String {
    let (mode, when) = (policy.mode, policy.prune.when);
    let offload = policy.offload.min_tokens.is_some();
    let sums_up = mode != Mode::PruneOnly;
    let steps = [
        (true, "snapshot"),
        (offload, "offload"),
        (mode != Mode::SummaryOnly && when == When::Before, "prune"),
        (sums_up, "split"),
        (
            offload && policy.offload.restore_before_summary,
            "put back what was offloaded of the old part",
        ),
        (sums_up, "summarize the old part"),
        (policy.summary.extract, "extract into the memory"),
        (true, "put together and check"),
        (true, "replace the session"),
        (
            offload && policy.offload.delete_unreferenced,
            "delete files that nothing names",
        ),
        (true, "audit record"),
    ];
    let steps: Vec<&str> = steps
        .into_iter()
        .filter_map(|(is_taken, step)| is_taken.then_some(step))
        .collect();
    steps.join(" → ")
}

fn summary(summary: &Summary) -> String {
    let mut rules = vec![match summary.method {
        Method::Llm => format!("by a model, prompt `prompts/{}.md`", summary.template),
        method => format!("`{method}`"),
    }];
    if summary.method == Method::Llm {
        rules.push(format!("asked up to {} times", summary.tries));
    }
    if let Some(n) = summary.tokens {
        rules.push(format!("at most {} tokens", number(n)));
    }
    if let Some(n) = summary.target_tokens {
        let most = match summary.max_output(n) {
            Some(most) => number(most),
            None => "a fifth more".to_owned(),
        };
        rules.push(format!("asked for {} tokens, {most} may come", number(n)));
    }
    if let Some(share) = summary.max_share {
        rules.push(format!("at most {share} of what it summarizes"));
    }
    if !summary.sections.is_empty() {
        rules.push(format!("sections {}", summary.sections.join(", ")));
    }
    rules.push(match summary.role {
        SummaryRole::Assistant => "role assistant".to_owned(),
        SummaryRole::System => "role system".to_owned(),
        SummaryRole::User => "role user".to_owned(),
    });
    if let Some(header) = &summary.header {
        rules.push(format!("begins with {}", code(header.trim())));
    }
    if summary.extract {
        rules.push("decisions, facts, preferences and errors go into the memory".to_owned());
    }
    rules.join("; ")
}

fn fallback(policy: &Policy) -> String {
    let summary = &policy.summary;
    let mut rules = Vec::new();
    if summary.method == Method::Llm {
        rules.push(format!("no server named: `{}`", summary.offline));
    }
    let steps: Vec<&str> = summary
        .fallback
        .iter()
        .map(|step| match step {
            Fallback::Smaller => "a smaller summary",
            Fallback::Rule => "the rule summary",
            Fallback::Extractive => "the extractive summary",
            Fallback::Prune => "prune",
            Fallback::Fail => "the history stays as it is, and the run fails",
        })
        .collect();
    rules.push(format!(
        "the summary failed or is too large: {}",
        steps.join(", then ")
    ));
    if policy.target.max_tokens(policy.trigger.window()).is_some() {
        rules.push(
            "above the target still: as much of what is kept as it leaves room for".to_owned(),
        );
    }
    rules.join("; ")
}

fn pruning(prune: &Prune) -> String {
    let mut rules = vec![
        match prune.when {
            When::Never => "never",
            When::Before => "before the split",
            When::Fallback => "as a fallback",
            When::Sent => "in what is sent to the model, never in the stored session",
        }
        .to_owned(),
    ];
    if let Some(n) = prune.max_chars {
        rules.push(format!(
            "results over {} characters keep the first {} and the last {}, with {} between",
            number(n),
            number(prune.head_share.of(n)),
            number(prune.tail_share.of(n)),
            code(&prune.cut)
        ));
    }
    match prune.clear {
        Clear::Never => {}
        Clear::IfNeeded => rules.push(format!(
            "where that is not enough, old results become {}",
            code(&prune.placeholder)
        )),
        Clear::Always => rules.push(format!("old results become {}", code(&prune.placeholder))),
    }
    if !prune.drop.is_empty() {
        let words: Vec<&str> = prune.drop.iter().map(|rule| rule.as_str()).collect();
        rules.push(format!("drops {}", words.join(", ")));
    }
    if prune.protect_last > 0 {
        rules.push(format!(
            "the last {} assistant messages are not touched",
            prune.protect_last
        ));
    }
    let globs = |globs: &[Glob]| -> String {
        let globs: Vec<String> = globs.iter().map(|glob| code(glob.as_str())).collect();
        globs.join(", ")
    };
    if !prune.allow.is_empty() {
        rules.push(format!("only tools {}", globs(&prune.allow)));
    }
    if !prune.deny.is_empty() {
        rules.push(format!("not tools {}", globs(&prune.deny)));
    }
    if let Some(ttl) = prune.cache_ttl {
        rules.push(format!(
            "only when the last call is older than {} minutes",
            ttl.0.as_secs() / 60
        ));
    }
    if let Some(n) = prune.window_messages {
        rules.push(format!("no more than the last {n} messages"));
    }
    if let Some(n) = prune.min_gain {
        rules.push(format!("only when it frees {} tokens", number(n)));
    }
    rules.join("; ")
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// With commas between thousands.
fn number(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits"))
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::{documented, number, page};

    #[test]
    fn thousands_have_commas() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345_678, "12,345,678"),
        ] {
            assert_eq!(number(n), text);
        }
    }

    #[test]
    fn the_page_has_a_table_of_every_preset_and_every_setting() {
        let page = String::from_utf8(page()).expect("text");
        for name in ctx_policy::names() {
            assert!(
                page.contains(&format!("\n## {name}\n\n| matter | rule |")),
                "{name}"
            );
        }
        let documented = documented();
        assert_eq!(documented.len(), ctx_policy::settings().len());
        for (key, what) in documented {
            assert!(page.contains(&format!("\n| `{key}` | ")), "{key}");
            assert!(what.ends_with(['.', ',']), "{key}");
        }
        assert!(page.contains(
            "more than 80 messages; more than 0.8 of the window; more than 51,200 bytes"
        ));
    }
}
