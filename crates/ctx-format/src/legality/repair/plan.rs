//! Uses the outlines of a session's messages to decide how to repair the session.

use std::collections::HashMap;

use super::{Action, Call, Edit, Exchange, Repair, RepairKind, ResultAt};
use crate::dialect::interface::{Dialect, Sniff};
use crate::rules::{Answer, OpenCall, Pairs, Results, Rules};
use crate::{Class, Object, Outline, Record, Role};

/// Decides how to repair a session. Calls are paired with results in the same way as in
/// [`crate::Validator`].
#[derive(Default)]
pub struct Planner {
    rules: Rules,
    /// The calls and results seen so far. A call is identified by its index in [`Repair::calls`].
    pairs: Pairs<usize>,
    /// The number of calls in exchanges that have ended.
    over: usize,
    /// Where to insert missing results in the current exchange.
    exchange: Exchange,
    /// The record number and line of each message that is not a system message, and whether a
    /// session may begin with it.
    messages: Vec<(usize, u64, bool)>,
    /// The ids of the calls in the reply or, if ids must be unique, in the session so far, each
    /// with the next number to append to it.
    ids: HashMap<String, u64>,
    repair: Repair,
}

impl Planner {
    /// Creates a planner for `rules`.
    pub fn new(rules: Rules) -> Self {
        // A result that follows other content in its message is accepted here, because the repair
        // moves it to the front.
        let mut pairs = Pairs::new(rules);
        pairs.late_results = true;
        Self { rules, pairs, ..Self::default() }
    }

    /// Adds the next message, which is in record number `record` and begins on line `line` of the
    /// source.
    pub fn push(&mut self, record: usize, line: u64, outline: &Outline<'_>) {
        if !outline.role.is_system() {
            self.messages.push((record, line, self.rules.may_begin_with(outline)));
        }
        let first = self.repair.calls.len();
        let step = self.pairs.push(outline, |place| first + place);
        if step.ends_exchange {
            let exchange = std::mem::take(&mut self.exchange);
            for OpenCall { call, .. } in step.unanswered {
                self.repair.calls[call].exchange = Some(exchange);
            }
            self.over = first;
        }
        if step.ends_exchange || outline.role == Role::Assistant {
            self.exchange.last = record;
        }
        if outline.role == Role::User {
            self.exchange.user.get_or_insert(record);
        }
        let is_answer = step.answers.iter().any(|it| matches!(it, Answer::Call(_)));
        for (place, call) in step.answers.into_iter().enumerate() {
            match call {
                Answer::Call(call) => self.answered(call, ResultAt { record, place }),
                Answer::Elsewhere => {}
                Answer::None => self.misplaced(ResultAt { record, place }, line, outline),
            }
        }
        if outline.results_late && is_answer {
            self.edit(record).change.results_first = true;
            self.act(line, "", RepairKind::ResultsFirst);
        }
        self.open(record, line, outline);
    }

    fn open(&mut self, record: usize, line: u64, outline: &Outline<'_>) {
        if !self.rules.keeps_ids(outline) {
            self.ids.clear();
        }
        for (place, was) in outline.calls.iter().enumerate() {
            let mut id = was.clone().into_owned();
            if let Some(&from) = self.ids.get(&id).filter(|_| !id.is_empty()) {
                let is_free = |(_, id): &(u64, String)| {
                    !self.ids.contains_key(id) && !outline.calls.iter().any(|it| it == id)
                };
                let mut others = (from..).map(|number| (number, format!("{was}-{number}")));
                let (number, free) =
                    others.find(is_free).expect("there are more numbers than calls");
                self.ids.insert(std::mem::replace(&mut id, free), number + 1);
                self.edit(record).change.rename_calls.insert(place, id.clone());
                self.act(line, was, RepairKind::Rename(id.clone()));
            }
            self.ids.insert(id.clone(), 2);
            self.repair.calls.push(Call {
                id,
                was: was.clone().into_owned(),
                record,
                line,
                ..Call::default()
            });
        }
    }

    /// Marks a call as having a result at a position where the API accepts it.
    fn answered(&mut self, call: usize, at: ResultAt) {
        self.exchange.last = at.record;
        let call = &mut self.repair.calls[call];
        call.answered = true;
        if call.id != call.was {
            let to = call.id.clone();
            self.edit(at.record).change.rename_results.insert(at.place, to);
        }
    }

    /// Handles a result that cannot stay where it is: moves it to the nearest call that needs a
    /// result or, if there is no such call, removes it.
    fn misplaced(&mut self, at: ResultAt, line: u64, outline: &Outline<'_>) {
        let id = &outline.results[at.place];
        let calls = &mut self.repair.calls;
        let of_exchange = self.over..calls.len();
        let is_known = calls[of_exchange.clone()].iter().any(|call| call.was == *id);
        let nearest = of_exchange.chain((0..self.over).rev());
        let waits = |call: &Call| !call.answered && call.found.is_none() && call.was == *id;
        let call = nearest.into_iter().find(|call| waits(&calls[*call]));
        let what = match call {
            Some(call) => {
                calls[call].found = Some(at);
                RepairKind::Move(calls[call].line)
            }
            None if is_known => RepairKind::DropRepeated,
            None => RepairKind::DropOrphan,
        };
        self.act(line, id, what);
        let edit = self.edit(at.record);
        edit.change.without.push(at.place);
        // A record with no remaining content is removed, unless results are moved into it later.
        let is_empty = edit.change.without.len() == outline.results.len();
        edit.drop = is_empty && !outline.has_content;
    }

    /// Returns the repairs. Calls at the end of the session that may still get a result are
    /// repaired only if `strict` is true.
    pub fn finish(mut self, strict: bool) -> Repair {
        let (open, unanswered) = self.pairs.finish();
        let open = open.into_iter().filter(|_| strict);
        for OpenCall { call, .. } in unanswered.into_iter().chain(open) {
            let call = &mut self.repair.calls[call];
            call.exchange = Some(match self.rules.results {
                Results::Later => Exchange { last: call.record, user: None },
                _ => self.exchange,
            });
        }
        for call in 0..self.repair.calls.len() {
            if let Some(exchange) = self.repair.calls[call].exchange {
                self.give_result(call, exchange);
            }
        }
        self.begin_with_user();
        self.repair.actions.sort_by_key(|action| action.line);
        self.repair
    }

    /// Moves a call's misplaced result to where the API expects it, or inserts a result saying that
    /// the original is missing.
    fn give_result(&mut self, call: usize, exchange: Exchange) {
        let Call { id, line, found, record, .. } = self.repair.calls[call].clone();
        if found.is_none() {
            self.act(line, &id, RepairKind::Answer);
        }
        let as_blocks = self.rules.results == Results::NextUserMessage;
        if let Some(user) = exchange.user.filter(|_| as_blocks) {
            let edit = self.edit(user);
            edit.into.push(call);
            edit.drop = false;
        } else {
            // In a log, a later record may belong to an earlier message: the call may come after
            // the results of the reply's other calls.
            self.edit(exchange.last.max(record)).behind.push(call);
        }
    }

    fn begin_with_user(&mut self) {
        let edits = &self.repair.edits;
        let stays = |record: &usize| edits.get(record).is_none_or(|edit| !edit.drop);
        let first = self.messages.iter().find(|(record, ..)| stays(record));
        if let Some((record, line, false)) = first.copied() {
            self.edit(record).begin = true;
            self.act(line, "", RepairKind::Begin);
        }
    }

    fn edit(&mut self, record: usize) -> &mut Edit {
        self.repair.edits.entry(record).or_default()
    }

    fn act(&mut self, line: u64, id: &str, what: RepairKind) {
        self.repair.actions.push(Action { line, id: id.to_owned(), what });
    }
}

/// The lines that replace a damaged line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// The lines without line endings.
    pub lines: Vec<String>,
    /// The repairs of the damaged line.
    pub done: Vec<RepairKind>,
}

/// The maximum number of positions at which to look for another object after an incomplete one.
const PLACES: usize = 200;

impl Salvage {
    /// Recovers the readable objects in a line; `None` if the line is intact or too long to be
    /// read.
    pub fn of(record: &Record<'_>, dialect: &dyn Dialect) -> Option<Self> {
        if matches!(record.class, Class::Object | Class::Blank | Class::TooLong) {
            return None;
        }
        let mut salvage = Self::default();
        let bytes = record.bytes.get(record.skipped..).unwrap_or_default();
        let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        if bytes.len() + record.skipped < record.bytes.len() {
            salvage.done.push(RepairKind::RemoveNuls);
        }
        let text = String::from_utf8_lossy(&bytes);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            salvage.done.push(RepairKind::ReplaceBytes);
        }
        let (before, rest) = objects(text.trim_ascii());
        let (behind, torn) = behind_torn(rest, dialect);
        if !torn.is_empty() {
            // Nothing else is reported about a line that is removed.
            if before.is_empty() && behind.is_empty() {
                salvage.done.clear();
            }
            // An incomplete object at the end of the file was never fully written.
            let is_cut = record.class == Class::Tail && behind.is_empty();
            let remove = RepairKind::Remove(torn.len());
            salvage.done.push(if is_cut { RepairKind::Cut } else { remove });
        }
        salvage.lines = before.into_iter().chain(behind).map(ToOwned::to_owned).collect();
        if salvage.lines.len() > 1 {
            let into = salvage.lines.len();
            salvage.done.push(RepairKind::Split(into));
        }
        Some(salvage)
    }
}

/// Splits `text` into the complete objects at its beginning and the remaining text.
fn objects(text: &str) -> (Vec<&str>, &str) {
    let mut found = Vec::new();
    let mut rest = text.trim_ascii();
    while let Ok(object) = Object::parse(rest) {
        let behind = object.rest();
        found.push(rest[..rest.len() - behind.len()].trim_ascii_end());
        rest = behind.trim_ascii();
    }
    (found, rest)
}

/// Splits `text` into the complete objects at its end and the incomplete object, if any, before
/// them.
fn behind_torn<'t>(text: &'t str, dialect: &dyn Dialect) -> (Vec<&'t str>, &'t str) {
    // An object in the position of a value may be part of the incomplete object, unless it has what
    // only a whole line has.
    let is_value = |at: usize| text[..at].trim_ascii_end().ends_with([':', ',', '[']);
    let is_line = |object: &str| {
        let object = Object::parse(object).ok().filter(|_| dialect.is_log());
        object.is_some_and(|object| dialect.sniff(&object) != Sniff::No)
    };
    let places = memchr::memmem::find_iter(text.as_bytes(), b"{\"");
    for at in places.filter(|at| *at > 0).take(PLACES) {
        let (found, rest) = objects(&text[at..]);
        let Some(first) = found.first().filter(|_| rest.is_empty()) else { continue };
        if !is_value(at) || is_line(first) {
            return (found, &text[..at]);
        }
    }
    (Vec::new(), text)
}

#[cfg(test)]
mod tests {
    use super::Salvage;
    use crate::Origin;
    use crate::dialect::Chat;
    use crate::repair::RepairKind;

    fn of(bytes: &[u8]) -> Option<(Vec<String>, Vec<RepairKind>)> {
        let salvage = Salvage::of(&Origin::ALONE.record(bytes), &Chat)?;
        Some((salvage.lines, salvage.done))
    }

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_can_be_read_is_a_line_of_its_own() {
        let split = |into| RepairKind::Split(into);
        let remove = |bytes| RepairKind::Remove(bytes);
        let (a, b) = (r#"{"a":1}"#, r#"{"b":2}"#);
        let cases: [(&[u8], &[&str], Vec<RepairKind>); 14] = [
            (b"{\"a\":1}x{\"b\":2}\n", &[a, b], vec![remove(1), split(2)]),
            (b"{\"a\":1}{\"b\":2}\n", &[a, b], vec![split(2)]),
            (b"{\"a\":1} {\"b\n", &[a], vec![remove(3)]),
            (b"{\"a\":1}xyz\n", &[a], vec![remove(3)]),
            (b"{\"a\":\"x{\"b\":2}\n", &[b], vec![remove(7)]),
            (b"[1]\n", &[], vec![remove(3)]),
            (b"garbage\0\n", &[], vec![remove(7)]),
            (b"{\"a\":{\"b\":1}\n", &[], vec![remove(12)]),
            (b"\0\0{\"a\":1}\n", &[r#"{"a":1}"#], vec![RepairKind::RemoveNuls]),
            (b"{\"a\"\0:1}\n", &[r#"{"a":1}"#], vec![RepairKind::RemoveNuls]),
            (b"\0\0\n", &[], vec![RepairKind::RemoveNuls]),
            (b"{\"a\":\"\xff\"}\n", &["{\"a\":\"\u{fffd}\"}"], vec![RepairKind::ReplaceBytes]),
            (b"{\"a\":1}{\"b", &[r#"{"a":1}"#], vec![RepairKind::Cut]),
            (b"{\"a\":", &[], vec![RepairKind::Cut]),
        ];
        for (bytes, expected, done) in cases {
            let found = of(bytes);
            assert_eq!(found, Some((lines(expected), done)), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn what_is_whole_or_nothing_stays() {
        let stays: [&[u8]; 2] = [b"{\"a\":1}\n", b"\n"];
        for bytes in stays {
            assert_eq!(of(bytes), None, "{}", bytes.escape_ascii());
        }
    }

    /// Searching a line that consists only of opening braces takes linear time.
    #[test]
    fn a_long_torn_line_is_given_up() {
        let text = "{\"a\":".repeat(200_000) + "\n";
        assert_eq!(of(text.as_bytes()).map(|it| it.0), Some(Vec::new()));
    }
}
