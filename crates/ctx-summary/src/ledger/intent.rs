//! Finds the user's requests, constraints and decisions, and the model's decisions and open items.

use std::sync::LazyLock;

use ctx_format::Role;
use ctx_text::{Matcher, Phrases, first_chars, one_line};

use crate::ledger::patterns::{MemoryKind, Sentence};
use crate::ledger::{ItemKind, LISTS, sentences};

/// The maximum length, in characters, of a request that becomes an item as a whole.
const WHOLE_ASK: usize = 320;
/// The maximum number of sentences from a longer request that become items.
const ASK_SENTENCES: usize = 6;
/// The minimum width of a request. Shorter messages, such as "ok" or "go on", are not requests. An
/// ASCII character has a width of 1, and any other character has a width of 3.
const LEAST_ASK: usize = 12;
/// The maximum length of a sentence, in characters.
const LONGEST: usize = 400;

static CONSTRAINT: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("constraint"));
static NO_CONSTRAINT: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("no constraint"));
static ASK: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("ask"));
static OPEN: LazyLock<Phrases> = LazyLock::new(|| LISTS.phrases("open"));
static ORDER: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("order"));

/// Returns true if a sentence says what must or must not be done.
pub(crate) fn is_constraint(sentence: &str) -> bool {
    CONSTRAINT.are_in(sentence) && !NO_CONSTRAINT.are_in(sentence)
}

/// Returns true if a sentence is a question or a request.
pub(crate) fn asks_for(sentence: &str) -> bool {
    sentence.contains(['?', '？']) || ASK.are_in(sentence)
}

fn is_open(sentence: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let has_mark = || sentence.split(|c| !is_word(c)).any(|word| word == "TODO");
    sentence.starts_with("[ ] ") || OPEN.are_in(sentence) || sentence.contains("TODO") && has_mark()
}

/// Returns true if a quotation would be a request, rule, decision or plan if it were the writer's
/// own words.
pub(crate) fn gives_orders(text: &str) -> bool {
    let is_order = |sentence: &str| {
        ORDER.is_match(sentence)
            || CONSTRAINT.are_in(sentence)
            || asks_for(sentence)
            || is_open(sentence)
            || Sentence::new(sentence, Role::User).is_a(MemoryKind::Decision)
    };
    // Test the text as a whole first, because text that is not prose, such as a heading, has no
    // sentences.
    is_order(text) || sentences(text).iter().any(|sentence| sentence != text && is_order(sentence))
}

/// Calls `found` for each item in `text`. `role` is the speaker's role.
pub(crate) fn read(text: &str, role: Role, mut found: impl FnMut(ItemKind, &str)) {
    let short = |sentence: String| first_chars(&sentence, LONGEST).trim_end().to_owned();
    let sentences: Vec<String> = sentences(text).into_iter().map(short).collect();
    let judged: Vec<_> = sentences.iter().map(|it| Sentence::new(it, role)).collect();
    if role == Role::User {
        asks(text, &sentences, &mut found);
        for (sentence, judged) in sentences.iter().zip(&judged) {
            if is_constraint(sentence) || judged.is_a(MemoryKind::Preference) {
                found(ItemKind::Constraint, sentence);
            }
        }
    } else {
        for sentence in sentences.iter().filter(|sentence| is_open(sentence)) {
            found(ItemKind::Open, sentence);
        }
    }
    for (sentence, judged) in sentences.iter().zip(&judged) {
        if judged.is_a(MemoryKind::Decision) {
            found(ItemKind::Decision, sentence);
        }
    }
}

fn asks(text: &str, sentences: &[String], found: &mut impl FnMut(ItemKind, &str)) {
    if !text.contains(char::is_alphanumeric) {
        return;
    }
    let line = one_line(text);
    let width = line.chars().map(|c| if c.is_ascii() { 1 } else { 3 });
    if width.sum::<usize>() < LEAST_ASK {
        return;
    }
    if line.chars().count() <= WHOLE_ASK {
        found(ItemKind::Ask, &line);
        return;
    }
    let Some(first) = sentences.first() else {
        found(ItemKind::Ask, first_chars(&line, WHOLE_ASK).trim_end());
        return;
    };
    found(ItemKind::Ask, first);
    let asking = sentences[1..].iter().filter(|sentence| asks_for(sentence));
    for sentence in asking.take(ASK_SENTENCES - 1) {
        found(ItemKind::Ask, sentence);
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::Role;

    use super::read;
    use crate::ledger::items::ItemKind;

    fn found(role: Role, text: &str) -> Vec<(ItemKind, String)> {
        let mut items = Vec::new();
        read(text, role, |kind, text| items.push((kind, text.to_owned())));
        items
    }

    fn kinds(role: Role, text: &str) -> Vec<ItemKind> {
        found(role, text).into_iter().map(|(kind, _)| kind).collect()
    }

    #[test]
    fn a_short_request_is_whole_and_a_long_one_is_its_questions() {
        assert_eq!(
            found(Role::User, "fix the\nlogin bug"),
            [(ItemKind::Ask, "fix the login bug".to_owned())]
        );
        assert_eq!(found(Role::User, "ok"), []);
        let long =
            format!("Here is the log. {} Can you find the cause?", "It goes on. ".repeat(40));
        let asks = found(Role::User, &long);
        assert_eq!(asks[0].1, "Here is the log.");
        assert!(asks.contains(&(ItemKind::Ask, "Can you find the cause?".to_owned())));
    }

    #[test]
    fn constraints_are_the_users() {
        for text in [
            "Never push to main.",
            "Do not touch the tests, please.",
            "You must keep the API.",
            "不要修改配置文件。",
            "所有输出必须是中文。",
            "脚本里never用rm。",
        ] {
            assert!(kinds(Role::User, text).contains(&ItemKind::Constraint), "{text}");
            assert!(!kinds(Role::Assistant, text).contains(&ItemKind::Constraint), "{text}");
        }
        for text in ["I don't know why.", "Never mind that one.", "我们要不要试试这个？"]
        {
            assert!(!kinds(Role::User, text).contains(&ItemKind::Constraint), "{text}");
        }
    }

    #[test]
    fn decisions_and_open_ends() {
        assert!(kinds(Role::User, "We decided to use SQLite.").contains(&ItemKind::Decision));
        assert!(
            kinds(Role::Assistant, "We still need to add tests for it.").contains(&ItemKind::Open)
        );
        assert!(kinds(Role::Assistant, "下一步：补充文档。").contains(&ItemKind::Open));
        assert_eq!(kinds(Role::Assistant, "The file has 3 lines."), []);
    }
}
