//! Texts of a session, short enough for a line.

use ctx_format::{Message, Part};

/// How many characters are kept.
const CHARACTERS: usize = 160;

/// What a message may be, seen as a request of the user.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A request.
    Said(String),
    /// Perhaps text that the client added: a tag, a command.
    Doubtful(String),
    /// There is no text.
    #[default]
    None,
}

/// The user's request in a message.
pub(crate) fn ask(message: &Message<'_>) -> Ask {
    let mut doubtful = None;
    for part in &message.parts {
        let Part::Text(text) = part else {
            continue;
        };
        let Some(line) = line(text) else {
            continue;
        };
        let is_command = line.starts_with('/') && !line.contains(' ');
        if !line.starts_with('<') && !is_command {
            return Ask::Said(line);
        }
        doubtful.get_or_insert(line);
    }
    doubtful.map_or(Ask::None, Ask::Doubtful)
}

/// The beginning of a text as one line, or `None` if the text is empty.
pub(crate) fn line(text: &str) -> Option<String> {
    let mut line = String::new();
    let mut count = 0;
    let mut words = text.split_whitespace();
    for word in &mut words {
        if !line.is_empty() {
            line.push(' ');
        }
        count += word.chars().count() + 1;
        line.push_str(word);
        if count > CHARACTERS {
            break;
        }
    }
    if words.next().is_some() || count > CHARACTERS + 1 {
        if let Some((end, _)) = line.char_indices().nth(CHARACTERS) {
            line.truncate(end);
        }
        line.push('…');
    }
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_text_becomes_one_short_line() {
        assert_eq!(line(" a\n\tb  ").as_deref(), Some("a b"));
        assert_eq!(line(" \n"), None);
        let long = line(&"éa ".repeat(100)).expect("a line");
        assert_eq!(long.chars().count(), 161);
        assert!(long.ends_with('…'), "{long}");
        let one = line(&"x".repeat(200)).expect("a line");
        assert_eq!(one.chars().count(), 161);
    }
}
