//! What "option 1" was: the numbered offers of an earlier message.

use std::sync::LazyLock;

use regex::Regex;

use ctx_ledger::sentence::without_marker;
use ctx_ledger::text::{cut, plain_line, regex};

use crate::settle::bare;

/// An offer is quoted up to so many characters.
const LONGEST: usize = 160;
/// A shorter one has the lines below it.
const SHORT: usize = 40;
/// More numbered lines are steps or findings, not offers.
const MOST: usize = 9;

/// The offers of the last message that made some.
#[derive(Debug, Default)]
pub(crate) struct Options {
    offers: Vec<(String, String)>,
    /// Whether nothing was said since.
    is_last: bool,
}

impl Options {
    /// Reads a text of the model's: two numbered lines or more replace what was offered before.
    pub(crate) fn read(&mut self, text: &str) {
        static OFFER: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"(?i)^\s*(?:[-*#]+\s+)?(?:\*\*)?(?:(?:option|approach|plan|variant|alternative|solution|choice|方案|选项)\s*([1-9A-F一二三四])\b?|([1-9]))(?:\*\*)?\s*[.):：、–—-]+(?:\*\*)?\s*(.*)$",
            )
        });
        static LABEL: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"(?i)^\**(?:option|approach|plan|variant|alternative|solution|choice)\s*[1-9A-F]\b[*:：\s]*",
            )
        });
        let mut lines = text.lines().peekable();
        let offers = std::iter::from_fn(|| {
            loop {
                let line = lines.next()?;
                let Some(found) = OFFER.captures(line) else {
                    continue;
                };
                let label = plain_label(found.get(1).or(found.get(2))?.as_str());
                let mut offer = plain_line(without_marker(LABEL.replace(&found[3], "").trim()).1);
                // A title such as "**Flight 1:** DEN to LAS" stands over what it is.
                while offer.chars().count() < SHORT
                    && let Some(below) = lines.peek()
                    && belongs(below, &offer)
                    && OFFER.captures(below).is_none()
                {
                    let below = plain_line(without_marker(below.trim()).1);
                    let joint = if offer.is_empty() || offer.ends_with([':', '*']) {
                        " "
                    } else {
                        ", "
                    };
                    let title = offer.trim_end_matches('*');
                    offer = plain_line(&format!("{title}{joint}{below}"));
                    lines.next();
                }
                return Some((label, offer));
            }
        });
        let offers: Vec<_> = offers.take(MOST + 1).collect();
        self.is_last = (2..=MOST).contains(&offers.len());
        if self.is_last {
            self.offers = offers;
        }
    }

    /// The text with what the option was that it names: `let's do option 1 [1: keep it]`.
    pub(crate) fn resolve(&self, text: &str) -> Option<String> {
        static NAMED: LazyLock<Regex> = LazyLock::new(|| {
            regex(
                r"(?i)\b(?:option|approach|plan|variant|alternative|solution|choice) (?:#|number |no\. ?)?([1-9A-F]|one|two|three|four)\b|(?:方案|选项)([一二三四1-9A-F])",
            )
        });
        let found = NAMED.captures(text)?;
        let label = found.get(1).or(found.get(2))?.as_str();
        self.with(text, label)
    }

    /// A whole answer that is a number, or begins with one: `1`, `2. but keep the name`.
    pub(crate) fn answer(&self, text: &str) -> Option<String> {
        static ANSWER: LazyLock<Regex> =
            LazyLock::new(|| regex(r"(?i)^\s*([1-9A-F])(?:[.)、,:]\s*[^\n]{0,120})?\s*$"));
        let found = ANSWER.captures(text).filter(|_| self.is_last)?;
        self.with(text, &found[1])
    }

    fn with(&self, text: &str, label: &str) -> Option<String> {
        let label = plain_label(label);
        // Findings may be numbered before the offers.
        let (_, offer) = self.offers.iter().rev().find(|(of, _)| *of == label)?;
        let offer = cut(offer.clone(), LONGEST);
        // It says already what it is.
        let is_told = bare(&offer).len() > 8 && bare(text).contains(&bare(&offer));
        (!is_told).then(|| format!("{} [{label}: {offer}]", plain_line(text)))
    }
}

/// Whether a line below an offer tells more of it.
fn belongs(below: &str, offer: &str) -> bool {
    let is_below = below.starts_with([' ', '\t']) || without_marker(below).0;
    !below.trim().is_empty() && (is_below || offer.is_empty() || offer.ends_with([':', '：']))
}

/// One label for one option: `one`, `一` and `1`.
fn plain_label(label: &str) -> String {
    match label.to_lowercase().as_str() {
        "one" | "一" => "1".to_owned(),
        "two" | "二" => "2".to_owned(),
        "three" | "三" => "3".to_owned(),
        "four" | "四" => "4".to_owned(),
        other => other.to_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn offered(text: &str) -> Options {
        let mut options = Options::default();
        options.read(text);
        options
    }

    #[test]
    fn an_option_is_what_it_was() {
        let options = offered("Two ways:\n1. **Reset** the index\n2. Clone it again\n");
        let resolved = |text| options.resolve(text);
        assert_eq!(
            resolved("let's go with option 2").as_deref(),
            Some("let's go with option 2 [2: Clone it again]")
        );
        assert_eq!(
            options.answer("1. it came twice now").as_deref(),
            Some("1. it came twice now [1: **Reset** the index]")
        );
        assert_eq!(resolved("let's go with option 3"), None);
        assert_eq!(options.answer("1. one\n2. two"), None);
        assert_eq!(options.answer("12"), None);
    }

    #[test]
    fn an_offer_may_stand_below_its_number() {
        let options = offered("**Option 1:**\n- Flight HAT1\n\n**Option 2:**\n- Flight HAT2");
        assert_eq!(
            options.resolve("I'll go with Option 1.").as_deref(),
            Some("I'll go with Option 1. [1: Flight HAT1]")
        );
    }

    /// 16: a title alone says nothing; a question below the last offer is no part of it.
    #[test]
    fn a_short_offer_has_the_lines_below_it() {
        let text = "### Option 1:\n1. **Flight 1:** DEN to LAS\n   - Number: HAT229\n\n### Option 2:\n2. Stay\nWhich one?";
        let options = offered(text);
        assert_eq!(
            options.resolve("I'll go with option 1").as_deref(),
            Some("I'll go with option 1 [1: **Flight 1:** DEN to LAS, Number: HAT229]")
        );
        assert_eq!(
            options.resolve("do option 2").as_deref(),
            Some("do option 2 [2: Stay]")
        );
    }

    #[test]
    fn later_offers_replace_earlier_ones_and_one_line_offers_nothing() {
        let mut options = offered("Option A: keep it\nOption B: drop it");
        options.read("1. only one line");
        assert!(
            options
                .resolve("do option B")
                .is_some_and(|text| text.ends_with("[B: drop it]"))
        );
        options.read("方案一：用 SQLite\n方案二：用 Redis");
        assert_eq!(options.resolve("do option B"), None);
        assert_eq!(
            options.resolve("选方案二").as_deref(),
            Some("选方案二 [2: 用 Redis]")
        );
    }
}
