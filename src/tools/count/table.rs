//! What people read: aligned columns, numbers first, without a heading, like wc.

use std::fmt::Write;

use ctx_cli::printable;
use ctx_tokens::Model;

use super::breakdown::By;
use super::counted::Counted;

/// `messages tokens bytes [share] name`, and the total of several.
pub(super) fn of_files(files: &[Counted], model: Option<&Model>) -> String {
    let total = total(files);
    let mut rows: Vec<Vec<String>> = Vec::with_capacity(files.len() + 1);
    for file in files.iter().chain(total.as_ref()) {
        let tokens = file.tally.tokens().total();
        let mut row = vec![
            file.tally.messages().to_string(),
            tokens.to_string(),
            file.bytes.to_string(),
        ];
        if let Some(model) = model {
            row.push(percent(tokens, model.window));
        }
        row.push(name_of(file));
        rows.push(row);
    }
    if let (Some(row), Some(_), Some(_)) = (rows.last_mut(), &total, model) {
        // Sessions are sent one by one: together they fill no window.
        "-".clone_into(&mut row[3]);
    }
    aligned(&rows)
}

/// `tokens name`, and the total of several.
pub(super) fn of_texts(files: &[Counted]) -> String {
    let total = total(files);
    let rows: Vec<Vec<String>> = files
        .iter()
        .chain(total.as_ref())
        .map(|file| vec![file.tally.tokens().total().to_string(), name_of(file)])
        .collect();
    aligned(&rows)
}

/// `count tokens share what`, of all files together, and the total.
pub(super) fn of_breakdown(by: By, files: &[Counted]) -> String {
    let tally = Counted::total(files).tally;
    let all = tally.tokens().total();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut count = 0;
    for (key, share) in by.rows(&tally) {
        count += share.count;
        rows.push(vec![
            share.count.to_string(),
            share.tokens.to_string(),
            percent(share.tokens, all),
            printable(&key),
        ]);
    }
    rows.push(vec![
        count.to_string(),
        all.to_string(),
        percent(all, all),
        "total".to_owned(),
    ]);
    aligned(&rows)
}

/// The line of the total; none for a single file.
fn total(files: &[Counted]) -> Option<Counted> {
    (files.len() > 1).then(|| Counted::total(files))
}

fn name_of(file: &Counted) -> String {
    if file.named {
        printable(&file.name)
    } else {
        String::new()
    }
}

/// `71.3%`; `-` of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", part as f64 * 100.0 / whole as f64)
}

/// Columns to the right, the last one, a name, to the left and unpadded.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, |row| row.len() - 1);
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell:>width$} ");
        }
        line.push_str(&row[columns]);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{aligned, percent};

    #[test]
    fn numbers_stand_right_and_names_left() {
        let rows = [
            ["7", "1200", "a.jsonl"].map(str::to_owned).to_vec(),
            ["12", "9", ""].map(str::to_owned).to_vec(),
        ];
        assert_eq!(aligned(&rows), " 7 1200 a.jsonl\n12    9\n");
        assert_eq!(aligned(&[]), "");
    }

    #[test]
    fn shares_have_one_decimal_and_nothing_has_none() {
        assert_eq!(percent(1, 3), "33.3%");
        assert_eq!(percent(0, 0), "-");
    }
}
