//! Attempts that did not make a session smaller, remembered in its newest
//! snapshot: against a loop of the same attempt.
//!
//! An attempt is a whole run, with all the fallbacks that its policy has. One that
//! failed (no answer of a model, a full disk) says nothing of the session and is
//! not counted.

use ctx_cli::Failure;
use ctx_select::trigger::Size;
use ctx_store::{Replacement, SessionId, Store};
use serde::{Deserialize, Serialize};

use crate::store::failure;

/// The member of meta.json.
const KEY: &str = "compaction_strikes";

/// What meta.json has of it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Strikes {
    count: u64,
    /// Tokens of the session at the last one.
    tokens: u64,
    /// The target that it had.
    #[serde(default)]
    target: Option<u64>,
}

impl Strikes {
    /// Whether a session of so many tokens, or a target that is nearer, is another
    /// matter than the one that was tried.
    fn is_another(self, tokens: u64, target: Option<u64>) -> bool {
        let is_nearer = self
            .target
            .is_some_and(|then| target.is_none_or(|now| now > then));
        tokens > self.tokens || is_nearer
    }
}

/// Whether the session has not grown since the last of `most` attempts in a row.
pub(super) fn given_up(
    store: &Store,
    session: &SessionId,
    now: &Size,
    target: Option<u64>,
    most: u64,
) -> Result<bool, Failure> {
    let strikes = of(store.note(session, KEY).map_err(failure)?);
    Ok(strikes.count >= most && !strikes.is_another(now.tokens, target))
}

/// One more attempt was in vain.
pub(super) fn add(
    replacement: Replacement<'_>,
    now: &Size,
    target: Option<u64>,
) -> Result<(), Failure> {
    let tokens = now.tokens;
    let change = |old: Option<&serde_json::Value>| {
        let strikes = of(old.cloned());
        // One that has grown begins anew.
        let count = if strikes.is_another(tokens, target) {
            1
        } else {
            strikes.count + 1
        };
        serde_json::json!(Strikes {
            count,
            tokens,
            target
        })
    };
    replacement.remember(KEY, change).map_err(failure)
}

/// What cannot be read counts as none.
fn of(value: Option<serde_json::Value>) -> Strikes {
    value
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default()
}
