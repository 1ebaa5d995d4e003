//! Attempts that did not make a session smaller, remembered in its newest
//! snapshot: against a loop of the same attempt.
//!
//! An attempt is a whole run, with all the fallbacks that its policy has. One that
//! failed (no answer of a model, a full disk) says nothing of the session and is
//! not counted.

use ctx_cli::Failure;
use ctx_store::{Replacement, SessionId, Store};
use serde::{Deserialize, Serialize};

use super::stages::Measured;
use crate::store::failure;

/// The member of meta.json.
const KEY: &str = "compaction_strikes";

/// What meta.json has of it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Strikes {
    count: u64,
    /// Tokens of the session at the last one.
    tokens: u64,
}

/// Whether the session has not grown since the last of `most` attempts in a row.
pub(super) fn given_up(
    store: &Store,
    session: &SessionId,
    now: &Measured,
    most: u64,
) -> Result<bool, Failure> {
    let strikes = of(store.note(session, KEY).map_err(failure)?);
    Ok(strikes.count >= most && now.size.tokens <= strikes.tokens)
}

/// One more attempt was in vain.
pub(super) fn add(replacement: Replacement<'_>, now: &Measured) -> Result<(), Failure> {
    let tokens = now.size.tokens;
    let change = |old: Option<&serde_json::Value>| {
        let strikes = of(old.cloned());
        // One that has grown begins anew.
        let count = if tokens > strikes.tokens {
            1
        } else {
            strikes.count + 1
        };
        serde_json::json!(Strikes { count, tokens })
    };
    replacement.remember(KEY, change).map_err(failure)
}

/// What cannot be read counts as none.
fn of(value: Option<serde_json::Value>) -> Strikes {
    value
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default()
}
