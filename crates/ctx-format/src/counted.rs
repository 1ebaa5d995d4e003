//! Numbers with their nouns, for messages.

use std::fmt::Display;

/// Formats a number with its noun: `1 line`, `7 lines`, `2 entries`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        return format!("{number} {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn any_number_but_one_is_a_plural() {
        assert_eq!(counted(0_u64, "line"), "0 lines");
        assert_eq!(counted(1_usize, "line"), "1 line");
        assert_eq!(counted(2_u64, "entry"), "2 entries");
        assert_eq!(counted(1_u64, "entry"), "1 entry");
    }
}
