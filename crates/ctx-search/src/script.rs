//! Chinese in one script, so that what is written in traditional characters is found in
//! simplified ones, and the other way round.

use std::sync::LazyLock;

/// The characters of Chinese that have a form of either script.
const HAN: std::ops::RangeInclusive<char> = '\u{3400}'..='\u{9fff}';

/// A character in its simplified form. Words that differ as a whole (滑鼠, 鼠标) stay different.
pub(crate) fn simplified(c: char) -> char {
    static TABLE: LazyLock<Vec<char>> = LazyLock::new(|| {
        // The library looks at neighbouring characters; here there are none.
        let apart: String = HAN.flat_map(|c| [c, ' ']).collect();
        let simple = fast2s::convert(&apart);
        simple.chars().step_by(2).collect()
    });
    if !HAN.contains(&c) {
        return c;
    }
    let place = u32::from(c) - u32::from(*HAN.start());
    TABLE.get(place as usize).copied().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::{HAN, simplified};

    /// Both scripts are the same.
    #[test]
    fn traditional_characters_become_simplified_ones() {
        let text = "我們決定選擇資料庫 Rust カ";
        let text: String = text.chars().map(simplified).collect();
        assert_eq!(text, "我们决定选择资料库 Rust カ");
    }

    #[test]
    fn a_simplified_form_is_a_character_and_stays() {
        for c in HAN {
            let simple = simplified(c);
            assert!(HAN.contains(&simple), "{c}: {simple}");
        }
        for c in "的一是我们决定选择资料库简体".chars() {
            assert_eq!(simplified(c), c);
        }
    }
}
