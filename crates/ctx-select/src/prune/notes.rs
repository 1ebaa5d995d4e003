//! Results that are needless, and the notes that take their places. Results are looked at
//! from the last to the first: what is behind a result is known when its turn comes.

use std::collections::{HashMap, HashSet};

use ctx_transcript::ShortHash;

use super::files::Access;
use super::policy::Policy;
use super::rule::{Reason, Rule};
use super::session::Session;

impl Reason {
    /// The note that takes the place of an answer. Which call it was, the handle behind it says.
    pub(super) fn note(self, policy: &Policy) -> &str {
        match self {
            Self::Old => policy.clear.as_deref().unwrap_or_default(),
            Self::ReadAgain => "[Superseded: file read again later]",
            Self::Written => "[Superseded: file written later]",
            Self::Repeated => "[Repeated: a later result is the same]",
        }
    }
}

/// Why a result is needless, the best reason first.
pub(super) type Reasons = [Option<Reason>; 3];

/// What the results behind the present one hold.
pub(super) struct Later<'s> {
    session: &'s Session,
    policy: &'s Policy,
    files: HashMap<&'s str, LaterUse<'s>>,
    /// Tools, by their places in the session, and the hashes and lengths of their results.
    texts: HashSet<(u32, ShortHash, u64)>,
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
    pub(super) fn new(session: &'s Session, policy: &'s Policy) -> Self {
        Self {
            session,
            policy,
            files: HashMap::new(),
            texts: HashSet::new(),
        }
    }

    /// Those of the present one.
    pub(super) fn reasons(&self, answer: usize) -> Reasons {
        let repeated = self.texts.contains(&self.key(answer));
        let old = self.policy.clear.is_some();
        [
            self.superseded(answer),
            repeated.then_some(Reason::Repeated),
            old.then_some(Reason::Old),
        ]
    }

    fn key(&self, answer: usize) -> (u32, ShortHash, u64) {
        let bytes = self.session.original_bytes(answer);
        let answer = &self.session.answers[answer];
        (answer.called.tool, answer.hash, bytes)
    }

    fn superseded(&self, answer: usize) -> Option<Reason> {
        let file = self.session.file(answer)?;
        let Access::Read { part } = &file.access else {
            return None;
        };
        let later = self.files.get(file.path.as_str())?;
        if later.written {
            return Some(Reason::Written);
        }
        // A reader that says "unchanged", or shows little, does not show the file.
        let bytes = self.session.original_bytes(answer);
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
        if stays && self.policy.drops(Rule::Duplicates) {
            self.texts.insert(self.key(number));
        }
        let superseded = self.policy.drops(Rule::Superseded) && !answer.failed;
        let Some(file) = self.session.file(number).filter(|_| superseded) else {
            return;
        };
        let later = self.files.entry(&file.path).or_default();
        match &file.access {
            Access::Write => later.written = true,
            Access::Read { part } if stays => {
                let bytes = later.read.entry(part).or_default();
                *bytes = self.session.original_bytes(number).max(*bytes);
            }
            Access::Read { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_transcript::ShortHash;

    use super::{Later, Reasons};
    use crate::prune::rule::Reason;
    use crate::prune::session::{Amount, Answer, Session};
    use crate::prune::{Access, FileUse, Policy, Rule};

    /// Adds a result of this tool, of so many bytes; equal bytes are equal texts.
    fn add(session: &mut Session, tool: &str, access: Option<Access>, bytes: u64) {
        let path = "a".to_owned();
        let file = access.map(|access| FileUse { path, access });
        let called = session.called(Some(tool.to_owned()), file, "", false);
        session.answers.push(Answer {
            hash: ShortHash::of(&bytes.to_string()),
            is_text: true,
            failed: false,
            called,
            amount: Amount::of(bytes, bytes),
        });
    }

    /// Why each result is needless, when all that are not stay.
    fn reasons(session: &Session, policy: &Policy) -> Vec<Reasons> {
        let mut later = Later::new(session, policy);
        let mut all = Vec::new();
        for answer in (0..session.answers.len()).rev() {
            let reasons = later.reasons(answer);
            later.add(answer, reasons == Reasons::default());
            all.insert(0, reasons);
        }
        all
    }

    #[test]
    fn every_reason_is_told_the_best_first() {
        let read = || {
            Some(Access::Read {
                part: String::new(),
            })
        };
        let mut session = Session::default();
        add(&mut session, "read", read(), 90);
        add(&mut session, "edit", Some(Access::Write), 5);
        add(&mut session, "read", read(), 100);
        add(&mut session, "read", read(), 100);
        let policy = Policy {
            drop: vec![Rule::Superseded, Rule::Duplicates],
            ..Policy::default()
        };
        let [written, again, repeated] = [Reason::Written, Reason::ReadAgain, Reason::Repeated];
        assert_eq!(
            reasons(&session, &policy),
            [
                [Some(written), None, None],
                [None; 3],
                [Some(again), Some(repeated), None],
                [None; 3],
            ]
        );
        assert_eq!(
            [written, again, repeated].map(|reason| reason.note(&policy)),
            [
                "[Superseded: file written later]",
                "[Superseded: file read again later]",
                "[Repeated: a later result is the same]"
            ]
        );
    }

    #[test]
    fn what_is_old_is_needless_whatever_comes_later() {
        let mut session = Session::default();
        add(&mut session, "ls", None, 10);
        add(&mut session, "ls", None, 10);
        let clear = Policy {
            clear: Some("[gone]".to_owned()),
            ..Policy::default()
        };
        let old = [None, None, Some(Reason::Old)];
        assert_eq!(reasons(&session, &clear), [old, old]);
        assert_eq!(Reason::Old.note(&clear), "[gone]");
    }
}
