//! Results of which something was taken out: by pruning, which leaves a handle, or by
//! `ctx-offload`, which leaves a reference.

use ctx_select::prune::ReferencePattern;
use ctx_transcript::{Dialect, Handle, Object, Part, ToolResult};

use crate::offload::Template;

/// Knows them.
pub(super) struct TakenOut {
    references: Vec<ReferencePattern>,
}

/// How a handle begins.
const HANDLE: &str = "⟦ctx:";

impl Default for TakenOut {
    fn default() -> Self {
        let offload = ctx_policy::Policy::default().offload;
        Self {
            references: [&offload.reference, Template::OLDER]
                .into_iter()
                .filter_map(ReferencePattern::of)
                .collect(),
        }
    }
}

impl TakenOut {
    /// How many of them a record has.
    pub(super) fn count(&self, object: &Object<'_>, dialect: &dyn Dialect) -> u64 {
        // Looked at raw first: most results need not be decoded.
        let may_be = |begin: &str| object.text().contains(begin);
        let is_reference = |it: &ReferencePattern| may_be(it.begin());
        if !may_be(HANDLE) && !self.references.iter().any(is_reference) {
            return 0;
        }
        let Some(message) = dialect.message(object) else {
            return 0;
        };
        message.results().filter(|result| self.is(result)).count() as u64
    }

    fn is(&self, result: &ToolResult<'_>) -> bool {
        let Some(Part::Text(text)) = result.parts.last() else {
            return false;
        };
        Handle::split(text).is_some() || self.references.iter().any(|it| it.is(text))
    }
}
