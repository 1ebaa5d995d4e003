//! What people read: aligned columns, numbers first, as ctx-count has them.

use std::fmt::Write;

use ctx_cli::{aligned, percent, printable};
use ctx_ledger::score::{Needed, Score};

use super::Listed;

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
    for (name, total, kept) in measures(needed) {
        rows.push(vec![
            total.to_string(),
            kept.to_string(),
            percent(kept, total),
            name.to_owned(),
        ]);
    }
    aligned(&rows)
}

/// Name, needed, kept.
pub(super) fn measures(needed: Needed) -> [(&'static str, u64, u64); 3] {
    [
        ("A_must", needed.total, needed.kept),
        ("A_ctx", needed.total, needed.in_context),
        ("A_ctxfar", needed.far, needed.far_in_context),
    ]
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
    for item in score.items.iter().filter(|item| listed.has(item.standing)) {
        let (class, text) = (item.class.as_str(), printable(&item.text));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{class}\t{}\t{text}", item.line);
    }
    out
}
