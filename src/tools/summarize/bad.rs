//! Bad lines, and what became of them.

use ctx_cli::Io;
use ctx_transcript::{Record, Zone};

/// Bad lines of a session, counted by their fate.
#[derive(Default)]
pub(super) struct Bad {
    kept: u64,
    dropped: u64,
    old: u64,
    first: Option<(u64, String)>,
}

impl Bad {
    pub(super) fn add(&mut self, record: &Record<'_>, zone: Zone, drop: bool) {
        let count = match (zone, drop) {
            (Zone::Old, _) => &mut self.old,
            (_, true) => &mut self.dropped,
            (_, false) => &mut self.kept,
        };
        *count += 1;
        self.first
            .get_or_insert_with(|| (record.line, record.why_bad()));
    }

    pub(super) fn report(&self, name: &str, io: &mut Io) {
        let Some((line, why)) = &self.first else {
            return;
        };
        let count = self.kept + self.dropped + self.old;
        let lines = if count == 1 { "bad line" } else { "bad lines" };
        let fates: Vec<String> = [
            (self.kept, "kept"),
            (self.dropped, "left out"),
            (self.old, "gone with the old zone"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, fate)| format!("{count} {fate}"))
        .collect();
        io.warn(format_args!(
            "{name}:{line}: {count} {lines}, {}; the first: {why}",
            fates.join(", ")
        ));
    }
}
