//! `--html`: one page that shows where the window of each session goes.
//!
//! The page needs nothing but itself, and says so to the browser: its policy lets no other
//! style and no other script in than the two that are in it, by their hashes, and loads nothing.
//! Its markup is in `page.html`, a template into which all text is written escaped.

mod chart;
mod section;
mod subject;

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ctx_cli::{Failure, percent, printable, xml};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior, context};
use sha2::{Digest, Sha256};

use self::section::section;
use self::subject::Subject;
use super::status::StatusRequest;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page of all sessions that could be read, and the failures of the others.
pub(super) fn page(
    operands: &[PathBuf],
    request: StatusRequest<'_>,
) -> (Option<String>, Vec<Failure>) {
    let (mut sections, mut failures) = (Vec::new(), Vec::new());
    for operand in operands {
        match Subject::look_at(operand, request) {
            Ok(subject) => sections.push(section(&subject)),
            Err(failure) => failures.push(failure),
        }
    }
    let page = (!sections.is_empty()).then(|| rendered(sections));
    (page, failures)
}

fn rendered(sections: Vec<Value>) -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    let page = context! {
        style => STYLE,
        style_hash => hash(STYLE),
        script => SCRIPT,
        script_hash => hash(SCRIPT),
        sections,
    };
    let page = environment().render_named_str("page.html", include_str!("page.html"), page);
    page.expect("tests render every part of the template")
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    // Lines that only have tags leave nothing in the page.
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .keep_trailing_newline(true)
            .build()
            .expect("valid"),
    );
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_formatter(|out, _, value| {
        let shown = value.to_string();
        out.write_str(&if value.is_safe() { shown } else { text(&shown) })?;
        Ok(())
    });
    environment.add_filter("n", number);
    environment.add_filter("counted", counted);
    environment.add_filter("percent", percent);
    environment.add_filter("fixed", |number: f64, decimals: usize| format!("{number:.decimals$}"));
    environment
}

/// Text that is not ours, for an element or an attribute: whatever it holds, it is text, and no
/// control character is left in it.
fn text(text: &str) -> String {
    xml(&printable(text))
}

/// `30,282`
fn number(number: u64) -> String {
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

/// `1 token`, `30,282 tokens`
fn counted(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", number(count))
}

#[cfg(test)]
mod tests {
    use super::{counted, number, text};

    /// No text of a transcript becomes an element, ends an attribute or reorders the page.
    #[test]
    fn whatever_a_text_holds_it_is_text() {
        assert_eq!(
            text("</title><script>alert(\"1\")</script>&amp;"),
            "&lt;/title&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;"
        );
        assert_eq!(text("a\0\u{1b}[2J\u{202e}b\n"), "a\\u{0}\\u{1b}[2J\\u{202e}b\\n");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        let grouped = [0, 999, 1_000, 123_456, 1_234_567].map(number);
        assert_eq!(grouped, ["0", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!([1, 2].map(|count| counted(count, "token")), ["1 token", "2 tokens"]);
    }
}
