//! Numbers that a line works out of the others in it: "9.2s, 26.7s, together 35.9s".

/// Numbers of a line that are looked at, the last ones.
const MOST: usize = 32;

/// Whether a number is the sum of the last few before it, or what two neighbours differ by.
pub(super) fn ends(before: &str, number: &str) -> bool {
    let Some(wanted) = amounts(number).next_back() else {
        return false;
    };
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

/// The numbers of a text, in thousandths.
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
    use super::ends;

    #[test]
    fn sums_and_differences_are_worked_out() {
        assert!(ends("`cli` 9.261s, `all` 26.772s, `c` 8.495s, together ", "44.528s"));
        assert!(ends("from 12,345 to 10,000, that is ", "2345"));
        assert!(ends("100 files: 1000 and 500 lines, ", "1500"));
    }

    #[test]
    fn other_numbers_are_no_sums() {
        assert!(!ends("1.5s and 2s, together ", "35s") && !ends("4711, then ", "4711"));
        assert!(!ends("1.2.3 and 99999999999999999999999999 ", "99999999999999999999999999"));
        assert!(!ends("", "1200") && !ends("12 and 13", "-"));
    }
}
