//! The language that people write in: headings and the first line of a summary are in it.

use std::collections::HashSet;
use std::sync::LazyLock;

use ctx_text::is_han;

use crate::LISTS;

/// The languages that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Also if nothing shows the language.
    #[default]
    English,
    /// Chinese, whatever its characters.
    Chinese,
    /// Any other.
    Other,
}

/// Messages of people, counted by their language.
#[derive(Clone, Copy, Debug, Default)]
pub struct Languages([usize; 3]);

/// Small words of English, and of languages with the same letters.
static ENGLISH: LazyLock<HashSet<String>> = LazyLock::new(|| LISTS.words("english"));
static OTHERS: LazyLock<HashSet<String>> = LazyLock::new(|| LISTS.words("other languages"));
/// The percentage of small words that makes a text another language's.
const SMALL_WORDS: usize = 12;

/// Letters and words of a text, by what they tell.
#[derive(Default)]
struct Counted {
    chinese: usize,
    /// Letters of scripts that neither English nor Chinese has.
    foreign: usize,
    words: usize,
    english: usize,
    others: usize,
}

impl Language {
    /// The language of a text; `None` if it shows none.
    pub fn of(text: &str) -> Option<Self> {
        let mut counted = Counted::default();
        text.lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .for_each(|line| counted.add(line));
        counted.language()
    }
}

impl Counted {
    fn add(&mut self, line: &str) {
        for c in line.chars() {
            self.chinese += usize::from(is_han(c));
            self.foreign += usize::from(is_foreign(c));
        }
        let is_letter = |c: char| c.is_alphabetic() && !is_han(c) && !is_foreign(c);
        for word in line.split(|c: char| !is_letter(c)) {
            let word = word.to_lowercase();
            self.words += usize::from(!word.is_empty());
            self.english += usize::from(ENGLISH.contains(&word));
            self.others += usize::from(OTHERS.contains(&word));
        }
    }

    fn language(&self) -> Option<Language> {
        // A Chinese word has two characters; what is quoted among them is often code.
        if self.foreign > self.chinese / 8 && 2 * self.foreign > self.words {
            return Some(Language::Other);
        }
        if self.chinese > 1 && self.chinese * 2 >= self.words {
            return Some(Language::Chinese);
        }
        let is_other = self.others > self.english && self.others * 100 >= self.words * SMALL_WORDS;
        match self.words {
            0 | 1 => None,
            _ if is_other => Some(Language::Other),
            _ => Some(Language::English),
        }
    }
}

/// Greek, Cyrillic, Armenian, Hebrew, Arabic, the scripts of India and South East Asia,
/// kana and hangul.
fn is_foreign(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{10ff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}')
        && c.is_alphabetic()
}

impl Languages {
    /// One more message.
    pub fn push(&mut self, text: &str) {
        if let Some(language) = Language::of(text) {
            self.0[language as usize] += 1;
        }
    }

    /// That of most messages.
    pub fn most(self) -> Language {
        let [english, chinese, other] = self.0;
        if chinese > english && chinese >= other {
            Language::Chinese
        } else if other > english {
            Language::Other
        } else {
            Language::English
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, Languages};

    #[test]
    fn languages_are_told_apart() {
        for (text, language) in [
            ("Fix the login bug in src/auth.rs.", Some(Language::English)),
            ("list files", Some(Language::English)),
            ("把 src/auth.rs 里的登录错误修一下", Some(Language::Chinese)),
            ("谢谢", Some(Language::Chinese)),
            ("请运行 cargo test 然后提交", Some(Language::Chinese)),
            ("ログインのバグを直してください", Some(Language::Other)),
            ("로그인 버그를 고쳐 주세요", Some(Language::Other)),
            ("Исправь ошибку входа в src/auth.rs", Some(Language::Other)),
            (
                "Bitte den Fehler in der Anmeldung beheben, und nicht die Tests ändern",
                Some(Language::Other),
            ),
            (
                "Corrige el error de la cuenta, por favor, y no cambies los tests",
                Some(Language::Other),
            ),
            ("ok", None),
            ("12:30", None),
            ("", None),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }

    #[test]
    fn headings_do_not_count_and_most_messages_decide() {
        assert_eq!(Language::of("## 任务目标\nlist files"), Some(Language::English));
        let most = |texts: &[&str]| {
            let mut languages = Languages::default();
            for text in texts {
                languages.push(text);
            }
            languages.most()
        };
        assert_eq!(most(&[]), Language::English);
        assert_eq!(most(&["继续", "the log: error at line 3", "好的，再试"]), Language::Chinese);
        assert_eq!(most(&["继续", "go on now"]), Language::English);
        assert_eq!(most(&["продолжай", "ещё раз"]), Language::Other);
    }
}
