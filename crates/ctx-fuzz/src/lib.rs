//! What must hold for any bytes at all.
//!
//! Each target takes the bytes of a hostile input and panics where a promise is broken.
//! `cargo +nightly fuzz run TARGET` in `fuzz/` looks for such bytes for hours; the tests of
//! this crate run the corpora, cut off and altered, in seconds and without a fuzzer.

mod config;
mod convert;
mod dialect;
mod name;
mod records;
mod secret;
mod snapshot;
mod splice;
mod summary;

/// A target: its name, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All of them; a name is that of its folder in `fuzz/seeds`, and of its program.
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

/// Runs the target of that name.
///
/// # Panics
///
/// When there is none, or when a promise is broken.
pub fn run(name: &str, bytes: &[u8]) {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = found.expect("the name of a target");
    target(bytes);
}
