//! The manual pages of all tools, which `--man` shows.

macro_rules! pages {
    ($($tool:literal,)*) => {
        [$(($tool, include_str!(concat!("../../../man/", $tool, ".1")))),*]
    };
}

#[rustfmt::skip]
const PAGES: [(&str, &str); 16] = pages![
    "ctx-check", "ctx-compact", "ctx-convert", "ctx-count",
    "ctx-extract", "ctx-gc", "ctx-ls", "ctx-memory",
    "ctx-offload", "ctx-prune", "ctx-rollback", "ctx-score",
    "ctx-snapshot", "ctx-split", "ctx-stats", "ctx-summarize",
];

/// Returns the page of a tool.
pub(super) fn of(tool: &str) -> &'static str {
    let page = PAGES.iter().find(|(name, _)| *name == tool);
    page.map_or("", |(_, page)| page)
}

#[cfg(test)]
mod tests {
    /// Every tool has its own page.
    #[test]
    fn each_tool_has_its_page() {
        let tools = ctx_all::tools();
        assert_eq!(tools.len(), super::PAGES.len());
        for tool in tools {
            let title = format!(".TH \"{}\" \"1\"", tool.name.to_uppercase());
            assert!(super::of(tool.name).contains(&title), "{title}");
        }
    }
}
