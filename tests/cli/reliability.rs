//! `docs/reliability.md` and the tests agree: every fault of its table has a test that
//! names it, or a sentence why not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const PAGE: &str = "docs/reliability.md";

/// The last fault of each group.
const GROUPS: [(char, usize); 6] = [('C', 11), ('L', 11), ('H', 9), ('P', 6), ('T', 4), ('G', 5)];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the last column of the table, by fault.
fn table() -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    for line in read(PAGE).lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", tag, _, _, tests, ""] = cells[..] else {
            continue;
        };
        let number = tag.strip_prefix(char::is_uppercase).unwrap_or_default();
        if number.parse::<usize>().is_ok() {
            let before = rows.insert(tag.to_owned(), tests.to_owned());
            assert_eq!(before, None, "{tag} comes twice");
        }
    }
    rows
}

/// Returns the texts between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Returns true if a comment of a file begins with this fault, or with several that include it.
fn names(text: &str, tag: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start();
        let comment =
            ["/// ", "//! ", "# ", "\"\"\""].iter().find_map(|mark| line.strip_prefix(mark));
        let tags = comment.and_then(|comment| comment.split_once(": "));
        tags.is_some_and(|(tags, _)| tags.split(", ").any(|one| one == tag))
    })
}

#[test]
fn every_fault_has_a_test_that_names_it_or_a_reason() {
    let table = table();
    let all: Vec<String> = GROUPS
        .iter()
        .flat_map(|&(group, last)| (1..=last).map(move |number| format!("{group}{number}")))
        .collect();
    for tag in &all {
        let cell = table.get(tag).unwrap_or_else(|| panic!("{PAGE} lacks {tag}"));
        let tests: Vec<&str> = quoted(cell).collect();
        assert!(
            !tests.is_empty() || cell.starts_with("Not tested: "),
            "{tag}: neither a test nor a reason: {cell}"
        );
        for test in tests {
            assert!(names(&read(test), tag), "{test} does not name {tag}");
        }
    }
    assert_eq!(table.len(), all.len(), "{PAGE} has unknown faults");
}

#[test]
fn a_name_stands_at_the_beginning_of_a_comment() {
    assert!(names("    /// C4: a full disk", "C4"));
    assert!(names("# C6, C7: cuts the power", "C7"));
    assert!(!names("/// C10: bit rot", "C1"));
    assert!(!names("let c = \"C4: \";", "C4"));
}

/// Every command that the page and the policy name exists.
#[test]
fn what_the_pages_point_to_exists() {
    for page in [PAGE, "SECURITY.md"] {
        for name in quoted(&read(page)) {
            let name = name.split(' ').next().expect("a word");
            if name.starts_with("tests/") || name.starts_with("crates/") {
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
                assert!(path.exists(), "{page}: {name}");
            }
        }
    }
}
