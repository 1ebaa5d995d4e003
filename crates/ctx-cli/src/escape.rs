//! Escapes untrusted text, such as file names and messages, for a terminal, a shell, a CI system or
//! XML.

use std::fmt::Write;

use ctx_text::is_invisible;

/// Escapes control characters and invisible characters, so that untrusted text can
/// neither control the terminal nor look like different text.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Quotes `text` if necessary, so that a shell reads it as one word.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Escapes the message in a GitHub workflow command, as described in GitHub's documentation. Also
/// escapes characters that would control the terminal of someone who reads the log.
pub fn github_message(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    printable(&text)
}

/// Escapes the value of a property, such as `file=`, in a GitHub workflow command.
pub fn github_property(text: &str) -> String {
    github_message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Escapes text for an XML attribute or element. XML 1.0 cannot represent most control characters;
/// they become U+FFFD.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_word_of_the_shell_is_one_word() {
        for (text, word) in [
            ("a/b-1.jsonl", "a/b-1.jsonl"),
            ("", "''"),
            ("my chat", "'my chat'"),
            ("it's $HOME", "'it'\\''s $HOME'"),
        ] {
            assert_eq!(super::shell_word(text), word);
        }
    }

    use super::{github_message, github_property, printable, xml};

    #[test]
    fn no_name_looks_like_another() {
        assert_eq!(printable("\u{9b}2J\u{7f}"), "\\u{9b}2J\\u{7f}");
        // A terminal that obeys the bidirectional mark would make this shell script look like a
        // text file.
        assert_eq!(printable("log\u{202e}txt.sh"), "log\\u{202e}txt.sh");
        assert_eq!(printable("a\u{2028}b"), "a\\u{2028}b");
        assert_eq!(printable("日志 é\u{a0}"), "日志 é\u{a0}");
    }

    #[test]
    fn commands_of_github_cannot_be_forged() {
        assert_eq!(github_property("a,b:c%3A\n::error"), "a%2Cb%3Ac%253A%0A%3A%3Aerror");
        assert_eq!(github_message("50%, a:b\r\nc"), "50%25, a:b%0D%0Ac");
        // The log of a workflow may be read in a terminal, so it must not contain escape sequences.
        assert_eq!(github_message("\u{1b}[31m\u{9b}"), "\\u{1b}[31m\\u{9b}");
        assert_eq!(github_message("\u{1b}]0;x\u{7}"), "\\u{1b}]0;x\\u{7}");
    }

    #[test]
    fn xml_is_well_formed_whatever_the_text() {
        assert_eq!(
            xml("<a b=\"c\">&\n\t\u{1b}\u{9b}\u{ffff}é"),
            "&lt;a b=&quot;c&quot;&gt;&amp;&#10;&#9;\u{fffd}\u{fffd}\u{fffd}é"
        );
    }
}
