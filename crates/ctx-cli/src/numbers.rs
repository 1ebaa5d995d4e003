//! Formats counts, sizes, times and percentages in a few characters for human readers.

use std::time::Duration;

/// Formats a count with at most three digits: `999`, `1.2k`, `152k`, `3.4M`.
pub fn short_count(count: u64) -> String {
    short(count, 1_000, &["", "k", "M", "G", "T", "P", "E"])
}

/// Formats a size in bytes in units of 1024, as `ls -h` does: `999`, `1.2K`, `3.4M`.
pub fn short_bytes(bytes: u64) -> String {
    short(bytes, 1_024, &["", "K", "M", "G", "T", "P", "E"])
}

fn short(number: u64, step: u64, units: &[&str]) -> String {
    let (mut unit, mut one) = (0, 1);
    // The next unit begins where rounding would reach a whole step.
    while u128::from(number) * 2 >= u128::from(one) * u128::from(2 * step - 1)
        && unit + 1 < units.len()
    {
        (unit, one) = (unit + 1, one * step);
    }
    // Use integer arithmetic, which gives the same result on all machines.
    let rounded =
        |parts: u128| (u128::from(number) * parts * 2 + u128::from(one)) / (u128::from(one) * 2);
    match rounded(10) {
        _ if unit == 0 => number.to_string(),
        tenths @ 0..100 => format!("{}.{}{}", tenths / 10, tenths % 10, units[unit]),
        _ => format!("{}{}", rounded(1), units[unit]),
    }
}

/// Formats the time since an event: `5s`, `12m`, `3h`, `45d`, `2y`.
pub fn short_time(time: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(365 * 86_400, "y"), (86_400, "d"), (3_600, "h"), (60, "m")];
    let seconds = time.as_secs();
    // Times shorter than two years are easier to understand in days.
    let fits = |(unit, name): &&(u64, &str)| seconds >= unit * if *name == "y" { 2 } else { 1 };
    let fitting = UNITS.iter().find(fits);
    let (unit, name) = fitting.unwrap_or(&(1, "s"));
    format!("{}{name}", seconds / unit)
}

/// Formats a part of a whole as a percentage, such as `71.3%`, or as `-` if the whole is 0.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", part as f64 * 100.0 / whole as f64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{percent, short_bytes, short_count, short_time};

    #[test]
    fn numbers_have_three_digits() {
        let counts = [0, 999, 1_000, 1_999, 9_999, 10_000, 152_345, 999_999, 1_000_000];
        let counts = counts.map(short_count);
        assert_eq!(counts, ["0", "999", "1.0k", "2.0k", "10k", "10k", "152k", "1.0M", "1.0M"]);
        let bytes = [1_023, 1_024, 1_536, 3_900_000, u64::MAX].map(short_bytes);
        assert_eq!(bytes, ["1023", "1.0K", "1.5K", "3.7M", "16E"]);
    }

    #[test]
    fn times_have_one_unit() {
        let times = [0, 59, 60, 3_599, 3_600, 86_400, 500 * 86_400, 730 * 86_400];
        let times = times.map(|seconds| short_time(Duration::from_secs(seconds)));
        assert_eq!(times, ["0s", "59s", "1m", "59m", "1h", "1d", "500d", "2y"]);
    }

    #[test]
    fn shares_have_one_decimal_and_nothing_has_none() {
        assert_eq!(percent(1, 3), "33.3%");
        assert_eq!(percent(0, 0), "-");
    }
}
