//! All tools, those that are packages of their own too.
//!
//! A package for a distribution has one program, and a link to it by the name of each tool:
//! most of a tool are the vocabularies of the encodings, which each tool would hold again. The
//! program has 25 MB, `ctx-check` alone would have 13.

use std::ffi::OsStr;
use std::path::Path;

use ctx_cli::Tool;

/// Every tool, in the order of the alphabet: those of the root package, and those that are
/// packages of their own.
pub fn tools() -> Vec<&'static Tool> {
    let mut tools = ctx_tools::TOOLS.to_vec();
    tools.push(&ctx_memory_tool::TOOL);
    tools.sort_by_key(|tool| tool.name);
    tools
}

/// The tool that the program was called as: by its name, or by the path of a link of its name.
pub fn called_as(program: &OsStr) -> Option<&'static Tool> {
    let name = Path::new(program).file_name()?;
    tools().into_iter().find(|tool| name == tool.name)
}

/// The name of the tool that a word names: with or without `ctx-`.
pub fn named(word: &OsStr) -> Option<&'static str> {
    let word = word.to_str()?;
    let mut names = tools().into_iter().map(|tool| tool.name);
    names.find(|name| *name == word || name.strip_prefix("ctx-") == Some(word))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::{called_as, named};

    /// `ctx-tools ls`, like busybox.
    #[test]
    fn a_word_names_a_tool() {
        let named = |word| named(OsStr::new(word));
        assert_eq!(named("ls"), Some("ctx-ls"));
        assert_eq!(named("ctx-memory"), Some("ctx-memory"));
        for other in ["", "ctx-", "list", "-ls"] {
            assert_eq!(named(other), None, "{other}");
        }
    }

    /// A link's name selects the tool, whatever folder it is in.
    #[test]
    fn the_name_of_the_link_says_which_tool_it_is() {
        let name = |program| called_as(OsStr::new(program)).map(|tool| tool.name);
        assert_eq!(name("ctx-count"), Some("ctx-count"));
        assert_eq!(name("/usr/bin/ctx-memory"), Some("ctx-memory"));
        for other in ["ctx-tools", "/usr/lib/ctx-tools/ctx-tools", "", "ctx-count.old"] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
