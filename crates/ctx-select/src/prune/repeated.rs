//! Results that later ones make needless. Results are looked at from the last to
//! the first: what is behind a result is known when its turn comes.

use std::collections::{HashMap, HashSet};

use ctx_transcript::ShortHash;

use super::files::Access;
use super::policy::Policy;
use super::session::Session;
use super::table::Id;
use super::verdict::{Reason, Rule};

/// What the results behind the present one hold.
pub(super) struct Later<'s> {
    session: &'s Session,
    files: HashMap<&'s str, LaterUse<'s>>,
    /// Tools and the hashes of their results.
    texts: HashSet<(Option<Id>, ShortHash)>,
    superseded: bool,
    duplicates: bool,
}

/// What happened to one file later.
#[derive(Default)]
struct LaterUse<'s> {
    written: bool,
    /// Bytes of the largest result by the part that was read.
    read: HashMap<&'s str, u64>,
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
        let file = &self.session.files[self.session.answers[answer].file?];
        let Access::Read { part } = &file.access else {
            return None;
        };
        let later = self.files.get(file.path.as_str())?;
        if later.written {
            return Some(Reason::Written);
        }
        // A reader that says "unchanged", or shows little, does not show the file.
        let bytes = self.session.text(answer).handle.bytes;
        let shows_it = |later: &u64| later.saturating_mul(2) >= bytes;
        let parts = [later.read.get(""), later.read.get(part.as_str())];
        let again = parts.into_iter().flatten().any(shows_it);
        again.then_some(Reason::ReadAgain)
    }

    /// The result stands behind all that come now. `stays` when its text will be
    /// there; a file is written whatever becomes of the writer's result.
    pub(super) fn add(&mut self, number: usize, stays: bool) {
        let answer = &self.session.answers[number];
        if !answer.is_text {
            return;
        }
        if self.duplicates && stays {
            self.texts.insert(self.key(number));
        }
        let Some(file) = answer.file.filter(|_| self.superseded && !answer.failed) else {
            return;
        };
        let file = &self.session.files[file];
        let later = self.files.entry(&file.path).or_default();
        match &file.access {
            Access::Write => later.written = true,
            Access::Read { part } if stays => {
                let bytes = later.read.entry(part).or_default();
                *bytes = self.session.text(number).handle.bytes.max(*bytes);
            }
            Access::Read { .. } => {}
        }
    }
}
