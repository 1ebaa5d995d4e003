//! Tools by their names: which may be pruned.

use std::str::FromStr;

use regex::{Regex, RegexBuilder};

/// A pattern for names: `*` is any text, `?` any character, case does not matter.
#[derive(Clone, Debug)]
pub struct Glob(Regex);

impl FromStr for Glob {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Self, regex::Error> {
        let pattern = regex::escape(text).replace(r"\*", ".*").replace(r"\?", ".");
        let regex = RegexBuilder::new(&format!("^(?s:{pattern})$"))
            .case_insensitive(true)
            .build()?;
        Ok(Self(regex))
    }
}

/// Which tools' results may be changed.
#[derive(Clone, Debug, Default)]
pub struct ToolFilter {
    /// Only these; all when there is none.
    pub allow: Vec<Glob>,
    /// Never these, whatever is allowed.
    pub deny: Vec<Glob>,
}

impl ToolFilter {
    /// Whether the results of a tool may be changed. A result whose tool is not
    /// known is of none of the allowed ones.
    pub fn allows(&self, tool: Option<&str>) -> bool {
        let any = |globs: &[Glob]| {
            tool.is_some_and(|tool| globs.iter().any(|glob| glob.0.is_match(tool)))
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
