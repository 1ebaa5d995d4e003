//! Shortens a long text at the ends of names and words.

/// No more of a text is examined. What is shown is much shorter, so a secret in it is complete.
const PIECE: usize = 2_000;
/// So much of what may be shown is given up for a whole word.
const WORD: usize = 12;

/// The beginning of a text, if it is very long.
pub(super) fn piece(text: &str) -> &str {
    if text.len() <= PIECE {
        return text;
    }
    let mut end = PIECE;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // The pattern would not recognize a secret that is cut in two.
    let whole = text[..end].rfind(char::is_whitespace);
    &text[..whole.unwrap_or(0)]
}

/// On one line, with single blanks.
pub(super) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The beginning of a line, at most so many characters.
pub(super) fn beginning(line: &str, most: usize) -> String {
    if line.char_indices().nth(most).is_none() {
        return line.to_owned();
    }
    let end = line.char_indices().nth(most - 1).map_or(0, |(at, _)| at);
    let begin = &line[..end];
    let word = begin.rfind(' ').filter(|at| end - at <= WORD);
    let begin = word.map_or(begin, |at| &begin[..at]);
    format!("{}…", begin.trim_end())
}

/// The end of a path, at most so many characters: it is what tells paths apart.
pub(super) fn end_of_path(path: &str, most: usize) -> String {
    let path = one_line(path);
    if path.char_indices().nth(most).is_none() {
        return path;
    }
    let path = path.trim_end_matches(['/', '\\']);
    // One less: for the mark of the cut.
    let start = path.char_indices().nth_back(most - 2);
    let end = start.map_or("", |(start, _)| &path[start..]);
    if let Some(folder) = end.find(['/', '\\']) {
        return format!("…{}", &end[folder..]);
    }
    // A name that is longer than all that may be shown: the folders say less than it does.
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let chars: Vec<char> = name.chars().collect();
    if chars.len() < most {
        return format!("…{name}");
    }
    let (head, tail) = (most / 2, most - most / 2 - 1);
    let ends = [&chars[..head], &chars[chars.len() - tail..]];
    let [head, tail] = ends.map(|chars| chars.iter().collect::<String>());
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::{PIECE, beginning, end_of_path, one_line, piece};

    #[test]
    fn words_and_folders_are_not_cut() {
        assert_eq!(beginning("cargo test", 10), "cargo test");
        assert_eq!(beginning("cargo test now", 10), "cargo…");
        assert_eq!(beginning("abcdefghijklmnopqrstuvwxyz", 20), "abcdefghijklmnopqrs…");
        assert_eq!(end_of_path("src/a.rs", 8), "src/a.rs");
        assert_eq!(end_of_path("/home/ana/src/a.rs", 10), "…/src/a.rs");
        assert_eq!(end_of_path("/home/ana/src/a.rs", 11), "…/src/a.rs");
        assert_eq!(end_of_path(r"C:\home\src\a.rs", 10), r"…\src\a.rs");
        assert_eq!(end_of_path("ein_sehr_langer_name.txt", 10), "ein_s….txt");
    }

    #[test]
    fn of_a_path_with_a_long_name_the_name_is_shown() {
        let name = "/home/ana/a_name_that_is_long.rs";
        assert_eq!(end_of_path(name, 23), "…a_name_that_is_long.rs");
        assert_eq!(end_of_path(name, 12), "a_name…ng.rs");
        assert_eq!(end_of_path("/home/ana/docs/", 8), "…/docs");
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        for most in 4..60 {
            let text = "日本語 é/".repeat(30);
            for shown in [beginning(&text, most), end_of_path(&text, most)] {
                assert!(shown.chars().count() <= most, "{most}: {shown}");
            }
        }
    }

    #[test]
    fn of_a_very_long_text_whole_words_are_looked_at() {
        assert_eq!(piece("a b"), "a b");
        assert_eq!(piece(&"x".repeat(PIECE)), "x".repeat(PIECE));
        assert_eq!(piece(&"x".repeat(PIECE + 1)), "");
        let words = piece(&"é wörter ".repeat(1_000)).len();
        assert!(words <= PIECE && words > PIECE - 20, "{words}");
    }

    #[test]
    fn white_space_and_control_characters_are_one_blank() {
        assert_eq!(one_line(" a\r\n\tb \u{1b}c "), "a b c");
    }
}
