//! Results that later ones make needless. Results are looked at from the last to
//! the first: what is behind a result is known when its turn comes.

use std::collections::{HashMap, HashSet};

use super::files::{Access, FileUse};
use super::policy::Policy;
use super::verdict::{Reason, Rule};
use super::{Answer, TextFacts};

/// What the results behind the present one hold.
#[derive(Default)]
pub(super) struct Later<'a> {
    files: HashMap<&'a str, LaterUse<'a>>,
    /// Tools and the hashes of their results.
    texts: HashSet<(Option<&'a str>, &'a str)>,
}

/// What happened to one file later.
#[derive(Default)]
struct LaterUse<'a> {
    written: bool,
    /// Bytes of the largest result by the part that was read.
    read: HashMap<&'a str, u64>,
}

impl<'a> Later<'a> {
    /// Why later results make this one needless.
    pub(super) fn reasons(&self, policy: &Policy, answer: &'a Answer) -> Vec<Reason> {
        let superseded = || self.superseded(answer.file.as_ref()?, answer.text.as_ref()?);
        let repeated = || {
            let hash = answer.text.as_ref()?.hash.as_deref()?;
            let key = (answer.tool.as_deref(), hash);
            self.texts.contains(&key).then(|| Reason::Repeated {
                tool: answer.tool.clone(),
            })
        };
        let superseded = policy.drops(Rule::Superseded).then(superseded).flatten();
        let repeated = policy.drops(Rule::Duplicates).then(repeated).flatten();
        superseded.into_iter().chain(repeated).collect()
    }

    fn superseded(&self, file: &FileUse, text: &TextFacts) -> Option<Reason> {
        let Access::Read { part } = &file.access else {
            return None;
        };
        let later = self.files.get(file.path.as_str())?;
        let path = file.path.clone();
        if later.written {
            return Some(Reason::Written { path });
        }
        // A reader that says "unchanged", or shows little, does not show the file.
        let shows_it = |bytes: &u64| bytes.saturating_mul(2) >= text.bytes;
        let parts = [later.read.get(""), later.read.get(part.as_str())];
        let again = parts.into_iter().flatten().any(shows_it);
        again.then_some(Reason::ReadAgain { path })
    }

    /// The result stands behind all that come now. `stays` when its text will be
    /// there; a file is written whatever becomes of the writer's result.
    pub(super) fn add(&mut self, answer: &'a Answer, stays: bool) {
        let Some(text) = answer.text.as_ref().filter(|text| !text.taken_out) else {
            return;
        };
        if let Some(hash) = text.hash.as_deref().filter(|_| stays) {
            self.texts.insert((answer.tool.as_deref(), hash));
        }
        let Some(file) = answer.file.as_ref().filter(|_| !text.failed) else {
            return;
        };
        let later = self.files.entry(&file.path).or_default();
        match &file.access {
            Access::Write => later.written = true,
            Access::Read { part } if stays => {
                let bytes = later.read.entry(part).or_default();
                *bytes = text.bytes.max(*bytes);
            }
            Access::Read { .. } => {}
        }
    }
}
