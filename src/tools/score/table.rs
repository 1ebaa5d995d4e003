//! The table for people: aligned columns, numbers first, as in ctx-count.

use std::fmt::Write;

use ctx_cli::{aligned, percent, printable};
use ctx_engine::score::{BatchScore, Listed, Mark, Measure, measures, recall};
use ctx_format::counted;
use ctx_summary::ledger::score::{Needed, Row, Score};

/// The classes with items and the share that was kept; then the values needed later, and the
/// questions.
pub(super) fn of(score: &Score, needed: Option<Needed>, marks: Option<&[Mark<'_>]>) -> String {
    let mut shown = of_rows(&score.rows(), score.items_kept());
    if let Some(needed) = needed {
        shown.push('\n');
        shown.push_str(&of_needed(needed));
    }
    if let Some(marks) = marks {
        shown.push('\n');
        shown.push_str(&of_marks(marks));
    }
    shown
}

/// The table of a batch: sums, means, and the conversation with the lowest score.
pub(super) fn of_batch(score: &BatchScore) -> String {
    let mut shown = of_rows(&score.rows(), score.items_kept());
    let _ = write!(shown, "\n{} scored", counted(score.scored, "conversation"));
    if let Some((line, kept)) = score.least {
        let _ = write!(shown, ", the least kept is {kept:.3}, in line {line}");
    }
    if score.failed > 0 {
        let _ = write!(shown, "; {} could not be scored", score.failed);
    }
    shown.push('\n');
    shown
}

fn of_rows(classes: &[Row; 8], items_kept: f64) -> String {
    let mut rows = vec![heading("total retained recoverable lost score class")];
    let mut sums = [0; 4];
    for row in classes.iter().filter(|row| row.total > 0) {
        let counts = [row.total, row.retained, row.recoverable, row.lost];
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        rows.push(line(counts, row.score, row.class.as_str()));
    }
    rows.push(line(sums, Some(items_kept), "items kept"));
    aligned(&rows)
}

fn of_needed(needed: Needed) -> String {
    let mut rows = vec![heading("needed kept share measure")];
    for Measure { name, needed, kept, .. } in measures(needed) {
        rows.push(vec![
            needed.to_string(),
            kept.to_string(),
            percent(kept, needed),
            name.to_owned(),
        ]);
    }
    aligned(&rows)
}

fn of_marks(marks: &[Mark<'_>]) -> String {
    let mut rows = vec![heading("questions answerable kept share category")];
    for row in recall(marks) {
        rows.push(vec![
            row.questions.to_string(),
            row.answerable.to_string(),
            row.kept.to_string(),
            percent(row.kept, row.answerable),
            row.category.map_or("evidence recall".to_owned(), printable),
        ]);
    }
    aligned(&rows)
}

/// Mark, id, category and question, with tabs between.
pub(super) fn questions(marks: &[Mark<'_>]) -> String {
    let mut out = String::new();
    for mark in marks {
        let question = mark.question;
        let told = [&question.id, &question.category, &question.question];
        let [id, category, words] = told.map(|text| printable(text));
        let _ = writeln!(out, "{}\t{id}\t{category}\t{words}", mark.sign());
    }
    out
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
