//! Which lines of an agent's own file leave it, and what the lines name that stay.
//!
//! What no model is ever sent may go by rules of its own; a line of the context goes only where
//! the verdict on its message says so. Lines that others cannot do without stay.

use std::collections::{HashMap, HashSet};

use ctx_select::prune::{Policy, Rule, Verdicts};
use ctx_transcript::view::{Outside, Presence};
use ctx_transcript::{Bond, Dialect, Edits, GoodFor, Links, Object, Presences, Record};

/// What is known of the lines of a log.
#[derive(Default)]
pub(super) struct Log {
    lines: Vec<Line>,
    /// Why no line may leave.
    keeps_all: Option<&'static str>,
}

/// A line, or a piece of one.
#[derive(Default)]
struct Line {
    id: Option<Box<str>>,
    parent: Option<Box<str>>,
    /// The lines that it cannot do without.
    needs: Vec<Box<str>>,
    good_for: Option<GoodFor>,
    /// Whether it stays in any case.
    stays: bool,
    replaces_all: bool,
    bytes: u64,
}

/// The lines that leave.
pub(super) struct Leaving {
    /// By line: the rule that it leaves by.
    rules: Vec<Option<Rule>>,
    /// Of the ids that nothing has any more: the one above that something has.
    moved: HashMap<Box<str>, Option<Box<str>>>,
    /// Those of them that no agent goes to: who spoke of one spoke of nothing.
    unread: HashSet<Box<str>>,
    /// How many lines would leave if the format let them, and why it does not.
    pub(super) kept: Option<(u64, &'static str)>,
}

impl Log {
    /// The next record. It `stays` where it is pinned.
    pub(super) fn push(&mut self, record: &Record<'_>, dialect: &dyn Dialect, stays: bool) {
        let bytes = record.bytes.len() as u64;
        let Some(object) = record.whole_object() else {
            self.lines.push(Line {
                stays: true,
                bytes,
                ..Line::default()
            });
            return;
        };
        let links = dialect.links(object);
        self.keeps_all = self.keeps_all.or(links.keeps_all);
        self.lines.push(Line {
            parent: links.parent().map(Box::from),
            needs: needs(&links),
            id: links.id.as_deref().map(Box::from),
            good_for: links.good_for,
            stays: stays || links.stays,
            replaces_all: links.replaces_all,
            bytes,
        });
    }

    /// Whether the line of that number stays as it is.
    pub(super) fn stays(&self, number: usize) -> bool {
        self.lines[number].stays
    }

    /// Decides.
    pub(super) fn decide(
        &self,
        policy: &Policy,
        dialect: &dyn Dialect,
        presences: &Presences,
        verdicts: &Verdicts<'_>,
    ) -> Leaving {
        let mut rules = self.wanted(policy, presences, verdicts);
        let kept = self.keep_what_is_read_by_position(dialect, presences, &mut rules);
        self.keep_what_is_needed(&mut rules);
        self.keep_what_alone_is_above(presences, &mut rules);
        let moved = self.moved(&rules);
        let progress = self
            .lines
            .iter()
            .filter(|it| it.good_for == Some(GoodFor::Progress));
        let unread = progress.filter_map(|line| line.id.clone());
        let unread = unread.filter(|id| moved.contains_key(id)).collect();
        Leaving {
            rules,
            moved,
            unread,
            kept,
        }
    }

    /// By which rule each line would go.
    fn wanted(
        &self,
        policy: &Policy,
        presences: &Presences,
        verdicts: &Verdicts<'_>,
    ) -> Vec<Option<Rule>> {
        let mut rules: Vec<Option<Rule>> = Vec::with_capacity(self.lines.len());
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (number, line) in self.lines.iter().enumerate() {
            let rule = match presences.of(number) {
                Some(Presence::Inside(_)) => verdicts.dropped_by(number),
                Some(Presence::Outside(why)) => rule_of(why, line.good_for),
                None => None,
            };
            let is_inside = matches!(presences.of(number), Some(Presence::Inside(_)));
            let rule = rule.filter(|rule| is_inside || policy.drops(*rule));
            // What says something of a line goes with it.
            let with_parent = || {
                let parent = line.parent.as_deref().filter(|_| line.hangs_on());
                let parent = parent.and_then(|parent| places.get(parent));
                parent.and_then(|parent| rules[*parent])
            };
            rules.push(rule.or_else(with_parent).filter(|_| !line.stays));
            if let Some(id) = &line.id {
                places.insert(id, number);
            }
        }
        rules
    }

    /// In some formats lines may only leave before one that takes the place of all.
    fn keep_what_is_read_by_position(
        &self,
        dialect: &dyn Dialect,
        presences: &Presences,
        rules: &mut [Option<Rule>],
    ) -> Option<(u64, &'static str)> {
        let is_inside = |number: usize| matches!(presences.of(number), Some(Presence::Inside(_)));
        let (why, free) = match (self.keeps_all, dialect.why_by_position()) {
            (Some(why), _) => (why, 0),
            (None, Some(why)) => {
                let numbers = (0..self.lines.len()).rev();
                let mut all = numbers.filter(|at| self.lines[*at].replaces_all && is_inside(*at));
                (why, all.next().unwrap_or(0))
            }
            (None, None) => return None,
        };
        let mut count = 0;
        for (number, rule) in rules.iter_mut().enumerate().skip(free) {
            // Of the context, what the verdicts say: the gate looks at what comes of it.
            let may_go = is_inside(number) && self.keeps_all.is_none();
            count += u64::from(rule.take_if(|_| !may_go).is_some());
        }
        (count > 0).then_some((count, why))
    }

    /// A line stays that one that stays needs; and the last one, on which what the agent
    /// writes next will hang.
    fn keep_what_is_needed(&self, rules: &mut [Option<Rule>]) {
        let with_id = || {
            self.lines
                .iter()
                .enumerate()
                .filter(|(_, line)| line.id.is_some())
        };
        let places = self.places();
        if let Some((last, _)) = with_id().next_back() {
            rules[last] = None;
        }
        let needing = |number: &usize| !self.lines[*number].needs.is_empty();
        let mut staying: Vec<usize> = (0..self.lines.len())
            .filter(needing)
            .filter(|number| rules[*number].is_none())
            .collect();
        while let Some(number) = staying.pop() {
            for id in &self.lines[number].needs {
                let Some(needed) = places.get(&**id).copied() else {
                    continue;
                };
                if rules[needed].take().is_some() && needing(&needed) {
                    staying.push(needed);
                }
            }
        }
    }

    /// A line of the context that hangs on something goes on hanging on something: to some
    /// agents a line without a parent is another beginning, and one on a line that a compaction
    /// forgot is not.
    fn keep_what_alone_is_above(&self, presences: &Presences, rules: &mut [Option<Rule>]) {
        let moved = self.moved(rules);
        let is_sent = |number: &usize| matches!(presences.of(*number), Some(Presence::Inside(_)));
        let staying = (0..self.lines.len()).filter(|number| rules[*number].is_none());
        let parents = staying
            .filter(is_sent)
            .filter_map(|number| self.lines[number].parent.as_deref())
            .filter(|parent| matches!(moved.get(*parent), Some(None)));
        let parents: Vec<&str> = parents.collect();
        let places = self.places();
        for parent in parents {
            let mut at = places.get(parent).copied();
            // Up to the first line that says something itself.
            while let Some(number) = at.filter(|number| rules[*number].take().is_some()) {
                let line = &self.lines[number];
                let above = line.parent.as_deref().filter(|_| line.hangs_on());
                at = above.and_then(|above| places.get(above)).copied();
            }
        }
    }

    /// The lines by their ids; of several with one id the last one.
    fn places(&self) -> HashMap<&str, usize> {
        let lines = self.lines.iter().enumerate();
        let of = lines.filter_map(|(number, line)| Some((line.id.as_deref()?, number)));
        of.collect()
    }

    /// Where what hung on the lines that leave hangs now.
    fn moved(&self, rules: &[Option<Rule>]) -> HashMap<Box<str>, Option<Box<str>>> {
        let mut gone: HashMap<&str, Option<&str>> = HashMap::new();
        for (line, rule) in self.lines.iter().zip(rules) {
            if let (Some(id), Some(_)) = (&line.id, rule) {
                gone.insert(id, line.parent.as_deref());
            }
        }
        // One of two lines with one id may stay.
        for (line, rule) in self.lines.iter().zip(rules) {
            if let (Some(id), None) = (&line.id, rule) {
                gone.remove(&**id);
            }
        }
        let mut moved: HashMap<Box<str>, Option<Box<str>>> = HashMap::new();
        for id in self.lines.iter().filter_map(|line| line.id.as_deref()) {
            let mut way = HashSet::new();
            let mut at = Some(id);
            let end = loop {
                let Some(above) = at else {
                    break None;
                };
                if let Some(known) = moved.get(above) {
                    break known.clone();
                }
                let Some(parent) = gone.get(above) else {
                    break Some(Box::from(above));
                };
                // Lines that hang on each other hang on nothing.
                let is_new = way.insert(above);
                at = parent.filter(|_| is_new);
            };
            moved.extend(way.into_iter().map(|id| (id.into(), end.clone())));
        }
        moved
    }
}

impl Line {
    /// Whether it is nothing without the line that it hangs on.
    fn hangs_on(&self) -> bool {
        matches!(self.good_for, Some(GoodFor::ItsParent | GoodFor::Progress))
    }
}

fn needs(links: &Links<'_>) -> Vec<Box<str>> {
    let needed = links.names.iter().filter(|link| link.bond == Bond::Needs);
    let ids = needed.filter_map(|link| link.to.as_deref());
    ids.map(Box::from).collect()
}

/// The rule for lines that are not in the context.
fn rule_of(why: Outside, good_for: Option<GoodFor>) -> Option<Rule> {
    match (why, good_for) {
        (Outside::NeverSent, Some(GoodFor::Progress)) => Some(Rule::Progress),
        (Outside::NeverSent, Some(GoodFor::FileHistory)) => Some(Rule::FileHistory),
        (Outside::NeverSent, _) => None,
        (Outside::OtherAgent, _) => Some(Rule::Sidechains),
        (Outside::DeadBranch, _) => Some(Rule::DeadBranches),
        (Outside::BeforeCompaction, _) => Some(Rule::BeforeCompaction),
        (Outside::Superseded, _) => Some(Rule::Rewritten),
    }
}

impl Leaving {
    /// Whether the line of that number leaves.
    pub(super) fn is_gone(&self, number: usize) -> bool {
        self.rules[number].is_some()
    }

    /// Whether any line leaves.
    pub(super) fn any(&self) -> bool {
        self.rules.iter().any(Option::is_some)
    }

    /// What of a line that stays names lines that leave.
    pub(super) fn relink(&self, dialect: &dyn Dialect, object: &Object<'_>, edits: &mut Edits) {
        if !self.moved.is_empty() {
            let to = |id: &str, bond| {
                let is_read = bond == Bond::Parent || !self.unread.contains(id);
                let to = self.moved.get(id).filter(|_| is_read);
                to.map(Option::as_deref)
            };
            dialect.links(object).moved(to, edits);
        }
    }

    /// Lines and bytes that leave, by rule.
    pub(super) fn sums(&self, log: &Log) -> Vec<(Rule, u64, u64)> {
        let mut sums: Vec<(Rule, u64, u64)> = Vec::new();
        for (rule, line) in self.rules.iter().zip(&log.lines) {
            let Some(rule) = rule else { continue };
            match sums.iter_mut().find(|(of, ..)| of == rule) {
                Some((_, lines, bytes)) => {
                    *lines += 1;
                    *bytes += line.bytes;
                }
                None => sums.push((*rule, 1, line.bytes)),
            }
        }
        sums.sort_unstable();
        sums
    }
}
