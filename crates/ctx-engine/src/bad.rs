//! Bad lines of a session, and what became of them: one account for all passes.

use ctx_format::{Record, counted};

use crate::Notes;

/// What happened to a bad line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays in place.
    Kept,
    /// It is removed because it is bad.
    LeftOut,
    /// It goes with the part of the session that contains it.
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
        if record.class.is_bad() && record.piece.begins() {
            self.counts[fate as usize] += 1;
            self.first.get_or_insert_with(|| (record.line, record.why_bad()));
        }
    }

    /// Adds the counts of another session, without its first bad line.
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

    /// Warns of them, if there are any.
    pub fn report(&self, notes: &mut Notes) {
        let Some((line, why)) = &self.first else {
            return;
        };
        let lines = counted(self.count(), "bad line");
        let [kept, left_out, gone] = self.counts;
        let fates = match (kept, left_out, gone) {
            (_, 0, 0) => " kept in place".to_owned(),
            (0, _, 0) => " left out".to_owned(),
            (0, 0, _) => " gone with the old zone".to_owned(),
            _ => {
                let told = |count, fate| match count {
                    0 => String::new(),
                    _ => format!(", {count} {fate}"),
                };
                told(kept, "kept")
                    + &told(left_out, "left out")
                    + &told(gone, "gone with the old zone")
            }
        };
        notes.warn(&[*line], format_args!("{lines}{fates}; the first: {why}"));
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Origin, Piece};

    use super::{BadLines, Fate};
    use crate::Notes;

    fn add(bad: &mut BadLines, line: u64, piece: Piece, fate: Fate) {
        let origin = Origin { line, piece, ..Origin::ALONE };
        bad.add(&origin.record(b"{\"a\":\n"), fate);
    }

    fn report(bad: &BadLines) -> Option<(Vec<u64>, String)> {
        let mut notes = Notes::new();
        bad.report(&mut notes);
        let note = notes.take().pop()?;
        let (told, _) = note.text.split_once("; the first: ")?;
        Some((note.lines, told.to_owned()))
    }

    #[test]
    fn one_fate_is_told_without_numbers_and_several_with_them() {
        let mut bad = BadLines::default();
        assert_eq!(report(&bad), None);
        let mut told = |line, fate| {
            add(&mut bad, line, Piece::Whole, fate);
            report(&bad)
        };
        let at_3 = |text: &str| Some((vec![3], text.to_owned()));
        assert_eq!(told(3, Fate::Kept), at_3("1 bad line kept in place"));
        assert_eq!(told(5, Fate::Kept), at_3("2 bad lines kept in place"));
        let both = told(6, Fate::Gone);
        assert_eq!(both, at_3("3 bad lines, 2 kept, 1 gone with the old zone"));
        let mut other = BadLines::default();
        add(&mut other, 9, Piece::Whole, Fate::LeftOut);
        assert_eq!(report(&other), Some((vec![9], "1 bad line left out".to_owned())));
        bad.count_in(&other);
        let all = "4 bad lines, 2 kept, 1 left out, 1 gone with the old zone";
        assert_eq!(report(&bad), at_3(all));
        assert_eq!((bad.count(), bad.left_out()), (4, 1));
    }

    #[test]
    fn a_long_line_counts_once_and_a_good_one_never() {
        let mut bad = BadLines::default();
        for piece in [Piece::First, Piece::Middle, Piece::Last] {
            add(&mut bad, 1, piece, Fate::Kept);
        }
        bad.add(&Origin::ALONE.record(b"\n"), Fate::Kept);
        assert_eq!(bad.count(), 1);
    }
}
