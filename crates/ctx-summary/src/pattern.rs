use regex::Regex;

/// A pattern of this crate, which is known to be one.
pub(crate) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern")
}
