//! What is generated and checked in says what the table of tools says.

#[test]
fn man_pages_and_completions_are_fresh() {
    let files = xtask::generated().expect("generated");
    let stale = xtask::stale(&xtask::root(), &files).expect("the repository is readable");
    assert!(stale.is_empty(), "stale: {stale:?}; run `{}`", xtask::REPAIR);
}

/// The picture of the README shows the current output of the tools.
#[test]
fn the_picture_is_fresh() {
    let bin = crate::tool_path("ctx-count");
    let bin = bin.parent().expect("a folder");
    let files = xtask::picture::drawn(bin).expect("drawn");
    assert_eq!(files.len(), 2);
    for (path, drawn) in files {
        let shown = std::fs::read(xtask::root().join(&path)).unwrap_or_default();
        assert!(
            shown == drawn,
            "{} is stale; run `cargo build && cargo xtask picture target/debug`",
            path.display()
        );
    }
}
