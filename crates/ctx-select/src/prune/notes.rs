//! Results that are needless, and the notes that take their places. Results are looked at
//! from the last to the first: what is behind a result is known when its turn comes.

use std::collections::{HashMap, HashSet};

use ctx_transcript::ShortHash;

use super::files::Access;
use super::policy::Policy;
use super::rule::{Reason, Rule};
use super::session::Session;

/// What is shown of a path or of a tool's name.
const MAX_NAME: usize = 80;

impl Reason {
    /// The note that takes the place of an answer.
    pub(super) fn note(self, session: &Session, policy: &Policy, answer: usize) -> String {
        let path = || {
            session
                .file(answer)
                .map_or_else(String::new, |file| shown(&file.path))
        };
        match self {
            Self::Old => policy.clear.clone().unwrap_or_default(),
            Self::ReadAgain => format!("[Superseded: {} was read again later]", path()),
            Self::Written => format!("[Superseded: {} was written later]", path()),
            Self::Repeated => match session.tool(answer) {
                Some(tool) => {
                    let tool = shown(tool);
                    format!("[Repeated: a later result of {tool} is the same]")
                }
                None => "[Repeated: a later result is the same]".to_owned(),
            },
        }
    }
}

/// The end of a name, on one line: it is what tells paths apart.
fn shown(name: &str) -> String {
    let plain = name.replace(char::is_control, " ");
    let more = plain.chars().count().saturating_sub(MAX_NAME);
    if more == 0 {
        return plain;
    }
    let end: String = plain.chars().skip(more + 1).collect();
    format!("…{end}")
}

/// What the results behind the present one hold.
pub(super) struct Later<'s> {
    session: &'s Session,
    policy: &'s Policy,
    files: HashMap<&'s str, LaterUse<'s>>,
    /// Tools, by their places in the session, and the hashes of their results.
    texts: HashSet<(u32, ShortHash)>,
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

    /// Why this one is needless, the best reason first.
    pub(super) fn reasons(&self, answer: usize) -> [Option<Reason>; 3] {
        let repeated = self.texts.contains(&self.key(answer));
        let old = self.policy.clear.is_some();
        [
            self.superseded(answer),
            repeated.then_some(Reason::Repeated),
            old.then_some(Reason::Old),
        ]
    }

    fn key(&self, answer: usize) -> (u32, ShortHash) {
        let answer = &self.session.answers[answer];
        (answer.called.tool, answer.hash)
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
                *bytes = self.session.text(number).handle.bytes.max(*bytes);
            }
            Access::Read { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAME, shown};

    #[test]
    fn of_a_long_name_the_end_is_shown_on_one_line() {
        assert_eq!(shown("a\nb"), "a b");
        let fits = "é".repeat(MAX_NAME);
        assert_eq!(shown(&fits), fits);
        let long = shown(&format!("{fits}z"));
        assert_eq!(long.chars().count(), MAX_NAME);
        assert!(long.starts_with("…é") && long.ends_with("éz"), "{long}");
    }
}
