//! The texts and tables of the page: what is in the context, what can be saved by which command,
//! and what the last compaction did.

use std::fmt::Write;

use ctx_cli::{columns, percent, printable, shell_word, xml};
use ctx_engine::prune::Sum;
use ctx_metrics::profile::{CompactionScore, Profile};
use ctx_store::ClassCounts;
use ctx_summary::ledger::score::Class;

use super::label;
use super::subject::Subject;

/// Text that is not ours, for an element or an attribute: whatever it holds, it is text, and no
/// control character is left in it.
pub(super) fn text(text: &str) -> String {
    xml(&printable(text))
}

/// Text of a transcript: right-to-left letters must not reorder the text around it.
pub(super) fn quoted(words: &str) -> String {
    format!("<bdi>{}</bdi>", text(words))
}

/// `30,282`
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `30,282 tokens`
pub(super) fn tokens(count: u64) -> String {
    things(count, "token")
}

/// `1 line`, `2,000 lines`
pub(super) fn things(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", number(count))
}

/// A table, whose cells are HTML already.
pub(super) struct Table {
    caption: &'static str,
    /// The headings.
    head: String,
    /// Whether each column has numbers.
    is_number: Vec<bool>,
    rows: String,
    /// The rows of sums, which sorting does not move.
    sums: String,
}

/// The attribute of a cell, if it has a number.
fn class(is_number: bool) -> &'static str {
    if is_number { " class=\"n\"" } else { "" }
}

impl Table {
    /// No rows yet but the heading, as [`columns`] reads it.
    pub(super) fn new(caption: &'static str, heading: &str) -> Self {
        let head = |(name, is_number)| {
            (format!("<th scope=\"col\"{}>{name}</th>", class(is_number)), is_number)
        };
        let (head, is_number) = columns(heading).map(head).unzip();
        Self { caption, head, is_number, rows: String::new(), sums: String::new() }
    }

    /// The next row; its first cell is its heading.
    pub(super) fn push(&mut self, cells: &[String]) {
        self.push_with("", cells);
    }

    /// Adds a row with attributes, each preceded by a blank.
    pub(super) fn push_with(&mut self, attributes: &str, cells: &[String]) {
        self.rows += &self.row(attributes, cells);
    }

    /// A row of sums.
    pub(super) fn push_sum(&mut self, cells: &[String]) {
        self.sums += &self.row("", cells);
    }

    fn row(&self, attributes: &str, cells: &[String]) -> String {
        let mut row = format!("<tr{attributes}>");
        for (number, (cell, is_number)) in cells.iter().zip(&self.is_number).enumerate() {
            let class = class(*is_number);
            let (tag, scope) = if number == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let _ = write!(row, "<{tag}{scope}{class}>{cell}</{tag}>");
        }
        row.push_str("</tr>\n");
        row
    }

    /// The table behind `before`; nothing if it has no rows.
    pub(super) fn unless_empty(self, before: &str, class: &str) -> String {
        if self.rows.is_empty() { String::new() } else { before.to_owned() + &self.html(class) }
    }

    /// The table; a script makes its headings buttons that sort it.
    pub(super) fn html(self, class: &str) -> String {
        let Self { caption, head, rows, sums, .. } = self;
        let sums = if sums.is_empty() { sums } else { format!("<tfoot>\n{sums}</tfoot>") };
        // Content wider than the screen can be scrolled here, also by keys.
        format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table class=\"{class}\"><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody>{sums}</table></div>\n"
        )
    }
}

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
        "<p>The compaction kept <b>{:.1}%</b> of what must not be lost, by the weights of ctx-score. The score compares words and not meanings, so what the summary says in other words counts as lost. Recoverable items are still in a handle or an offloaded file.</p>\n{}{}",
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
    let columns = "Rule|>Changes|>Before|>After|>Freed";
    let mut rules = Table::new("What ctx-prune would free, by rule", columns);
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

#[cfg(test)]
mod tests {
    use super::{number, quoted, text, tokens};

    /// No text of a transcript becomes an element, ends an attribute or reorders the page.
    #[test]
    fn whatever_a_text_holds_it_is_text() {
        assert_eq!(
            text("</title><script>alert(\"1\")</script>&amp;"),
            "&lt;/title&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;"
        );
        assert_eq!(text("a\0\u{1b}[2J\u{202e}b\n"), "a\\u{0}\\u{1b}[2J\\u{202e}b\\n");
        assert_eq!(quoted("<b>日本"), "<bdi>&lt;b&gt;日本</bdi>");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        let grouped = [0, 999, 1_000, 123_456, 1_234_567].map(number);
        assert_eq!(grouped, ["0", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!([1, 2].map(tokens), ["1 token", "2 tokens"]);
    }
}
