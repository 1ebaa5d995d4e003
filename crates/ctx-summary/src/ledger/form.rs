//! Defines the text form of an extractive summary, so that it can be read back when the session is
//! summarized again.

use std::borrow::Cow;
use std::fmt::Write as _;

use strum::{IntoStaticStr, VariantArray};

use crate::ledger::{Item, ItemKind, Origin, RuleKind, SegmentKind, State};

/// The label of a summary line. It names the line's speaker or source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
pub enum Label {
    /// The user speaks.
    #[strum(serialize = "user: ")]
    User,
    /// The model speaks.
    #[strum(serialize = "agent: ")]
    Agent,
    /// The model speaks in an earlier summary.
    #[strum(serialize = "earlier: ")]
    Earlier,
    /// The model calls a tool.
    #[strum(serialize = "call: ")]
    Call,
    /// The lines below are from the result of this call, which is further above.
    #[strum(serialize = "result of: ")]
    ResultOf,
    /// The line is part of a long argument of the call above it.
    #[strum(serialize = "+ ")]
    Part,
    /// The line comes from a tool's output, or from text that the user or the model quotes.
    #[strum(serialize = "> ")]
    Quote,
}

impl Label {
    /// Returns the label for a segment of the given origin and kind.
    pub fn of(origin: Origin, kind: SegmentKind) -> Self {
        match (origin, kind) {
            (_, SegmentKind::Quoted) | (Origin::Pasted | Origin::Result, _) => Self::Quote,
            (Origin::User, _) => Self::User,
            (Origin::Said, _) => Self::Agent,
            (Origin::Earlier, _) => Self::Earlier,
            (Origin::Call, SegmentKind::Name | SegmentKind::Line | SegmentKind::Reason) => {
                Self::Part
            }
            (Origin::Call, _) => Self::Call,
        }
    }

    /// Returns true if only the first of several adjacent statements with this label is labelled.
    pub fn goes_on(self) -> bool {
        matches!(self, Self::User | Self::Agent | Self::Earlier)
    }
}

/// Splits a line such as `[12] user: fix it` into its label, its line number in the session, if
/// any, and its text. Returns `None` if the line has no label.
pub fn labelled(line: &str) -> Option<(Label, Option<u64>, &str)> {
    let number = || {
        let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
        Some((number.parse().ok()?, rest))
    };
    let (number, line) = number().map_or((None, line), |(number, rest)| (Some(number), rest));
    let mut labels = Label::VARIANTS.iter().copied();
    labels.find_map(|label| Some((label, number, line.strip_prefix(<&str>::from(label))?)))
}

/// Returns the heading of the section for items of this kind.
pub fn heading(kind: ItemKind) -> String {
    let (first, rest) = <&str>::from(kind).split_at(1);
    format!("## {}{rest}", first.to_uppercase())
}

/// Splits off the citation at the end of text, such as `⟦12⟧`, or `⟦12-15⟧` in older summaries.
/// Returns the text before the citation, and the first line number that the citation gives.
pub fn cited(text: &str) -> (&str, Option<u64>) {
    let parse = || {
        let (before, lines) = text.strip_suffix('⟧')?.rsplit_once('⟦')?;
        let first = lines.split('-').next()?;
        Some((before.trim_end(), first.parse().ok()?))
    };
    parse().map_or((text, None), |(before, line)| (before, Some(line)))
}

/// The marks before and after an item's text, by the item's kind, `changed` flag and state. Tasks
/// are marked as in agents' own task lists.
const MARKS: [(ItemKind, bool, State, &str, &str); 7] = [
    (ItemKind::File, true, State::Current, "changed: ", ""),
    (ItemKind::File, false, State::Current, "read: ", ""),
    (ItemKind::Error, false, State::Done, "", " (repaired)"),
    (ItemKind::Open, true, State::Current, "", " (pending)"),
    (ItemKind::Open, true, State::InProgress, "", " (in_progress)"),
    (ItemKind::Open, true, State::Done, "", " (completed)"),
    (ItemKind::Command, false, State::Current, "", " (failed)"),
];

/// Writes an item as a line, with its line number in the session if `cite` is set.
pub fn line_of(item: &Item, cite: bool) -> String {
    let is_marked = |(kind, changed, state, ..): &&(ItemKind, bool, State, &str, &str)| {
        (*kind, *changed, *state) == (item.kind, item.changed, item.state)
    };
    let (before, after) = MARKS.iter().find(is_marked).map_or(("", ""), |mark| (mark.3, mark.4));
    let mut line = format!("- {before}{}{after}", item.text);
    if cite && item.line > 0 {
        let _ = write!(line, " ⟦{}⟧", item.line);
    }
    line
}

/// Parses a line that was written by [`line_of`].
pub fn item_of(kind: ItemKind, line: &str) -> Option<Item> {
    let (mut text, line) = cited(line.strip_prefix("- ")?.trim_end());
    let mut item = Item::new(kind, String::new(), line.unwrap_or_default());
    // Without a mark, an open item is a task that the next task list replaces, and a command
    // succeeded.
    item.changed = matches!(kind, ItemKind::Open | ItemKind::Command);
    for (_, changed, state, before, after) in MARKS.iter().filter(|mark| mark.0 == kind) {
        let inside = text.strip_prefix(before).and_then(|text| text.strip_suffix(after));
        if let Some(inside) = inside {
            text = inside;
            item.changed = *changed;
            item.state = *state;
        }
    }
    text.clone_into(&mut item.text);
    Some(item)
}

const LEFT_OUT: &str = "⟦left out: ";

/// Returns a line that says how many items of each kind did not fit, or an empty string if all fit.
pub fn left_out(counts: &[(ItemKind, usize)]) -> String {
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts = counts.map(|(kind, count)| format!("{count} {}", <&str>::from(kind)));
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() {
        return String::new();
    }
    format!("{LEFT_OUT}{}⟧", counts.join(", "))
}

fn left_out_of(line: &str) -> Option<Vec<(ItemKind, usize)>> {
    let counts = line.strip_prefix(LEFT_OUT)?.strip_suffix('⟧')?;
    let count = |part: &str| {
        let (count, name) = part.split_once(' ')?;
        let kind = ItemKind::ALL.iter().copied().find(|kind| <&str>::from(kind) == name)?;
        Some((kind, count.parse().ok()?))
    };
    Some(counts.split(", ").filter_map(count).collect())
}

/// The heading above quoted lines in summaries from older versions. Sessions may still contain such
/// summaries. Each line is followed by its citation. Newer summaries begin with quoted lines,
/// without a heading.
const DETAILS: &str = "## Details (> quotes tool results)";

/// What stands for the lines between two pieces of code or of a result.
pub(crate) const GAP: &str = " … ";

/// What separates a call from what came of it.
pub(crate) const OUTCOME: &str = " → ";

/// Explains the marks to the reader of a summary.
pub(crate) const EXPLANATION: &str = "Marks: [7] and ⟦7⟧ are line 7 of the session; call: a tool call → what came of it; + what it wrote; > output or pasted text; … something left out.";

/// What a summary writes before a statement that was later found to be wrong.
pub(crate) const REFUTED: &str = "(later found wrong) ";

/// The heading of the section about the current state of the work.
pub(crate) const NOW: &str = "## Where we are";

/// The heading above the story, if there are sections above it.
pub(crate) const STORY: &str = "## What happened";

/// A part of an extractive summary, as parsed by [`read`].
pub enum Line<'t> {
    /// An item, such as a request or an error.
    Item(Item),
    /// A rule of the user, or a value that the user gave.
    Rule(RuleKind, &'t str),
    /// A statement of one or more lines, with its label and its line number in the session.
    Block(Label, Option<u64>, Cow<'t, str>),
    /// The number of items of each kind that earlier summaries left out.
    LeftOut(Vec<(ItemKind, usize)>),
}

/// What a section contains, according to its heading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Quoted statements and tool output.
    Quotes,
    Items(ItemKind),
    Rules(RuleKind),
    /// The current state of the work, which each summary determines for itself.
    Now,
    /// Text that a model wrote under its own headings.
    Foreign,
}

/// Parses an extractive summary. Returns `None` if `text` is not an extractive summary.
pub fn read(text: &str) -> Option<Vec<Line<'_>>> {
    let mut section = Section::Quotes;
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut known = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with("## ") {
            let kind = ItemKind::ALL.iter().copied().find(|kind| heading(*kind) == line);
            let rules = RuleKind::VARIANTS.iter().copied();
            let rules = rules.map(|kind| (<&str>::from(kind), Section::Rules(kind)));
            let quotes = [DETAILS, STORY].map(|heading| (heading, Section::Quotes));
            let mut others = rules.chain(quotes).chain([(NOW, Section::Now)]);
            let other = others.find(|(heading, _)| *heading == line);
            let other = other.map_or(Section::Foreign, |(_, section)| section);
            section = kind.map_or(other, Section::Items);
            known |= section != Section::Foreign;
        } else if let Some(counts) = left_out_of(line) {
            lines.push(Line::LeftOut(counts));
        } else {
            // A short summary has no heading between the sections and the story.
            let is_list = matches!(section, Section::Rules(_) | Section::Items(_) | Section::Now);
            if is_list && !line.starts_with("- ") {
                section = Section::Quotes;
            }
            match section {
                Section::Rules(kind) => lines.push(Line::Rule(kind, cited(&line[2..]).0)),
                Section::Now => {}
                Section::Quotes if line == EXPLANATION => {}
                Section::Quotes => known |= add_quote(line, &mut lines),
                Section::Items(kind) => lines.extend(item_of(kind, line).map(Line::Item)),
                Section::Foreign => lines.push(Line::Block(Label::Agent, None, line.into())),
            }
        }
    }
    known.then_some(lines)
}

/// Adds `line` as a new statement, or to the previous statement. Returns true if the line has a
/// label.
fn add_quote<'t>(line: &'t str, lines: &mut Vec<Line<'t>>) -> bool {
    let (text, cited) = cited(line);
    let (label, number, words) = labelled(text)
        .map_or((None, None, text), |(label, number, words)| (Some(label), number, words));
    match (label, lines.last_mut()) {
        // Each line of a tool's output has a label, but together the lines form one text.
        (Some(Label::Quote), Some(Line::Block(Label::Quote, _, block)))
        | (None, Some(Line::Block(_, _, block))) => {
            block.to_mut().extend(["\n", words]);
        }
        _ => {
            let label = label.unwrap_or(Label::Agent);
            lines.push(Line::Block(label, number.or(cited), words.into()));
        }
    }
    label.is_some()
}

#[cfg(test)]
mod tests {
    use super::{DETAILS, Label, Line, cited, item_of, left_out, line_of, read};
    use crate::ledger::{Item, ItemKind, State};

    #[test]
    fn items_are_read_as_they_were_written() {
        for kind in ItemKind::ALL.iter().copied() {
            for (state, changed) in [
                (State::Current, true),
                (State::Current, false),
                (State::Done, false),
                (State::InProgress, false),
            ] {
                let item = Item {
                    kind,
                    text: "Bash: make all".to_owned(),
                    line: 17,
                    state: match (kind, state) {
                        (ItemKind::Error, State::Done) | (ItemKind::Open, _) => state,
                        _ => State::Current,
                    },
                    changed: match kind {
                        ItemKind::File | ItemKind::Command => changed,
                        ItemKind::Open => true,
                        _ => false,
                    },
                };
                assert_eq!(item_of(kind, &line_of(&item, true)).as_ref(), Some(&item));
                let uncited = Item { line: 0, ..item };
                assert_eq!(item_of(kind, &line_of(&uncited, true)).as_ref(), Some(&uncited));
            }
        }
    }

    #[test]
    fn citations_are_read() {
        assert_eq!(cited("a ⟦3-9⟧"), ("a", Some(3)));
        assert_eq!(cited("a ⟦x⟧"), ("a ⟦x⟧", None));
        assert_eq!(cited("a"), ("a", None));
    }

    #[test]
    fn a_summary_is_read_by_its_sections() {
        let counts = [(ItemKind::Ask, 2), (ItemKind::Error, 0), (ItemKind::File, 1)];
        let text = format!(
            "[3] user: fix it\nagent: one\ntwo\n> three\n> four\ncall: Bash command: make\n## Decisions\n- use it ⟦4⟧\n{}",
            left_out(&counts)
        );
        let lines = read(&text).expect("a summary");
        let [user, agent, quote, call, Line::Item(item), Line::LeftOut(left_out)] =
            lines.as_slice()
        else {
            panic!("{}", lines.len());
        };
        for (line, label, number, text) in [
            (user, Label::User, Some(3), "fix it"),
            (agent, Label::Agent, None, "one\ntwo"),
            (quote, Label::Quote, None, "three\nfour"),
            (call, Label::Call, None, "Bash command: make"),
        ] {
            assert!(
                matches!(line, Line::Block(of, at, words) if (*of, *at, words.as_ref()) == (label, number, text)),
                "{text}"
            );
        }
        assert_eq!((item.kind, item.line), (ItemKind::Decision, 4));
        assert_eq!(left_out, &[(ItemKind::Ask, 2), (ItemKind::File, 1)]);
        // In older summaries, quoted lines have their own section.
        let old = format!("{DETAILS}\nagent: one ⟦5-8⟧\n> two ⟦9⟧");
        let old = read(&old).expect("a summary");
        assert!(matches!(&old[0], Line::Block(Label::Agent, Some(5), words) if words == "one"));
        assert!(read("## Goal\n- build it").is_none());
        assert!(read("it was so").is_none());
    }
}
