//! An earlier summary, line by line.

use ctx_transcript::Role;

use super::Event;
use super::quoting::Reader;
use crate::facts::Origin;
use crate::form::{self, Label};
use crate::item::Item;
use crate::said;

impl Reader {
    pub(super) fn line(&mut self, line: form::Line<'_>) {
        match line {
            form::Line::Item(item) => {
                self.leaves = false;
                self.said(&item.text, Origin::Said, None);
                self.leaves = true;
                self.item(item);
            }
            form::Line::Block(label, line, text) => self.block(label, line.unwrap_or(0), &text),
            form::Line::LeftOut(counts) => self.reading.events.push(Event::LeftOut(counts)),
        }
    }

    /// What somebody says in an earlier summary.
    fn block(&mut self, label: Label, line: u64, text: &str) {
        let first = self.reading.quotes.len();
        match label {
            Label::User | Label::Agent => {
                let (role, origin) = match label {
                    Label::User => (Role::User, Origin::User),
                    _ => (Role::Assistant, Origin::Said),
                };
                said::read(text, role, |kind, text| {
                    self.item(Item::new(kind, text.to_owned(), line));
                });
                self.said(text, origin, None);
            }
            Label::Earlier => self.said(text, Origin::Earlier, None),
            Label::Call => self.call_again(text),
            Label::Part => self.parts(text, true, self.call),
            Label::Quote => self.lines(text, self.quoted, self.call),
        }
        if !matches!(label, Label::Call | Label::Part | Label::Quote) {
            self.call = None;
        }
        self.quoted = match label {
            // Whatever it is, it stands below his words, and is not his.
            Label::User => Origin::Pasted,
            Label::Quote => self.quoted,
            _ => Origin::Result,
        };
        for (at, quote) in self.reading.quotes[first..].iter_mut().enumerate() {
            // The number is a line of the file that was summed up: the story does not cite it
            // as one of this file. Items keep theirs, as all of an earlier summary do.
            quote.line = Some(0);
            quote.begins_turn = at == 0 && label == Label::User;
        }
    }
}
