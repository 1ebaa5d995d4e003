//! Tests flawed files of agents: which flaws are found, what is repaired, and that nothing is lost
//! because of damaged bytes.

mod content;
mod damage;
mod files;
mod flaws;

use ctx_format::repair::repair;
use ctx_format::{Dialect, Effect, Options, Records};

/// The lines of a file, with their numbers.
fn lines(text: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let raw = Options { raw: true, ..Options::default() };
    let mut records = Records::open(text, &raw).expect("from memory");
    let mut lines = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        lines.push((record.line, record.bytes.to_vec()));
    }
    lines
}

/// The line and the rule of each flaw of a file, except harmless flaws.
fn flaws(dialect: &'static dyn Dialect, text: &[u8]) -> Vec<(u64, &'static str)> {
    let options = Options { dialect: Some(dialect), ..Options::default() };
    let records = Records::open(text, &options).expect("from memory");
    let told = records.flaws().iter();
    told.filter(|(_, flaw)| flaw.effect != Effect::Harmless)
        .map(|(line, flaw)| (*line, flaw.rule))
        .collect()
}

/// A repaired copy of the file, and the line and the name of each repair.
fn repaired(dialect: &'static dyn Dialect, text: &[u8]) -> (String, Vec<(u64, &'static str)>) {
    let log = repair(dialect, lines(text), false, None);
    let actions = log.actions.iter();
    let actions = actions.map(|it| (it.line, <&str>::from(&it.what))).collect();
    (String::from_utf8_lossy(&log.bytes).into_owned(), actions)
}

/// The number of records that are in the context.
fn in_context(dialect: &'static dyn Dialect, text: &[u8]) -> usize {
    let options = Options { dialect: Some(dialect), ..Options::default() };
    let mut records = Records::open(text, &options).expect("from memory");
    let mut count = 0;
    while let Some(record) = records.next().expect("from memory") {
        count += usize::from(record.outline(Some(dialect)).is_some());
    }
    count
}
