//! What people read: aligned columns, numbers first, as ctx-count has them.

use std::fmt::Write;

use ctx_cli::{aligned, percent, printable};
use ctx_ledger::score::{Needed, Score};
use ctx_passes::score::{Listed, Measure, measures};

/// The classes that have items, and the fidelity; then what was needed later.
pub(super) fn of(score: &Score, needed: Option<Needed>) -> String {
    let mut rows = vec![heading("total retained recoverable lost score class")];
    let mut sums = [0; 4];
    for row in score.rows().into_iter().filter(|row| row.total > 0) {
        let counts = [row.total, row.retained, row.recoverable, row.lost];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        rows.push(line(counts, row.score, row.class.as_str()));
    }
    rows.push(line(sums, Some(score.fidelity()), "fidelity"));
    let mut shown = aligned(&rows);
    if let Some(needed) = needed {
        shown.push('\n');
        shown.push_str(&of_needed(needed));
    }
    shown
}

fn of_needed(needed: Needed) -> String {
    let mut rows = vec![heading("needed kept share measure")];
    for Measure { name, needed, kept } in measures(needed) {
        rows.push(vec![
            needed.to_string(),
            kept.to_string(),
            percent(kept, needed),
            name.to_owned(),
        ]);
    }
    aligned(&rows)
}

fn heading(words: &str) -> Vec<String> {
    words.split(' ').map(str::to_owned).collect()
}

fn line(counts: [u64; 4], score: Option<f64>, name: &str) -> Vec<String> {
    let score = score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"));
    let counts = counts.map(|count| count.to_string()).into_iter();
    counts.chain([score, name.to_owned()]).collect()
}

/// Class, line and text of each item, with tabs between.
pub(super) fn list(score: &Score, listed: Listed) -> String {
    let mut out = String::new();
    for item in listed.of(score) {
        let (class, text) = (item.class.as_str(), printable(&item.text));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{class}\t{}\t{text}", item.line);
    }
    out
}
