//! Tables like those of `ls -l` and `docker ps`, with a heading, aligned columns and short numbers.
//! Lines are cut at the edge of the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{Io, Paint, printable};

/// A table with a heading. The caller must escape all characters that could control a terminal.
pub struct Listing {
    /// For each column, true if it is right-aligned, as columns of numbers are.
    is_right: Vec<bool>,
    rows: Vec<Vec<Cell>>,
    /// The number of spaces between two columns.
    gap: usize,
}

/// The text of a cell, and its colour, if any.
pub type Cell = (String, Option<Paint>);

impl Listing {
    /// Creates a table that has only a heading: the names of the columns, separated by `|`. A
    /// column whose name begins with `>` is right-aligned, as columns of numbers usually are.
    pub fn new(heading: &str) -> Self {
        let column = |name: &str| {
            let text = name.trim_start_matches('>');
            ((text.to_owned(), Some(Paint::Bold)), text != name)
        };
        let (names, is_right) = heading.split('|').map(column).unzip();
        Self { is_right, rows: vec![names], gap: 2 }
    }

    /// Adds a row, which must have a cell for each column.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.push_painted(row.into_iter().map(|text| (text, None)).collect());
    }

    /// Adds a row of coloured cells.
    pub fn push_painted(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.is_right.len());
        self.rows.push(row);
    }

    /// Returns the table as text. If `most` is given, lines are cut to `most` columns.
    pub fn text(&self, most: Option<usize>) -> String {
        self.lines(most, |_, text| text.to_owned())
    }

    /// Returns the table for a terminal, in colour if stdout is coloured.
    pub fn painted(&self, most: Option<usize>, io: &Io) -> String {
        self.lines(most, |paint, text| io.paint(paint, text))
    }

    /// Returns the table for a terminal that is `columns` wide. `None` means a pipe; the heading is
    /// then left out, because scripts read the first word of each line.
    pub fn for_stdout(mut self, columns: Option<usize>) -> String {
        if columns.is_none() {
            self.rows.remove(0);
        }
        self.text(columns)
    }

    /// Returns only the rows, with one space between the columns.
    pub fn narrow(mut self) -> String {
        self.rows.remove(0);
        self.gap = 1;
        self.text(None)
    }

    fn lines(&self, most: Option<usize>, paint: impl Fn(Option<Paint>, &str) -> String) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].0.width());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.is_right.len()).map(width).collect();
        let mut out = String::new();
        for row in &self.rows {
            for (text, colour) in self.line(row, &widths, most) {
                out.push_str(&paint(colour, &text));
            }
            out.push('\n');
        }
        out
    }

    /// Returns the line for a row, split into single-colour pieces.
    fn line(&self, row: &[Cell], widths: &[usize], most: Option<usize>) -> Vec<Cell> {
        let mut pieces: Vec<Cell> = Vec::new();
        let blank = |columns: usize| (" ".repeat(columns), None);
        for (at, (text, colour)) in row.iter().enumerate() {
            let gap = if at > 0 { self.gap } else { 0 };
            let space = widths[at] - text.width();
            let cell = (text.clone(), *colour);
            if self.is_right[at] {
                pieces.extend([blank(gap + space), cell]);
            } else {
                pieces.extend([blank(gap), cell, blank(space)]);
            }
        }
        while pieces.last().is_some_and(|(text, _)| text.trim_end().is_empty()) {
            pieces.pop();
        }
        if let Some((last, _)) = pieces.last_mut() {
            last.truncate(last.trim_end().len());
        }
        match most {
            Some(most) => cut_pieces(pieces, most),
            None => pieces,
        }
    }
}

/// Cuts a line, given in pieces, to `most` columns in total. The cut is marked with `…`.
fn cut_pieces(pieces: Vec<Cell>, most: usize) -> Vec<Cell> {
    let width = |pieces: &[Cell]| pieces.iter().map(|(text, _)| text.width()).sum::<usize>();
    if width(&pieces) <= most {
        return pieces;
    }
    let mut kept: Vec<Cell> = Vec::new();
    for (text, colour) in pieces {
        let left = most - width(&kept);
        // The `…` that marks the cut takes up a column.
        if text.width() >= left {
            kept.push((cut_to_width(&(text + "  "), left), colour));
            break;
        }
        kept.push((text, colour));
    }
    kept
}

/// Cuts the text to `most` columns. The cut is marked with `…`.
pub fn cut_to_width(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(1);
    let fits = |c: &char| {
        let rest = left.checked_sub(c.width().unwrap_or(0));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let begin: String = text.chars().take_while(fits).collect();
    begin + "…"
}

/// Formats rows that consist of right-aligned numbers and a name in the last column.
pub fn aligned(rows: Vec<Vec<String>>) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let is_right = (1..=columns).map(|column| column < columns).collect();
    let mut listing = Listing { is_right, rows: Vec::new(), gap: 1 };
    for row in rows {
        listing.push(row);
    }
    listing.text(None)
}

/// Formats each label and its value on a separate line, with the values aligned.
pub fn labelled<S: AsRef<str>>(rows: &[(S, String)]) -> String {
    let width = rows.iter().map(|(what, _)| what.as_ref().len()).max().unwrap_or(0);
    let row = |(what, value): &(S, String)| {
        format!("  {:<width$}  {}\n", what.as_ref(), printable(value))
    };
    rows.iter().map(row).collect()
}

/// A segment of the bar drawn by [`bar`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The character that fills the segment; it is one column wide.
    pub fill: char,
    /// The colour, if any.
    pub paint: Option<Paint>,
    /// The amount that the segment's length represents.
    pub amount: u64,
}

/// Draws a bar that is `columns` wide and is divided among the portions. `paint` colours each
/// portion. If there are enough columns, every portion that is not 0 is at least one column wide.
pub fn bar(
    portions: &[Portion],
    columns: usize,
    paint: impl Fn(Option<Paint>, &str) -> String,
) -> String {
    let drawn = portions.iter().zip(widths(portions, columns)).filter(|(_, width)| *width > 0);
    let drawn = drawn.map(|(portion, width)| {
        let filled: String = std::iter::repeat_n(portion.fill, width).collect();
        paint(portion.paint, &filled)
    });
    drawn.collect()
}

/// Returns the width of each portion in columns.
fn widths(portions: &[Portion], columns: usize) -> Vec<usize> {
    let all: u128 = portions.iter().map(|it| u128::from(it.amount)).sum();
    let share = |it: &Portion| {
        let exact = u128::from(it.amount) * columns as u128;
        usize::try_from(exact.checked_div(all).unwrap_or(0)).unwrap_or(columns)
    };
    let least = |it: &Portion| usize::from(it.amount > 0);
    let mut widths: Vec<usize> = portions.iter().map(|it| share(it).max(least(it))).collect();
    // Because of rounding and minimum widths, the sum may differ from `columns`. The difference is
    // added to or taken from the largest portions.
    loop {
        let sum: usize = widths.iter().sum();
        if all == 0 || sum == columns {
            return widths;
        }
        let largest = widths.iter_mut().max_by_key(|width| **width);
        match largest {
            Some(width) if sum < columns => *width += columns - sum,
            Some(width) if *width > 0 => *width -= 1,
            _ => return widths,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Listing, Portion, aligned, bar, labelled};

    #[test]
    fn columns_are_aligned_whatever_the_script_and_cut_at_the_edge() {
        let mut listing = Listing::new("NAME|>N|TITLE");
        for row in [["日志", "7", "a title"], ["ab", "1.2k", ""]] {
            listing.push(row.map(str::to_owned));
        }
        assert_eq!(listing.text(None), "NAME     N  TITLE\n日志     7  a title\nab    1.2k\n");
        assert_eq!(listing.text(Some(12)), "NAME     N …\n日志     7 …\nab    1.2k\n");
        assert_eq!(listing.text(Some(4)), "NAM…\n日…\nab …\n");
        assert_eq!(listing.for_stdout(None), "日志     7  a title\nab    1.2k\n");
    }

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
        assert_eq!(aligned(rows.to_vec()), " 7 1200 a.jsonl\n12    9\n");
        assert_eq!(aligned(Vec::new()), "");
    }

    fn drawn(amounts: &[u64], columns: usize) -> String {
        let portions: Vec<Portion> = ('a'..)
            .zip(amounts)
            .map(|(fill, amount)| Portion { fill, paint: None, amount: *amount })
            .collect();
        bar(&portions, columns, |_, text| text.to_owned())
    }

    /// The portions fill the whole bar, and even the smallest one is visible.
    #[test]
    fn a_bar_is_as_wide_as_it_is_asked_for() {
        assert_eq!(drawn(&[50, 25, 25], 8), "aaaabbcc");
        assert_eq!(drawn(&[1, 0, 999_999], 8), "accccccc");
        assert_eq!(drawn(&[1, 1, 1], 10), "aaabbbcccc");
        assert_eq!(drawn(&[u64::MAX, u64::MAX], 4), "aabb");
        assert_eq!(drawn(&[0, 0], 4), "");
        // Three portions do not fit into two columns.
        assert_eq!(drawn(&[1, 1, 1], 2).len(), 2);
    }
}
