//! Texts and tables of the page.

use std::fmt::Write;

use ctx_cli::{printable, xml};

/// Text that is not ours, for an element or an attribute: whatever it holds, it is text, and no
/// control character is left in it.
pub(super) fn text(text: &str) -> String {
    xml(&printable(text))
}

/// Text of a transcript: right-to-left letters must not reorder the text around it.
pub(super) fn quoted(words: &str) -> String {
    format!("<bdi>{}</bdi>", text(words))
}

/// `30,282`
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `30,282 tokens`
pub(super) fn tokens(count: u64) -> String {
    things(count, "token")
}

/// `1 line`, `2,000 lines`
pub(super) fn things(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", number(count))
}

/// A table, whose cells are HTML already.
pub(super) struct Table {
    caption: &'static str,
    /// The headings.
    head: String,
    /// Whether each column has numbers.
    is_number: Vec<bool>,
    rows: String,
    /// The rows of sums, which sorting does not move.
    sums: String,
}

/// The attribute of a cell, if it has a number.
fn class(is_number: bool) -> &'static str {
    if is_number { " class=\"n\"" } else { "" }
}

impl Table {
    /// No rows yet but the heading: the names of the columns with `|` between them, and `>` before
    /// those of numbers.
    pub(super) fn new(caption: &'static str, heading: &str) -> Self {
        let is_number: Vec<bool> = heading.split('|').map(|name| name.starts_with('>')).collect();
        let names = heading.split('|').map(|name| name.strip_prefix('>').unwrap_or(name));
        let head = names
            .zip(&is_number)
            .map(|(name, is_number)| format!("<th scope=\"col\"{}>{name}</th>", class(*is_number)));
        let head = head.collect();
        Self { caption, head, is_number, rows: String::new(), sums: String::new() }
    }

    /// The next row; its first cell is its heading.
    pub(super) fn push(&mut self, cells: &[String]) {
        self.push_with("", cells);
    }

    /// Adds a row with attributes, each preceded by a blank.
    pub(super) fn push_with(&mut self, attributes: &str, cells: &[String]) {
        self.rows += &self.row(attributes, cells);
    }

    /// A row of sums.
    pub(super) fn push_sum(&mut self, cells: &[String]) {
        self.sums += &self.row("", cells);
    }

    fn row(&self, attributes: &str, cells: &[String]) -> String {
        let mut row = format!("<tr{attributes}>");
        for (number, (cell, is_number)) in cells.iter().zip(&self.is_number).enumerate() {
            let class = class(*is_number);
            let (tag, scope) = if number == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let _ = write!(row, "<{tag}{scope}{class}>{cell}</{tag}>");
        }
        row.push_str("</tr>\n");
        row
    }

    /// The table behind `before`; nothing if it has no rows.
    pub(super) fn unless_empty(self, before: &str, class: &str) -> String {
        if self.rows.is_empty() { String::new() } else { before.to_owned() + &self.html(class) }
    }

    /// The table; a script makes its headings buttons that sort it.
    pub(super) fn html(self, class: &str) -> String {
        let Self { caption, head, rows, sums, .. } = self;
        let sums = if sums.is_empty() { sums } else { format!("<tfoot>\n{sums}</tfoot>") };
        // Content wider than the screen can be scrolled here, also by keys.
        format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table class=\"{class}\"><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody>{sums}</table></div>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{number, quoted, text, tokens};

    /// No text of a transcript becomes an element, ends an attribute or reorders the page.
    #[test]
    fn whatever_a_text_holds_it_is_text() {
        assert_eq!(
            text("</title><script>alert(\"1\")</script>&amp;"),
            "&lt;/title&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;"
        );
        assert_eq!(text("a\0\u{1b}[2J\u{202e}b\n"), "a\\u{0}\\u{1b}[2J\\u{202e}b\\n");
        assert_eq!(quoted("<b>日本"), "<bdi>&lt;b&gt;日本</bdi>");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        let grouped = [0, 999, 1_000, 123_456, 1_234_567].map(number);
        assert_eq!(grouped, ["0", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!([1, 2].map(tokens), ["1 token", "2 tokens"]);
    }
}
