//! Bad lines of a session, and what became of them: one account for all passes.

use ctx_transcript::{Piece, Record};

use crate::Notes;

/// What became of a bad line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays where it is.
    Kept,
    /// It is left out because it is bad.
    LeftOut,
    /// It leaves with the part of the session that it stands in.
    Gone,
}

/// Bad lines, counted by their fate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadLines {
    counts: [u64; 3],
    /// The first: its line and what is wrong with it.
    first: Option<(u64, String)>,
}

impl BadLines {
    /// A record, if it is bad; a long line counts once.
    pub fn add(&mut self, record: &Record<'_>, fate: Fate) {
        if record.class.is_bad() && matches!(record.piece, Piece::Whole | Piece::First) {
            self.counts[fate as usize] += 1;
            self.first
                .get_or_insert_with(|| (record.line, record.why_bad()));
        }
    }

    /// Those of another session as well; its first one is not told.
    pub fn count_in(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many were left out because they are bad.
    pub fn left_out(&self) -> u64 {
        self.counts[Fate::LeftOut as usize]
    }

    /// A warning of them, if there are any.
    pub fn report(&self, notes: &mut Notes) {
        let Some((line, why)) = &self.first else {
            return;
        };
        let count = self.count();
        let lines = if count == 1 { "bad line" } else { "bad lines" };
        let [kept, left_out, gone] = self.counts;
        let fates = match (kept, left_out, gone) {
            (_, 0, 0) => "kept in place".to_owned(),
            (0, _, 0) => "left out".to_owned(),
            (0, 0, _) => "gone with the old zone".to_owned(),
            _ => {
                let fates = [
                    (kept, "kept"),
                    (left_out, "left out"),
                    (gone, "gone with the old zone"),
                ];
                let some = fates.iter().filter(|(count, _)| *count > 0);
                let some: Vec<_> = some
                    .map(|(count, fate)| format!("{count} {fate}"))
                    .collect();
                return notes.warn(
                    &[*line],
                    format_args!("{count} {lines}, {}; the first: {why}", some.join(", ")),
                );
            }
        };
        notes.warn(
            &[*line],
            format_args!("{count} {lines} {fates}; the first: {why}"),
        );
    }
}
