//! What stands in the place of a result: a text that names the file.

use std::str::FromStr;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// A text with a place for the path of a file, and others for what is known of it.
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    /// Matches what [`Template::fill`] writes.
    matcher: Regex,
}

/// The places in a template.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{(?:path|sha256|tokens|bytes)\}").expect("a pattern of our own")
});

/// What a template says of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileFacts<'a> {
    pub(super) path: &'a str,
    pub(super) sha256: &'a str,
    pub(super) tokens: u64,
    pub(super) bytes: u64,
}

impl Template {
    /// What `ctx-offload` writes unless it is told otherwise.
    pub const DEFAULT: &'static str = "Tool result is at: {path}";

    /// The reference to a file.
    pub(super) fn fill(&self, file: &FileFacts<'_>) -> String {
        let fact = |place: &Captures<'_>| match &place[0] {
            "{path}" => file.path.to_owned(),
            "{sha256}" => file.sha256.to_owned(),
            "{tokens}" => file.tokens.to_string(),
            _ => file.bytes.to_string(),
        };
        PLACE.replace_all(&self.text, fact).into_owned()
    }

    /// The path in a text that is a reference and nothing more.
    pub(super) fn path_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let found = self.matcher.captures(text)?.name("path")?;
        Some(found.as_str())
    }
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.matches("{path}").count() != 1 {
            return Err("expected {path} once: without it nobody finds the file".to_owned());
        }
        let mut pattern = "^".to_owned();
        let mut end = 0;
        for place in PLACE.find_iter(text) {
            pattern.push_str(&regex::escape(&text[end..place.start()]));
            pattern.push_str(match place.as_str() {
                "{path}" => r"(?P<path>[^\n]+?)",
                "{sha256}" => "[0-9a-f]{64}",
                _ => "[0-9]+",
            });
            end = place.end();
        }
        pattern.push_str(&regex::escape(&text[end..]));
        pattern.push('$');
        Ok(Self {
            text: text.to_owned(),
            matcher: Regex::new(&pattern).map_err(|error| error.to_string())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{FileFacts, Template};

    const FACTS: FileFacts<'_> = FileFacts {
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
                "see {path} {{bytes}}",
                "see /s/offloaded/demo/x y.txt {9021}",
            ),
            (
                "a.c {x} {}\n{path} {sha256} {tokens}{bytes}",
                "a.c {x} {}\n/s/offloaded/demo/x y.txt 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 23019021",
            ),
        ] {
            let template: Template = template.parse().expect(template);
            assert_eq!(template.fill(&FACTS), text);
            assert_eq!(template.path_in(text), Some(FACTS.path));
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
