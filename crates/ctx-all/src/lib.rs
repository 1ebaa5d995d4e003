//! All tools, including `ctx-memory`, which has a crate of its own.
//!
//! A distribution package contains one program and a link to it for each tool, because the
//! vocabularies of the token encodings make up most of a tool's size. The program with all tools
//! takes up 25 MB; a separate `ctx-check` would take up 13 MB.

use ctx_cli::Tool;

/// Returns all tools in alphabetical order, including `ctx-memory`, which has a crate of its own.
pub fn tools() -> Vec<&'static Tool> {
    let mut tools = ctx_tools::TOOLS.to_vec();
    tools.push(&ctx_memory_tool::TOOL);
    tools.sort_by_key(|tool| tool.name);
    tools
}

#[cfg(test)]
mod tests {
    use super::tools;
    use ctx_tools::entry::list;

    /// `ctx` lists each tool.
    #[test]
    fn the_list_is_complete() {
        let mut listed: Vec<_> = list().map(|(name, _)| format!("ctx-{name}")).collect();
        listed.sort();
        assert_eq!(listed, tools().iter().map(|tool| tool.name).collect::<Vec<_>>());
    }
}
