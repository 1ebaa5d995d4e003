//! Shortens records that stay. A long tool result is reduced to its beginning and end, followed by
//! a handle for the whole text. If shorter results are not enough, long call arguments are also
//! cut.

use crate::message_counter::MessageCounter;
use crate::placeholder::split_handle;
use crate::prune::shorten_arguments;
use ctx_format::{Dialect, Edits, Handle, Message, Part, Record, Role, Saved, Slot};
use ctx_summary::ledger::{is_observation, without_reminders};
use ctx_text::first_bytes;

/// The number of tokens in the `[…]` that marks a cut.
const MARK: u64 = 4;
/// The minimum number of tokens to keep when text is cut.
const LEAST_TEXT: u64 = 8;
/// The percentage of the kept text that comes from the beginning of the original. The most
/// important part of a file or list is at the top, but in a command's output it is at the end.
const HEAD: usize = 60;
/// The maximum length of a string in call arguments, in characters.
const ARGUMENT_CHARS: usize = 120;

/// Shortens the records of a session.
#[derive(Clone, Copy)]
pub(super) struct Shortener<'p> {
    pub(super) dialect: &'p dyn Dialect,
    pub(super) counter: &'p MessageCounter,
    /// Whether handles may state that the original is saved.
    pub(super) saved: Saved,
}

/// The limits for a shortened record.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The maximum number of tokens per tool result.
    pub(super) tokens: u64,
    /// Whether to shorten long strings in call arguments as well.
    pub(super) arguments: bool,
}

impl Shortener<'_> {
    /// Shortens the parts of a record that exceed `limits`. The limits are met only approximately.
    /// `calls` contains the names of the calls that the results answer. Returns `None` if nothing
    /// becomes smaller.
    pub(super) fn shorten(
        &self,
        record: &Record<'_>,
        limits: Limits,
        calls: &[String],
    ) -> Option<Vec<u8>> {
        let message = record.message(Some(self.dialect))?;
        let mut edits = Edits::default();
        let mut calls = calls.iter();
        for result in message.results() {
            let call = calls.next().map_or("", String::as_str);
            let (Some(slot), Some(text)) = (&result.slot, result.text()) else { continue };
            if let Some(short) = self.short(&text, limits.tokens, call) {
                edits.put(slot, &short);
            }
        }
        if let Some((slot, text)) = observation(record, &message)
            && let Some(short) = self.short(text, limits.tokens, "")
        {
            edits.put(&slot, &short);
        }
        if limits.arguments {
            for call in message.calls() {
                let arguments = &call.arguments;
                let new = shorten_arguments(arguments, ARGUMENT_CHARS, self.saved, self.counter);
                if let (Some(slot), Some(new)) = (&call.slot, new) {
                    edits.put(slot, &new.text);
                }
            }
        }
        (!edits.is_empty()).then(|| record.edited(&edits))
    }

    /// Returns the beginning and end of the text, followed by a handle. The result has about
    /// `tokens` tokens, or more if the handle needs more.
    fn short(&self, text: &str, tokens: u64, call: &str) -> Option<String> {
        let whole = self.counter.text(text);
        if whole <= tokens {
            return None;
        }
        let (body, earlier) = split_handle(text);
        // Reminders are not part of the tool's output, so they are removed to leave more space for
        // the output.
        let body = without_reminders(body);
        let body = body.trim_end();
        let handle = earlier.unwrap_or_else(|| Handle::of(text, call, self.saved));
        let notes = self.counter.text(&handle.to_string()) + MARK;
        let room = tokens.saturating_sub(notes).max(LEAST_TEXT);
        let (mut low, mut high) = (0, body.len());
        let mut bytes = share(body.len(), room, whole);
        let mut best: Option<(String, u64)> = None;
        // The number of bytes per token varies within the text, so the length is corrected after
        // each attempt.
        for _ in 0..CORRECTIONS {
            let short = handle.behind(&ends(body, bytes));
            let now = self.counter.text(&short);
            if now <= tokens {
                low = bytes;
                best = Some((short, now));
                if now + CLOSE > tokens {
                    break;
                }
            } else {
                high = bytes;
                // Even if it exceeds the limit, a shortened text is better than the whole text.
                if best.as_ref().is_none_or(|(_, than)| *than > now) {
                    best = Some((short, now));
                }
            }
            bytes = share(bytes, room, now.saturating_sub(notes).max(1));
            if bytes <= low || bytes >= high {
                break;
            }
        }
        let (short, now) = best?;
        (now < whole && short.len() < text.len()).then_some(short)
    }
}

/// Some agents send the output of a command in a user message instead of a tool result. If the
/// record is such a message, returns the output and its position.
pub(super) fn observation<'m>(
    record: &Record<'_>,
    message: &'m Message<'_>,
) -> Option<(Slot, &'m str)> {
    let [Part::Text(text)] = message.parts.as_slice() else { return None };
    let object = record.whole_object()?;
    let raw = object.get("content").filter(|raw| raw.starts_with('"'))?;
    (message.role == Role::User && is_observation(text)).then(|| (Slot::text(object, raw), &**text))
}

/// How many lengths to try for a shortened text.
const CORRECTIONS: usize = 4;
/// The length of a shortened text is not corrected further if it is at most this many tokens below
/// the limit.
const CLOSE: u64 = 8;

/// Returns the beginning and end of the text, with about `bytes` bytes in total.
fn ends(body: &str, bytes: usize) -> String {
    if bytes >= body.len() {
        return body.trim_end().to_owned();
    }
    let head = cut_before(body, bytes * HEAD / 100);
    let tail = body.len() - (bytes - bytes * HEAD / 100).min(body.len() - head);
    let tail = cut_before(body, tail).max(head);
    format!("{}\n[…]\n{}", body[..head].trim_end(), body[tail..].trim_start())
}

/// Estimates how many bytes hold `part` tokens, given that `bytes` bytes hold `whole` tokens.
fn share(bytes: usize, part: u64, whole: u64) -> usize {
    usize::try_from(bytes as u64 * part / whole.max(1)).unwrap_or(usize::MAX)
}

/// The maximum length, in bytes, of names, numbers and paths that are not cut, because half a name
/// would be a different name.
const FARTHEST: usize = 80;

/// Returns the last position, no later than `at`, that is not inside a name.
fn cut_before(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let at = first_bytes(text, at).len();
    let joins = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@".contains(&byte);
    let inside = |at: usize| at > 0 && at < bytes.len() && joins(bytes[at - 1]) && joins(bytes[at]);
    let mut place = at;
    while inside(place) && at - place < FARTHEST {
        place -= 1;
    }
    if inside(place) { at } else { place }
}

#[cfg(test)]
mod tests {
    use crate::message_counter::MessageCounter;
    use ctx_format::dialect::Chat;
    use ctx_format::{Origin, Saved};
    use ctx_tokens::Encoding;

    use super::{Limits, Shortener, cut_before};

    fn counter() -> MessageCounter {
        MessageCounter::new(Encoding::default())
    }

    fn short(text: &str, tokens: u64, counter: &MessageCounter) -> Option<String> {
        shortener(counter).short(text, tokens, "Read a.rs")
    }

    fn shortener(counter: &MessageCounter) -> Shortener<'_> {
        Shortener { dialect: &Chat, counter, saved: Saved::Yes }
    }

    #[test]
    fn what_is_short_stays() {
        assert_eq!(short("a few words", 50, &counter()), None);
        let just_over = "word ".repeat(60);
        assert_eq!(short(&just_over, 59, &counter()).map(|short| short.len() < 300), Some(true));
    }

    #[test]
    fn names_are_not_cut_and_the_handle_is_the_first_one() {
        let text = "the file src/some_long_name.rs is read ".repeat(100);
        let once = short(&text, 80, &counter()).expect("it is long");
        assert!(counter().text(&once) <= 80, "{}", counter().text(&once));
        let (body, handle) = once.rsplit_once('\n').expect("a handle");
        assert!(handle.starts_with("⟦ctx: Read a.rs, all 3900 bytes: ctx-offload"), "{handle}");
        for word in body.split_whitespace() {
            assert!(text.contains(&format!("{word} ")) || word == "[…]", "{word}");
        }
        let twice = short(&once, 60, &counter()).expect("it is longer");
        let handle = |text: &str| text.lines().last().map(str::to_owned);
        assert_eq!(handle(&once), handle(&twice));
    }

    #[test]
    fn cuts_keep_to_characters() {
        assert_eq!(cut_before("决定决定", 4), 3);
        assert_eq!(cut_before("one two_three", 9), 4);
        assert_eq!(cut_before("one", 9), 3);
    }

    #[test]
    fn what_a_command_printed_is_shortened_in_a_users_message_too() {
        let said = |end: &str| {
            let text = format!(
                "{}\\n(Open file: a)\\n(Current directory: /a)\\n{end}",
                "row 17\\n".repeat(300)
            );
            format!(r#"{{"role":"user","content":"{text}","x":1}}"#)
        };
        let shorten = |line: &str| {
            let limits = Limits { tokens: 60, arguments: false };
            let record = Origin::ALONE.record(line.as_bytes());
            shortener(&counter()).shorten(&record, limits, &[])
        };
        let short = shorten(&said("bash-$")).expect("it is long");
        let short = String::from_utf8(short).expect("UTF-8");
        assert!(short.contains("bash-$\\n⟦ctx: all") && short.ends_with(r#","x":1}"#), "{short}");
        assert!(short.len() < 400);
        // Text written by the user is never cut.
        assert_eq!(shorten(&said("and so on")), None);
    }

    #[test]
    fn arguments_stay_json() {
        let line = format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"a","type":"function","function":{{"name":"write","arguments":"{{\"path\":\"a.rs\",\"text\":\"{}\"}}"}}}}]}}"#,
            "let x = 1; ".repeat(200)
        );
        let record = Origin::ALONE.record(line.as_bytes());
        let shorten = |arguments| {
            let tokens = 50;
            shortener(&counter()).shorten(&record, Limits { tokens, arguments }, &[])
        };
        assert_eq!(shorten(false), None);
        let short = shorten(true).expect("it is long");
        let json: serde_json::Value = serde_json::from_slice(&short).expect("JSON");
        let arguments = json["tool_calls"][0]["function"]["arguments"].as_str().expect("text");
        let arguments: serde_json::Value = serde_json::from_str(arguments).expect("JSON");
        assert_eq!(arguments["path"], "a.rs");
        assert!(short.len() < line.len() / 4);
    }
}
