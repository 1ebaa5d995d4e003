//! All tools, including `ctx-memory`, which has a crate of its own.
//!
//! A distribution package contains one program and a link to it for each tool, because the
//! vocabularies of the token encodings make up most of a tool's size. The program with all tools
//! takes up 25 MB; a separate `ctx-check` would take up 13 MB.

use std::ffi::OsStr;
use std::path::Path;

use ctx_cli::Tool;

/// Returns all tools in alphabetical order, including `ctx-memory`, which has a crate of its own.
pub fn tools() -> Vec<&'static Tool> {
    let mut tools = ctx_tools::TOOLS.to_vec();
    tools.push(&ctx_memory_tool::TOOL);
    tools.sort_by_key(|tool| tool.name);
    tools
}

/// Returns the tool selected by the program's file name. `program` may include a path.
pub fn called_as(program: &OsStr) -> Option<&'static Tool> {
    let name = Path::new(program).file_name()?;
    tools().into_iter().find(|tool| name == tool.name)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use ctx_tools::entry::list;

    use super::{called_as, tools};

    /// `ctx` lists each tool.
    #[test]
    fn the_list_is_complete() {
        let mut listed: Vec<_> = list().map(|(name, _)| format!("ctx-{name}")).collect();
        listed.sort();
        assert_eq!(listed, tools().iter().map(|tool| tool.name).collect::<Vec<_>>());
    }

    /// The file name of the link selects the tool, whatever folder the link is in.
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
