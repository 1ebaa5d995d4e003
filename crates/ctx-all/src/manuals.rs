//! The manual pages of all tools, which `--man` shows.

const PAGES: [(&str, &str); 16] = [
    ("ctx-check", include_str!("../../../man/ctx-check.1")),
    ("ctx-compact", include_str!("../../../man/ctx-compact.1")),
    ("ctx-convert", include_str!("../../../man/ctx-convert.1")),
    ("ctx-count", include_str!("../../../man/ctx-count.1")),
    ("ctx-extract", include_str!("../../../man/ctx-extract.1")),
    ("ctx-gc", include_str!("../../../man/ctx-gc.1")),
    ("ctx-ls", include_str!("../../../man/ctx-ls.1")),
    ("ctx-memory", include_str!("../../../man/ctx-memory.1")),
    ("ctx-offload", include_str!("../../../man/ctx-offload.1")),
    ("ctx-prune", include_str!("../../../man/ctx-prune.1")),
    ("ctx-rollback", include_str!("../../../man/ctx-rollback.1")),
    ("ctx-score", include_str!("../../../man/ctx-score.1")),
    ("ctx-snapshot", include_str!("../../../man/ctx-snapshot.1")),
    ("ctx-split", include_str!("../../../man/ctx-split.1")),
    ("ctx-stats", include_str!("../../../man/ctx-stats.1")),
    ("ctx-summarize", include_str!("../../../man/ctx-summarize.1")),
];

/// The page of a tool.
pub(super) fn of(tool: &str) -> &'static str {
    let page = PAGES.iter().find(|(name, _)| *name == tool);
    page.map_or("", |(_, page)| page)
}

#[cfg(test)]
mod tests {
    /// Every tool has its own.
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
