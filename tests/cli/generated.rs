//! The generated files in the repository match the table of tools.

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

/// `docs/benchmarks.md` lists how many instructions its commands needed when it was measured. A
/// command whose count has moved by more than 5 % since must be measured again.
#[test]
fn the_speeds_in_the_docs_are_of_these_tools() {
    let read = |path: &str| {
        let text = std::fs::read_to_string(xtask::root().join(path)).expect("the repository");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let measured = read("docs/benchmarks.md");
    let counts = read("benches/instructions.tsv");
    let counts = counts.iter().filter(|line| !line.starts_with('#'));
    for line in counts {
        let (command, count) = line.split_once('\t').expect("a command and its count");
        let count: f64 = count.parse().expect("a number");
        let row = format!("| `{command}` | ");
        // Rows of other tables have more columns.
        let then = measured
            .iter()
            .find_map(|line| line.strip_prefix(&row)?.strip_suffix(" |")?.parse::<f64>().ok());
        let then = then.unwrap_or_else(|| panic!("docs/benchmarks.md lacks `{command}`"));
        let moved = count / then - 1.0;
        assert!(
            moved.abs() <= 0.05,
            "`{command}` needs {:+.1} % instructions since docs/benchmarks.md was measured: run \
             benches/speed.sh, and update its figures and this count",
            moved * 100.0
        );
    }
}
