//! Whether a decision takes back an earlier one.

use std::sync::LazyLock;

use ctx_transcript::Role;
use regex::Regex;

use crate::rules::{MemoryKind, find, simplified};
use crate::text::regex;

/// Words that say so.
static TAKES_BACK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:instead|no longer|rather than|switch(?:ed|ing)? (?:\w+ ){0,3}to|changed? (?:my|our) mind|not .{1,40} any ?more|replac(?:e|es|ed|ing))\b|改用|改为|不再|换成|改成",
    )
});

/// Whether a decision takes back an earlier one, each with who said it: both have a word
/// for deciding, and one of the same things in them.
pub fn supersedes(later: (&str, Role), earlier: (&str, Role)) -> bool {
    let is_decided = |(text, role): (&str, Role)| find(MemoryKind::Decision, text, role).is_some();
    takes_back(later.0)
        && share_a_subject(later.0, earlier.0)
        && is_decided(later)
        && is_decided(earlier)
}

/// Whether a decision says that it takes something back.
pub(crate) fn takes_back(decision: &str) -> bool {
    TAKES_BACK.is_match(&simplified(decision))
}

/// Whether two decisions are about one of the same things.
pub(crate) fn share_a_subject(later: &str, earlier: &str) -> bool {
    subjects(later).any(|word| subjects(earlier).any(|w| w == word))
}

/// What a decision is about: longer words, less those of deciding itself. Chinese has no blanks
/// between words: there it is each three characters side by side, and a pair that stands alone.
fn subjects(sentence: &str) -> impl Iterator<Item = String> {
    let words = sentence.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
    words.flat_map(scripts).flat_map(|word| {
        if word.starts_with(is_wide) {
            of_chinese(word)
        } else {
            of_latin(word).into_iter().collect()
        }
    })
}

fn of_latin(word: &str) -> Option<String> {
    const OF_DECIDING: [&str; 20] = [
        "about", "chose", "choose", "decide", "decided", "decision", "going", "instead", "longer",
        "rather", "replace", "should", "switch", "switched", "there", "these", "using", "which",
        "will", "would",
    ];
    let word = word.trim_matches('.').to_lowercase();
    let is_subject = word.chars().count() >= 4 && !OF_DECIDING.contains(&word.as_str());
    is_subject.then_some(word)
}

fn of_chinese(run: &str) -> Vec<String> {
    static OF_DECIDING: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            "我们|咱们|我|决定|改用|改为|改成|不再|换成|换用|选择|选用|使用|采用|确定|还是|最终|最后|现在|已经|就|不用|用|了|吧|的|那|把|将|由|而|来|做|作为|因为|所以",
        )
    });
    let run = simplified(run);
    let pieces = OF_DECIDING
        .split(&run)
        .map(|piece| piece.chars().collect::<Vec<_>>());
    let threes = |piece: Vec<char>| -> Vec<String> {
        match piece.len() {
            0 | 1 => Vec::new(),
            2 => vec![piece.iter().collect()],
            _ => piece
                .windows(3)
                .map(|three| three.iter().collect())
                .collect(),
        }
    };
    pieces.flat_map(threes).collect()
}

/// The parts of a word in one script each: `用SQLite存` has three.
fn scripts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_wide(c) != is_wide(first));
        let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        parts.push(part);
        rest = behind;
    }
    parts
}

/// Characters that are written without blanks between words.
fn is_wide(c: char) -> bool {
    ('\u{2e80}'..='\u{9fff}').contains(&c) || ('\u{f900}'..='\u{faff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::{share_a_subject, takes_back};

    fn supersedes(later: &str, earlier: &str) -> bool {
        takes_back(later) && share_a_subject(later, earlier)
    }

    #[test]
    fn a_decision_takes_back_what_is_about_the_same() {
        let earlier = "We decided to use SQLite for the cache.";
        assert!(supersedes("Let's use Redis instead of SQLite.", earlier));
        assert!(!supersedes("Let's use Redis for queues.", earlier));
        assert!(!supersedes("Let's use tabs instead of spaces.", earlier));
    }

    /// 16: Chinese has no blanks between words, and two scripts.
    #[test]
    fn a_decision_in_chinese_takes_back_what_is_about_the_same() {
        let earlier = "我们决定用SQLite存候补名单。";
        for later in [
            "候补名单改用Postgres。",
            "不再用SQLite了，换成Postgres",
            "還是從 SQLite 換成 Postgres",
        ] {
            assert!(supersedes(later, earlier), "{later}");
        }
        for later in ["我们决定改用英文写文档。", "日志改为每天一个文件"] {
            assert!(!supersedes(later, earlier), "{later}");
        }
    }
}
