//! Results that later ones make needless. Results are looked at from the last to
//! the first: what is behind a result is known when its turn comes.

use std::collections::{HashMap, HashSet};

use ctx_transcript::ShortHash;

use super::policy::Policy;
use super::session::{AnswerKind, Session, Used};
use super::table::Id;
use super::verdict::{Reason, Rule};

/// What the results behind the present one hold.
pub(super) struct Later<'s> {
    session: &'s Session,
    files: HashMap<Id, LaterUse>,
    /// Tools and the hashes of their results.
    texts: HashSet<(Option<Id>, ShortHash)>,
    superseded: bool,
    duplicates: bool,
}

/// What happened to one file later.
#[derive(Default)]
struct LaterUse {
    written: bool,
    /// Bytes of the largest result that shows all of it.
    read: Option<u64>,
    /// And by the part that was read.
    parts: HashMap<Id, u64>,
}

impl<'s> Later<'s> {
    /// Nothing is behind the last one.
    pub(super) fn new(session: &'s Session, policy: &Policy) -> Self {
        Self {
            session,
            files: HashMap::new(),
            texts: HashSet::new(),
            superseded: policy.drops(Rule::Superseded),
            duplicates: policy.drops(Rule::Duplicates),
        }
    }

    /// Why later results make this one needless.
    pub(super) fn reasons(&self, answer: usize) -> [Option<Reason>; 2] {
        let superseded = self.superseded.then(|| self.superseded(answer)).flatten();
        let repeated = self.duplicates && self.texts.contains(&self.key(answer));
        [superseded, repeated.then_some(Reason::Repeated)]
    }

    fn key(&self, answer: usize) -> (Option<Id>, ShortHash) {
        let answer = &self.session.answers[answer];
        (answer.tool, answer.hash)
    }

    fn superseded(&self, answer: usize) -> Option<Reason> {
        let file = self.session.files[self.session.answers[answer].file?];
        let Used::Read(part) = file.used else {
            return None;
        };
        let later = self.files.get(&file.path)?;
        if later.written {
            return Some(Reason::Written);
        }
        // A reader that says "unchanged", or shows little, does not show the file.
        let bytes = self.session.text(answer).handle.bytes;
        let shows_it = |later: &u64| later.saturating_mul(2) >= bytes;
        let same_part = part.and_then(|part| later.parts.get(&part));
        let mut shown = later.read.iter().chain(same_part);
        shown.any(shows_it).then_some(Reason::ReadAgain)
    }

    /// The result stands behind all that come now. `stays` when its text will be
    /// there; a file is written whatever becomes of the writer's result.
    pub(super) fn add(&mut self, number: usize, stays: bool) {
        let answer = &self.session.answers[number];
        if answer.kind != AnswerKind::Text {
            return;
        }
        if self.duplicates && stays {
            self.texts.insert(self.key(number));
        }
        let Some(file) = answer.file.filter(|_| self.superseded && !answer.failed) else {
            return;
        };
        let file = self.session.files[file];
        let later = self.files.entry(file.path).or_default();
        let bytes = match file.used {
            Used::Written => {
                later.written = true;
                return;
            }
            Used::Read(_) if !stays => return,
            Used::Read(None) => later.read.get_or_insert_default(),
            Used::Read(Some(part)) => later.parts.entry(part).or_default(),
        };
        *bytes = self.session.text(number).handle.bytes.max(*bytes);
    }
}
