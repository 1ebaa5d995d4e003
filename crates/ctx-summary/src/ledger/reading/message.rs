//! Reads a message part by part, or an earlier summary line by line.

use ctx_format::{Message, Part, Role, Zone};

use crate::ledger::form::GAP;
use crate::ledger::harness::{
    Writer, is_empty, pieces, users_words, without_draft, without_reminders,
};
use crate::ledger::own_words::own_words_and_runs;
use crate::ledger::reading::quotes::Reader;
use crate::ledger::statement::statements;
use crate::ledger::{
    Event, Item, Label, Origin, Outcome, Reading, RuleKind, Source, form, identifier, intent,
};

impl Reading {
    /// Reads a message. A message in [`Zone::Old`] is to be summarized, so it may be quoted. The
    /// content of a message in [`Zone::Keep`] need not be repeated in a summary.
    pub fn of(message: &Message<'_>, zone: Zone) -> Self {
        if message.role.is_system() {
            return Self::of_system(message);
        }
        let mut reader = Reader::new(Source::Message { is_request: false }, zone == Zone::Old);
        for (at, part) in message.parts.iter().enumerate() {
            reader.part(part, message.role, message.added.contains(&at));
        }
        if zone == Zone::Keep {
            reader.stays(message);
        }
        reader.finish()
    }

    /// Reads an earlier summary. The items in an extractive summary become items again, and its
    /// quotes are attributed to their original speakers.
    pub fn of_earlier(text: &str) -> Self {
        let mut reader = Reader::new(Source::Earlier, true);
        let clean = reader.clean(text);
        match form::read(&clean) {
            Some(lines) => lines.into_iter().for_each(|line| reader.line(line)),
            None => reader.said(&without_draft(&clean), Origin::Said, None),
        }
        reader.finish()
    }

    /// Reads a kept message again to find what it covers, because its results may have been
    /// shortened.
    pub fn of_stay(message: &Message<'_>) -> Self {
        let mut reader = Reader::new(Source::Stays, false);
        reader.stays(message);
        reader.finish()
    }

    fn of_system(message: &Message<'_>) -> Self {
        let mut reader = Reader::new(Source::System, false);
        for text in message.texts() {
            identifier::scan(text, |place, shape| {
                reader.reading.mentions.number(&text[place], shape, None);
            });
        }
        reader.finish()
    }
}

impl Reader {
    fn part(&mut self, part: &Part<'_>, role: Role, is_added: bool) {
        match part {
            Part::Text(text) | Part::Refusal(text) => {
                let clean = self.clean(text);
                match role {
                    Role::User => self.of_user(&clean, is_added),
                    Role::Tool | Role::Function => {
                        self.lines(&without_reminders(&clean), Origin::Result, None);
                    }
                    Role::Assistant => {
                        self.items(&clean, role, 0);
                        self.said(&clean, Origin::Said, None);
                    }
                    _ => self.said(&clean, Origin::Said, None),
                }
            }
            Part::Call(call) => self.call(call),
            Part::Result(result) => {
                let first = self.reading.quotes.len();
                for text in result.parts.iter().filter_map(Part::said) {
                    let clean = self.clean(text);
                    match users_words(result, result.name.as_deref(), &clean) {
                        Some(said) => self.of_user(&said, false),
                        None => self.lines(&without_reminders(&clean), Origin::Result, None),
                    }
                }
                if self.leaves {
                    let quotes = first..self.reading.quotes.len();
                    let outcome = Outcome::of(result);
                    self.reading.events.push(Event::Result(outcome, quotes));
                }
            }
            Part::Reasoning(_) | Part::Media(_) | Part::Opaque(_) => {}
        }
    }

    /// Reads text from a user message.
    fn of_user(&mut self, text: &str, is_added: bool) {
        // Claude Code writes the name of a command without a template first.
        self.reading.is_command = text.starts_with("<command-message>");
        for (writer, piece) in pieces(text, is_added) {
            match writer {
                Writer::User => {
                    self.reading.source = Source::Message { is_request: true };
                    let before = self.reading.quotes.len();
                    self.own(&piece);
                    if let Some(first) = self.reading.quotes.get_mut(before) {
                        first.begins_turn = true;
                    }
                }
                Writer::Program if is_empty(&piece) => {}
                Writer::Program => self.lines(&piece, Origin::Pasted, None),
                Writer::Tool => self.lines(&piece, Origin::Result, None),
                Writer::Summary => self.said(&piece, Origin::Earlier, None),
            }
        }
    }

    /// Reads text from the user, including any quoted or pasted text.
    fn own(&mut self, text: &str) {
        let (own, runs) = own_words_and_runs(text);
        self.items(&own, Role::User, 0);
        for run in runs {
            // Text that the user quotes or pastes is linked to the words that introduce it.
            let head = self.lead();
            if run.is_own {
                self.said(run.text, Origin::User, None);
            } else {
                self.pasted(run.text, head);
            }
        }
    }

    /// Records the requests, decisions and plans in a speaker's own words.
    fn items(&mut self, own: &str, role: Role, line: u64) {
        if self.leaves {
            intent::read(own, role, |kind, text| {
                self.item(Item::new(kind, text.to_owned(), line));
            });
        }
    }

    pub(super) fn line(&mut self, line: form::Line<'_>) {
        match line {
            form::Line::Item(item) => {
                self.leaves = false;
                self.said(&item.text, Origin::Said, None);
                self.leaves = true;
                self.item(item);
            }
            form::Line::Rule(kind, text) => {
                let origin = if kind == RuleKind::Pasted { Origin::Pasted } else { Origin::User };
                if origin == Origin::User {
                    self.items(text, Role::User, 0);
                }
                let first = self.reading.quotes.len();
                let mut head = None;
                for one in statements(text) {
                    let quote = self.quote_rule(&one.text, origin, one.kind, head, Some(kind));
                    head = head.or(quote);
                }
                for quote in &mut self.reading.quotes[first..] {
                    quote.line = Some(0);
                }
            }
            form::Line::Block(label, line, text) => self.block(label, line.unwrap_or(0), &text),
            form::Line::LeftOut(counts) => self.reading.events.push(Event::LeftOut(counts)),
        }
    }

    /// Reads a statement that an earlier summary quotes.
    fn block(&mut self, label: Label, line: u64, text: &str) {
        let first = self.reading.quotes.len();
        match label {
            Label::User => {
                self.items(text, Role::User, line);
                self.said(text, Origin::User, None);
            }
            Label::Agent => {
                self.items(text, Role::Assistant, line);
                self.said(text, Origin::Said, None);
            }
            Label::Earlier => self.said(text, Origin::Earlier, None),
            Label::Call => self.call_again(text),
            Label::ResultOf => match self.call_of(text) {
                Some(call) => self.call = Some(call),
                None => self.call_again(text),
            },
            Label::Part => {
                text.split(GAP).for_each(|piece| self.parts(piece, true, self.call));
            }
            Label::Quote => self.lines(&text.replace(GAP, "\n"), self.quoted, self.call),
        }
        if !matches!(label, Label::Call | Label::ResultOf | Label::Part | Label::Quote) {
            self.call = None;
        }
        self.quoted = match label {
            // Quoted text after the user's words was pasted by the user.
            Label::User => Origin::Pasted,
            Label::Quote => self.quoted,
            _ => Origin::Result,
        };
        for (at, quote) in self.reading.quotes[first..].iter_mut().enumerate() {
            // The line number refers to the file that was summarized, so the story must not cite it
            // as a line in the current session. Items keep their line numbers, like all items from
            // an earlier summary.
            quote.line = Some(0);
            quote.begins_turn = at == 0 && label == Label::User;
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Message, Part, Role, Zone};

    use crate::ledger::fixtures::{calls, result, says};
    use crate::ledger::items::ItemKind;
    use crate::ledger::reading::{Event, Reading};
    use crate::ledger::segment::Origin;

    fn quotes(reading: &Reading) -> Vec<&str> {
        let quotes = reading.quotes.iter();
        quotes.map(|quote| reading.mentions.text(&quote.text)).collect()
    }

    #[test]
    fn reasoning_is_not_read_and_a_refusal_is_what_the_model_says() {
        let message = Message::new(
            Role::Assistant,
            vec![
                Part::Reasoning("secretly user_1".into()),
                Part::Refusal("I will not call user_2".into()),
            ],
        );
        let reading = Reading::of(&message, Zone::Old);
        assert_eq!(quotes(&reading), ["I will not call user_2"]);
        assert_eq!(reading.quotes[0].origin, Origin::Said);
    }

    #[test]
    fn what_was_asked_is_read_from_what_leaves_only() {
        let message = says(Role::User, "Please fix the login. Never touch the database.");
        let kinds = |zone| -> Vec<ItemKind> {
            let events = Reading::of(&message, zone).events;
            let kinds = events.iter().filter_map(|event| match event {
                Event::Item(item, _) => Some(item.kind),
                _ => None,
            });
            kinds.collect()
        };
        assert!(kinds(Zone::Old).contains(&ItemKind::Constraint));
        assert_eq!(kinds(Zone::Keep), []);
    }

    #[test]
    fn a_result_of_a_user_message_is_the_tools() {
        // In the Anthropic API, tool results are in user messages.
        let message = Message::new(Role::User, vec![Part::Result(result("row W8123"))]);
        let reading = Reading::of(&message, Zone::Old);
        assert!(
            matches!(reading.events.as_slice(), [Event::Result(_, quotes)] if *quotes == (0..1))
        );
        assert_eq!(reading.quotes[0].origin, Origin::Result);
    }

    #[test]
    fn no_secret_of_a_call_is_quoted_wherever_it_stands() {
        let key = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4"].concat();
        let long = "word ".repeat(100);
        for arguments in [
            format!(r#"{{"content":"{long}\n{key}"}}"#),
            format!(r#"{{"content":"{long}","password":"correct-horse"}}"#),
            format!(r#"{{"content":"{long}\npassword: >-\n  correct-horse\n"}}"#),
            // The model was cut off before the end of the JSON.
            format!(r#"{{"content":"{long}{key}","#),
            format!(r#"{{"content":"{long}{key}"}} and"#),
        ] {
            let reading = Reading::of(&calls("Write", &arguments), Zone::Old);
            assert_eq!(reading.secrets, 1, "{arguments}");
            for quote in quotes(&reading) {
                assert!(!quote.contains("ghp_") && !quote.contains("correct"), "{quote}");
            }
        }
    }

    /// Text that the user pastes is not attributed to the user.
    #[test]
    fn what_the_user_pasted_is_not_labelled_as_his() {
        let text = "Please look at order_17.\n```\nrow order_18\n```\n> order_19 failed";
        let reading = Reading::of(&says(Role::User, text), Zone::Old);
        let origins: Vec<Origin> = reading.quotes.iter().map(|quote| quote.origin).collect();
        assert_eq!(origins, [Origin::User, Origin::Pasted, Origin::Pasted]);
    }

    #[test]
    fn what_a_system_message_names_is_listed_and_never_quoted() {
        let reading = Reading::of(&says(Role::System, "serve user_1 at 10:30"), Zone::Old);
        assert_eq!(reading.mentions.list.len(), 2);
        assert!(reading.quotes.is_empty() && reading.events.is_empty());
    }
}
