//! Whether a model wrote what it was asked for.

/// The headings of `wanted` that a summary does not have, in order.
///
/// A heading is alone on its line, decorated or numbered as models do: `## Goal`, `**Goal**`, `1.
/// Goal:`.
pub fn missing_headings<'a>(text: &str, wanted: &'a [String]) -> Vec<&'a str> {
    let lines: Vec<String> = text.lines().map(plain).collect();
    let is_missing = |heading: &&str| !lines.contains(&plain(heading));
    wanted.iter().map(String::as_str).filter(is_missing).collect()
}

/// A line without what marks it as a heading.
pub(super) fn plain(line: &str) -> String {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '#' | '*' | '_' | ':' | '：');
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ')');
    let marked = line.trim_matches(is_mark).trim_start_matches(is_number);
    marked.trim_matches(is_mark).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::missing_headings;

    fn missing(text: &str) -> Vec<String> {
        let wanted = ["Goal", "Next Step", "待处理"].map(str::to_owned);
        let missing = missing_headings(text, &wanted).into_iter();
        missing.map(str::to_owned).collect()
    }

    #[test]
    fn headings_are_known_however_they_are_marked() {
        for text in [
            "## Goal\na\n## Next Step\nb\n## 待处理\nc",
            "# goal\n\n**Next step**\n\n### 待处理：\n",
            "Goal:\n1. Next Step\n  3) **待处理**:",
            "__Goal__\r\n#### next step ####\r\n- \r\n待处理",
        ] {
            assert_eq!(missing(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn words_inside_a_line_are_no_heading() {
        assert_eq!(missing("The goal is near"), ["Goal", "Next Step", "待处理"]);
        assert_eq!(missing("## Goals\n## Next Step"), ["Goal", "待处理"]);
        assert_eq!(missing(""), ["Goal", "Next Step", "待处理"]);
        assert!(missing_headings("", &[]).is_empty());
    }
}
