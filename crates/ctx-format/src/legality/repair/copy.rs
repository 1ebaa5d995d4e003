//! Repairs a session by making a copy that the API, or the agent whose file it is, accepts.
//!
//! First, every readable object is put on its own line, and what cannot be read is removed. Then
//! the session is repaired in rounds, because a repair may reveal other problems: first how the
//! agent reads its file, then the content of messages, and last the calls and results. Unchanged
//! lines keep their bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Action, Planner, Repair, RepairKind, Salvage};
use crate::binding::{fate, has_reasoning, sent_blocks, without_reasoning};
use crate::content::mended;
use crate::log::compaction::Ids;
use crate::record::{BYTE_ORDER_MARK, line_end};
use crate::{
    Bond, Dialect, Edits, Effect, Flaw, InvalidReasoning, Links, MAX_LINE, Object, Options, Origin,
    Outline, Piece, Problem, Record, Records, Remedy, Validator,
};

/// A repaired copy of a session.
pub struct RepairedCopy {
    /// The dialect of the copy.
    pub dialect: &'static dyn Dialect,
    /// The content of the repaired copy.
    pub bytes: Vec<u8>,
    /// All repairs, sorted by source line.
    pub actions: Vec<Action>,
    /// For each line in the copy, the number of the source line that it came from.
    pub sources: Vec<u64>,
}

/// A line in the unfinished copy.
#[derive(derive_more::AsRef)]
struct Line {
    /// The number of the source line that this line came from.
    source: u64,
    #[as_ref([u8])]
    bytes: Vec<u8>,
}

/// The maximum number of repair rounds. Each round repairs problems of one kind.
const ROUNDS: usize = 16;

/// Repairs a session in `dialect`. `lines` are the lines of the file with their line numbers and
/// line endings. If `strict` is true, calls at the end of the session that may still get a result
/// are also repaired. `model` is the model that shall accept the copy, if not the one that the
/// session states.
pub fn repair(
    dialect: &'static dyn Dialect,
    lines: Vec<(u64, Vec<u8>)>,
    strict: bool,
    model: Option<String>,
) -> RepairedCopy {
    let (actions, kept) = (Vec::new(), Vec::with_capacity(lines.len()));
    let mut copy =
        Copy { dialect, model, lines: kept, actions, changed_before_reasoning: Vec::new() };
    // All records of a document may have the same line, so lines have numbers of their own.
    let mut numbers = vec![0];
    for (number, bytes) in lines {
        numbers.push(number);
        copy.read(Line { source: numbers.len() as u64 - 1, bytes });
    }
    let number = |source: u64| numbers[usize::try_from(source).unwrap_or_default()];
    // A line that can be read now may determine the dialect.
    if !dialect.is_certain() && !copy.actions.is_empty() {
        let bytes = copy.bytes();
        let records = Records::open(&*bytes, &Options::default()).ok();
        copy.dialect = records.and_then(|records| records.dialect()).unwrap_or(dialect);
    }
    for _ in 0..ROUNDS {
        if copy.repair_round(strict) != Some(true) {
            break;
        }
    }
    copy.remove_reasoning();
    // If the last line had no line ending, the agent would append its next line to that line.
    if copy.dialect.is_log()
        && let Some(last) = copy.lines.last_mut()
        && !last.bytes.is_empty()
        && line_end(&last.bytes).is_empty()
    {
        last.bytes.push(b'\n');
        let source = last.source;
        copy.act(source, "", RepairKind::EndLine);
    }
    for Action { line, what, .. } in &mut copy.actions {
        *line = number(*line);
        if let RepairKind::Reparent(to) = what {
            *to = number(*to);
        }
    }
    copy.actions.sort_by_key(|action| action.line);
    // Some repairs of a message take several rounds.
    let is_change = |action: &Action| matches!(action.what, RepairKind::Change(_));
    copy.actions.dedup_by(|later, earlier| is_change(later) && later == earlier);
    RepairedCopy {
        dialect: copy.dialect,
        sources: copy.lines.iter().map(|line| number(line.source)).collect(),
        bytes: copy.bytes(),
        actions: copy.actions,
    }
}

struct Copy {
    dialect: &'static dyn Dialect,
    model: Option<String>,
    lines: Vec<Line>,
    actions: Vec<Action>,
    /// The source lines whose messages have signed reasoning after a change.
    changed_before_reasoning: Vec<u64>,
}

impl Copy {
    /// Removes the signed reasoning that the repairs have made invalid.
    fn remove_reasoning(&mut self) {
        let changes = self.actions.iter().filter(|action| action.what.changes_context());
        // What is inserted before a line changes what precedes it.
        let before = |action: &Action| action.line - u64::from(action.what == RepairKind::Begin);
        let Some(first) = changes.map(before).min() else { return };
        let mut model = self.model.clone();
        for Line { source, bytes } in &mut self.lines {
            let record = Origin::ALONE.record(bytes);
            let Some(object) = record.whole_object() else { continue };
            model = self.dialect.model(object).map(Cow::into_owned).or(model);
            let follows = *source > first || self.changed_before_reasoning.contains(source);
            let is_signed = follows && self.dialect.sealed(object).reasoning > 0;
            let fate = fate(self.dialect, model.as_deref());
            if !is_signed || fate != Some(InvalidReasoning::Rejected) {
                continue;
            }
            let Some(left) = without_reasoning(&record, self.dialect) else { continue };
            *bytes = left;
            let what = RepairKind::RemoveReasoning;
            self.actions.push(Action { line: *source, id: String::new(), what });
        }
        self.lines.retain(|line| !line.bytes.is_empty());
    }

    /// Adds a line to the copy. If the line is damaged, every readable object in it becomes a
    /// separate line.
    fn read(&mut self, line: Line) {
        let source = line.source;
        let record = record(&line.bytes, source == 1);
        let Some(Salvage { lines, done }) = Salvage::of(&record, self.dialect) else {
            self.lines.push(line);
            return;
        };
        for what in done {
            self.act(source, "", what);
        }
        let end = line_end(&line.bytes);
        let end: &[u8] = if end.is_empty() { b"\n" } else { end };
        for text in lines {
            let bytes = [text.as_bytes(), end].concat();
            self.lines.push(Line { source, bytes });
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|line| &line.bytes).copied().collect()
    }

    /// Repairs the problems of the first kind that the copy has. Returns true if this changed any
    /// line, and `None` if the copy cannot be read.
    fn repair_round(&mut self, strict: bool) -> Option<bool> {
        let bytes = self.bytes();
        let options = Options { dialect: Some(self.dialect), ..Options::default() };
        let mut records = Records::open(&*bytes, &options).ok()?;
        let mut validator = Validator::new(self.dialect.rules());
        validator.model.clone_from(&self.model);
        // Each message with the index of its line, which is the line number of its problems.
        let (mut messages, mut number) = (Vec::new(), 0);
        while let Some(record) = records.next().ok()? {
            if let Some(outline) = record.outline(Some(self.dialect)) {
                validator.push(number as u64, &outline);
                messages.push((number, outline.into_owned()));
            }
            number += usize::from(record.piece.ends());
        }
        // An agent may send its messages in another order than that of the lines.
        messages.sort_by_key(|(_, outline)| outline.fragment.map(|fragment| fragment.message));
        let mut flaws: Vec<&Flaw> = records.flaws().iter().map(|(_, flaw)| flaw).collect();
        let waits = |flaw: &Flaw| flaw.effect == Effect::Waits;
        flaws.retain(|flaw| flaw.remedy.is_some() && (strict || !waits(flaw)));
        // A line with an id of its own may be the missing parent of another line.
        let is_repeated = |flaw: &&Flaw| flaw.rule == "repeated-id";
        if flaws.iter().any(is_repeated) {
            flaws.retain(is_repeated);
        }
        let has_changed = self.repair_flaws(&flaws)
            || self.drop_copies(&messages)
            || self.mend(&validator.finish())
            || self.pair(&messages, strict);
        Some(has_changed)
    }

    /// Repairs the given flaws and returns true if this changed any line.
    fn repair_flaws(&mut self, flaws: &[&Flaw]) -> bool {
        let mut edits: BTreeMap<usize, Edits> = BTreeMap::new();
        let mut before: BTreeMap<usize, String> = BTreeMap::new();
        let done = self.actions.len();
        for flaw in flaws {
            let at = flaw.record;
            let source = self.lines[at].source;
            let Some((what, change)) = self.change(flaw) else { continue };
            match change {
                Change::Unmark => drop(self.lines[at].bytes.drain(..BYTE_ORDER_MARK.len())),
                Change::Remove => self.lines[at].bytes.clear(),
                Change::Before(text) => drop(before.insert(at, text)),
                // A line is edited only once per round, and its other flaws are repaired in the
                // next round.
                Change::Edit(_) if edits.contains_key(&at) => continue,
                Change::Edit(edit) => drop(edits.insert(at, edit)),
            }
            self.act(source, flaw.id.as_deref().unwrap_or_default(), what);
        }
        for (at, edit) in edits {
            self.lines[at].bytes = record(&self.lines[at].bytes, at == 0).edited(&edit);
        }
        for (at, text) in before.into_iter().rev() {
            let source = self.lines[at].source;
            let bytes = (text + "\n").into_bytes();
            self.lines.insert(at, Line { source, bytes });
        }
        self.lines.retain(|line| !line.bytes.is_empty());
        self.actions.len() > done
    }

    /// Returns the repair and the change that the flaw's remedy calls for; `None` if the remedy
    /// changes nothing.
    fn change(&self, flaw: &Flaw) -> Option<(RepairKind, Change)> {
        let of = |at: usize| record(&self.lines[at].bytes, at == 0);
        let own = of(flaw.record);
        Some(match flaw.remedy.as_ref()? {
            Remedy::Unmark => (RepairKind::Change(flaw.rule), Change::Unmark),
            Remedy::Remove => {
                let line = &self.lines[flaw.record].bytes;
                (RepairKind::Remove(line.len() - line_end(line).len()), Change::Remove)
            }
            Remedy::Before(text) => (RepairKind::Header, Change::Before(text.clone())),
            Remedy::CopyBefore(at) => {
                let header = of(*at).object()?.text().trim_ascii().to_owned();
                (RepairKind::Header, Change::Before(header))
            }
            Remedy::Link { key, to, of: name } => {
                let parent = of(*to);
                let (own, new) = (own.object()?, parent.object()?.get(name)?);
                if own.get(key) == Some(new) {
                    return None;
                }
                let mut edits = Edits::default();
                edits.set(0, own, key, new);
                let is_of_parent = matches!(flaw.rule, "missing-parent" | "parent-loop");
                let what = if is_of_parent {
                    RepairKind::Reparent(self.lines[*to].source)
                } else {
                    RepairKind::Change(flaw.rule)
                };
                (what, Change::Edit(edits))
            }
            Remedy::Change(numbers) => {
                let edits = self.dialect.log()?.repaired(own.object()?, flaw, numbers);
                let is_call = flaw.rule == "unanswered-call";
                let what = if is_call { RepairKind::Answer } else { RepairKind::Change(flaw.rule) };
                (!edits.is_empty()).then_some((what, Change::Edit(edits)))?
            }
        })
    }

    /// Repairs the content of each message with a problem, and returns true if this changed any
    /// line.
    fn mend(&mut self, problems: &[Problem]) -> bool {
        let before = self.actions.len();
        for problems in problems.chunk_by(|one, other| one.line == other.line) {
            let at = usize::try_from(problems[0].line).unwrap_or(usize::MAX);
            let Some(line) = self.lines.get_mut(at) else { continue };
            let mut rules: Vec<&Problem> = problems.iter().collect();
            let Some(mended) = mended(self.dialect, &line.bytes, &rules) else { continue };
            let source = line.source;
            let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
            let old = sent_blocks(self.dialect, text(&line.bytes));
            let new = sent_blocks(self.dialect, text(&mended));
            let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
            if has_reasoning(&new[same..]) {
                self.changed_before_reasoning.push(source);
            }
            line.bytes = mended;
            rules.retain(|problem| problem.rule.is_of_content());
            rules.dedup_by_key(|problem| problem.rule);
            for problem in rules {
                self.act(source, &problem.id, RepairKind::Change(problem.rule.into()));
            }
        }
        self.lines.retain(|line| !line.bytes.is_empty());
        self.actions.len() > before
    }

    /// Removes replies with calls that a program saved twice in a list of messages, and such lines
    /// of a log that have the same id. Returns true if there are any.
    fn drop_copies(&mut self, messages: &[(usize, Outline<'static>)]) -> bool {
        let has_ids = |outline: &Outline<'_>| outline.calls.iter().any(|id| !id.is_empty());
        let is_log = self.dialect.is_log();
        let copies = messages.windows(2).filter_map(|pair| {
            let (one, other) = (&self.lines[pair[0].0], &self.lines[pair[1].0]);
            let is_same = one.bytes.trim_ascii_end() == other.bytes.trim_ascii_end();
            let may_go = || !is_log || self.id_of(other).is_some();
            (has_ids(&pair[1].1) && is_same && may_go()).then_some(pair[1].0)
        });
        // A log's messages are not in the order of its lines.
        let copies: BTreeSet<usize> = copies.collect();
        for at in copies.iter().rev() {
            let Line { source, .. } = self.lines.remove(*at);
            self.act(source, "", RepairKind::DropCopy);
        }
        !copies.is_empty()
    }

    /// Gives every call its result and every result its call. Returns true if this changed any
    /// line.
    fn pair(&mut self, messages: &[(usize, Outline<'static>)], strict: bool) -> bool {
        let mut planner = Planner::new(self.dialect.rules());
        for (at, outline) in messages {
            planner.push(*at, self.lines[*at].source, outline);
        }
        let mut repair = planner.finish(strict);
        let keeps_all = |line: &Line| {
            let record = record(&line.bytes, false);
            record.object().is_some_and(|it| self.dialect.links(it).keeps_all.is_some())
        };
        if repair.actions.is_empty() || self.lines.iter().any(keeps_all) {
            return false;
        }
        self.actions.append(&mut repair.actions);
        self.apply(&repair);
        true
    }

    fn apply(&mut self, repair: &Repair) {
        let old = std::mem::take(&mut self.lines);
        let mut moved = Moved::default();
        let mut is_new = Vec::new();
        let is_dropped = |at: usize| repair.edits.get(&at).is_some_and(|edit| edit.drop);
        let stays = old.iter().enumerate().filter(|(at, _)| !is_dropped(*at));
        let kept: HashSet<String> = stays.filter_map(|(_, line)| self.id_of(line)).collect();
        let mut taken = kept.clone();
        for (at, line) in old.iter().enumerate() {
            let (source, edit) = (line.source, repair.edits.get(&at));
            let (is_dropped, begins) = edit.map_or((false, false), |it| (it.drop, it.begin));
            let own = record(&line.bytes, at == 0);
            let links = own.object().map(|object| self.dialect.links(object)).unwrap_or_default();
            let id = links.id.as_deref();
            let mut last = match id {
                Some(_) if is_dropped || begins => links.parent().and_then(|it| moved.target(it)),
                id => id.map(str::to_owned),
            };
            let new = repair.repaired(&old, at, self.dialect);
            for (number, bytes) in new.split_inclusive(|byte| *byte == b'\n').enumerate() {
                let mut bytes = bytes.to_vec();
                let is_own = number == usize::from(begins) && !is_dropped;
                if !is_own && id.is_some() {
                    (bytes, last) = linked(self.dialect, &bytes, last.as_deref(), &mut taken);
                } else if begins && id.is_some() {
                    bytes = with_parent(self.dialect, &bytes, last.as_deref());
                    last = id.map(str::to_owned);
                }
                is_new.push(!is_own);
                self.lines.push(Line { source, bytes });
            }
            // If another line with the same id stays, it stays the parent of what follows.
            let has_twin = is_dropped && id.is_some_and(|id| kept.contains(id));
            let is_moved = |id: &&str| is_dropped || last.as_deref() != Some(id);
            if let Some(id) = id.filter(is_moved).filter(|_| !has_twin) {
                moved.0.insert(id.to_owned(), (last, is_dropped));
            }
        }
        for (at, (line, is_new)) in self.lines.iter_mut().zip(is_new).enumerate() {
            if !is_new && let Some(bytes) = moved.relinked(self.dialect, &line.bytes, at == 0) {
                line.bytes = bytes;
            }
        }
    }

    fn id_of(&self, line: &Line) -> Option<String> {
        Some(self.dialect.links(record(&line.bytes, false).object()?).id?.into_owned())
    }

    fn act(&mut self, line: u64, id: &str, what: RepairKind) {
        self.actions.push(Action { line, id: id.to_owned(), what });
    }
}

enum Change {
    /// Remove the byte order mark.
    Unmark,
    /// Remove the whole line.
    Remove,
    /// Insert this line before the line with the flaw.
    Before(String),
    Edit(Edits),
}

/// For each line that was removed, or that is followed by new lines, the id of the line that takes
/// its place as a parent, and whether the line was removed.
#[derive(Default)]
struct Moved(HashMap<String, (Option<String>, bool)>);

impl Moved {
    /// Returns the id that replaces `id` as a parent.
    fn target(&self, id: &str) -> Option<String> {
        self.0.get(id).map_or_else(|| Some(id.to_owned()), |(to, _)| to.clone())
    }

    /// Returns the bytes of a line with its links changed; `None` if none changes.
    fn relinked(&self, dialect: &dyn Dialect, bytes: &[u8], is_first: bool) -> Option<Vec<u8>> {
        let record = record(bytes, is_first);
        let mut edits = Edits::default();
        let moved = |id: &str, bond| {
            let (to, is_dropped) = self.0.get(id)?;
            (*is_dropped || bond == Bond::Parent).then_some(to.as_deref())
        };
        dialect.links(record.object()?).moved(moved, &mut edits);
        (!edits.is_empty()).then(|| record.edited(&edits))
    }
}

/// Returns a new line of a tree with the given parent and an id that is not among `taken`, and the
/// id.
fn linked(
    dialect: &dyn Dialect,
    bytes: &[u8],
    parent: Option<&str>,
    taken: &mut HashSet<String>,
) -> (Vec<u8>, Option<String>) {
    let record = record(bytes, false);
    let Some(object) = record.object() else { return (bytes.to_vec(), None) };
    let Links { id, .. } = dialect.links(object);
    let mut ids = Ids::new(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
    let is_long = id.as_ref().is_none_or(|id| id.len() > 8);
    let mut next = || if is_long { ids.uuid() } else { ids.short() };
    let mut new = next();
    while !taken.insert(new.clone()) {
        new = next();
    }
    let own = object.members().iter().find(|it| Object::text_of(object, &it.key) == id);
    let mut edits = Edits::default();
    if let Some(own) = own {
        edits.replace(object.place_of(own.value), crate::json::quoted(&new));
    }
    (with_parent(dialect, &record.edited(&edits), parent), Some(new))
}

/// Returns a line of a tree with the given parent.
fn with_parent(dialect: &dyn Dialect, bytes: &[u8], parent: Option<&str>) -> Vec<u8> {
    let record = record(bytes, false);
    let Some(object) = record.object() else { return bytes.to_vec() };
    let parent = parent.map_or_else(|| "null".to_owned(), crate::json::quoted);
    let mut edits = Edits::default();
    match dialect.links(object).names.iter().rev().find(|it| it.bond == Bond::Parent) {
        Some(link) => edits.replace(link.place.clone(), parent),
        // Only Claude Code reads lines without a link.
        None => edits.set(0, object, "parentUuid", &parent),
    }
    record.edited(&edits)
}

/// Reads a line of the copy as a record. Overlong lines are not parsed.
fn record(bytes: &[u8], is_first: bool) -> Record<'_> {
    let piece = if bytes.len() > MAX_LINE { Piece::First } else { Piece::Whole };
    let line = if is_first { 1 } else { 2 };
    Origin { line, piece, ..Origin::ALONE }.record(bytes)
}
