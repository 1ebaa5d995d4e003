//! Detects the language in which people write. The headings and the first line of a summary are in
//! the language of most user messages.

use std::sync::LazyLock;

use ctx_text::{WordSet, is_han};

use crate::LISTS;

/// The language in which people write, as far as it affects the headings of a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English, or text whose language is not recognized.
    #[default]
    English,
    /// Chinese, in simplified or traditional characters.
    Chinese,
    /// Any other language.
    Other,
}

/// The number of user messages in each language.
#[derive(Clone, Copy, Debug, Default)]
pub struct Languages([usize; 3]);

/// Common short words in English and in other languages that use the Latin alphabet.
static ENGLISH: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("english"));
static OTHERS: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("other languages"));
/// Text is not considered English if at least this percentage of its words are short words from
/// other languages.
const SMALL_WORDS: usize = 12;

impl Language {
    /// Returns the language of `text`, or `None` if the text is too short for its language to be
    /// recognized.
    pub fn of(text: &str) -> Option<Self> {
        let lines = || text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let count = |of: fn(char) -> bool| lines().flat_map(str::chars).filter(|c| of(*c)).count();
        let (chinese, foreign) = (count(is_han), count(is_foreign));
        let is_letter = |c: char| c.is_alphabetic() && !is_han(c) && !is_foreign(c);
        let words = lines().flat_map(|line| line.split(|c: char| !is_letter(c)));
        let words: Vec<String> =
            words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
        // A Chinese word has about two characters. Latin words in Chinese text are often code.
        if foreign > chinese / 8 && 2 * foreign > words.len() {
            return Some(Self::Other);
        }
        if chinese > 1 && chinese * 2 >= words.len() {
            return Some(Self::Chinese);
        }
        let count = |list: &WordSet| words.iter().filter(|it| list.contains(*it)).count();
        let (english, others) = (count(&ENGLISH), count(&OTHERS));
        let is_other = others > english && others * 100 >= words.len() * SMALL_WORDS;
        match words.len() {
            0 | 1 => None,
            _ if is_other => Some(Self::Other),
            _ => Some(Self::English),
        }
    }
}

/// Returns true for Greek, Cyrillic, Armenian, Hebrew, Arabic, the scripts of India and South East
/// Asia, kana and hangul.
fn is_foreign(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{10ff}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}')
        && c.is_alphabetic()
}

impl Languages {
    /// Increments the count for the language of a message, if it can be recognized.
    pub fn push(&mut self, text: &str) {
        if let Some(language) = Language::of(text) {
            self.0[language as usize] += 1;
        }
    }

    /// Returns the language of most messages.
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
