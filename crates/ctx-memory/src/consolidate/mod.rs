//! What all sessions left behind, brought together: from the logs of the days (L0) into the memory
//! files (L1), and from there into the master (L2).
//!
//! [`consolidate`] is a function of the files alone: the same files give the same bytes, and what
//! it gives, it leaves as it is. [`run`](crate::Consolidation) reads and writes them.
//!
//! - Entries of the logs that no earlier run has seen go into L1. Nothing else is added there, but
//!   for the mark of what was taken back (`back`).
//! - L2 has a part of ours (`region`), in which each topic (`topic`) stands once, the most
//!   important first (`rank`). What people wrote there is not said again by it.

mod back;
mod daily;
mod given_up;
mod import;
mod rank;
mod region;
mod said;
mod state;
mod topic;
mod wording;

use chrono::NaiveDate;
use ctx_ledger::rules::MemoryKind;
use ctx_ledger::sentence::{sentences, without_marker};
use ctx_ledger::text::{key, plain_line};

pub use daily::Daily;
pub use region::is_mark;
pub use state::State;
pub use wording::{Answer, Asked};

use crate::merge::file_name;
use crate::near::Words;
use back::take_back;
use daily::Days;
use import::import;
use region::{Master, without_sources};
use said::{Said, Voice, statements};
use state::Refused;
use topic::{Topic, topics};
use wording::{Wording, apply};

/// The kinds that are consolidated, in the order of their sections. What was run is told by L1
/// alone.
pub(crate) const KINDS: [MemoryKind; 3] = [
    MemoryKind::Preference,
    MemoryKind::Decision,
    MemoryKind::Fact,
];

/// The files as they are.
#[derive(Clone, Debug, Default)]
pub struct Before {
    /// The memory files, in the order of their sections: preferences, decisions, facts.
    pub files: [Vec<u8>; 3],
    /// The logs, the oldest first.
    pub daily: Vec<Daily>,
    /// The master.
    pub master: Vec<u8>,
    /// What earlier runs left.
    pub state: State,
}

/// How it is done.
pub struct Rules<'a> {
    /// The master has at most so many tokens, unless people wrote more themselves.
    pub max_tokens: u64,
    /// Counts them.
    pub count: &'a dyn Fn(&str) -> u64,
    /// Whether the items of a session were merged into L1 on that day: what L1 lacks of them,
    /// somebody deleted.
    pub extracted: &'a dyn Fn(&str, NaiveDate) -> bool,
}

/// The files as they are to be.
#[derive(Clone, Debug, Default)]
pub struct After {
    /// The memory files.
    pub files: [Vec<u8>; 3],
    /// The master.
    pub master: Vec<u8>,
    /// For the next run.
    pub state: State,
    /// What was done.
    pub report: Report,
    /// What a model can be asked about.
    pub asked: Asked,
}

impl After {
    /// Whether there is something that no model has been asked about.
    pub fn is_new_to_a_model(&self) -> bool {
        let is_known = self.state.asked.as_ref() == Some(&self.asked.hash());
        !self.asked.is_empty() && !is_known
    }
}

/// What was done, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Entries of the logs that are new in L1.
    pub imported: usize,
    /// Statements of L1 that were marked as taken back.
    pub taken_back: usize,
    /// Statements of L1.
    pub statements: usize,
    /// What they are about: each topic once.
    pub topics: usize,
    /// Of those, what does not hold any more.
    pub history: usize,
    /// Topics that people tell themselves in the master, or have deleted from it.
    pub own: usize,
    /// Topics in the part of the master that the tools write.
    pub shown: usize,
    /// Topics that a model has found words for.
    pub worded: usize,
    /// Topics that there was no room for.
    pub left_out: usize,
    /// Of the whole master.
    pub tokens: u64,
    /// What people wrote in the master is above the limit.
    pub is_full: bool,
    /// Whether people had changed our part.
    pub was_edited: bool,
}

/// Brings them together.
pub fn consolidate(before: &Before, rules: &Rules<'_>) -> After {
    let mut after = After {
        state: before.state.clone(),
        ..After::default()
    };
    let days = Days::of_logs(&before.daily);
    after.report.imported = import(before, rules, &mut after);
    let master = Master::parse(&before.master, before.state.part.as_deref());
    let own = Own::of(&master);
    let mut all = Vec::new();
    for (at, kind) in KINDS.into_iter().enumerate() {
        let text = String::from_utf8_lossy(&after.files[at]).into_owned();
        let name = format!("memory/extracted/{}", file_name(kind));
        all.extend(statements(&text, kind, &name, &days));
    }
    after.report.statements = all.len();
    all.extend(own.said.iter().cloned());
    after.report.taken_back = mark(&mut all, &mut after);
    let topics = topics(&all[..after.report.statements], &all);
    write_master(&topics, &own, &master, rules, &mut after);
    after
}

/// What people wrote in the master.
struct Own {
    /// What they say, line by line and sentence by sentence.
    words: Vec<Words>,
    /// What they may take back by it.
    said: Vec<Said>,
}

impl Own {
    fn of(master: &Master) -> Self {
        let text = master.own();
        let mut words = Vec::new();
        for line in text.lines() {
            let plain = plain_line(&line.replace("~~", ""));
            let entry = without_sources(without_marker(&plain).1);
            words.push(Words::of(entry));
            words.extend(sentences(entry).iter().map(|sentence| Words::of(sentence)));
        }
        Self {
            words,
            said: Said::of_master(&text),
        }
    }

    fn tells(&self, topic: &Topic) -> bool {
        self.words.iter().any(|words| words.is_near(&topic.words))
    }
}

/// Marks in L1 what was taken back; returns how many are new.
fn mark(all: &mut [Said], after: &mut After) -> usize {
    let state = &mut after.state;
    take_back(all, &state.marks);
    let mut marked = 0;
    for said in all.iter() {
        let Some(by) = said.back.as_ref().filter(|by| by.is_lasting()) else {
            continue;
        };
        if said.can_be_marked() {
            let at = KINDS.iter().position(|kind| *kind == said.kind);
            let file = &mut after.files[at.expect("one of them")];
            if !import::add_mark(file, said, by) {
                continue;
            }
            marked += 1;
        }
        if said.voice != Voice::Hand {
            state.marks.insert(said.mark(by));
        }
    }
    marked
}

fn write_master(
    topics: &[Topic],
    own: &Own,
    master: &Master,
    rules: &Rules<'_>,
    after: &mut After,
) {
    let (state, report) = (&mut after.state, &mut after.report);
    refuse(state, &master.refused);
    let refused: Vec<(Words, bool)> = (state.refused.iter())
        .map(|refused| (Words::of(&refused.text), refused.history))
        .collect();
    let is_refused = |topic: &Topic| {
        let of = |(words, history): &(Words, bool)| {
            (!history || topic.back.is_some()) && words.is_near(&topic.words)
        };
        refused.iter().any(of)
    };
    let is_ours = |topic: &Topic| !own.tells(topic) && !is_refused(topic);
    let ours: Vec<Topic> = topics.iter().filter(|it| is_ours(it)).cloned().collect();
    after.asked = Asked::of(&ours);
    report.topics = topics.len();
    report.history = topics.iter().filter(|topic| topic.back.is_some()).count();
    report.own = topics.len() - ours.len();
    let (mut ours, worded) = apply(ours, &state.wordings);
    ours.retain(is_ours);
    report.worded = worded;
    report.was_edited = master.is_edited;
    if topics.is_empty() && !master.has_part {
        after.master.clone_from(&master.above);
        report.tokens = (rules.count)(&master.own());
        return;
    }
    let lines = rank::lines(&ours);
    let count = |part: &str| (rules.count)(&String::from_utf8_lossy(&master.with(part)));
    let empty = count("");
    let room = rules.max_tokens.saturating_sub(empty);
    report.is_full = empty > rules.max_tokens;
    let order = rank::by_weight(&lines, room, rules.count);
    let part = |taken: usize| rank::part(&lines, &order[..taken]);
    let mut taken = most(lines.len(), |taken| count(&part(taken)) <= rules.max_tokens);
    // Tokens may join at ends of lines, so that fewer lines have more of them.
    while taken > 0 && count(&part(taken)) > rules.max_tokens {
        taken -= 1;
    }
    let part = part(taken);
    report.shown = taken;
    report.left_out = lines.len() - taken;
    report.tokens = count(&part);
    after.master = master.with(&part);
    state.part = Some(part);
}

/// Takes note of what people deleted; of a model's words those that they stand for, too.
fn refuse(state: &mut State, refused: &[Refused]) {
    for refused in refused {
        let same = |wording: &&Wording| key(&wording.text) == key(&refused.text);
        let topics = state.wordings.iter().filter(same);
        let topics = topics.flat_map(|wording| wording.topics.iter());
        let all = topics.map(|text| Refused {
            text: text.clone(),
            history: false,
        });
        state.refused.extend(all);
        state.refused.insert(refused.clone());
    }
}

/// The largest number up to `all` that fits.
fn most(all: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut least, mut most) = (0, all);
    if fits(all) {
        return all;
    }
    while most - least > 1 {
        let middle = usize::midpoint(least, most);
        if fits(middle) {
            least = middle;
        } else {
            most = middle;
        }
    }
    least
}

#[cfg(test)]
mod tests;
