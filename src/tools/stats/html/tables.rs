//! The tables of what is in the context, of what can be saved by which command, and of what the last
//! compaction did.

use ctx_cli::{percent, shell_word};
use ctx_engine::prune::Sum;
use ctx_metrics::profile::{CompactionScore, Profile};
use ctx_store::ClassCounts;
use ctx_summary::ledger::score::Class;

use super::elements::{Table, number, quoted, text, things};
use super::label;
use super::subject::Subject;

/// The tokens of the context that are in no message of the file: an agent's own system prompt
/// and tools, and what its API counts more.
pub(super) fn unrecorded(subject: &Subject) -> u64 {
    let counted = subject.profile.context.total();
    subject.status.tokens().saturating_sub(counted)
}

/// How these tokens are called.
pub(super) const UNRECORDED: &str = "what the agent sends besides the messages";

/// Tokens by kind.
pub(super) fn kinds(subject: &Subject) -> String {
    let (context, window) = (&subject.profile.context, subject.status.window());
    let heading = "Kind|>Tokens|>Of the context|>Of the window";
    let mut table = Table::new("Tokens of the context by kind", heading);
    let all = context.total();
    let row = |what: &str, tokens: u64, of: Option<u64>| {
        let of_context = of.map_or_else(String::new, |all| percent(tokens, all));
        [what.to_owned(), number(tokens), of_context, percent(tokens, window)]
    };
    for (kind, tokens) in context.rows().filter(|(_, tokens)| *tokens > 0) {
        table.push(&row(label(kind), tokens, Some(all)));
    }
    table.push_sum(&row("all messages", all, Some(all)));
    if unrecorded(subject) > 0 {
        table.push_sum(&row(UNRECORDED, unrecorded(subject), None));
        table.push_sum(&row("in all", all + unrecorded(subject), None));
    }
    let note = if unrecorded(subject) > 0 {
        "<p>The agent has recorded what its API counted, and that is more than the messages in the file come to: the agent sends a system prompt and the tools that it offers as well, and its API counts otherwise than is counted here. The sum is the most that the context may come to.</p>\n"
    } else {
        ""
    };
    format!("<h3>What fills it</h3>\n{}{note}", table.html("sortable"))
}

/// Tokens by tool.
pub(super) fn tools(profile: &Profile) -> String {
    let mut table = Table::new(
        "Tokens of the context by tool, calls and results together",
        "Tool|>Calls|>Tokens|>Of the context",
    );
    let all = profile.context.total();
    for (name, share) in profile.tools.iter().take(30) {
        let (calls, tokens) = (number(share.count), number(share.tokens));
        table.push(&[quoted(name), calls, tokens, percent(share.tokens, all)]);
    }
    table.unless_empty("", "sortable")
}

/// The largest items of the context.
pub(super) fn largest(profile: &Profile) -> String {
    let heading = ">Line|Kind|>Tokens|>Of the context|What|How it begins";
    let mut table = Table::new("The largest items of the context", heading);
    let all = profile.context.total();
    for item in &profile.largest {
        table.push(&[
            number(item.line),
            label(item.kind).to_owned(),
            number(item.tokens),
            percent(item.tokens, all),
            quoted(&item.call),
            quoted(&item.text),
        ]);
    }
    table.unless_empty("<h3>The largest items in it</h3>\n", "sortable quiet items")
}

/// What the last compaction kept and lost.
pub(super) fn fate(subject: &Subject) -> String {
    let body = match &subject.fate {
        Some(fate) => of_fate(fate),
        None if subject.profile.marks.is_empty() => {
            "<p>The session was not compacted, as far as it and the store tell.</p>\n".to_owned()
        }
        None => "<p>What it kept and lost is not known: neither what was before nor a score of it is there any more.</p>\n".to_owned(),
    };
    format!("<h3>What the last compaction kept and lost</h3>\n{body}")
}

fn of_fate(fate: &CompactionScore) -> String {
    let mut table = Table::new(
        "What became of the items of the session before it, by class",
        "Class|>Kept|>Recoverable|>Lost",
    );
    let row = |what: &str, counts: ClassCounts| {
        [what.to_owned(), number(counts.retained), number(counts.recoverable), number(counts.lost)]
    };
    for (class, counts) in &fate.classes {
        table.push(&row(class.as_str(), *counts));
    }
    let total = fate.total();
    table.push_sum(&row("all", total));
    format!(
        "<p>Of what must not be lost, <b>{:.1}%</b> was kept, as ctx-score weighs it. Words are compared and not meanings: what the summary says in other words counts as lost. Recoverable is what a handle or an offloaded file still has.</p>\n{}{}",
        fate.kept * 100.0,
        table.html(""),
        lost(&fate.lost, total.lost)
    )
}

fn lost(items: &[(Class, u64, String)], all: u64) -> String {
    if items.is_empty() {
        return String::new();
    }
    let heading = "Class|>Line before|Words";
    let mut table = Table::new("What is not in the context any more", heading);
    for (class, line, words) in items {
        table.push(&[class.as_str().to_owned(), number(*line), quoted(words)]);
    }
    let shown = items.len() as u64;
    let more = || format!("<p>{} of {} are listed.</p>\n", number(shown), number(all));
    let more = if all > shown { more() } else { String::new() };
    let table = table.html("sortable");
    format!("<details><summary>What was lost</summary>\n{table}{more}</details>\n")
}

/// The rules of pruning that the page counts with, as flags.
const PRUNING: &str = "--drop superseded,duplicates,noise --trim";

/// What to do now: each command with what it frees.
pub(super) fn commands(subject: &Subject) -> String {
    let savings = match &subject.profile.savings {
        Ok(savings) => savings,
        Err(why) => {
            return format!(
                "<h3>What can be saved</h3>\n<p>The tools do not change it as it is: {}.</p>\n",
                text(why)
            );
        }
    };
    let path = subject.path.as_deref();
    let file = path.map_or("FILE".to_owned(), |path| {
        let path = path.display().to_string();
        // Else it would be a flag.
        shell_word(&if path.starts_with('-') { format!("./{path}") } else { path })
    });
    let all = subject.profile.context.total();
    let heading = "Command|>Frees (of the context)|What it does";
    let mut table = Table::new("What can be saved now", heading);
    let mut push = |command: String, frees: String, what: &str| {
        let command = format!("<code>{}</code>", text(&command));
        table.push(&[command, frees, what.to_owned()]);
    };
    let freed = |tokens: u64| format!("{} ({})", number(tokens), percent(tokens, all));
    if savings.total.gain() > 0 {
        push(
            format!("ctx-prune -i {PRUNING} {file}"),
            freed(savings.total.gain()),
            "shortens results that were read again, repeated or long; no text of a message changes",
        );
    }
    if let Some((results, tokens)) = subject.offload
        && tokens > 0
    {
        let results = things(results as u64, "large result");
        let what = format!("puts {results} into files that the session names");
        push(format!("ctx-offload -i {file}"), freed(tokens), &what);
    }
    push(
        format!("ctx-compact {file}"),
        "not known yet".to_owned(),
        &format!(
            "summarizes what is old; <code>ctx-compact -n {}</code> tells what it would leave",
            text(&file)
        ),
    );
    format!(
        "<h3>What can be saved</h3>\n{}<p>Each number is for the command alone. A snapshot is taken before the file changes: <code>ctx-rollback --undo {}</code> brings it back.</p>\n",
        table.html("commands quiet"),
        text(&file)
    )
}

/// What pruning would remove.
pub(super) fn groups(profile: &Profile) -> String {
    let heading = "<h3>Duplicates and other results that pruning would shorten</h3>\n";
    let savings = match &profile.savings {
        Ok(savings) => savings,
        Err(why) => {
            return format!("{heading}<p>ctx-prune does not take it: {}.</p>\n", text(why));
        }
    };
    if savings.groups.is_empty() {
        return format!("{heading}<p>Nothing.</p>\n");
    }
    let heading = "Rule|>Changes|>Before|>After|>Freed";
    let mut rules = Table::new("What ctx-prune would free, by rule", heading);
    let row = |what: &str, sum: Sum| {
        let [changes, before, after] = [sum.changes, sum.before, sum.after].map(number);
        [what.to_owned(), changes, before, after, number(sum.gain())]
    };
    for (rule, sum) in &savings.rules {
        rules.push(&row(rule.as_str(), *sum));
    }
    rules.push_sum(&row("total", savings.total));
    let mut groups = Table::new(
        "The same by the calls that the results answer",
        "Call|Rule|>Results|>First line|>Before|>Freed",
    );
    for group in &savings.groups {
        groups.push(&[
            quoted(&group.call),
            group.rule.as_str().to_owned(),
            number(group.sum.changes),
            number(group.line),
            number(group.sum.before),
            number(group.sum.gain()),
        ]);
    }
    let more = match savings.more {
        0 => String::new(),
        more => format!("<p>{} more free less.</p>\n", number(more as u64)),
    };
    format!("{heading}{}{}{more}", rules.html(""), groups.html("sortable"))
}
