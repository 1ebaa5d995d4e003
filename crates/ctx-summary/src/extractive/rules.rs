//! Writes the sections at the top of a summary: the user's rules that hold, the values that the
//! user gave, and demands in text that the user pasted.

use std::collections::HashMap;
use std::fmt::Write as _;

use ctx_format::Role;
use ctx_text::{comparison_key, one_line};
use ctx_tokens::TokenCounter;

use super::page::{CITES, PER_LINE};
use super::talk::{demands, speakers};
use crate::ledger::{
    Decision, Index, Ledger, Origin, RuleKind, Segment, SegmentKind, Subject, asks_for, label_of,
    lifts, takes_back, without_label, without_marker,
};

/// The share of a summary that each kind may take up, in percent: in a dialogue, and in a session
/// with tools, where most content is elsewhere.
const SHARES: [(RuleKind, [u64; 2]); 3] =
    [(RuleKind::Rule, [85, 40]), (RuleKind::Fact, [85, 12]), (RuleKind::Pasted, [20, 25])];

/// The sections for rules, and the segments that the rest of the summary does not quote.
pub(super) struct Rules {
    pub(super) text: String,
    /// For each segment, whether it is in the sections or no longer holds.
    pub(super) hidden: Vec<bool>,
}

impl Rules {
    pub(super) fn of(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> Self {
        let index = &ledger.index;
        let mut hidden = vec![false; index.segments.len()];
        let mut text = String::new();
        let speakers = speakers(ledger);
        let rules = held(ledger);
        for (number, holds) in rules {
            hidden[*number] = !holds;
        }
        let cite = limit >= CITES;
        let mut left = limit;
        for (kind, shares) in SHARES {
            let room = (limit * shares[usize::from(speakers.is_none())] / 100).min(left);
            let of_kind = rules.iter().filter(|(number, holds)| {
                let segment = &index.segments[*number];
                *holds && segment.rule == Some(kind) && !segment.is_covered
            });
            let of_kind: Vec<usize> = of_kind.map(|(number, _)| *number).collect();
            let chosen = choose(index, &of_kind, room, cite, counter);
            let section = section(index, kind, &chosen, cite);
            left -= counter.count(&section).min(left);
            text += &section;
            chosen.iter().copied().flatten().for_each(|number| hidden[*number] = true);
        }
        Self { text, hidden }
    }
}

/// How many of the user's rules a summary contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleCount {
    /// The number of rules that hold.
    pub found: u64,
    /// The number of these rules in the summary and in the messages that are kept.
    pub kept: u64,
}

/// Counts the rules of the user that hold, and those that `summary` or a kept message contains.
pub fn count_rules(ledger: &Ledger, summary: &str) -> RuleCount {
    let index = &ledger.index;
    let text = one_line(summary);
    let mut count = RuleCount::default();
    for (number, holds) in held(ledger) {
        let segment = &index.segments[*number];
        if *holds && segment.rule == Some(RuleKind::Rule) {
            let bare = without_label(without_marker(index.text(segment)).1);
            count.found += 1;
            count.kept += u64::from(segment.is_covered || text.contains(&*one_line(bare)));
        }
    }
    count
}

/// Returns the index of each rule and of each short statement of the user, and whether it still
/// holds: whether no later statement repeats it, gives another value, or lifts it. Of what people say
/// to each other, only demands are rules for an agent.
fn held(ledger: &Ledger) -> &[(usize, bool)] {
    let names = || speakers(ledger).filter(|names| !names.is_empty());
    let find = || holding(&ledger.index, names().map(|names| demands(&ledger.index, names)));
    ledger.holding.get_or_init(find)
}

fn holding(index: &Index, demands: Option<Vec<bool>>) -> Vec<(usize, bool)> {
    let text = |number: usize| without_marker(index.text(&index.segments[number])).1;
    // Any short statement of the user may give a value that a later statement replaces.
    let may_hold = |number: &usize| {
        let segment = &index.segments[*number];
        let text = index.text(segment);
        let is_users = segment.origin == Origin::User && segment.kind.is_statement();
        segment.rule.is_some() || is_users && text.len() <= LONGEST_VALUE && !asks_for(text)
    };
    let rules: Vec<usize> = match demands {
        Some(demands) => (0..index.segments.len()).filter(|number| demands[*number]).collect(),
        None => (0..index.segments.len()).filter(may_hold).collect(),
    };
    let mut holds = vec![true; rules.len()];
    let mut latest: HashMap<String, usize> = HashMap::new();
    let marked = rules.iter().enumerate().filter(|(_, at)| index.segments[**at].rule.is_some());
    for (later, number) in marked {
        if let Some(before) = latest.insert(comparison_key(text(*number)), later) {
            holds[before] = false;
        }
    }
    let subjects: Vec<Subject> = (rules.iter().zip(&holds))
        .map(|(number, holds)| Subject::of(if *holds { without_label(text(*number)) } else { "" }))
        .collect();
    // The rules with the same topic or the same words, apart from values.
    let mut related: HashMap<u64, Vec<usize>> = HashMap::new();
    for (later, number) in rules.iter().enumerate() {
        if !holds[later] {
            continue;
        }
        let words = text(*number);
        let subject = &subjects[later];
        for key in subject.keys() {
            let known = related.entry(key).or_default();
            known.retain(|earlier| {
                holds[*earlier] &= !subject.replaces(&subjects[*earlier]);
                holds[*earlier]
            });
            known.push(later);
        }
        let recent = later.saturating_sub(LOOKED_BACK)..later;
        if subject.can_renew() {
            let is_over = |at: &usize| holds[*at] && subject.renews(&subjects[*at]);
            let over: Vec<usize> = recent.clone().filter(is_over).collect();
            for at in over {
                holds[at] = false;
            }
        }
        if lifts(words) {
            let is_over = |at: &usize| subject.lifts(&subjects[*at]);
            recent.clone().filter(is_over).for_each(|at| holds[at] = false);
        }
        if takes_back(words) {
            let decision = Decision::of(words, Role::User);
            let is_over = |at: &usize| {
                subject.shares_a_word(&subjects[*at])
                    && decision.supersedes(&Decision::of(text(rules[*at]), Role::User))
            };
            recent.filter(is_over).for_each(|at| holds[at] = false);
        }
    }
    rules.into_iter().zip(holds).collect()
}

/// The maximum length of a statement that can give a value without being a rule, in bytes.
const LONGEST_VALUE: usize = 160;
/// The number of earlier rules that a rule may lift or revoke.
const LOOKED_BACK: usize = 200;

/// Joins the rules that stand next to each other in one message.
fn units<'r>(index: &Index, rules: &'r [usize]) -> Vec<&'r [usize]> {
    let goes_on = |a: &usize, b: &usize| {
        let (before, next) = (&index.segments[*a], &index.segments[*b]);
        let is_same = (before.line, before.turn) == (next.line, next.turn);
        // In an earlier summary, the first statement on a line is the head of the others.
        let is_earlier =
            || next.head == Some(*a) || next.head.is_some() && next.head == before.head;
        is_same
            && a + 1 == *b
            && next.kind == SegmentKind::Sentence
            && (next.line > 0 || is_earlier())
    };
    rules.chunk_by(goes_on).collect()
}

/// Chooses the rules that fit into `room` tokens, and returns them in session order. Short rules
/// and rules from short messages come first.
fn choose<'r>(
    index: &Index,
    rules: &'r [usize],
    room: u64,
    cite: bool,
    counter: &dyn TokenCounter,
) -> Vec<&'r [usize]> {
    let turn = |segment: &Segment| (segment.turn, segment.line);
    let mut of_turn: HashMap<(u32, u64), u32> = HashMap::new();
    for number in rules {
        *of_turn.entry(turn(&index.segments[*number])).or_default() += 1;
    }
    // Only statements from the same message crowd each other.
    let crowd = |unit: &[usize]| {
        let first = &index.segments[unit[0]];
        if first.line > 0 { of_turn[&turn(first)] } else { 1 }
    };
    let rank = |unit: &[usize]| {
        let first = &index.segments[unit[0]];
        let text = line(index, unit, false);
        let width: usize = text.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
        let crowd = f64::from(crowd(unit).max(3));
        strength(index.text(first), first) / (crowd * width as f64).sqrt()
    };
    let mut ranked: Vec<(f64, &[usize])> =
        units(index, rules).into_iter().map(|unit| (rank(unit), unit)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(a.1)));
    let (mut left, mut crowded) = (room, 0);
    let mut chosen: Vec<&[usize]> = Vec::new();
    for (_, unit) in ranked {
        let heading = if chosen.is_empty() { HEADING } else { 0 };
        let is_crowded = crowd(unit) >= CROWD;
        if is_crowded && crowded * CROWDED_SHARE > room {
            continue;
        }
        let tokens = counter.count(&line(index, unit, cite)) + PER_LINE + heading;
        if tokens <= left {
            left -= tokens;
            crowded += if is_crowded { tokens } else { 0 };
            chosen.push(unit);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// A message with at least this many rules is a template or a specification. All such messages
/// together get at most the room divided by [`CROWDED_SHARE`].
const CROWD: u32 = 8;
const CROWDED_SHARE: u64 = 3;
/// The number of tokens in a heading.
const HEADING: u64 = 4;
/// The factor for a statement with a label in capitals, which its writer marked as important.
const MARKED: f64 = 3.0;
/// The factor for a statement with another label, or that says that a value is new.
const NEW: f64 = 2.0;

/// Returns how likely it is that the user means a statement to hold.
fn strength(text: &str, segment: &Segment) -> f64 {
    match label_of(without_marker(text).1) {
        _ if segment.is_earlier => MARKED,
        Some(label) if !label.contains(char::is_lowercase) => MARKED,
        Some(_) => NEW,
        None if Subject::of(text).is_update() => NEW,
        None => 1.0,
    }
}

/// Writes a section, if there is anything in it.
fn section(index: &Index, kind: RuleKind, chosen: &[&[usize]], cite: bool) -> String {
    if chosen.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", <&str>::from(kind));
    for unit in chosen {
        text.extend([line(index, unit, cite).as_str(), "\n"]);
    }
    text
}

fn line(index: &Index, unit: &[usize], cite: bool) -> String {
    let bare = |at: &usize| without_label(without_marker(index.text(&index.segments[*at])).1);
    let texts: Vec<&str> = unit.iter().map(bare).collect();
    let mut line = format!("- {}", texts.join(" ").replace('\n', " "));
    let of = index.segments[unit[0]].line;
    if cite && of > 0 {
        let _ = write!(line, " ⟦{of}⟧");
    }
    line
}
