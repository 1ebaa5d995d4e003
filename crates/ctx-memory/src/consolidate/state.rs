//! What a consolidation has to know of those before it.
//!
//! It lies in a file of the store. When that is lost, nothing is lost or told twice: entries that
//! people deleted from the memory files or from the master may come back.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::wording::{Answer, Wording};

/// What earlier consolidations have seen and written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// How far each log of a day was read.
    pub(super) daily: BTreeMap<String, Read>,
    /// Hashes of the keys of all entries of the logs.
    pub(super) seen: BTreeSet<String>,
    /// The marks of what was taken back that stood in the memory files.
    pub(super) marks: BTreeSet<String>,
    /// What people deleted from the master.
    pub(super) refused: BTreeSet<Refused>,
    /// The part of the master that was written.
    pub(super) part: Option<String>,
    /// What a model was asked the last time.
    pub(super) asked: Option<String>,
    /// What it made of that.
    pub(super) wordings: Vec<Wording>,
}

/// So many bytes of a log, and their sha256.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Read {
    pub(super) bytes: usize,
    pub(super) sha256: String,
}

/// What is not to be written into the master again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Refused {
    pub(super) text: String,
    /// Only as something that does not hold any more.
    pub(super) history: bool,
}

impl State {
    /// Reads what [`Self::to_json`] wrote; `None` where it is damaged.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Takes over what a model made of the topics.
    pub(crate) fn take_answer(&mut self, answer: &Answer) {
        self.asked = Some(answer.asked.clone());
        self.wordings.clone_from(&answer.wordings);
    }

    /// For the file.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self);
        json.expect("texts and numbers") + "\n"
    }
}
