//! What stands in the user's name: what he asks, and what the client says for him.

use crate::{Object, json};

/// What a summary of the client's own compaction holds.
pub(super) const SNAPSHOT: &str = "<state_snapshot>";

/// What the client says in the user's name: no request of his.
const OF_CLIENT: [&str; 6] = [
    SNAPSHOT,
    "Please continue.",
    "System: Please continue.",
    "Here is the user's editor context as a JSON object.",
    "Here is a summary of changes in the user's editor context,",
    "- **Workspace Directories:**",
];

/// Whether the client has written a text that stands in a user's message.
pub(super) fn is_of_client(text: &str) -> bool {
    let text = without_blanks(text);
    OF_CLIENT.iter().any(|begin| text.starts_with(begin))
}

/// What a user's message begins with that the client leaves out as it loads it: commands,
/// and what it says anew each time.
const NOT_SENT: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

/// The length of the longest of [`NOT_SENT`].
const HEAD: usize = 17;

/// Members that make a part something else than its text, for the client's own look at it.
const NO_TEXT: [&str; 8] = [
    "videoMetadata",
    "thought",
    "codeExecutionResult",
    "executableCode",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
];

/// Whether a user's message of this content is sent: its beginning decides, in which a part
/// that is no text counts as something.
pub(super) fn is_sent(content: &[&str]) -> bool {
    let mut head = String::new();
    for raw in content {
        let text = match Object::parse(raw) {
            Ok(part) if NO_TEXT.iter().any(|key| part.get(key).is_some()) => "[]".into(),
            Ok(part) => part.text_of("text").unwrap_or_default(),
            Err(_) => json::text(raw).unwrap_or_default(),
        };
        let text = if head.is_empty() {
            without_blanks(&text)
        } else {
            &text
        };
        head.extend(text.chars().take(HEAD));
        if head.len() >= HEAD {
            break;
        }
    }
    !head.is_empty() && !NOT_SENT.iter().any(|begin| head.starts_with(begin))
}

/// Without the blanks at the beginning, as the client counts them.
fn without_blanks(text: &str) -> &str {
    text.trim_start_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}
