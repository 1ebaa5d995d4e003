//! Tables for people: aligned columns, numbers first, without a heading, like wc.

use std::fmt::Write;

use crate::printable;

/// `71.3%`; `-` of nothing.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", part as f64 * 100.0 / whole as f64)
}

/// Columns to the right, the last one, a name, to the left and unpadded.
pub fn aligned(rows: &[Vec<String>]) -> String {
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

/// Lines of a label and its value.
pub fn labelled(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
    let rows = rows.iter();
    let rows = rows.map(|(what, value)| format!("  {what:<width$}  {}\n", printable(value)));
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::{aligned, labelled, percent};

    #[test]
    fn values_stand_below_each_other_behind_what_they_are() {
        let rows = [("a", "1".to_owned()), ("long", "x\u{1b}y".to_owned())];
        assert_eq!(labelled(&rows), "  a     1\n  long  x\\u{1b}y\n");
    }

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
