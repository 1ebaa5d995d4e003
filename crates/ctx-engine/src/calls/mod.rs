//! Finds the call that a result answers, and gives calls short names such as `Read
//! src/importer.py`. A handle contains such a name to show which result was replaced. A result
//! usually follows its call closely, so only the latest calls are remembered.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;

use ctx_format::files::FileUse;
use ctx_format::{Call, Handle, Object, ToolResult, map_strings};
use ctx_redact::redact;
use ctx_text::{first_bytes, first_chars, hash, last_chars, plain_line};

/// The maximum lengths, in characters, of a tool's name, a command and a path in a handle. The
/// limits are low because a handle costs tokens each time the session is sent.
const TOOL_CHARS: usize = 32;
const WHAT_CHARS: usize = 36;
const PATH_CHARS: usize = 28;
/// The maximum length of a path, in bytes. A longer string is not treated as a path: it may have
/// been shortened, so its end cannot serve as a name.
const LONGEST_PATH: usize = 200;

/// The names of arguments that hold the command to run.
const COMMANDS: [&str; 4] = ["command", "cmd", "script", "code"];

/// The arguments that best describe a call without a command, best first.
const MAIN: &str = "\
    pattern query q search url file_path path file filename title subject description question \
    prompt name id";

/// Returns a one-line name for a call, such as `Read src/importer.py`. The name consists of the
/// tool and its file or command, shortened and with secrets redacted.
pub fn called(call: &Call<'_>) -> String {
    let object = Object::parse(&call.arguments).ok();
    let file = object.as_ref().and_then(|object| FileUse::of_object(&call.name, object));
    called_on(&call.name, &call.arguments, object.as_ref(), file.as_ref())
}

/// Returns the name of a call whose arguments have already been parsed.
pub(crate) fn called_on(
    tool: &str,
    arguments: &str,
    object: Option<&Object<'_>>,
    file: Option<&FileUse>,
) -> String {
    let tool = tool_of(tool);
    let what = match (object, file) {
        (_, Some(file)) if file.path.len() > LONGEST_PATH => String::new(),
        (_, Some(file)) => end_of_path(&clean(&file.path), PATH_CHARS),
        (Some(object), None) => of_members(object),
        // Arguments that are not JSON are free text that is passed to the tool.
        (None, None) => command(arguments),
    };
    let name = if what.is_empty() { tool.clone() } else { format!("{tool} {what}") };
    // Truncating a name inside a handle may make it look like a secret.
    let is_safe = |name: &String| redact(&format!("{}, all", Handle::call_name(name))).1 == 0;
    [name, tool].into_iter().find(is_safe).unwrap_or_default()
}

/// Returns the short name of a tool, for a result whose call is not known.
pub fn tool_of(name: &str) -> String {
    beginning(&plain_line(&redact(&Handle::call_name(piece(name))).0), TOOL_CHARS)
}

fn of_members(object: &Object<'_>) -> String {
    let run = COMMANDS
        .iter()
        .find_map(|key| Some(command(&words_of(object, key)?)).filter(|it| !it.is_empty()));
    let main = || {
        let texts = MAIN.split(' ').filter_map(|key| object.text_of(key));
        let mut texts = texts.map(|text| beginning(&plain_line(&clean(&text)), WHAT_CHARS));
        texts.find(|text| !text.is_empty())
    };
    run.or_else(main).unwrap_or_else(|| plain_values(object))
}

/// Returns the command in the argument `key`, which is a string or a list of words such as
/// `["bash", "-lc", "ls"]`.
fn words_of<'a>(object: &Object<'a>, key: &str) -> Option<Cow<'a, str>> {
    if let Some(text) = object.text_of(key) {
        return Some(text);
    }
    let list = object.get(key).filter(|raw| raw.starts_with('['))?;
    let mut words = Vec::new();
    map_strings(list, |word| {
        words.push(word.to_owned());
        None
    });
    let is_shell = |word: &String| word.ends_with("sh");
    let is_script = words.len() == 3 && words[1].starts_with('-') && is_shell(&words[0]);
    Some(Cow::Owned(if is_script { words.remove(2) } else { words.join(" ") }))
}

/// Returns the beginning of a command, with long paths reduced to their ends. A leading `cd` is
/// skipped, because the command after it is more informative.
fn command(text: &str) -> String {
    let line = plain_line(&clean(text));
    let rest = line.strip_prefix("cd ").and_then(|rest| {
        let (folder, rest) = rest.split_once(" && ")?;
        (!folder.contains([';', '|', '&'])).then_some(rest)
    });
    let shown = rest.unwrap_or(&line).split(' ').filter(|word| *word != "2>&1").map(|word| {
        let is_path = word.matches('/').count() > 2 && !word.contains("://");
        if is_path { end_of_path(word, PATH_CHARS) } else { word.to_owned() }
    });
    beginning(&shown.collect::<Vec<_>>().join(" "), WHAT_CHARS)
}

/// Describes a call with unfamiliar arguments by the first strings and numbers in them.
fn plain_values(object: &Object<'_>) -> String {
    let mut line = String::new();
    for member in object.members() {
        let text = match object.text_of(&member.key) {
            Some(text) => plain_line(&clean(&text)),
            None if member.value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                member.value.to_owned()
            }
            None => continue,
        };
        if !line.is_empty() && !text.is_empty() {
            line.push_str(", ");
        }
        line.push_str(&text);
        if line.len() > WHAT_CHARS {
            break;
        }
    }
    beginning(&line, WHAT_CHARS)
}

/// Redacts secrets. Must be called before the text is cut, because a truncated key is not
/// recognized as a secret.
fn clean(text: &str) -> Cow<'_, str> {
    redact(piece(text)).0
}

/// Remembers the latest call with each id. Ids are only ever compared, so only their hashes are
/// stored.
#[derive(Debug, Default)]
pub struct Latest<T> {
    recent: HashMap<u64, T>,
    /// The calls that were added before those in `recent`.
    earlier: HashMap<u64, T>,
    /// Whether any calls have been forgotten.
    forgotten: bool,
}

/// The minimum number of calls to remember. At most twice this many calls are remembered.
const REMEMBERED: usize = 1 << 12;

/// The result of looking up a call.
#[derive(Debug)]
pub enum FoundCall<'a, T> {
    /// The call that the result answers.
    Call(&'a T),
    /// No call has this id.
    None,
    /// No remembered call has this id, but a forgotten call may have had it.
    Forgotten,
}

impl<T> Latest<T> {
    /// Adds the next call in the session.
    pub fn insert(&mut self, id: Option<&str>, call: T) {
        if self.recent.len() >= REMEMBERED {
            self.forgotten |= !self.earlier.is_empty();
            self.earlier = std::mem::take(&mut self.recent);
        }
        self.recent.insert(hashed(id), call);
    }

    /// Returns the call with this id.
    pub fn find(&self, id: Option<&str>) -> FoundCall<'_, T> {
        let id = hashed(id);
        match self.recent.get(&id).or_else(|| self.earlier.get(&id)) {
            Some(call) => FoundCall::Call(call),
            None if self.forgotten => FoundCall::Forgotten,
            None => FoundCall::None,
        }
    }
}

/// In formats without ids, all calls share one id, so a result answers the latest call.
fn hashed(id: Option<&str>) -> u64 {
    hash(id.unwrap_or_default())
}

/// The maximum number of bytes to search for secrets. Names are much shorter, so this limit never
/// cuts through a secret that would end up in a name.
const PIECE: usize = 2_000;
/// The maximum number of bytes to drop so that a shortened text ends with a whole word.
const WORD: usize = 12;

/// Returns the text, or only its beginning if it is very long.
fn piece(text: &str) -> &str {
    let begin = first_bytes(text, PIECE);
    if begin.len() == text.len() {
        return text;
    }
    // The text is cut between words, because a secret that is cut in two is not recognized.
    let whole = begin.rfind(char::is_whitespace);
    &begin[..whole.unwrap_or(0)]
}

/// Returns the beginning of a line, with at most `most` characters.
fn beginning(line: &str, most: usize) -> String {
    if first_chars(line, most) == line {
        return line.to_owned();
    }
    let begin = first_chars(line, most - 1);
    let space = begin.rfind(' ').filter(|at| begin.len() - at <= WORD);
    let begin = space.map_or(begin, |at| &begin[..at]);
    format!("{}…", begin.trim_end())
}

/// Returns at most the last `most` characters of a path, because paths differ mainly at their ends.
fn end_of_path(path: &str, most: usize) -> String {
    let path = plain_line(path);
    if path.char_indices().nth(most).is_none() {
        return path;
    }
    let path = path.trim_end_matches(['/', '\\']);
    // One less than `most`, to leave space for the `…`.
    let start = path.char_indices().nth_back(most - 2);
    let end = start.map_or("", |(start, _)| &path[start..]);
    if let Some(folder) = end.find(['/', '\\']) {
        return format!("…{}", &end[folder..]);
    }
    // If there is no room for the folder as well, only the file name is kept, because it is more
    // informative.
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if name.chars().count() < most {
        return format!("…{name}");
    }
    let (head, tail) = (most / 2, most - most / 2 - 1);
    format!("{}…{}", first_chars(name, head), last_chars(name, tail))
}

/// The names of the latest calls.
#[derive(Default)]
pub struct CallNames(Latest<String>);

impl CallNames {
    /// Remembers the name of the next call in the session.
    pub fn push(&mut self, call: &Call<'_>) {
        self.0.insert(call.id.as_deref(), called(call));
    }

    /// Returns the name of the call that a result answers. If the call is unknown, returns the tool
    /// named in the result, or an empty string.
    pub fn of(&self, result: &ToolResult<'_>) -> String {
        match self.0.find(result.id.as_deref()) {
            FoundCall::Call(name) => name.clone(),
            FoundCall::None | FoundCall::Forgotten => {
                result.name.as_deref().map(tool_of).unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod latest_tests {
    use super::{FoundCall, Latest, REMEMBERED};

    #[test]
    fn the_latest_calls_are_remembered_and_not_all_of_them() {
        let mut calls = Latest::default();
        assert!(matches!(calls.find(Some("0")), FoundCall::None));
        for number in 0..4 * REMEMBERED {
            calls.insert(Some(&number.to_string()), number);
            for back in [0, REMEMBERED - 1] {
                let before = number.saturating_sub(back);
                let found = calls.find(Some(&before.to_string()));
                assert!(matches!(found, FoundCall::Call(it) if *it == before));
            }
        }
        assert!(calls.recent.len() + calls.earlier.len() <= 2 * REMEMBERED);
        assert!(matches!(calls.find(Some("0")), FoundCall::Forgotten));
        assert!(matches!(calls.find(None), FoundCall::Forgotten));
    }
}

#[cfg(test)]
mod shown_tests {
    use super::{PIECE, beginning, end_of_path, piece};

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
}

#[cfg(test)]
mod call_names_tests {
    use ctx_format::Origin;
    use ctx_format::dialect::Chat;

    use super::CallNames;

    #[test]
    fn results_are_called_by_their_calls() {
        let lines = [
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.rs\"}"}}]}"#,
            r#"{"role":"tool","tool_call_id":"a","name":"read","content":"x"}"#,
            r#"{"role":"tool","tool_call_id":"b","name":"ls","content":"x"}"#,
            r#"{"role":"tool","tool_call_id":"c","content":"x"}"#,
        ];
        let mut names = CallNames::default();
        let mut found = Vec::new();
        for line in lines {
            let record = Origin::ALONE.record(line.as_bytes());
            let message = record.message(Some(&Chat)).expect("a message");
            message.calls().for_each(|call| names.push(call));
            found.extend(message.results().map(|result| names.of(result)));
        }
        assert_eq!(found, ["read a.rs", "ls", ""]);
    }
}
