//! Small helpers on text.

/// One line: runs of white space become one blank.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first `count` characters.
pub(crate) fn first_chars(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// The last `count` characters.
pub(crate) fn last_chars(text: &str, count: usize) -> &str {
    match count.checked_sub(1) {
        None => "",
        Some(nth) => match text.char_indices().nth_back(nth) {
            Some((start, _)) => &text[start..],
            None => text,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{first_chars, last_chars, one_line};

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(first_chars("决定了", 2), "决定");
        assert_eq!(first_chars("决定", 5), "决定");
        assert_eq!(last_chars("决定了", 2), "定了");
        assert_eq!(last_chars("决定", 5), "决定");
        assert_eq!(last_chars("决定", 0), "");
    }

    #[test]
    fn white_space_becomes_one_blank() {
        assert_eq!(one_line(" a\n\n b\t\u{3000}c "), "a b c");
    }
}
