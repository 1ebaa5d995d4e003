//! The facts of a whole session, packed: there may be a million records.

use std::borrow::Cow;
use std::ops::Range;

use ctx_transcript::{Handle, Message, Object, Outline, Part, Role, Saved, ShortHash};
use indexmap::IndexSet;

use super::files::FileUse;
use super::rule::{Reason, Rule};
use super::shorter::Replaceable;
use super::sparse::Sparse;
use super::sums::Freed;
use crate::count::{MessageCounter, sealed};

/// What stays of the facts of all records. What few of them have is kept apart.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) records: Vec<Record>,
    /// The results of all records, one behind the other.
    pub(super) answers: Vec<Answer>,
    /// The names of tools, each once, and that there is none.
    tools: IndexSet<Option<String>>,
    /// What calls do to files, each once, and that they do nothing.
    files: IndexSet<Option<FileUse>>,
    /// What handles name calls by, one a line.
    names: String,
    /// What shorter arguments of its calls would free, by record.
    pub(super) arguments: Sparse<Vec<Freed>>,
    /// By record; only where a rule asks for it.
    pub(super) reasoning: Sparse<Reasoning>,
    /// Where a window is asked for: the exchange of each record, by the number, from 1, of its
    /// first record; 0 where it is in none.
    pub(super) exchanges: Vec<u32>,
    /// By answer, where its text was shortened before.
    pub(super) earlier: Sparse<Handle>,
    /// By answer, where its text can be reduced.
    pub(super) reduced: Sparse<Change>,
    /// By answer, where its several texts count other than as one.
    pub(super) several: Sparse<Amount>,
}

/// A record, in as few bytes as it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Of its message.
    tokens: u32,
    /// The number of the first answer behind its own.
    answers_end: u32,
    /// Of its message, if it has one.
    role: Option<Role>,
    /// What holds, bit by bit, in the order of [`Said::flags`].
    flags: u8,
    /// Whether it is a last line in the writing.
    pub(super) is_tail: bool,
}

/// A message.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub(super) struct Said {
    pub(super) role: Role,
    pub(super) begins_message: bool,
    pub(super) begins_turn: bool,
    pub(super) is_summary: bool,
    /// Whether it must stay as it is.
    pub(super) fixed: bool,
    /// Whether it is a reply that says nothing and calls nothing.
    pub(super) empty: bool,
    /// Its tokens; 0 where nobody asks for them.
    pub(super) tokens: u32,
}

/// The reasoning in a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reasoning {
    pub(super) tokens: u32,
    /// Whether the message is empty without it.
    pub(super) is_all: bool,
}

/// The call of an answer, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called {
    /// Its place among the names of tools.
    pub(super) tool: u32,
    /// Its place among the uses of files.
    file: u32,
    /// Where its name begins among the names of calls.
    name: u32,
    /// It must stay as it is, and so must its result.
    pub(super) fixed: bool,
}

/// A result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// Of its text, or of the original if that was shortened before; only where a note
    /// may refer to it or duplicates are looked for.
    pub(super) hash: ShortHash,
    /// Whether it holds a text that may change, if nothing protects it.
    pub(super) is_text: bool,
    /// Whether the tool seems to have failed.
    pub(super) failed: bool,
    pub(super) called: Called,
    /// Of its text, where it holds one.
    pub(super) amount: Amount,
}

/// No tokens where nobody asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) tokens: u32,
    pub(super) bytes: u32,
}

/// What takes the place of an answer's text: a note, or the text itself, trimmed or
/// without noise. Behind it stands the handle of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) rule: Rule,
    /// Why a note takes its place.
    pub(super) note: Option<Reason>,
    pub(super) amount: Amount,
}

impl Session {
    /// The next record is a message, whose answers were added before.
    pub(super) fn add_message(&mut self, mut said: Said) {
        let flags = said.flags().into_iter().enumerate();
        let flags = flags.fold(0, |flags, (at, flag)| flags | u8::from(*flag) << at);
        self.records.push(Record {
            tokens: said.tokens,
            answers_end: self.answers_end(),
            role: Some(said.role),
            flags,
            is_tail: false,
        });
    }

    /// The next record is no message.
    pub(super) fn add_line(&mut self, is_tail: bool) {
        self.records.push(Record {
            tokens: 0,
            answers_end: self.answers_end(),
            role: None,
            flags: 0,
            is_tail,
        });
    }

    fn answers_end(&self) -> u32 {
        compact(self.answers.len() as u64)
    }

    /// A call that handles name by `name`; empty if it will have none.
    pub(super) fn called(
        &mut self,
        tool: Option<String>,
        file: Option<FileUse>,
        name: &str,
        fixed: bool,
    ) -> Called {
        let begin = compact(self.names.len() as u64);
        self.names.push_str(name);
        self.names.push('\n');
        Called {
            tool: compact(self.tools.insert_full(tool).0 as u64),
            file: compact(self.files.insert_full(file).0 as u64),
            name: begin,
            fixed,
        }
    }

    /// What a handle names a call by.
    pub(super) fn name(&self, called: Called) -> &str {
        let names = self.names.get(called.name as usize..);
        names
            .and_then(|names| names.lines().next())
            .unwrap_or_default()
    }

    /// The numbers of a record's answers.
    pub(super) fn answers_of(&self, record: usize) -> Range<usize> {
        let end = |record: usize| self.records[record].answers_end as usize;
        record.checked_sub(1).map_or(0, end)..end(record)
    }

    /// The message of a record.
    pub(super) fn said(&self, record: usize) -> Option<Said> {
        self.records[record].said()
    }

    /// The tool of an answer.
    pub(super) fn tool(&self, answer: usize) -> Option<&str> {
        self.tools[self.answers[answer].called.tool as usize].as_deref()
    }

    /// The file that an answer shows, or that its call wrote.
    pub(super) fn file(&self, answer: usize) -> Option<&FileUse> {
        self.files[self.answers[answer].called.file as usize].as_ref()
    }

    /// The text of an answer.
    pub(super) fn text(&self, answer: usize) -> Replaceable {
        let amount = self.answers[answer].amount;
        Replaceable {
            bytes: amount.bytes.into(),
            tokens: amount.tokens.into(),
        }
    }

    /// The handle of its original.
    pub(super) fn handle(&self, answer: usize, saved: Saved) -> Cow<'_, Handle> {
        if let Some(earlier) = self.earlier.get(answer) {
            return Cow::Borrowed(earlier);
        }
        let Answer {
            hash,
            amount,
            called,
            ..
        } = self.answers[answer];
        let name = self.name(called);
        Cow::Owned(Handle::new(hash, amount.bytes.into(), name, saved))
    }

    /// Bytes of its original.
    pub(super) fn original_bytes(&self, answer: usize) -> u64 {
        let earlier = self.earlier.get(answer).map(|handle| handle.bytes);
        earlier.unwrap_or_else(|| self.answers[answer].amount.bytes.into())
    }

    /// What an answer counts in its message.
    pub(super) fn amount(&self, answer: usize) -> Amount {
        let several = self.several.get(answer).copied();
        several.unwrap_or(self.answers[answer].amount)
    }
}

impl Record {
    /// Its message.
    pub(super) fn said(&self) -> Option<Said> {
        let mut said = Said {
            tokens: self.tokens,
            ..Said::of_role(self.role?)
        };
        for (at, flag) in said.flags().into_iter().enumerate() {
            *flag = self.flags >> at & 1 == 1;
        }
        Some(said)
    }

    pub(super) fn role(&self) -> Option<Role> {
        self.role
    }

    /// Whether a turn begins here, or a summary stands for those before.
    pub(super) fn begins(&self) -> bool {
        self.said()
            .is_some_and(|said| said.begins_turn || said.is_summary)
    }
}

impl Said {
    fn of_role(role: Role) -> Self {
        Self {
            role,
            begins_message: false,
            begins_turn: false,
            is_summary: false,
            fixed: false,
            empty: false,
            tokens: 0,
        }
    }

    fn flags(&mut self) -> [&mut bool; 5] {
        [
            &mut self.begins_message,
            &mut self.begins_turn,
            &mut self.is_summary,
            &mut self.fixed,
            &mut self.empty,
        ]
    }

    /// All but its tokens.
    pub(super) fn of(outline: &Outline<'_>, message: &Message<'_>, fixed: bool) -> Self {
        Self {
            begins_message: outline.begins_message(),
            begins_turn: outline.begins_turn,
            is_summary: outline.is_summary,
            fixed,
            empty: message.role == Role::Assistant && message.parts.iter().all(is_blank),
            ..Self::of_role(outline.role)
        }
    }
}

impl Reasoning {
    /// Of a message that has some.
    pub(super) fn of(message: &Message<'_>, object: &Object<'_>, counter: &MessageCounter) -> Self {
        let is_cut = |part: &Part<'_>| message.is_cut_as_reasoning(part, object);
        let (mut tokens, mut said, mut is_all) = (0, 0, true);
        for part in &message.parts {
            let is_cut = is_cut(part);
            if is_cut || matches!(part, Part::Reasoning(_)) {
                let of_part = counter.part(part);
                said += of_part.reasoning;
                tokens += if is_cut { of_part.total() } else { 0 };
            }
            is_all &= is_cut || is_blank(part);
        }
        Self {
            tokens: compact(tokens + sealed(message, said)),
            is_all,
        }
    }
}

fn is_blank(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) if text.trim().is_empty())
}

impl Amount {
    pub(super) fn of(tokens: u64, bytes: u64) -> Self {
        Self {
            tokens: compact(tokens),
            bytes: compact(bytes),
        }
    }
}

/// A number of a record or a result, or a count within one, in half the memory: more
/// than four billion of them are in no session that fits into memory.
pub(super) fn compact(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Answer, Record, Session};

    /// A session of a gigabyte has 600,000 records.
    #[test]
    fn what_is_kept_is_small() {
        assert!(size_of::<Record>() <= 16, "{}", size_of::<Record>());
        assert!(size_of::<Answer>() <= 32, "{}", size_of::<Answer>());
    }

    #[test]
    fn equal_names_are_kept_once() {
        let mut session = Session::default();
        let tools = ["a", "b", "a", ""].map(|name| {
            let called = session.called(Some(name.to_owned()), None, "", false);
            called.tool
        });
        assert_eq!(tools[0], tools[2]);
        let names = tools.map(|tool| session.tools[tool as usize].as_deref());
        assert_eq!(names, ["a", "b", "a", ""].map(Some));
        let unknown = session.called(None, None, "ls src", false);
        assert_eq!(session.name(unknown), "ls src");
        assert_eq!(session.tools[unknown.tool as usize], None);
    }
}
