//! python.md: messages and whole requests go through a pipe.

use std::fs;

use super::{file, home, with};
use crate::is_there;

/// The program prints what the page shows.
#[test]
fn python_compacts_messages_and_requests() {
    if !is_there("python3") {
        return;
    }
    let home = home();
    for name in ["compact.py", "use.py"] {
        fs::write(home.path().join(name), file("python.md", name)).expect("written");
    }
    let done = with(home.path(), "python3 use.py");
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert_eq!(done.stdout, file("python.md", "use.out"));
}
