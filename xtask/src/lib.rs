//! Development tasks: generates files from the list of tools, and makes the packages.
//!
//! The man pages and the completions are checked in, so that packagers and readers do not need to
//! build them. [`generated`] returns the files, [`stale`] compares them with the checked-in files,
//! and [`write()`] updates the checked-in files.

pub mod dist;
mod man;
pub mod picture;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ctx_cli::{ExitStatus, Shell, Tool};
use ctx_format::problems::RULES;
use ctx_tools::entry::ENTRY;
use ctx_tools::template::filled;
use minijinja::context;
use minijinja::value::{Serde, Value};

/// Generated files: the content of each file, by its path in the repository.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The command that updates stale files.
pub const REPAIR: &str = "cargo run -p xtask -- gen";

/// Folders that contain only generated files.
const FOLDERS: [&str; 4] = ["man", "completions/bash", "completions/zsh", "completions/fish"];

/// Returns the path of the repository that this crate was built from.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in a folder").to_owned()
}

pub use ctx_all::tools;

/// Returns all files generated from [`tools`].
pub fn generated() -> io::Result<Files> {
    let mut files = Files::new();
    let tools = tools();
    for tool in tools.iter().copied().chain([&ENTRY]) {
        let name = tool.name;
        files.insert(format!("man/{name}.1").into(), man::page(tool)?);
        // The file names are those that the shells expect.
        for (path, shell) in [
            (format!("completions/bash/{name}"), Shell::Bash),
            (format!("completions/zsh/_{name}"), Shell::Zsh),
            (format!("completions/fish/{name}.fish"), Shell::Fish),
        ] {
            files.insert(path.into(), shell.script(name).into_bytes());
        }
    }
    files.insert(PathBuf::from("man/ctx.7"), man::overview());
    files.insert(PathBuf::from("docs/exit-status.md"), exit_status(&tools));
    files.insert(PathBuf::from("docs/legality.md"), legality());
    Ok(files)
}

/// Returns `docs/exit-status.md`: the common meanings of the exit statuses, and the more specific
/// meanings in some tools.
fn exit_status(tools: &[&Tool]) -> Vec<u8> {
    let statuses = ExitStatus::TABLE.map(|(status, meaning)| (status.code(), meaning));
    let of_tool = |tool: &&Tool| (tool.name, tool.page().exit_status);
    let tools: Vec<(&str, Vec<(u8, String)>)> = tools.iter().map(of_tool).collect();
    let values = context! {
        statuses => Value::from(Serde(statuses)),
        tools => Value::from(Serde(tools)),
    };
    page(include_str!("exit-status.md.in"), values)
}

/// Fills the template of a page in Markdown.
fn page(template: &str, values: Value) -> Vec<u8> {
    filled(template, |text| text.replace('|', "\\|"), values).into_bytes()
}

/// Returns `docs/legality.md`: what each API and each agent demands of a session.
fn legality() -> Vec<u8> {
    page(include_str!("legality.md.in"), context! { rules => Value::from(Serde(RULES.as_slice())) })
}

/// Returns the files under `root` that differ from `files`, are missing, or no longer belong to a
/// tool.
pub fn stale(root: &Path, files: &Files) -> io::Result<BTreeSet<PathBuf>> {
    let mut stale = leftovers(root, files)?;
    for (path, content) in files {
        if !fs::read(root.join(path)).is_ok_and(|found| found == *content) {
            stale.insert(path.clone());
        }
    }
    Ok(stale)
}

/// Writes the files under `root`, and removes generated files that no longer belong to a tool.
pub fn write(root: &Path, files: &Files) -> io::Result<()> {
    for path in leftovers(root, files)? {
        fs::remove_file(root.join(path))?;
    }
    put(root, files)
}

/// Writes the files under `root`, without removing other files.
pub fn put(root: &Path, files: &Files) -> io::Result<()> {
    for (path, content) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, content)?;
    }
    Ok(())
}

fn leftovers(root: &Path, files: &Files) -> io::Result<BTreeSet<PathBuf>> {
    let mut leftovers = BTreeSet::new();
    for folder in FOLDERS {
        for entry in fs::read_dir(root.join(folder)).into_iter().flatten() {
            let path = Path::new(folder).join(entry?.file_name());
            if !files.contains_key(&path) {
                leftovers.insert(path);
            }
        }
    }
    Ok(leftovers)
}

#[cfg(test)]
mod tests {
    use super::{Files, stale, write};
    use std::fs;
    use std::path::PathBuf;

    fn names(paths: impl IntoIterator<Item = PathBuf>) -> Vec<String> {
        paths.into_iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn missing_changed_and_left_over_files_are_stale() {
        let root = tempfile::tempdir().expect("a folder");
        let files = Files::from([
            (PathBuf::from("man/ctx-a.1"), b"a".to_vec()),
            (PathBuf::from("man/ctx-b.1"), b"b".to_vec()),
            (PathBuf::from("completions/zsh/_ctx-a"), b"z".to_vec()),
        ]);
        write(root.path(), &files).expect("written");
        assert!(stale(root.path(), &files).expect("read").is_empty());

        fs::write(root.path().join("man/ctx-a.1"), "other").expect("changed");
        fs::remove_file(root.path().join("man/ctx-b.1")).expect("removed");
        fs::write(root.path().join("completions/zsh/_ctx-old"), "").expect("left over");
        assert_eq!(
            names(stale(root.path(), &files).expect("read")),
            ["completions/zsh/_ctx-old", "man/ctx-a.1", "man/ctx-b.1"]
        );

        write(root.path(), &files).expect("repaired");
        assert!(stale(root.path(), &files).expect("read").is_empty());
    }
}
