//! A sample of the sweep of faults: `tests/faults/sweep.sh` without `--sample`
//! tries them all.

use std::path::Path;
use std::process::Command;

/// C1, C3, C9: killed at any call, or with any call failing, a run leaves the old or the new;
/// nothing is lost, and the next run gets there.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn no_fault_loses_a_byte() {
    let bin = Path::new(crate::snapshot::CTX_SNAPSHOT)
        .parent()
        .expect("a folder");
    let output = Command::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/faults/sweep.sh"
    ))
    .arg("--bin")
    .arg(bin)
    .args(["--sample", "1"])
    .output()
    .expect("bash");
    let said = String::from_utf8_lossy(&output.stdout);
    // Without strace it says that it skips, and succeeds.
    eprintln!("{said}");
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
