//! The tables of what is in the context, and of what the last compaction did.

use ctx_cli::percent;
use ctx_engine::stats::profile::{Counts, Fate, Profile};
use ctx_summary::ledger::score::Class;

use super::elements::{Table, number, quoted};
use super::section::label;
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
    let mut table = Table::new(
        "Tokens of the context by kind",
        &[("Kind", false), ("Tokens", true), ("Of the context", true), ("Of the window", true)],
    );
    let all = context.total();
    let row = |what: &str, tokens: u64, of: Option<u64>| {
        [
            what.to_owned(),
            number(tokens),
            of.map_or_else(String::new, |all| percent(tokens, all)),
            percent(tokens, window),
        ]
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
        &[("Tool", false), ("Calls", true), ("Tokens", true), ("Of the context", true)],
    );
    let all = profile.context.total();
    for (name, share) in profile.tools.iter().take(30) {
        table.push(&[
            quoted(name),
            number(share.count),
            number(share.tokens),
            percent(share.tokens, all),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    table.html("sortable")
}

/// The largest items of the context.
pub(super) fn largest(profile: &Profile) -> String {
    let mut table = Table::new(
        "The largest items of the context",
        &[
            ("Line", true),
            ("Kind", false),
            ("Tokens", true),
            ("Of the context", true),
            ("What", false),
            ("How it begins", false),
        ],
    );
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
    if table.is_empty() {
        return String::new();
    }
    format!("<h3>The largest items in it</h3>\n{}", table.html("sortable quiet items"))
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

fn of_fate(fate: &Fate) -> String {
    let mut table = Table::new(
        "What became of the items of the session before it, by class",
        &[("Class", false), ("Kept", true), ("Recoverable", true), ("Lost", true)],
    );
    let row = |what: &str, counts: Counts| {
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
    let mut table = Table::new(
        "What is not in the context any more",
        &[("Class", false), ("Line before", true), ("Words", false)],
    );
    for (class, line, words) in items {
        table.push(&[class.as_str().to_owned(), number(*line), quoted(words)]);
    }
    let shown = items.len() as u64;
    let more = if all > shown {
        let (shown, all) = (number(shown), number(all));
        format!("<p>{shown} of {all} are listed.</p>\n")
    } else {
        String::new()
    };
    format!(
        "<details><summary>What was lost</summary>\n{}{more}</details>\n",
        table.html("sortable")
    )
}
