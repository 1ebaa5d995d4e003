//! Name patterns that decide which tools' results may be pruned.

use std::str::FromStr;

use derive_more::Display;
use regex::{Regex, RegexBuilder};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_with::SerializeDisplay;

/// A pattern for names, in which `*` matches any text and `?` matches any single character. Case is
/// ignored.
#[derive(Clone, Debug, Display, SerializeDisplay)]
#[display("{text}")]
pub struct Glob {
    text: String,
    regex: Regex,
}

/// The error returned for a pattern that is too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern that begins with {0:?} is too long")]
pub struct NotAGlob(String);

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl FromStr for Glob {
    type Err = NotAGlob;

    fn from_str(text: &str) -> Result<Self, NotAGlob> {
        const SHOWN_CHARS: usize = 40;
        let pattern = regex::escape(text).replace(r"\*", ".*").replace(r"\?", ".");
        let regex = RegexBuilder::new(&format!("^(?s:{pattern})$")).case_insensitive(true).build();
        // Building can fail only if the pattern is too long, because all special characters are
        // escaped.
        let regex = regex.map_err(|_| NotAGlob(text.chars().take(SHOWN_CHARS).collect()))?;
        Ok(Self { text: text.to_owned(), regex })
    }
}

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wanted = |error| D::Error::custom(format_args!("a pattern; {error}"));
        text.parse().map_err(|error: NotAGlob| wanted(error))
    }
}

/// The tools whose results may be changed.
#[derive(Clone, Debug, Default)]
pub struct ToolFilter {
    /// If `allow` is not empty, only results of matching tools may be changed.
    pub allow: Vec<Glob>,
    /// Results of tools that match `deny` must not be changed, even if `allow` also matches.
    pub deny: Vec<Glob>,
}

impl ToolFilter {
    /// Returns true if the results of the tool may be changed. No pattern matches a tool whose name
    /// is unknown.
    pub fn allows(&self, tool: Option<&str>) -> bool {
        let any = |globs: &[Glob]| {
            tool.is_some_and(|tool| globs.iter().any(|glob| glob.regex.is_match(tool)))
        };
        (self.allow.is_empty() || any(&self.allow)) && !any(&self.deny)
    }
}

#[cfg(test)]
mod tests {
    use super::{Glob, ToolFilter};

    fn globs(patterns: &[&str]) -> Vec<Glob> {
        let parse = |text: &&str| text.parse().expect("a pattern");
        patterns.iter().map(parse).collect()
    }

    fn allows(allow: &[&str], deny: &[&str], tool: Option<&str>) -> bool {
        let (allow, deny) = (globs(allow), globs(deny));
        ToolFilter { allow, deny }.allows(tool)
    }

    #[test]
    fn a_pattern_that_is_too_long_is_an_error() {
        let error = "?".repeat(100_000).parse::<Glob>().expect_err("too long");
        assert_eq!(
            error.to_string(),
            format!("the pattern that begins with {:?} is too long", "?".repeat(40))
        );
        assert_eq!(globs(&["a*"])[0].text, "a*");
    }

    #[test]
    fn no_pattern_allows_everything() {
        assert!(allows(&[], &[], Some("exec")));
        assert!(allows(&[], &[], None));
    }

    #[test]
    fn allowed_tools_and_no_others() {
        assert!(allows(&["exec", "read*"], &[], Some("Read_File")));
        assert!(!allows(&["exec", "read*"], &[], Some("spread")));
        assert!(!allows(&["exec"], &[], Some("exec2")));
        assert!(!allows(&["exec"], &[], None));
        assert!(!allows(&["*"], &[], None));
        assert!(allows(&["f?o.bar"], &[], Some("fóo.bar")));
        assert!(!allows(&["f?o.bar"], &[], Some("foo-bar")));
    }

    #[test]
    fn what_is_denied_is_not_allowed() {
        assert!(!allows(&["*"], &["*image*"], Some("view_image_file")));
        assert!(allows(&[], &["*image*"], Some("view")));
        assert!(allows(&[], &["*image*"], None));
    }
}
