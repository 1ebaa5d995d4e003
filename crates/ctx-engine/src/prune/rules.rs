//! Applies the prune rules: decides what happens to each record, based on the facts about all
//! records.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use ctx_format::files::Access;
use ctx_format::{Role, ShortHash};
use ctx_policy::Rule;

use super::facts::{Facts, Reason, Reasoning, RecordFacts, Replacement, ResultFacts};
use super::{Options, records_before};
use crate::message_counter::MessageCounter;

/// The verdict on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Keep,
    Drop(Rule),
    /// The record's reasoning, its call arguments, its images or some of its results change.
    Change {
        reasoning: bool,
        arguments: bool,
        images: bool,
    },
}

/// The verdicts on all records and results.
#[derive(Debug)]
pub(super) struct Decisions {
    pub(super) records: Vec<Verdict>,
    pub(super) results: Vec<Option<Replacement>>,
    /// All records from this index on are protected.
    pub(super) protected_from: usize,
    pub(super) spared: Spared,
}

/// What the rules would change if it were not protected.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spared {
    /// The number of tool results in the protected messages.
    pub results: usize,
    /// The number of records with reasoning that is protected or belongs to the latest turn.
    pub reasoning: usize,
    /// The number of images and documents in the protected messages.
    pub images: usize,
}

impl Decisions {
    pub(super) fn new(facts: &Facts, options: &Options, counter: MessageCounter) -> Self {
        let decider = Decider {
            facts,
            options,
            counter,
            before_window: records_before(facts, options),
            protected_from: protected_from(facts, options.protect_last),
        };
        let (results, spared) = decider.replacements();
        let records = decider.verdicts(&results);
        let stays = |record: &&usize| {
            matches!(records[**record], Verdict::Keep | Verdict::Change { reasoning: false, .. })
        };
        let reasoning = facts.reasoning.keys().filter(stays).count();
        let protected = facts.images.range(decider.protected_from..);
        let images = protected.map(|(_, images)| images.len()).sum();
        let spared = Spared { results: spared, reasoning, images };
        Self { records, results, protected_from: decider.protected_from, spared }
    }
}

/// Returns the index of the first of the last `replies` assistant messages. Returns 0 if there are
/// fewer assistant messages, so that all records are protected.
fn protected_from(facts: &Facts, replies: usize) -> usize {
    let Some(before) = replies.checked_sub(1) else { return facts.records.len() };
    let is_reply = |index: &usize| {
        let record = facts.records[*index];
        record.role == Some(Role::Assistant) && record.begins_message
    };
    (0..facts.records.len()).rev().filter(is_reply).nth(before).unwrap_or(0)
}

/// Returns the rule, if any, that drops a message because of its content.
pub(super) fn dropping_rule(
    record: &RecordFacts,
    reasoning: Option<&Reasoning>,
    options: &Options,
) -> Option<Rule> {
    if record.is_empty_reply && options.drops(Rule::Empty) {
        return Some(Rule::Empty);
    }
    let is_only_reasoning = reasoning.is_some_and(|reasoning| reasoning.is_all);
    (is_only_reasoning && options.drops(Rule::Reasoning)).then_some(Rule::Reasoning)
}

struct Decider<'f> {
    facts: &'f Facts,
    options: &'f Options,
    counter: MessageCounter,
    /// For each record, whether it precedes the window. The list is empty if there is no window.
    before_window: Vec<bool>,
    protected_from: usize,
}

impl Decider<'_> {
    fn is_before_window(&self, record: usize) -> bool {
        self.before_window.get(record) == Some(&true)
    }

    /// Returns true if the record may change, that is, if it is an unprotected message.
    fn may_change(&self, index: usize) -> bool {
        index < self.protected_from && self.may_ever_change(index)
    }

    /// Returns true if the record might change if it were not among the latest.
    fn may_ever_change(&self, index: usize) -> bool {
        let record = self.facts.records[index];
        record.is_conversation() && !record.is_fixed
    }

    /// Decides what replaces each result. Results are examined from last to first, so notes refer
    /// only to later texts that stay.
    /// Also returns how many protected results would be replaced.
    fn replacements(&self) -> (Vec<Option<Replacement>>, usize) {
        let mut replacements = vec![None; self.facts.results.len()];
        let mut later = LaterResults::new(self.facts, self.options);
        let mut spared = 0;
        for record in (0..self.facts.records.len()).rev() {
            if self.is_before_window(record) {
                continue;
            }
            let may_change = self.may_change(record);
            let is_protected = record >= self.protected_from && self.may_ever_change(record);
            for result in self.facts.results_of(record).rev() {
                let ResultFacts { is_text, call, .. } = self.facts.results[result];
                let may_replace =
                    is_text && !call.is_fixed && self.options.tools.allows(self.facts.tool(result));
                if may_change && may_replace {
                    let reasons = later.reasons(result);
                    later.add(result, reasons == Reasons::default());
                    replacements[result] = self.replacement(result, reasons);
                } else {
                    let is_spared = may_replace
                        && is_protected
                        && self.replacement(result, later.reasons(result)).is_some();
                    spared += usize::from(is_spared);
                    later.add(result, true);
                }
            }
        }
        (replacements, spared)
    }

    /// Returns the first note that makes a result smaller or, failing that, the result's shortened
    /// text.
    fn replacement(&self, result: usize, reasons: Reasons) -> Option<Replacement> {
        let size = self.facts.results[result].size;
        let handle = OnceCell::new();
        for reason in reasons.into_iter().flatten() {
            let handle = handle.get_or_init(|| self.facts.handle(result, self.options.saved));
            let note = reason.note(self.options);
            if let Some((_, size)) = size.replaced_by(note, handle, &self.counter) {
                return Some(Replacement { rule: reason.rule(), reason: Some(reason), size });
            }
        }
        self.facts.shortened.get(&result).copied()
    }

    fn verdicts(&self, replacements: &[Option<Replacement>]) -> Vec<Verdict> {
        let records = &self.facts.records;
        let latest_turn = records.iter().rposition(|record| record.begins_turn);
        // The first message of the conversation stays, because the API may reject a conversation
        // that begins with a different message.
        let is_first = |(at, record): (usize, &RecordFacts)| {
            !self.is_before_window(at) && record.is_conversation()
        };
        let first = records.iter().enumerate().position(is_first);
        (0..records.len())
            .map(|record| match self.verdict(record, latest_turn, replacements) {
                Verdict::Drop(_) if first == Some(record) => Verdict::Keep,
                verdict => verdict,
            })
            .collect()
    }

    fn verdict(
        &self,
        index: usize,
        latest_turn: Option<usize>,
        replacements: &[Option<Replacement>],
    ) -> Verdict {
        if self.is_before_window(index) {
            return Verdict::Drop(Rule::Window);
        }
        if !self.may_change(index) {
            return Verdict::Keep;
        }
        let is_before_turn = latest_turn.is_some_and(|turn| index < turn);
        let reasoning = self.facts.reasoning.get(&index);
        match dropping_rule(&self.facts.records[index], reasoning, self.options) {
            Some(Rule::Reasoning) if !is_before_turn => {}
            Some(rule) => return Verdict::Drop(rule),
            None => {}
        }
        let reasoning =
            is_before_turn && reasoning.is_some() && self.options.drops(Rule::Reasoning);
        let arguments =
            self.options.argument_chars.is_some() && self.facts.arguments.contains_key(&index);
        let images = self.facts.images.contains_key(&index);
        let mut results = replacements[self.facts.results_of(index)].iter();
        if reasoning || arguments || images || results.any(Option::is_some) {
            Verdict::Change { reasoning, arguments, images }
        } else {
            Verdict::Keep
        }
    }
}

/// The reasons why a result is not needed, best first.
type Reasons = [Option<Reason>; 3];

/// Facts about the results that come after the one being examined.
struct LaterResults<'f> {
    facts: &'f Facts,
    options: &'f Options,
    files: HashMap<&'f str, LaterFile<'f>>,
    /// The tool, hash and length of each later result whose text stays.
    texts: HashSet<(u32, ShortHash, u64)>,
}

/// The use of a file by later calls.
#[derive(Default)]
struct LaterFile<'f> {
    is_written: bool,
    /// For each part of the file that was read, the length of the longest result, in bytes.
    reads: HashMap<&'f str, u64>,
}

impl<'f> LaterResults<'f> {
    fn new(facts: &'f Facts, options: &'f Options) -> Self {
        Self { facts, options, files: HashMap::new(), texts: HashSet::new() }
    }

    fn reasons(&self, result: usize) -> Reasons {
        let is_repeated = self.key(result).is_some_and(|key| self.texts.contains(&key));
        [
            self.superseded(result),
            is_repeated.then_some(Reason::Repeated),
            self.options.clear.is_some().then_some(Reason::Old),
        ]
    }

    /// Returns a key that identifies the text of a result, or `None` if no other result has the
    /// same text.
    fn key(&self, result: usize) -> Option<(u32, ShortHash, u64)> {
        let facts = &self.facts.results[result];
        Some((facts.call.tool, facts.hash?, self.facts.original_bytes(result)))
    }

    fn superseded(&self, result: usize) -> Option<Reason> {
        let file = self.facts.file(result)?;
        let Access::Read { part } = &file.access else { return None };
        let later = self.files.get(file.path.as_str())?;
        if later.is_written {
            return Some(Reason::Written);
        }
        // A much shorter result, such as "unchanged" or an excerpt, does not contain the file.
        let bytes = self.facts.original_bytes(result);
        let shows_file = |later: &u64| later.saturating_mul(2) >= bytes;
        let reads = [later.reads.get(""), later.reads.get(part.as_str())];
        reads.into_iter().flatten().any(shows_file).then_some(Reason::ReadAgain)
    }

    /// Adds a result. `stays` is true if the result's text stays. A call that writes a file
    /// supersedes earlier results even if its own result is replaced.
    fn add(&mut self, result: usize, stays: bool) {
        let facts = &self.facts.results[result];
        if !facts.is_text {
            return;
        }
        if stays && self.options.drops(Rule::Duplicates) {
            self.texts.extend(self.key(result));
        }
        if facts.has_failed || !self.options.drops(Rule::Superseded) {
            return;
        }
        let Some(file) = self.facts.file(result) else { return };
        let later = self.files.entry(&file.path).or_default();
        match &file.access {
            Access::Write => later.is_written = true,
            Access::Read { part } if stays => {
                let bytes = later.reads.entry(part).or_default();
                *bytes = self.facts.original_bytes(result).max(*bytes);
            }
            Access::Read { .. } => {}
        }
    }
}
