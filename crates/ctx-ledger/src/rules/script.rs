//! Chinese in one script: the patterns are written in simplified characters.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Traditional characters of the words of the patterns, each with its simplified one.
const TRADITIONAL: &str = concat!(
    "決决擇择選选確确歡欢慣惯習习傾倾願愿寧宁為为設设換换這这們们個个後后還还會会結结論论項项庫库團团隊队戶户終终於于綜综暫暂",
    "時时據据統统採采棄弃請请麼么樣样辦办讓让幫帮無无沒没難难誰谁嗎吗來来開开從从總总絕绝對对應应該该務务須须許许準准過过別别",
    "風风語语編编碼码愛爱區区預预認认環环變变倉仓號号徑径錄录負负責责監监聽听讀读寫写義义運运層层參参數数啟启關关閉闭將将標标",
    "誌志並并實实現现當当發发佈布帶带記记錯错誤误規规則则儘尽維维護护師师學学醫医電电話话郵邮創创經经帳帐職职",
);

/// The same text with those characters in their simplified form, one for one.
pub(crate) fn simplified(text: &str) -> Cow<'_, str> {
    static SIMPLIFIED: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
        let odd = TRADITIONAL.chars().skip(1).step_by(2);
        TRADITIONAL.chars().step_by(2).zip(odd).collect()
    });
    if text.is_ascii() || !text.chars().any(|c| SIMPLIFIED.contains_key(&c)) {
        return text.into();
    }
    let simple = |c: char| SIMPLIFIED.get(&c).copied().unwrap_or(c);
    text.chars().map(simple).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{TRADITIONAL, simplified};

    #[test]
    fn traditional_characters_become_simplified_ones() {
        assert_eq!(simplified("我們決定選擇 Rust"), "我们决定选择 Rust");
        assert_eq!(TRADITIONAL.chars().count() % 2, 0);
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "We decided.",
            "我们决定用 Rust",
            "Wir haben es schön gewählt",
        ] {
            assert!(matches!(simplified(text), Cow::Borrowed(same) if same == text));
        }
    }
}
