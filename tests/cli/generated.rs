//! What is generated and checked in says what the table of tools says.

#[test]
fn man_pages_and_completions_are_fresh() {
    let files = xtask::generated().expect("generated");
    let stale = xtask::stale(&xtask::root(), &files).expect("the repository is readable");
    assert!(
        stale.is_empty(),
        "stale: {stale:?}; run `{}`",
        xtask::REPAIR
    );
}
