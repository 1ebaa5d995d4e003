//! The sources in the index, by number. They are stored in the engine's commit, so they always
//! match the documents, even after a crash.

use serde::{Deserialize, Serialize};

use crate::Source;

/// Another one where the same text would be other words, or other fields.
const VERSION: u32 = 2;

/// The sources that are indexed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Known {
    version: u32,
    /// The number of the next source.
    pub(crate) next: u64,
    pub(crate) sources: Vec<KnownSource>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KnownSource {
    pub(crate) number: u64,
    #[serde(flatten)]
    pub(crate) source: Source,
}

impl Default for Known {
    fn default() -> Self {
        Self { version: VERSION, next: 0, sources: Vec::new() }
    }
}

impl Known {
    /// The content of a commit; `None` for another version.
    pub(crate) fn parse(payload: &str) -> Option<Self> {
        let known: Self = serde_json::from_str(payload).ok()?;
        (known.version == VERSION).then_some(known)
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The source with this number.
    pub(crate) fn source(&self, number: u64) -> Option<&Source> {
        let place = self.sources.binary_search_by_key(&number, |known| known.number).ok()?;
        Some(&self.sources[place].source)
    }
}
