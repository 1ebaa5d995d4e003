//! The timer and the service of cron.md.

use std::fs;
use std::process::Command;

use super::{bare, file, home, session};
use crate::bench::good;
use crate::is_there;

/// Returns the values of a key, in order.
fn values(unit: &str, key: &str) -> Vec<String> {
    let lines = unit.lines().filter_map(|line| line.split_once('='));
    lines.filter(|(name, _)| *name == key).map(|(_, value)| value.to_owned()).collect()
}

/// The service compacts sessions that need it. A busy session is not a failure.
#[test]
fn the_service_compacts_and_a_busy_session_is_no_failure() {
    let home = home();
    let unit = file("cron.md", "ctx-compact.service");
    let environment = values(&unit, "Environment");
    let path = environment[0].strip_prefix("PATH=").expect("a PATH");
    let script = home.path().join("ctx-compact-due");
    fs::write(&script, file("cron.md", "ctx-compact-due")).expect("written");
    let start =
        values(&unit, "ExecStart")[0].replace("%h/.local/bin", &home.path().display().to_string());
    let start = start.as_str();

    let before = fs::read(session(home.path())).expect("a session");
    good(home.path(), &format!("touch {}", session(home.path()).display()));
    let busy = bare(home.path(), path, start);
    assert_eq!(busy.code, 0, "{}", busy.stderr);
    assert!(busy.stderr.contains("a running agent"), "{}", busy.stderr);
    assert_eq!(fs::read(session(home.path())).expect("a session"), before);

    super::rest(home.path());
    // If the store cannot be written, the service reports the failure.
    fs::write(home.path().join("store"), "no folder").expect("written");
    let failed = bare(home.path(), path, &format!("export CTX_HOME=$HOME/store; {start}"));
    assert_eq!(failed.code, 123, "{}", failed.stderr);

    let done = bare(home.path(), path, start);
    assert_eq!((done.code, done.stdout + &done.stderr), (0, String::new()));
    assert!(fs::read(session(home.path())).expect("a session").len() > before.len());
}

/// systemd accepts the units.
#[test]
fn systemd_takes_the_units() {
    if !is_there("systemd-analyze") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let units = ["ctx-compact.service", "ctx-compact.timer"];
    let paths = units.map(|name| {
        let path = folder.path().join(name);
        fs::write(&path, file("cron.md", name)).expect("written");
        path
    });
    let output = Command::new("systemd-analyze")
        .args(["--user", "--man=no", "--generators=no", "verify"])
        .args(&paths)
        .env("XDG_RUNTIME_DIR", folder.path())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("ctx-compact")).collect();
    assert!(ours.is_empty(), "{said}");
}
