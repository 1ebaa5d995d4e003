//! What is in the trash, as a table for people or a JSON object a line.

use std::time::Duration;

use chrono::{DateTime, Utc};
use ctx_cli::{ExitStatus, Io, Listing, Outcome, json_line, printable, short_bytes, short_time};
use ctx_store::{Store, Trashed};

/// The default of `ctx-gc --grace-days`, which lists of the trash assume, too.
pub const GRACE_DAYS: u32 = 7;

/// Prints the list, where the grace has so many days; what was removed last comes first.
pub fn list(store: &Store, trashed: &[Trashed], grace: u32, json: bool, io: &mut Io) -> Outcome {
    let text = if json {
        trashed.iter().map(|it| json_line(&it.json(grace))).collect()
    } else {
        table(trashed, grace, store.now(), io.columns())
    };
    io.write(text.as_bytes())?;
    Ok(ExitStatus::Done)
}

fn table(trashed: &[Trashed], grace: u32, now: DateTime<Utc>, columns: Option<usize>) -> String {
    if trashed.is_empty() {
        return String::new();
    }
    let mut listing = Listing::new("ID|>REMOVED|>GRACE|>SIZE|KIND|PATH");
    for it in trashed {
        let left = it.grace_ends(grace) - now;
        let source = it.meta.as_ref().and_then(|meta| meta.source.as_deref());
        listing.push([
            it.item.to_string(),
            short_time(since(it.removed, now)),
            left.to_std().map_or_else(|_| "over".to_owned(), short_time),
            short_bytes(it.bytes),
            it.kind().to_owned(),
            source.map_or_else(|| "-".to_owned(), printable),
        ]);
    }
    listing.for_stdout(columns)
}

/// The time since something happened; zero for a time in the future.
pub fn since(time: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    (now - time).to_std().unwrap_or_default()
}
