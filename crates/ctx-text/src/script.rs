//! Which script a character is written in, as far as words depend on it.
//!
//! Three sets, each a part of the next one: Chinese characters; scripts without blanks between
//! words; and these with Korean, whose blanks are of little use since particles are attached to
//! the words.

/// Whether a character is a Chinese one, which Japanese uses too.
pub fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a character is Chinese or Japanese, which have no blanks between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
        || is_han(c)
}

/// Whether a character is Chinese, Japanese or Korean. The search index stores words that are
/// split by this set: a change needs a new version of the index.
pub fn is_cjk(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}') || is_unspaced(c)
}

#[cfg(test)]
mod tests {
    use super::{is_cjk, is_han, is_unspaced};

    #[test]
    fn scripts_are_told_apart() {
        let sets = |c: char| (is_han(c), is_unspaced(c), is_cjk(c));
        for c in "决㐀豈𠀀".chars() {
            assert_eq!(sets(c), (true, true, true), "{c}");
        }
        for c in "かナー".chars() {
            assert_eq!(sets(c), (false, true, true), "{c}");
        }
        assert_eq!(sets('한'), (false, false, true));
        for c in "aß1_，。　・Ａｶ🚀".chars() {
            assert_eq!(sets(c), (false, false, false), "{c}");
        }
    }
}
