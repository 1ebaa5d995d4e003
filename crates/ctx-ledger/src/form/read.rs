//! An extractive summary that is old itself, line by line.

use std::borrow::Cow;

use super::{Label, cited, heading, item_of, labelled, left_out_of};
use crate::{Item, ItemKind};

/// Summaries had a section of quoted lines once, each with its citation behind it; sessions
/// hold such summaries. Now these lines come first and have no heading.
const DETAILS: &str = "## Details (> quotes tool results)";

/// One line of an earlier summary.
pub enum Line<'t> {
    /// A typed item.
    Item(Item),
    /// What somebody says, in one line or in more, and the line of the session.
    Block(Label, Option<u64>, Cow<'t, str>),
    /// What summaries before it left out, kind by kind.
    LeftOut(Vec<(ItemKind, usize)>),
}

/// What stands under a heading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// What somebody said, or a tool printed.
    Quotes,
    Items(ItemKind),
    /// What a model wrote under headings of its own.
    Foreign,
}

impl Section {
    fn of(line: &str) -> Self {
        if line == DETAILS {
            return Self::Quotes;
        }
        let mut kinds = ItemKind::ALL.into_iter();
        let kind = kinds.find(|kind| heading(*kind) == line);
        kind.map_or(Self::Foreign, Self::Items)
    }
}

/// Reads an extractive summary; `None` when the text is none.
pub fn read(text: &str) -> Option<Vec<Line<'_>>> {
    let mut section = Section::Quotes;
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut known = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with("## ") {
            section = Section::of(line);
            known |= section != Section::Foreign;
        } else if let Some(counts) = left_out_of(line) {
            lines.push(Line::LeftOut(counts));
        } else {
            match section {
                Section::Quotes => known |= add_quote(line, &mut lines),
                Section::Items(kind) => lines.extend(item_of(kind, line).map(Line::Item)),
                Section::Foreign => lines.push(Line::Block(Label::Agent, None, line.into())),
            }
        }
    }
    known.then_some(lines)
}

/// Adds what somebody said, or to what he said before; whether the line says who.
fn add_quote<'t>(line: &'t str, lines: &mut Vec<Line<'t>>) -> bool {
    let (text, cited) = cited(line);
    let (label, number, words) = match labelled(text) {
        Some((label, number, words)) => (Some(label), number, words),
        None => (None, None, text),
    };
    match (label, lines.last_mut()) {
        // Each line of a tool's is marked, though they are one text.
        (Some(Label::Quote), Some(Line::Block(Label::Quote, _, block)))
        | (None, Some(Line::Block(_, _, block))) => {
            let block = block.to_mut();
            block.push('\n');
            block.push_str(words);
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
    use super::super::left_out;
    use super::{DETAILS, Label, Line, read};
    use crate::ItemKind;

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
