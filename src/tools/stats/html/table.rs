//! Tables of the page.

use std::fmt::Write;

/// A column: its heading, and whether it has numbers.
pub(super) type Column = (&'static str, bool);

/// A table, whose cells are HTML already.
pub(super) struct Table {
    caption: &'static str,
    columns: Vec<Column>,
    rows: String,
    /// Sums, which stay where they are when the rows are sorted.
    sums: String,
    count: usize,
}

impl Table {
    pub(super) fn new(caption: &'static str, columns: &[Column]) -> Self {
        Self {
            caption,
            columns: columns.to_vec(),
            rows: String::new(),
            sums: String::new(),
            count: 0,
        }
    }

    /// The next row; its first cell is its heading.
    pub(super) fn push(&mut self, cells: &[String]) {
        self.push_with("", cells);
    }

    /// The same with attributes, each with a blank before it.
    pub(super) fn push_with(&mut self, attributes: &str, cells: &[String]) {
        self.count += 1;
        let row = self.row(attributes, cells);
        self.rows.push_str(&row);
    }

    /// A row of sums.
    pub(super) fn push_sum(&mut self, cells: &[String]) {
        let row = self.row("", cells);
        self.sums.push_str(&row);
    }

    fn row(&self, attributes: &str, cells: &[String]) -> String {
        let mut row = format!("<tr{attributes}>");
        for (number, (cell, (_, is_number))) in cells.iter().zip(&self.columns).enumerate() {
            let class = if *is_number { " class=\"n\"" } else { "" };
            let (tag, scope) = if number == 0 {
                ("th", " scope=\"row\"")
            } else {
                ("td", "")
            };
            let _ = write!(row, "<{tag}{scope}{class}>{cell}</{tag}>");
        }
        row.push_str("</tr>\n");
        row
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The table; a script makes its headings buttons that sort it.
    pub(super) fn html(self, class: &str) -> String {
        let mut head = String::new();
        for (heading, is_number) in &self.columns {
            let class = if *is_number { " class=\"n\"" } else { "" };
            let _ = write!(head, "<th scope=\"col\"{class}>{heading}</th>");
        }
        let sums = match self.sums.as_str() {
            "" => String::new(),
            sums => format!("<tfoot>\n{sums}</tfoot>"),
        };
        // What is wider than the screen is scrolled here, also by keys.
        format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table class=\"{class}\"><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody>{sums}</table></div>\n",
            caption = self.caption,
            rows = self.rows,
        )
    }
}
