//! Which files of a folder are taken for sessions.

use ctx_cli::Walk;
use ctx_store::is_kept_aside;

/// A walk through folders: `always`, or only where it was asked for.
pub fn walk(always: bool) -> Walk {
    Walk {
        always,
        skip: is_kept_aside,
    }
}
