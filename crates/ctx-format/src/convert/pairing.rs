//! Groups those messages in a context that must be written together: a reply with its results, and,
//! if records are kept whole, messages that come from the same record.

use std::collections::{HashMap, HashSet};

use crate::Role;

use crate::convert::reading::Entry;
use crate::convert::turn::Key;

/// Entries that are written together: a message with the results of its calls, or entries that must
/// stay together without forming an exchange.
pub(crate) struct Unit {
    /// The indexes of the entries that form the message.
    pub(crate) said: Vec<usize>,
    /// The entries that contain the results of the message's calls, each with whether its content
    /// other than results is also written with this message. If an entry answers several replies,
    /// its other content is written with the last of them.
    pub(crate) results: Vec<(usize, bool)>,
    /// Whether the unit is a blob: entries that must stay together although they do not form an
    /// exchange.
    pub(crate) is_blob: bool,
}

/// A message, as a list of indexes into the entries.
struct Node {
    entries: Vec<usize>,
    /// The indexes of the replies whose calls this message answers.
    answers: Vec<usize>,
}

impl Unit {
    /// The indexes of all entries in the unit; entries with results come last.
    pub(crate) fn entries(&self) -> Vec<usize> {
        let results = self.results.iter().map(|(entry, _)| *entry);
        self.said.iter().copied().chain(results).collect()
    }
}

/// Groups the entries of a context into units. `entries` must be in context order. If
/// `joins` returns true for a reply, the next reply is part of the same message.
pub(crate) fn units(entries: &[Entry], joins: fn(&Entry) -> bool, is_whole: bool) -> Vec<Unit> {
    let mut nodes = nodes(entries, joins);
    let ties = tie(entries, &mut nodes);
    let blobs = if is_whole { blobs(&nodes, &ties) } else { Vec::new() };
    let mut results: HashMap<usize, Vec<(usize, bool)>> = HashMap::new();
    for node in &nodes {
        for reply in &node.answers {
            let is_home = node.answers.last() == Some(reply);
            let answering = node.entries.iter().map(|entry| (*entry, is_home));
            results.entry(*reply).or_default().extend(answering);
        }
    }
    let mut blobs = blobs.into_iter().peekable();
    let mut units = Vec::new();
    let mut place = 0;
    while let Some(node) = nodes.get(place) {
        if let Some((_, end)) = blobs.next_if(|(begin, _)| *begin == place) {
            let all = nodes[place..=end].iter().flat_map(|node| &node.entries);
            let said = all.copied().collect();
            units.push(Unit { said, results: Vec::new(), is_blob: true });
            place = end + 1;
            continue;
        }
        if node.answers.is_empty() {
            let results = results.remove(&place).unwrap_or_default();
            units.push(Unit { said: node.entries.clone(), results, is_blob: false });
        }
        place += 1;
    }
    units
}

fn nodes(entries: &[Entry], joins: fn(&Entry) -> bool) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        match nodes.last_mut() {
            Some(node) if continues(&entries[number - 1], entry, joins) => {
                node.entries.push(number);
            }
            _ => nodes.push(Node { entries: vec![number], answers: Vec::new() }),
        }
    }
    nodes
}

/// Returns true if `entry` continues the message in `before`, the preceding entry.
fn continues(before: &Entry, entry: &Entry, joins: fn(&Entry) -> bool) -> bool {
    let is_reply = |entry: &Entry| entry.role == Role::Assistant;
    let is_one = before.message == entry.message || joins(before);
    is_one && is_reply(before) && is_reply(entry) && before.results.is_empty()
}

/// Stores in each node which replies it answers. Returns every pair of a reply and a node with
/// results for its calls. If several calls have the same id, a result answers the nearest earlier
/// reply that has an open call with this id.
fn tie(entries: &[Entry], nodes: &mut [Node]) -> Vec<(usize, usize)> {
    let mut open: HashMap<&Key, Vec<usize>> = HashMap::new();
    let mut replies: HashMap<u64, usize> = HashMap::new();
    let mut ties = Vec::new();
    for (place, node) in nodes.iter_mut().enumerate() {
        let own = || node.entries.iter().map(|number| &entries[*number]);
        let message = own().next().map_or(0, |entry| entry.message);
        let is_reply = own().any(|entry| entry.role == Role::Assistant);
        // Only the model can make calls.
        let calls = own().filter(|_| is_reply);
        for call in calls.flat_map(|entry| &entry.calls) {
            open.entry(call).or_default().push(place);
        }
        let mut answered = Vec::new();
        for result in own().flat_map(|entry| &entry.results) {
            let mut call = result;
            if !result.has_id() && open.get(result).is_none_or(Vec::is_empty) {
                let waiting = open.iter().filter(|(call, _)| call.is_answered_by(result));
                let nearest = waiting.max_by_key(|(_, places)| places.last().copied());
                call = nearest.map_or(result, |(call, _)| *call);
            }
            let reply = open.get_mut(call).and_then(Vec::pop);
            // Some agents write a result a second time, as part of the same message.
            let again = || replies.get(&message).copied().filter(|_| !is_reply);
            answered.extend(reply.or_else(again).filter(|reply| *reply != place));
        }
        ties.extend(answered.iter().map(|reply| (*reply, place)));
        if is_reply {
            replies.insert(message, place);
            continue;
        }
        answered.sort_unstable();
        answered.dedup();
        node.answers = answered;
    }
    ties
}

/// Returns the keys of the calls of server tools whose results are in a later reply, after the
/// results of the calls that their code makes or after a pause.
pub(crate) fn across_replies(entries: &[Entry]) -> HashSet<Key> {
    let (mut open, mut across) = (HashSet::new(), HashSet::new());
    for entry in entries {
        if entry.begins_turn || entry.is_summary {
            open.clear();
        }
        if entry.role == Role::Assistant {
            across.extend(entry.results.iter().filter(|key| open.contains(key)).cloned());
            open.extend(&entry.calls);
        }
    }
    across
}

/// Returns the ranges of nodes that must stay together although they do not form an exchange. A
/// range is given by its first and last node. The ranges are in order and do not overlap.
fn blobs(nodes: &[Node], ties: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // An exchange has only one reply, so a node that answers several replies cannot be part of it.
    let odd = ties.iter().filter(|(reply, place)| nodes[*place].answers != [*reply]);
    let mut blobs: Vec<(usize, usize)> = odd.copied().collect();
    loop {
        blobs.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::new();
        for (begin, end) in blobs {
            match merged.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((begin, end)),
            }
        }
        let before = merged.clone();
        for blob in &mut merged {
            for tie in ties {
                let is_in = |place: usize| blob.0 <= place && place <= blob.1;
                if is_in(tie.0) || is_in(tie.1) {
                    *blob = (blob.0.min(tie.0), blob.1.max(tie.1));
                }
            }
        }
        if merged == before {
            return merged;
        }
        blobs = merged;
    }
}
