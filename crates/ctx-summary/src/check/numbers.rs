//! Checks whether the numbers in an answer occur in the record, regardless of notation.

use ctx_text::{hash_lowercase, hash_pair};

use super::words::HashedSet;

/// Numbers with fewer digits than this are too common to be checked.
const LEAST_DIGITS: usize = 4;

/// Inserts into `seen` the numbers found in a word such as `12,345`: each run of digits, each pair
/// of adjacent runs, and all digits joined.
pub(super) fn gather(word: &str, seen: &mut HashedSet) {
    let whole = digits(word);
    if whole.is_empty() {
        return;
    }
    seen.insert(hash_lowercase(&whole));
    let runs: Vec<&str> = runs(word).collect();
    seen.extend(runs.iter().flat_map(|run| [run, plain(run)]).map(hash_lowercase));
    seen.extend(runs.windows(2).map(hash_of_two));
}

fn hash_of_two(runs: &[&str]) -> u64 {
    hash_pair(hash_lowercase(runs[0]), hash_lowercase(runs[1]))
}

/// Returns true if the number, date or range occurs in the record, or is too short to be checked.
pub(super) fn is_known(word: &str, seen: &HashedSet) -> bool {
    let whole = digits(word);
    if whole.len() < LEAST_DIGITS || seen.has(hash_lowercase(&whole)) {
        return true;
    }
    let runs: Vec<&str> = runs(word).collect();
    let is_whole = runs.len() < 2 || word.contains(',');
    if is_whole {
        return false;
    }
    // Each part of a time or a range must occur in the record. The digits on both sides of a
    // decimal point must occur together.
    if word.contains('.') {
        return runs.windows(2).all(|two| seen.has(hash_of_two(two)));
    }
    are_ends_known(word, seen)
}

/// Returns true if both ends of a range, or all parts of a date, occur in the record.
pub(super) fn are_ends_known(range: &str, seen: &HashedSet) -> bool {
    runs(range).all(|run| seen.has(hash_lowercase(plain(run))))
}

/// Removes leading zeros, so that `02` becomes `2`.
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

/// The maximum number of preceding numbers that are added up to find a sum.
const MOST: usize = 32;

/// Returns true if `number` is the sum of the last few numbers in `before`, or the difference
/// between two adjacent numbers there.
pub(super) fn ends_sum(before: &str, number: &str) -> bool {
    let Some(wanted) = amounts(number).next_back() else { return false };
    let mut sum = 0;
    let mut last = None;
    for (at, amount) in amounts(before).rev().take(MOST).enumerate() {
        sum += amount;
        if at > 0 && sum == wanted || last.is_some_and(|last| amount.abs_diff(last) == wanted) {
            return true;
        }
        last = Some(amount);
    }
    false
}

/// Returns the numbers in `text`, in thousandths.
fn amounts(text: &str) -> impl DoubleEndedIterator<Item = u128> {
    let words = text.split(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','));
    words.filter_map(|word| {
        let word = word.trim_matches(['.', ',']).replace(',', "");
        let (whole, part) = word.split_once('.').unwrap_or((&word, ""));
        let digits = whole.len() <= 15 && part.len() <= 3;
        let part = format!("{part:0<3}");
        let thousandths = format!("{whole}{part}").parse().ok();
        thousandths.filter(|_| digits && !whole.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::super::words::HashedSet;
    use super::{gather, is_known};

    #[test]
    fn numbers_are_known_however_they_are_written() {
        let mut seen = HashedSet::default();
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

#[cfg(test)]
mod sums_tests {
    use super::ends_sum;

    #[test]
    fn sums_and_differences_are_worked_out() {
        assert!(ends_sum("`cli` 9.261s, `all` 26.772s, `c` 8.495s, together ", "44.528s"));
        assert!(ends_sum("from 12,345 to 10,000, that is ", "2345"));
        assert!(ends_sum("100 files: 1000 and 500 lines, ", "1500"));
    }

    #[test]
    fn other_numbers_are_no_sums() {
        assert!(!ends_sum("1.5s and 2s, together ", "35s") && !ends_sum("4711, then ", "4711"));
        assert!(!ends_sum("1.2.3 and 99999999999999999999999999 ", "99999999999999999999999999"));
        assert!(!ends_sum("", "1200") && !ends_sum("12 and 13", "-"));
    }
}
