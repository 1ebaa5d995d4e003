//! Text in the page.

use ctx_cli::{printable, xml};

/// Text that is not ours, for an element or an attribute: whatever it holds, it is text, and no
/// control character is left in it.
pub(super) fn text(text: &str) -> String {
    xml(&printable(text))
}

/// The same where it is of a transcript: letters that are written from right to left do not
/// turn what stands beside them.
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

#[cfg(test)]
mod tests {
    use super::{number, quoted, text, tokens};

    /// 16: no text of a transcript becomes an element, ends an attribute or turns the page.
    #[test]
    fn whatever_a_text_holds_it_is_text() {
        assert_eq!(
            text("</title><script>alert(\"1\")</script>&amp;"),
            "&lt;/title&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;"
        );
        assert_eq!(
            text("a\0\u{1b}[2J\u{202e}b\n"),
            "a\\u{0}\\u{1b}[2J\\u{202e}b\\n"
        );
        assert_eq!(quoted("<b>日本"), "<bdi>&lt;b&gt;日本</bdi>");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        let grouped = [0, 999, 1_000, 123_456, 1_234_567].map(number);
        assert_eq!(grouped, ["0", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!([1, 2].map(tokens), ["1 token", "2 tokens"]);
    }
}
