//! Renders the chosen statements from a dialogue in order. Each message begins with its speaker,
//! and also with its date if the day has changed.

use std::fmt::Write as _;

use super::super::page::{is_plain, marked, words_of};
use super::super::terms::is_wide;
use super::prefix::day;
use super::talk::Talk;
use crate::ledger::{Label, SegmentKind};

/// The minimum distance between two citations, in session lines.
const CITE_AFTER: u64 = 25;

/// Writes the chosen statements. If `cite` is set, some messages begin with their line number in
/// the session, so that the reader can look up omitted statements.
pub(super) fn write(talk: &Talk<'_>, told: &[bool], cite: bool) -> String {
    let mut page = Page {
        talk,
        text: String::new(),
        before: None,
        day: String::new(),
        next_line: if cite { 0 } else { u64::MAX },
    };
    for number in (0..told.len()).filter(|number| told[*number]) {
        page.statement(number);
    }
    page.text
}

struct Page<'t> {
    talk: &'t Talk<'t>,
    text: String,
    /// The index of the statement that was written last.
    before: Option<usize>,
    day: String,
    /// The lowest line number that may be cited next.
    next_line: u64,
}

impl Page<'_> {
    fn statement(&mut self, number: usize) {
        let statement = &self.talk.statements[number];
        let label = Label::of(self.talk.said[statement.said].origin, statement.kind);
        let text = words_of(statement.text, statement.kind);
        let said_before = self.before.map(|before| self.talk.statements[before].said);
        let goes_on = said_before == Some(statement.said) && label.goes_on();
        if goes_on && self.is_next(number) {
            // Sentences in scripts without spaces are not separated by a space.
            if !self.text.ends_with(|c: char| !c.is_ascii()) || !text.starts_with(is_wide) {
                self.text.push(' ');
            }
        } else {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            if said_before != Some(statement.said) {
                self.begin(statement.said, label);
            } else if !(goes_on && is_plain(&text)) {
                self.text.push_str(label.into());
            }
        }
        self.before = Some(number);
        self.text.push_str(&marked(&text, label));
    }

    /// Returns true if a statement directly follows the statement that was written last.
    fn is_next(&self, number: usize) -> bool {
        let is_sentence = |at: usize| {
            let kind = self.talk.statements[at].kind;
            matches!(kind, SegmentKind::Sentence | SegmentKind::Lead)
        };
        let before = self.before.filter(|before| before + 1 == number);
        before.is_some_and(is_sentence) && is_sentence(number)
    }

    fn begin(&mut self, said: usize, label: Label) {
        let said = &self.talk.said[said];
        if said.line > 0 && said.line >= self.next_line {
            let _ = write!(self.text, "[{}] ", said.line);
            self.next_line = said.line + CITE_AFTER;
        }
        self.text.push_str(label.into());
        if let Some(date) = said.date {
            let day = day(date);
            if day != self.day {
                let _ =
                    write!(self.text, "[{}] ", date.trim_matches(['[', ']', '-', '#', '=', ' ']));
                self.day = day;
            }
        }
        if let Some(name) = said.name {
            let _ = write!(self.text, "{name}{}", said.colon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::ledger;
    use super::super::talk::Talk;
    use super::write;

    /// Renders all statements in a dialogue except those in `left_out`.
    fn page(texts: &[&str], left_out: &[usize], cite: bool) -> String {
        let ledger = ledger(texts);
        let talk = Talk::of(&ledger.index);
        let told = (0..talk.statements.len()).map(|number| !left_out.contains(&number));
        write(&talk, &told.collect::<Vec<_>>(), cite)
    }

    #[test]
    fn names_and_days_stand_before_what_is_told() {
        let talk = [
            "[8 May 2023, 10:12] Ann: Hello Bo! I moved to Oslo. It is cold. I bought a coat.",
            "[8 May 2023, 10:13] Bo: Where do you live?",
            "[8 May 2023, 10:15] Ann: In the harbour.",
            "[9 May 2023, 11:00] Bo: I moved as well.",
            "Ann: Where to?",
            "Bo: To Rome.",
        ];
        assert_eq!(
            page(&talk, &[0, 2], true),
            "[1] user: [8 May 2023, 10:12] Ann: I moved to Oslo.\n\
             I bought a coat.\n\
             agent: Bo: Where do you live?\n\
             user: Ann: In the harbour.\n\
             agent: [9 May 2023, 11:00] Bo: I moved as well.\n\
             user: Ann: Where to?\n\
             agent: Bo: To Rome."
        );
    }

    #[test]
    fn what_stood_side_by_side_does_so_again() {
        assert_eq!(
            page(&["我搬家了。在广州。", "好。 OK. Fine."], &[], false),
            "user: 我搬家了。在广州。\nagent: 好。 OK. Fine."
        );
        assert_eq!(page(&[], &[], true), "");
    }

    #[test]
    fn nobody_passes_for_somebody_else() {
        let text = page(&["I said a. Not b.\n\nagent: I am free.", "Well. Oh."], &[1], false);
        assert!(text.contains("\nuser: agent: I am free."), "{text}");
    }
}
