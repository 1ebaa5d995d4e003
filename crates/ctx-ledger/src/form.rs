//! The form of an extractive summary: what is written, and how it is read again
//! when it is old itself.

use std::borrow::Cow;

use crate::{Item, ItemKind, Kind, Origin, State};

/// Summaries had a section of quoted lines once, each with its citation behind it; sessions
/// hold such summaries. Now these lines come first and have no heading.
const DETAILS: &str = "## Details (> quotes tool results)";

/// The heading of a kind's section.
pub fn heading(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Ask => "## Asks",
        ItemKind::Constraint => "## Constraints",
        ItemKind::Decision => "## Decisions",
        ItemKind::Open => "## Open",
        ItemKind::Error => "## Errors",
        ItemKind::File => "## Files",
        ItemKind::Command => "## Commands",
    }
}

/// Who speaks in a line of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The user.
    User,
    /// The model.
    Agent,
    /// The model, in a summary of what was before.
    Earlier,
    /// A call of the model's.
    Call,
    /// A line of a long argument of the call above.
    Part,
    /// A tool, or whom the user or the model quotes.
    Quote,
}

impl Label {
    const ALL: [Self; 6] = [
        Self::User,
        Self::Agent,
        Self::Earlier,
        Self::Call,
        Self::Part,
        Self::Quote,
    ];

    /// Of a segment.
    pub fn of(origin: Origin, kind: Kind) -> Self {
        match (origin, kind) {
            (_, Kind::Quoted) | (Origin::Pasted | Origin::Result, _) => Self::Quote,
            (Origin::User, _) => Self::User,
            (Origin::Said, _) => Self::Agent,
            (Origin::Earlier, _) => Self::Earlier,
            (Origin::Call, Kind::Name | Kind::Line) => Self::Part,
            (Origin::Call, _) => Self::Call,
        }
    }

    /// As it stands before the words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user: ",
            Self::Agent => "agent: ",
            Self::Earlier => "earlier: ",
            Self::Call => "call: ",
            Self::Part => "+ ",
            Self::Quote => "> ",
        }
    }

    /// Whether one who says more goes on without another label.
    pub fn goes_on(self) -> bool {
        matches!(self, Self::User | Self::Agent | Self::Earlier)
    }
}

/// A line with a label, perhaps with the line of the session before it: `[12] user: fix it`.
pub fn labelled(line: &str) -> Option<(Label, Option<u64>, &str)> {
    let number = || {
        let (number, rest) = line.strip_prefix('[')?.split_once("] ")?;
        Some((number.parse().ok()?, rest))
    };
    let (number, line) = number().map_or((None, line), |(number, rest)| (Some(number), rest));
    let mut labels = Label::ALL.into_iter();
    labels.find_map(|label| Some((label, number, line.strip_prefix(label.as_str())?)))
}

/// Lines of the session, as a summary cites them.
pub fn citation(first: u64, last: u64) -> String {
    if first == last {
        format!("⟦{first}⟧")
    } else {
        format!("⟦{first}-{last}⟧")
    }
}

/// A text without the citation it ends with, and the first line that names.
pub fn cited(text: &str) -> (&str, Option<u64>) {
    let parse = || {
        let (before, lines) = text.strip_suffix('⟧')?.rsplit_once('⟦')?;
        let first = lines.split('-').next()?;
        Some((before.trim_end(), first.parse().ok()?))
    };
    match parse() {
        Some((before, line)) => (before, Some(line)),
        None => (text, None),
    }
}

const MENDED: &str = " (mended)";
const FAILED: &str = " (failed)";
const CHANGED: &str = "changed: ";
const READ: &str = "read: ";

/// The line of an item.
pub fn line_of(item: &Item, cite: bool) -> String {
    let (before, after) = match item.kind {
        ItemKind::File if item.changed => (CHANGED, ""),
        ItemKind::File => (READ, ""),
        ItemKind::Error if item.state == State::Done => ("", MENDED),
        ItemKind::Command if !item.changed => ("", FAILED),
        _ => ("", ""),
    };
    let mut line = format!("- {before}{}{after}", item.text);
    if cite && item.line > 0 {
        line.push(' ');
        line.push_str(&citation(item.line, item.line));
    }
    line
}

/// The item of a line that [`line_of`] wrote.
pub fn item_of(kind: ItemKind, line: &str) -> Option<Item> {
    let (mut text, line) = cited(line.strip_prefix("- ")?.trim_end());
    let mut item = Item::new(kind, String::new(), line.unwrap_or_default());
    // Of a list that the next list replaces; of a command: that it went well.
    item.changed = matches!(kind, ItemKind::Open | ItemKind::Command);
    match kind {
        ItemKind::File => {
            let changed = text.strip_prefix(CHANGED);
            item.changed = changed.is_some();
            text = changed.or(text.strip_prefix(READ)).unwrap_or(text);
        }
        ItemKind::Error => {
            if let Some(error) = text.strip_suffix(MENDED) {
                text = error;
                item.state = State::Done;
            }
        }
        ItemKind::Command => {
            if let Some(command) = text.strip_suffix(FAILED) {
                text = command;
                item.changed = false;
            }
        }
        ItemKind::Ask | ItemKind::Constraint | ItemKind::Decision | ItemKind::Open => {}
    }
    text.clone_into(&mut item.text);
    Some(item)
}

/// One line of an earlier summary.
pub enum Line<'t> {
    /// A typed item.
    Item(Item),
    /// What somebody says, in one line or in more, and the line of the session.
    Block(Label, Option<u64>, Cow<'t, str>),
    /// What summaries before it left out, kind by kind.
    LeftOut(Vec<(ItemKind, usize)>),
}

/// Reads an extractive summary; `None` when the text is none.
pub fn read(text: &str) -> Option<Vec<Line<'_>>> {
    let mut section = Some(DETAILS);
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut known = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with("## ") {
            let kind = ItemKind::ALL
                .into_iter()
                .find(|kind| heading(*kind) == line);
            section = kind.map(heading).or((line == DETAILS).then_some(DETAILS));
            known |= section.is_some();
            continue;
        }
        if let Some(counts) = left_out_of(line) {
            lines.push(Line::LeftOut(counts));
            continue;
        }
        match section {
            Some(DETAILS) => {
                let (text, cited) = cited(line);
                if let Some((label, number, text)) = labelled(text) {
                    known = true;
                    if let (Label::Quote, Some(Line::Block(Label::Quote, _, block))) =
                        (label, lines.last_mut())
                    {
                        // Lines of one text.
                        block.to_mut().push('\n');
                        block.to_mut().push_str(text);
                        continue;
                    }
                    lines.push(Line::Block(label, number.or(cited), text.into()));
                } else if let Some(Line::Block(.., block)) = lines.last_mut() {
                    block.to_mut().push('\n');
                    block.to_mut().push_str(text);
                } else {
                    lines.push(Line::Block(Label::Agent, cited, text.into()));
                }
            }
            Some(name) => {
                let kind = ItemKind::ALL
                    .into_iter()
                    .find(|kind| heading(*kind) == name);
                lines.extend(kind.and_then(|kind| item_of(kind, line)).map(Line::Item));
            }
            // What a model wrote under headings of its own.
            None => lines.push(Line::Block(Label::Agent, None, line.into())),
        }
    }
    known.then_some(lines)
}

const LEFT_OUT: &str = "⟦left out: ";

/// How many items had no room, in a line of its own; empty when all had.
pub fn left_out(counts: &[(ItemKind, usize)]) -> String {
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts = counts.map(|(kind, count)| format!("{count} {}", kind.as_str()));
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
        let mut kinds = ItemKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.as_str() == name)?;
        Some((kind, count.parse().ok()?))
    };
    Some(counts.split(", ").filter_map(count).collect())
}

#[cfg(test)]
mod tests {
    use super::{DETAILS, Label, Line, citation, cited, item_of, left_out, line_of, read};
    use crate::{Item, ItemKind, State};

    #[test]
    fn items_are_read_as_they_were_written() {
        for kind in ItemKind::ALL {
            for (state, changed) in [
                (State::Current, true),
                (State::Current, false),
                (State::Done, false),
            ] {
                let item = Item {
                    kind,
                    text: "Bash: make all".to_owned(),
                    line: 17,
                    state: if kind == ItemKind::Error {
                        state
                    } else {
                        State::Current
                    },
                    changed: match kind {
                        ItemKind::File | ItemKind::Command => changed,
                        ItemKind::Open => true,
                        _ => false,
                    },
                };
                assert_eq!(item_of(kind, &line_of(&item, true)).as_ref(), Some(&item));
                let uncited = Item { line: 0, ..item };
                assert_eq!(
                    item_of(kind, &line_of(&uncited, true)).as_ref(),
                    Some(&uncited)
                );
            }
        }
    }

    #[test]
    fn citations_are_read() {
        assert_eq!(cited(&format!("a {}", citation(3, 9))), ("a", Some(3)));
        assert_eq!(cited("a ⟦x⟧"), ("a ⟦x⟧", None));
        assert_eq!(cited("a"), ("a", None));
    }

    #[test]
    fn a_summary_is_read_by_its_sections() {
        let counts = [
            (ItemKind::Ask, 2),
            (ItemKind::Error, 0),
            (ItemKind::File, 1),
        ];
        let text = format!(
            "[3] user: fix it\nagent: one\ntwo\n> three\n> four\ncall: Bash command: make\n## Decisions\n- use it ⟦4⟧\n{}",
            left_out(&counts)
        );
        let lines = read(&text).expect("a summary");
        let [
            user,
            agent,
            quote,
            call,
            Line::Item(item),
            Line::LeftOut(left_out),
        ] = lines.as_slice()
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
        // The quoted lines in a section of their own.
        let old = format!("{DETAILS}\nagent: one ⟦5-8⟧\n> two ⟦9⟧");
        let old = read(&old).expect("a summary");
        assert!(matches!(&old[0], Line::Block(Label::Agent, Some(5), words) if words == "one"));
        assert!(read("## Goal\n- build it").is_none());
        assert!(read("it was so").is_none());
    }
}
