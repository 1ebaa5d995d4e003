//! What stands in the place of a result: a text that names the file.

use std::fmt::Write;
use std::str::FromStr;

use regex::Regex;

/// A reference with places for the path and for sizes.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    /// Matches what [`Template::fill`] writes.
    matcher: Regex,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Slot(Slot),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Path,
    Sha256,
    Tokens,
    Bytes,
}

const SLOTS: [(&str, Slot, &str); 4] = [
    ("{path}", Slot::Path, r"[^\n]+?"),
    ("{sha256}", Slot::Sha256, "[0-9a-f]{64}"),
    ("{tokens}", Slot::Tokens, "[0-9]+"),
    ("{bytes}", Slot::Bytes, "[0-9]+"),
];

/// What a reference says of its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) path: &'a str,
    pub(crate) sha256: &'a str,
    pub(crate) tokens: u64,
    pub(crate) bytes: u64,
}

impl Template {
    pub(crate) const DEFAULT: &'static str = "Tool result is at: {path}";

    /// The reference to a file.
    pub(crate) fn fill(&self, named: &Named<'_>) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Slot(Slot::Path) => text.push_str(named.path),
                Piece::Slot(Slot::Sha256) => text.push_str(named.sha256),
                Piece::Slot(Slot::Tokens) => text.push_str(&named.tokens.to_string()),
                Piece::Slot(Slot::Bytes) => text.push_str(&named.bytes.to_string()),
            }
        }
        text
    }

    /// The path in a text that is a reference and nothing more.
    pub(crate) fn path_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.matcher.captures(text)?.name("path")?;
        Some(found.as_str())
    }
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pieces = pieces(text);
        let paths = pieces
            .iter()
            .filter(|piece| **piece == Piece::Slot(Slot::Path));
        if paths.count() != 1 {
            return Err("expected {path} once: without it nobody finds the file".to_owned());
        }
        let mut pattern = "^".to_owned();
        for piece in &pieces {
            match piece {
                Piece::Literal(literal) => pattern.push_str(&regex::escape(literal)),
                Piece::Slot(slot) => {
                    let (.., inner) = SLOTS[*slot as usize];
                    let name = if *slot == Slot::Path {
                        "?P<path>"
                    } else {
                        "?:"
                    };
                    let _ = write!(pattern, "({name}{inner})");
                }
            }
        }
        pattern.push('$');
        let matcher = Regex::new(&pattern).map_err(|error| error.to_string())?;
        Ok(Self { pieces, matcher })
    }
}

fn pieces(mut text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let next = SLOTS
            .iter()
            .filter_map(|(name, slot, _)| Some((text.find(name)?, name.len(), *slot)))
            .min_by_key(|(at, ..)| *at);
        let (at, length) = next.map_or((text.len(), 0), |(at, length, _)| (at, length));
        if at > 0 {
            pieces.push(Piece::Literal(text[..at].to_owned()));
        }
        pieces.extend(next.map(|(.., slot)| Piece::Slot(slot)));
        text = &text[at + length..];
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{Named, Template};

    const NAMED: Named<'_> = Named {
        path: "/s/offloaded/demo/x y.txt",
        sha256: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
        tokens: 2_301,
        bytes: 9_021,
    };

    #[test]
    fn what_is_written_is_read() {
        for (template, text) in [
            (
                Template::DEFAULT,
                "Tool result is at: /s/offloaded/demo/x y.txt",
            ),
            ("{path}", "/s/offloaded/demo/x y.txt"),
            (
                "[{tokens} tokens ({bytes} bytes) are in {path}]",
                "[2301 tokens (9021 bytes) are in /s/offloaded/demo/x y.txt]",
            ),
            (
                "a.c {x} {}\n{path} {sha256} {tokens}{bytes}",
                "a.c {x} {}\n/s/offloaded/demo/x y.txt 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 23019021",
            ),
        ] {
            let template: Template = template.parse().expect(template);
            assert_eq!(template.fill(&NAMED), text);
            assert_eq!(template.path_in(text), Some(NAMED.path));
        }
    }

    #[test]
    fn a_text_with_more_in_it_is_no_reference() {
        let template: Template = Template::DEFAULT.parse().expect("a template");
        for text in [
            "",
            "Tool result is at: ",
            "Tool result is at: /a\n/b",
            "Tool result is at: /a\n",
            " Tool result is at: /a",
            "tool result is at: /a",
        ] {
            assert_eq!(template.path_in(text), None, "{text}");
        }
    }

    #[test]
    fn a_template_names_the_path_once() {
        for bad in ["", "at {sha256}", "{path}{path}"] {
            assert!(bad.parse::<Template>().is_err(), "{bad}");
        }
    }
}
