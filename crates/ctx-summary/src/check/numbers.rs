//! Numbers, however they are written.

use super::words::{Seen, hash, pair};

/// Shorter numbers, such as sums and counts, are too common to be checked.
const LEAST_DIGITS: usize = 4;

/// Gathers the numbers in a word: each, those that follow each other, and `12,345` as one.
pub(super) fn gather(word: &str, seen: &mut Seen) {
    let whole = digits(word);
    if whole.is_empty() {
        return;
    }
    seen.insert(hash(&whole));
    let mut last = None;
    for run in runs(word) {
        seen.insert(hash(run));
        seen.insert(hash(plain(run)));
        if let Some(last) = last {
            seen.insert(pair(last, hash(run)));
        }
        last = Some(hash(run));
    }
}

/// Whether the record has a number, a date or a range.
pub(super) fn is_known(word: &str, seen: &Seen) -> bool {
    let whole = digits(word);
    if whole.len() < LEAST_DIGITS || seen.has(hash(&whole)) {
        return true;
    }
    let runs: Vec<&str> = runs(word).collect();
    let is_whole = runs.len() < 2 || word.contains(',');
    if is_whole {
        return false;
    }
    // A moment or a range is known by its parts, a fraction by both of its sides.
    if word.contains('.') {
        return runs.windows(2).all(|two| seen.has(pair(hash(two[0]), hash(two[1]))));
    }
    are_ends_known(word, seen)
}

/// Whether the record has both ends of a range, or each part of a date.
pub(super) fn are_ends_known(range: &str, seen: &Seen) -> bool {
    runs(range).all(|run| seen.has(hash(plain(run))))
}

/// `02` is 2.
fn plain(run: &str) -> &str {
    run.trim_start_matches('0')
}

fn runs(word: &str) -> impl Iterator<Item = &str> {
    let runs = word.split(|c: char| !c.is_ascii_digit());
    runs.filter(|run| !run.is_empty())
}

fn digits(word: &str) -> String {
    word.chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::super::words::Seen;
    use super::{gather, is_known};

    #[test]
    fn numbers_are_known_however_they_are_written() {
        let mut seen = Seen::default();
        for word in ["12,345", "2026-02-12T13:24:50Z", "44.528s", "317", "1208", "8"] {
            gather(word, &mut seen);
        }
        for known in ["12345", "12,345", "2026-02-12", "44.528", "317-1208", "2026/2/8", "999"] {
            assert!(is_known(known, &seen), "{known}");
        }
        for unknown in ["54321", "54,321", "12,3456", "2027-02-12", "44.529", "317-1209"] {
            assert!(!is_known(unknown, &seen), "{unknown}");
        }
    }
}
