//! The facts of a whole session, packed: there may be a million records.

use std::ops::Range;

use ctx_transcript::{Handle, Role, ShortHash};

use super::facts::{Amount, Reasoning, Reduced, ResultFacts};
use super::files::FileUse;
use super::replace::Replaceable;
use super::sparse::{Sparse, compact};
use super::table::{Id, Table};
use super::verdict::CallArguments;
use super::window::InWindow;

/// What stays of the facts of all records.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) records: Vec<Record>,
    /// The results of all records, one behind the other.
    pub(super) answers: Vec<Answer>,
    pub(super) tools: Table<String>,
    pub(super) files: Table<FileUse>,
    /// By the number of the record.
    pub(super) arguments: Sparse<CallArguments>,
    /// Tokens of reasoning, by the number of the record.
    pub(super) reasoning: Sparse<u32>,
    /// Where a window is asked for: each record's place in it.
    pub(super) window: Vec<InWindow>,
    /// By the number of the answer, where its text was shortened before.
    earlier: Sparse<Handle>,
    /// By the number of the answer, where its text can be reduced.
    reduced: Sparse<Reduced>,
    /// By the number of the answer, where its several texts count other than as one.
    several: Sparse<Amount>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) message: Option<Said>,
    /// The number of the first answer behind its own.
    answers_end: u32,
}

/// A message.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub(super) struct Said {
    pub(super) role: Role,
    pub(super) begins_message: bool,
    pub(super) begins_turn: bool,
    pub(super) is_summary: bool,
    pub(super) fixed: bool,
    pub(super) empty: bool,
    pub(super) reasoning: Reasoning,
    pub(super) tokens: u32,
}

/// A result with what is known of its call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) hash: ShortHash,
    /// Whether it holds a text that may change, if nothing protects it.
    pub(super) is_text: bool,
    pub(super) failed: bool,
    /// Its call must stay as it is, and so must it.
    pub(super) fixed: bool,
    pub(super) tool: Option<Id>,
    pub(super) file: Option<Id>,
    bytes: u32,
    tokens: u32,
}

impl Session {
    /// The next record; its answers were added before.
    pub(super) fn add_record(&mut self, message: Option<Said>) {
        let answers_end = compact(self.answers.len() as u64);
        self.records.push(Record {
            message,
            answers_end,
        });
    }

    /// The next answer.
    pub(super) fn add_answer(
        &mut self,
        facts: ResultFacts,
        tool: Option<Id>,
        file: Option<Id>,
        fixed: bool,
    ) {
        let number = self.answers.len();
        let in_message = facts.amount;
        let mut answer = Answer {
            hash: ShortHash::default(),
            is_text: facts.text.is_some(),
            failed: false,
            fixed,
            tool,
            file,
            bytes: in_message.bytes,
            tokens: in_message.tokens,
        };
        if let Some(text) = facts.text {
            answer.hash = text.hash;
            answer.failed = text.failed;
            answer.bytes = compact(text.bytes);
            answer.tokens = compact(text.tokens);
            if answer.bytes != in_message.bytes {
                self.several.push(number, in_message);
            }
            if let Some(handle) = text.earlier {
                self.earlier.push(number, handle);
            }
            if let Some(reduced) = text.reduced {
                self.reduced.push(number, reduced);
            }
        }
        self.answers.push(answer);
    }

    /// The numbers of a record's answers.
    pub(super) fn answers_of(&self, record: usize) -> Range<usize> {
        let end = |record: usize| self.records[record].answers_end as usize;
        record.checked_sub(1).map_or(0, end)..end(record)
    }

    /// The message of a record.
    pub(super) fn said(&self, record: usize) -> Option<&Said> {
        self.records[record].message.as_ref()
    }

    /// The text of an answer.
    pub(super) fn text(&self, answer: usize) -> Replaceable {
        let Answer {
            hash,
            bytes,
            tokens,
            ..
        } = self.answers[answer];
        let (bytes, tokens) = (u64::from(bytes), u64::from(tokens));
        let earlier = self.earlier.get(answer).copied();
        Replaceable {
            bytes,
            tokens,
            handle: earlier.unwrap_or(Handle {
                hash,
                bytes,
                tokens,
            }),
        }
    }

    /// What trimming an answer and taking out its noise comes to.
    pub(super) fn reduced(&self, answer: usize) -> Option<Reduced> {
        self.reduced.get(answer).copied()
    }

    /// What an answer counts in its message.
    pub(super) fn amount(&self, answer: usize) -> Amount {
        let Answer { bytes, tokens, .. } = self.answers[answer];
        let several = self.several.get(answer).copied();
        several.unwrap_or(Amount { tokens, bytes })
    }
}

impl Record {
    pub(super) fn role(&self) -> Option<Role> {
        self.message.map(|said| said.role)
    }

    /// Whether a turn begins here, or a summary stands for those before.
    pub(super) fn begins(&self) -> bool {
        self.message
            .is_some_and(|said| said.begins_turn || said.is_summary)
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Record};

    /// A session of a gigabyte has 600,000 records.
    #[test]
    fn what_is_kept_is_small() {
        assert!(size_of::<Record>() <= 16, "{}", size_of::<Record>());
        assert!(size_of::<Answer>() <= 28, "{}", size_of::<Answer>());
    }
}
