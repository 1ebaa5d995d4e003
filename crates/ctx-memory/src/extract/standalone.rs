//! Makes a quoted sentence understandable outside its session.

use std::iter::Peekable;
use std::str::Lines as TextLines;
use std::sync::LazyLock;

use ctx_summary::ledger::patterns::{MemoryKind, QUOTE_MAX, Sentence};
use ctx_summary::ledger::sentence::{sentences, without_marker};
use ctx_text::{LazyRegex, WordSet, first_chars, plain_line, shorten};

use super::LISTS;

/// The maximum length of a line in bytes. A longer line is a paragraph, which is never quoted
/// whole.
const LONGEST_LINE: usize = 4 * QUOTE_MAX;

/// The text to keep for `sentence`; `None` if the sentence cannot be understood alone. `quoted` is
/// the sentence, shortened to [`QUOTE_MAX`] characters.
pub(super) fn standalone(
    kind: MemoryKind,
    quoted: &str,
    rules: &Sentence<'_>,
    sentence: &str,
    lines: &mut Lines<'_>,
) -> Option<String> {
    let is_remedy = is_remedy(quoted);
    if kind == MemoryKind::Fact && !is_remedy {
        return Some(without_interjection(quoted).to_owned());
    }
    // Keep the whole line if the sentence alone does not state a decision or a wish. Keep a remedy
    // together with the problem that it solves.
    let mut line = None;
    if is_remedy || !rules.is_a(kind) {
        line = lines.around(sentence);
    }
    let text = line.map_or_else(|| quoted.to_owned(), |line| without_lead_ins(&line, quoted));
    if !is_remedy || !self::is_remedy(&text) {
        return Some(without_interjection(&text).to_owned());
    }
    joined(&lines.parent()?, &text)
}

/// Lines of text, searched once from first to last.
pub(super) struct Lines<'t> {
    rest: Peekable<TextLines<'t>>,
    /// The list entries that enclose the current line, each with its indent.
    enclosing: Vec<(usize, &'t str)>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { rest: text.lines().peekable(), enclosing: Vec::new() }
    }

    /// Returns the line that contains a sentence, if the line is short enough to be quoted whole.
    /// Sentences must be looked up in the order in which they occur in the text.
    fn around(&mut self, sentence: &str) -> Option<String> {
        while let Some(line) = self.rest.peek().copied() {
            self.enter(line);
            if line.len() <= LONGEST_LINE {
                let plain = plain_line(without_marker(line.trim()).1);
                if plain.contains(sentence) {
                    return (plain.chars().count() <= QUOTE_MAX).then_some(plain);
                }
            } else if line.contains(sentence) {
                return None;
            }
            self.rest.next();
        }
        None
    }

    /// The list entry that encloses the line last found by [`Self::around`].
    fn parent(&self) -> Option<String> {
        let (_, line) = self.enclosing.iter().nth_back(1)?;
        Some(plain_line(without_marker(line.trim()).1))
    }

    fn enter(&mut self, line: &'t str) {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if text.is_empty() {
            return;
        }
        self.enclosing.retain(|(above, _)| *above < indent);
        if without_marker(text).0 && line.len() <= LONGEST_LINE {
            self.enclosing.push((indent, line));
        }
    }
}

/// Returns the line without the sentences that ask a question, announce a step or introduce what
/// follows. `quoted` is always kept.
fn without_lead_ins(line: &str, quoted: &str) -> String {
    static LEAD_IN: LazyLock<LazyRegex> = LazyLock::new(|| LISTS.hinted("lead-in"));
    let mut kept = sentences(line);
    kept.retain(|it| it.contains(quoted) || quoted.contains(it.as_str()) || !LEAD_IN.is_match(it));
    let kept = kept.join(" ");
    if kept.contains(quoted) { kept } else { quoted.to_owned() }
}

/// The text without an interjection at its start, such as `Ah!`.
fn without_interjection(text: &str) -> &str {
    static INTERJECTION: LazyLock<LazyRegex> = LazyLock::new(|| LISTS.hinted("interjection"));
    &text[INTERJECTION.find(text).map_or(0, |found| found.end)..]
}

/// Returns true if the sentence says how the problem in the list entry above it was solved.
fn is_remedy(text: &str) -> bool {
    static REMEDY: LazyLock<LazyRegex> = LazyLock::new(|| LISTS.hinted("remedy"));
    REMEDY.is_match(text)
}

/// Joins a problem and its remedy. `None` if the problem is only the title of a section.
fn joined(problem: &str, remedy: &str) -> Option<String> {
    static TITLE: LazyLock<LazyRegex> = LazyLock::new(|| LazyRegex::new(LISTS.pattern("title")));
    if TITLE.is_match(problem) {
        return None;
    }
    let problem = problem.trim_end_matches([':', '：', ' ']);
    let stop = if problem.ends_with(['.', '。', '!', '?']) { "" } else { "." };
    let room = QUOTE_MAX.saturating_sub(remedy.chars().count() + stop.len() + 1);
    Some(format!("{}{stop} {remedy}", shorten(problem.to_owned(), room)))
}

/// Returns true if the sentence expresses consent without saying to what: "Yes, please proceed with
/// the change."
pub(super) fn is_vague_consent(text: &str) -> bool {
    static VAGUE: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("vague"));
    static CONSENT: LazyLock<LazyRegex> = LazyLock::new(|| LISTS.hinted("consent"));
    let plain = text.replace('’', "'");
    let Some(consent) = CONSENT.groups(&plain) else { return false };
    let mut words = consent[1].unwrap_or_default().split(|c: char| !c.is_alphanumeric());
    words.all(|word| word.is_empty() || VAGUE.contains(&word.to_lowercase()))
}

/// The reason that a sentence gives: the text after `because`.
pub(super) fn reason(text: &str) -> Option<String> {
    static REASON: LazyLock<LazyRegex> = LazyLock::new(|| LISTS.hinted("reason"));
    Some(REASON.groups(text)?[1]?.trim_end_matches(['.', '。', '!', '！', ' ', '*']).to_owned())
}

/// The words in a rule that limit when or where it applies: `from now on`, `` in `tests/` ``,
/// `before you commit`.
pub(super) fn scope(rule: &str) -> Option<&str> {
    static SCOPE: LazyLock<LazyRegex> = LazyLock::new(|| LazyRegex::new(LISTS.pattern("scope")));
    let found = SCOPE.find(rule)?;
    let word = rule[found.clone()].split(' ').next().unwrap_or_default();
    let is_condition = CONDITIONS.split(' ').any(|begin| word.eq_ignore_ascii_case(begin));
    // A condition extends to the end of its clause. The pattern matches only the beginning of a
    // condition, because a pattern for whole conditions would be much larger.
    let rest = if is_condition { first_chars(&rule[found.end..], LONGEST_CONDITION) } else { "" };
    let more = rest.find([',', '.', ';', ':', '!', '?']).unwrap_or(rest.len());
    Some(rule[found.start..found.end + more].trim_end())
}

const CONDITIONS: &str = "when whenever while if unless until before after once except";
/// The maximum number of characters in a condition after the part matched by the pattern.
const LONGEST_CONDITION: usize = 56;

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;

    use super::{
        Lines, is_remedy, is_vague_consent, joined, scope, without_interjection, without_lead_ins,
    };

    #[test]
    fn a_sentence_is_found_in_its_line() {
        let long = "It is long. ".repeat(40);
        let text = format!("1. **`a.rs`.** It is over. Fine.\n{long}\n- last one. Yes.");
        let mut lines = Lines::of(&text);
        let first = Some("**`a.rs`.** It is over. Fine.");
        assert_eq!(lines.around("It is over.").as_deref(), first);
        assert_eq!(lines.around("Fine.").as_deref(), first);
        assert_eq!(lines.around("It is long."), None);
        assert_eq!(lines.around("last one.").as_deref(), Some("last one. Yes."));
        assert_eq!(lines.around("It is over."), None);
    }

    #[test]
    fn a_nested_list_entry_has_a_parent() {
        let text = "1. one\n   - a\n     more\n   - b\n2. two\ntext";
        let mut lines = Lines::of(text);
        let mut parent = |line| {
            lines.around(line);
            lines.parent()
        };
        assert_eq!(parent("one"), None);
        assert_eq!(parent("a").as_deref(), Some("one"));
        assert_eq!(parent("b").as_deref(), Some("one"));
        assert_eq!(parent("two"), None);
        assert_eq!(parent("text"), None);
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in ["a. ", "a.\n", "- a. b.\n"] {
            assert_linear(piece, |text| {
                let mut lines = Lines::of(text);
                assert!((0..9).all(|_| lines.around("never said").is_none()));
            });
        }
    }

    #[test]
    fn a_line_is_quoted_without_its_lead_ins() {
        let quoted = "The fix is to raise the limit.";
        let line = "Which do you prefer? The fix is to raise the limit. Let me check it:";
        assert_eq!(without_lead_ins(line, quoted), quoted);
        let line = "The lock is taken twice. The fix is to raise the limit. Nothing else changes.";
        assert_eq!(without_lead_ins(line, quoted), line);
        assert_eq!(without_lead_ins("Another line?", quoted), quoted);
    }

    #[test]
    fn an_interjection_is_left_out() {
        for (text, rest) in [
            ("Ah! The port is 80.", "The port is 80."),
            ("You're right - the hooks run it.", "the hooks run it."),
            ("Good practice is a matter of taste.", "Good practice is a matter of taste."),
        ] {
            assert_eq!(without_interjection(text), rest);
        }
    }

    #[test]
    fn a_remedy_follows_its_problem() {
        assert!(is_remedy("Fixed by renaming it"));
        assert!(!is_remedy("Fixed colours are used"));
        let whole = joined("**`a` redeclared**:", "Fixed by renaming it");
        assert_eq!(whole.as_deref(), Some("**`a` redeclared**. Fixed by renaming it"));
        let long = joined(&"x".repeat(400), "Fixed by b");
        assert_eq!(long.map(|text| text.chars().count()), Some(300));
        assert_eq!(joined("**Errors and fixes:**", "Fixed by b"), None);
    }

    #[test]
    fn a_consent_must_name_what_it_is_for() {
        for text in [
            "Yes, please proceed with the change.",
            "Let's go with that.",
            "I’d like to proceed with these changes.",
            "Yes, I'd like to proceed with the change and receive the refund.",
            "Please proceed with those payment methods.",
            "Yes, I confirm I would like to proceed with this change.",
        ] {
            assert!(is_vague_consent(text), "{text}");
        }
        for text in [
            "Yes, please proceed with the upgrade to economy.",
            "Yes, please proceed with canceling reservation NQNU5R.",
            "Let's use the gift card.",
            "We decided to use it.",
        ] {
            assert!(!is_vague_consent(text), "{text}");
        }
    }

    #[test]
    fn a_rule_names_its_scope() {
        for (rule, expected) in [
            ("From now on, answer in English.", "From now on"),
            ("Never push to main.", "Never"),
            ("Run the linter before you commit anything, please.", "before you commit anything"),
            ("Use tabs in `src/legacy`, spaces elsewhere.", "in `src/legacy`"),
            ("Don't touch anything in src/gen/api.rs", "in src/gen/api.rs"),
            ("Use short names for this branch.", "for this branch"),
            ("Just leave it for now.", "for now"),
            ("以后都用中文回答。", "以后"),
            ("在测试里不要用 mock。", "在测试里"),
        ] {
            assert_eq!(scope(rule), Some(expected), "{rule}");
        }
        assert_eq!(scope("I prefer tabs."), None);
        assert_eq!(scope("Both types must stay in sync."), None);
    }
}
