//! Checks the conversations of a batch separately, on several threads.

use ctx_format::{Conversation, Dialect, Object};

use super::understood::unread;
use super::{ConversationCheck, Finding, Plan, Report};
use crate::in_turn::Work;

/// Checks conversations.
pub(super) struct Checking {
    pub(super) plan: Plan,
    pub(super) dialect: &'static dyn Dialect,
}

impl Work for Checking {
    /// The line of a record, and the text of its object.
    type Item = (u64, String);
    type Done = Report;
    type State = Report;

    fn work(&self, portion: Vec<(u64, String)>) -> Report {
        let mut report = Report::default();
        for (line, text) in portion {
            if let Ok(object) = Object::parse(&text) {
                self.absorb(&mut report, self.conversation(line, &object));
            }
        }
        report
    }

    fn absorb(&self, report: &mut Report, done: Report) {
        report.merge(done, self.plan.listing());
    }
}

impl Checking {
    /// Checks one of them.
    pub(super) fn conversation(&self, line: u64, object: &Object<'_>) -> Report {
        let mut report = Report::default();
        let listing = self.plan.listing();
        let no_message = |what: &str| Finding::problem(Some(line), "no-message", what.to_owned());
        let Some(conversation) = Conversation::of(object) else {
            report.add(no_message("no list of messages"), listing);
            return report;
        };
        let mut checked = ConversationCheck::new(self.dialect);
        let mut has_message = false;
        for (number, object) in conversation.messages.iter().enumerate() {
            if let Some(found) = self.dialect.unread(object) {
                let place = (line, Some(number));
                let finding = unread(place, object, found, Some(self.dialect), &report);
                report.add(finding, listing);
            }
            if let Some(outline) = self.dialect.outline(object) {
                has_message = true;
                checked.push(line, &outline, &self.plan, || self.dialect.message(object));
            }
        }
        if !has_message {
            report.add(no_message("a conversation without a message"), listing);
        }
        checked.close(Some(line), &self.plan, &mut report);
        report
    }
}
