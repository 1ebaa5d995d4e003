//! What was said: asks, constraints, decisions, and what is announced as open.

use std::sync::LazyLock;

use ctx_transcript::Role;
use regex::Regex;

use crate::item::ItemKind;
use crate::rules::{MemoryKind, find};
use crate::sentence::sentences;
use crate::text::{first_chars, one_line, regex};

/// A request of so many characters is one item, whole.
const WHOLE_ASK: usize = 320;
/// Of a longer one so many sentences stand for it.
const ASK_SENTENCES: usize = 6;
/// Shorter words of the user ask for nothing by themselves: "ok", "go on".
const LEAST_ASK: usize = 12;
/// A sentence is not longer.
const LONGEST: usize = 400;

/// A pattern of words. They end where ASCII's do: in Chinese no blank stands before an
/// English word; and to ask whether any other letter is one of a word makes the search of a
/// text with such letters several times slower.
fn words(pattern: &str) -> Regex {
    regex(&pattern.replace(r"\b", r"(?-u:\b)"))
}

/// What must or must not be done. "I don't know" forbids nothing.
static CONSTRAINT: LazyLock<Regex> = LazyLock::new(|| {
    words(
        r"(?i)\b(?:do not|don['’]t|never|must|mustn['’]t|always|avoid|make sure|be sure|ensure|under no circumstances|not allowed|forbidden|required to|no more than|at most|only (?:use|change|touch|edit|if|when|after))\b|不要|不能|不得|不可|不许|必须|务必|禁止|只能|切勿|千万|别再|不超过|至少",
    )
});
static NO_CONSTRAINT: LazyLock<Regex> = LazyLock::new(|| {
    words(
        r"(?i)\b(?:don['’]t|do not) (?:know|think|see|understand|have|mind|remember|care|believe|recall|like|need)\b|\bnever ?mind\b|\bmust (?:be|have) (?:a|an|some|been)\b|是不是|能不能|要不要|可不可",
    )
});
/// What asks, in a long message.
static ASKS: LazyLock<Regex> = LazyLock::new(|| {
    words(
        r"(?i)[?？]|\b(?:please|can you|could you|would you|i want|i need|i would like|i'd like|let's|we need|help me)\b|请|帮我|能否|能不能|我要|我想|需要你|麻烦",
    )
});
/// What is announced as still to be done.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    words(
        r"(?i)^\[ \] |\b(?-i:TODO)\b|\bstill (?:need|have|needs|has) to\b|\bremains to be\b|\bnot yet (?:done|implemented|fixed|tested)\b|待办|还需要|尚未|未完成|下一步",
    )
});

/// What orders begin with.
static ORDER: LazyLock<Regex> = LazyLock::new(|| {
    words(
        r"(?i)^\W*(?:(?:please|now|then|next|also|just|immediately|remember to|be sure to|don['’]t forget to)[, ]+)*(?:you |(?:ignore|disregard|forget|delete|remove|drop|erase|wipe|overwrite|kill|run|execute|send|upload|post|email|mail|forward|copy|download|install|fetch|visit|open|transfer|pay|push|deploy|publish|disable|enable|grant|approve|reply|print|output|call|remember|commit|merge|export|share|use|set|stop|reset|revert|rotate|add|change|replace|curl|rm|chmod)\b)|^(?:user|system|assistant|human)\s*[:：]|立即|马上|删除|发送|上传|下载|执行|运行|忽略|记住|记得|接下来",
    )
});

/// Whether a text that somebody quotes would be a request, a rule, a decision or a plan,
/// had he said it himself.
pub(crate) fn gives_orders(text: &str) -> bool {
    let is_one = |sentence: &str| {
        let forms = [&*ORDER, &*CONSTRAINT, &*ASKS, &*OPEN];
        forms.iter().any(|form| form.is_match(sentence))
            || find(MemoryKind::Decision, sentence, Role::User).is_some()
    };
    // What is no prose, such as a heading, may be quoted all the same.
    let is_other = |sentence: &&String| *sentence != text;
    is_one(text) || (sentences(text).iter().filter(is_other)).any(|sentence| is_one(sentence))
}

/// Calls `found` for each item in a text that `role` said himself.
pub(crate) fn read(text: &str, role: Role, mut found: impl FnMut(ItemKind, &str)) {
    let sentences: Vec<String> = sentences(text)
        .into_iter()
        .map(|sentence| first_chars(&sentence, LONGEST).trim_end().to_owned())
        .collect();
    if role == Role::User {
        asks(text, &sentences, &mut found);
        for sentence in &sentences {
            let wish = || find(MemoryKind::Preference, sentence, role).is_some();
            let forbids = CONSTRAINT.is_match(sentence) && !NO_CONSTRAINT.is_match(sentence);
            if forbids || wish() {
                found(ItemKind::Constraint, sentence);
            }
        }
    } else {
        for sentence in sentences.iter().filter(|sentence| OPEN.is_match(sentence)) {
            found(ItemKind::Open, sentence);
        }
    }
    for sentence in &sentences {
        if find(MemoryKind::Decision, sentence, role).is_some() {
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
    let asking = sentences[1..]
        .iter()
        .filter(|sentence| ASKS.is_match(sentence));
    for sentence in asking.take(ASK_SENTENCES - 1) {
        found(ItemKind::Ask, sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::item::ItemKind;
    use ctx_transcript::Role;

    fn found(role: Role, text: &str) -> Vec<(ItemKind, String)> {
        let mut items = Vec::new();
        read(text, role, |kind, text| items.push((kind, text.to_owned())));
        items
    }

    fn kinds(role: Role, text: &str) -> Vec<ItemKind> {
        found(role, text)
            .into_iter()
            .map(|(kind, _)| kind)
            .collect()
    }

    #[test]
    fn a_short_request_is_whole_and_a_long_one_is_its_questions() {
        assert_eq!(
            found(Role::User, "fix the\nlogin bug"),
            [(ItemKind::Ask, "fix the login bug".to_owned())]
        );
        assert_eq!(found(Role::User, "ok"), []);
        let long = format!(
            "Here is the log. {} Can you find the cause?",
            "It goes on. ".repeat(40)
        );
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
            assert!(
                kinds(Role::User, text).contains(&ItemKind::Constraint),
                "{text}"
            );
            assert!(
                !kinds(Role::Assistant, text).contains(&ItemKind::Constraint),
                "{text}"
            );
        }
        for text in [
            "I don't know why.",
            "Never mind that one.",
            "我们要不要试试这个？",
        ] {
            assert!(
                !kinds(Role::User, text).contains(&ItemKind::Constraint),
                "{text}"
            );
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
