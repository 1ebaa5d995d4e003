//! Properties that must hold for any input, whatever its bytes.
//!
//! Each target takes the bytes of a hostile input, and panics if a property does not hold. `cargo
//! +nightly fuzz run TARGET` in `fuzz/` searches for such inputs for hours. The tests of this crate
//! run the targets on the corpora, including cut and altered inputs, in seconds and without a
//! fuzzer.

mod config;
mod convert;
mod dialect;
mod name;
mod records;
mod secret;
mod snapshot;
mod splice;
mod summary;

/// A fuzz target: its name, and the function that checks an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. The name of a target is also that of its folder in `fuzz/seeds` and of its program.
pub const TARGETS: [Target; 9] = [
    ("records", records::run),
    ("splice", splice::run),
    ("dialect", dialect::run),
    ("convert", convert::run),
    ("snapshot", snapshot::run),
    ("name", name::run),
    ("config", config::run),
    ("summary", summary::run),
    ("secret", secret::run),
];

/// Runs the target called `name` on an input.
///
/// # Panics
///
/// Panics if there is no such target, or if a property does not hold.
pub fn run(name: &str, bytes: &[u8]) {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = found.expect("the name of a target");
    target(bytes);
}
