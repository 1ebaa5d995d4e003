//! A store of older tools stays usable. `tests/fixtures/store-2026-11/README.md` describes its
//! content.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::bench::bash;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/store-2026-11");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    // The tools refuse a store that others can write to, and git does not keep such modes.
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).expect("its mode");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("copied");
        }
    }
}

/// One folder for all commands, because each continues with what the previous one left.
#[test]
fn a_store_of_older_tools_is_read_restored_and_collected() {
    let dir = tempfile::tempdir().expect("a folder");
    copy(Path::new(FIXTURE), dir.path());
    let transcript = fs::read_to_string(dir.path().join("transcript.txt")).expect("the transcript");
    let steps = transcript.strip_prefix("$ ").expect("a command");
    for step in steps.split("\n$ ") {
        let (command, expected) = step.split_once('\n').unwrap_or((step, ""));
        let done = bash(dir.path(), &format!("exec 2>&1 < /dev/null; {command}"));
        let mut printed = done.stdout;
        if done.code != 0 {
            let _ = writeln!(printed, "[{}]", done.code);
        }
        assert_eq!(printed.trim_end(), expected.trim_end(), "{command}");
    }
}
