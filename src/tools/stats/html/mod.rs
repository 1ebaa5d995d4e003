//! Implements `--html`: makes one page showing what fills each session's window.
//!
//! The page loads nothing from the network. The page's content security policy allows only its own
//! style and script, identified by their hashes. The markup is in `page.html`, a template that
//! escapes all text.

mod chart;
mod section;
mod session_data;

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ctx_cli::{Failure, printable, xml};
use minijinja::{Value, context};
use ring::digest::{SHA256, digest};

use self::section::section;
use self::session_data::SessionData;
use super::status::StatusRequest;
use crate::template::filled;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Returns the page about all readable sessions, and the failures for the others.
pub(super) fn page(
    operands: &[PathBuf],
    request: StatusRequest<'_>,
) -> (Option<String>, Vec<Failure>) {
    let (mut sections, mut failures) = (Vec::new(), Vec::new());
    for operand in operands {
        match SessionData::read(operand, request) {
            Ok(data) => sections.push(section(&data)),
            Err(failure) => failures.push(failure),
        }
    }
    let page = (!sections.is_empty()).then(|| rendered(sections));
    (page, failures)
}

fn rendered(sections: Vec<Value>) -> String {
    let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
    let page = context! {
        style => STYLE,
        style_hash => hash(STYLE),
        script => SCRIPT,
        script_hash => hash(SCRIPT),
        sections,
    };
    filled(include_str!("page.html"), text, page)
}

/// Escapes text from a session for an HTML element or attribute, so that it cannot be interpreted
/// as markup and contains no control characters.
fn text(text: &str) -> String {
    xml(&printable(text))
}

#[cfg(test)]
mod tests {
    use super::text;

    /// No text from a transcript becomes an element, ends an attribute or changes the direction of
    /// text on the page.
    #[test]
    fn whatever_a_text_holds_it_is_text() {
        assert_eq!(
            text("</title><script>alert(\"1\")</script>&amp;"),
            "&lt;/title&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;"
        );
        assert_eq!(text("a\0\u{1b}[2J\u{202e}b\n"), "a\\u{0}\\u{1b}[2J\\u{202e}b\\n");
    }
}
