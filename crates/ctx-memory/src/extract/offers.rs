//! Finds what "option 1" refers to among the numbered options that the model offered earlier.

use std::sync::LazyLock;

use ctx_summary::ledger::sentence::without_marker;
use ctx_text::{LazyRegex, plain_line, shorten};

use super::LISTS;
use super::reconcile::bare;

/// The maximum length of a quoted option, in characters.
const LONGEST: usize = 160;
/// An option with fewer characters than this is only a title, so the lines below it are appended.
const TITLE: usize = 40;
/// The maximum number of options in an offer. A longer numbered list probably contains steps or
/// findings rather than options.
const MOST: usize = 9;

static OFFER: LazyLock<LazyRegex> = LazyLock::new(|| LazyRegex::new(LISTS.pattern("offer")));
static LABEL: LazyLock<LazyRegex> = LazyLock::new(|| LazyRegex::new(LISTS.pattern("label")));
static REFERENCE: LazyLock<LazyRegex> = LazyLock::new(|| LISTS.hinted("reference"));
static ANSWER: LazyLock<LazyRegex> = LazyLock::new(|| LazyRegex::new(LISTS.pattern("answer")));

/// The options in the model's most recent offer.
#[derive(Debug, Default)]
pub(super) struct Offers {
    /// The label and the text of each option.
    options: Vec<(String, String)>,
    /// True if the options are in the model's last text, so that a label alone counts as an answer.
    are_latest: bool,
}

impl Offers {
    /// Finds the options offered in the model's text: at least two and at most [`MOST`] numbered
    /// lines.
    pub(super) fn of(text: &str) -> Self {
        let mut lines = text.lines().peekable();
        let mut options = Vec::new();
        while options.len() <= MOST
            && let Some(line) = lines.next()
        {
            if !may_offer(line) {
                continue;
            }
            let Some(found) = OFFER.groups(line) else { continue };
            let Some(label) = found[1].or(found[2]) else { break };
            let title = found[3].unwrap_or_default();
            let title = &title[LABEL.find(title).map_or(0, |label| label.end)..];
            let mut option = plain_line(without_marker(title.trim()).1);
            // The details of a title such as "**Flight 1:** DEN to LAS" are on the lines below it.
            while option.chars().count() < TITLE
                && let Some(below) = lines.peek()
                && belongs(below, &option)
                && !OFFER.is_match(below)
            {
                let below = plain_line(without_marker(below.trim()).1);
                let ends_open = option.is_empty() || option.ends_with([':', '*']);
                let joint = if ends_open { " " } else { ", " };
                let title = option.trim_end_matches('*');
                option = plain_line(&format!("{title}{joint}{below}"));
                lines.next();
            }
            options.push((normal_label(label), option));
        }
        Self { are_latest: (2..=MOST).contains(&options.len()), options }
    }

    /// Replaces the options if the model's next text offers new ones.
    pub(super) fn update(&mut self, next: Self) {
        if next.are_latest {
            *self = next;
        } else {
            self.are_latest = false;
        }
    }

    /// Appends to a sentence the option that it refers to: `let's do option 1 [1: keep it]`.
    pub(super) fn resolve(&self, sentence: &str) -> Option<String> {
        let found = REFERENCE.groups(sentence)?;
        self.append(sentence, found[1].or(found[2])?)
    }

    /// Appends the option to a message that consists of the option's label or begins with it.
    pub(super) fn answer(&self, text: &str) -> Option<String> {
        if !self.are_latest {
            return None;
        }
        self.append(text, ANSWER.groups(text)?[1]?)
    }

    fn append(&self, text: &str, label: &str) -> Option<String> {
        let label = normal_label(label);
        // Take the last match, because a numbered list of findings may precede the options.
        let (_, option) = self.options.iter().rfind(|(of, _)| *of == label)?;
        let option = shorten(option.clone(), LONGEST);
        let is_quoted = bare(&option).len() > 8 && bare(text).contains(&bare(&option));
        (!is_quoted).then(|| format!("{} [{label}: {option}]", plain_line(text)))
    }
}

/// Returns true if the first character of the line can begin an option. Checking one character is
/// faster than matching the pattern, and rejects most lines.
fn may_offer(line: &str) -> bool {
    let begin = line.trim_start_matches(|c: char| c.is_whitespace() || "-*#".contains(c));
    begin.starts_with(|c: char| c.is_ascii_digit() || !c.is_ascii() || "oOaApPvVsScC".contains(c))
}

/// Returns true if the line below an option belongs to the option.
fn belongs(below: &str, option: &str) -> bool {
    let is_indented = below.starts_with([' ', '\t']) || without_marker(below).0;
    let is_open = option.is_empty() || option.ends_with([':', '：']);
    !below.trim().is_empty() && (is_indented || is_open)
}

/// Normalizes a label: `one`, `一` and `1` become `1`.
fn normal_label(label: &str) -> String {
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
    use super::Offers;

    #[test]
    fn a_reference_gets_the_text_of_its_option() {
        let offers = Offers::of("Two ways:\n1. **Reset** the index\n2. Clone it again\n");
        let resolved = |text| offers.resolve(text);
        assert_eq!(
            resolved("let's go with option 2").as_deref(),
            Some("let's go with option 2 [2: Clone it again]")
        );
        assert_eq!(
            offers.answer("1. it came twice now").as_deref(),
            Some("1. it came twice now [1: **Reset** the index]")
        );
        assert_eq!(resolved("let's go with option 3"), None);
        assert_eq!(offers.answer("1. one\n2. two"), None);
        assert_eq!(offers.answer("12"), None);
    }

    #[test]
    fn an_option_may_be_below_its_number() {
        let offers = Offers::of("**Option 1:**\n- Flight HAT1\n\n**Option 2:**\n- Flight HAT2");
        assert_eq!(
            offers.resolve("I'll go with Option 1.").as_deref(),
            Some("I'll go with Option 1. [1: Flight HAT1]")
        );
    }

    /// The question below the last option is not part of the option.
    #[test]
    fn a_title_gets_the_lines_below_it() {
        let text = "### Option 1:\n1. **Flight 1:** DEN to LAS\n   - Number: HAT229\n\n### Option 2:\n2. Stay\nWhich one?";
        let offers = Offers::of(text);
        assert_eq!(
            offers.resolve("I'll go with option 1").as_deref(),
            Some("I'll go with option 1 [1: **Flight 1:** DEN to LAS, Number: HAT229]")
        );
        assert_eq!(offers.resolve("do option 2").as_deref(), Some("do option 2 [2: Stay]"));
    }

    #[test]
    fn later_options_replace_earlier_ones_and_one_line_offers_nothing() {
        let mut offers = Offers::of("Option A: keep it\nOption B: drop it");
        offers.update(Offers::of("1. only one line"));
        assert!(offers.resolve("do option B").is_some_and(|text| text.ends_with("[B: drop it]")));
        offers.update(Offers::of("方案一：用 SQLite\n方案二：用 Redis"));
        assert_eq!(offers.resolve("do option B"), None);
        assert_eq!(offers.resolve("选方案二").as_deref(), Some("选方案二 [2: 用 Redis]"));
    }
}
