//! docs/exit-status.md says what the code says.

use std::fs;
use std::path::Path;

use ctx_cli::ExitStatus;
use ctx_tools::TOOLS;

/// The cells of each row of the page's tables, without heads and rules.
fn rows() -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/exit-status.md");
    fs::read_to_string(path)
        .expect("the page")
        .lines()
        .filter(|line| line.starts_with("| ") && !line.contains("meaning |"))
        .map(|line| {
            line.trim_matches('|')
                .split(" | ")
                .map(|cell| cell.trim().to_owned())
                .collect()
        })
        .collect()
}

#[test]
fn the_table_is_the_one_of_the_code() {
    let shown: Vec<Vec<String>> = rows().into_iter().filter(|row| row.len() == 2).collect();
    let expected: Vec<Vec<String>> = ExitStatus::TABLE
        .iter()
        .map(|(status, meaning)| vec![status.code().to_string(), (*meaning).to_owned()])
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn the_meanings_per_tool_are_those_of_the_man_pages() {
    let shown: Vec<Vec<String>> = rows().into_iter().filter(|row| row.len() == 3).collect();
    let mut expected = Vec::new();
    for tool in TOOLS {
        for (code, meaning) in tool.page.exit_status {
            expected.push(vec![
                format!("`{}`", tool.name),
                code.to_string(),
                (*meaning).to_owned(),
            ]);
        }
    }
    assert_eq!(shown, expected);
}
