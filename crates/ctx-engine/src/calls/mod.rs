//! A short name of a call: its tool, and the file or command. Handles use it, so that a reader
//! knows what they replace.

mod latest;
mod shown;

use std::borrow::Cow;

use ctx_format::{Call, Object, map_strings};
use ctx_redact::redact;

use ctx_format::files::FileUse;
use shown::{beginning, end_of_path, one_line, piece};

pub use latest::{Found, Latest};

/// The length of a tool's name, and of the file or command. Every token of a handle is paid for
/// each time that the session is sent.
const TOOL_CHARS: usize = 32;
const WHAT_CHARS: usize = 36;
const PATH_CHARS: usize = 28;
/// A longer text, in bytes, is no path; and once it is shortened its end is another, by
/// which it must not be named.
const LONGEST_PATH: usize = 200;

/// The arguments in which tools have what they run.
const COMMANDS: [&str; 4] = ["command", "cmd", "script", "code"];

/// Members that say most about other calls, best first.
const MAIN: &str = "\
    pattern query q search url file_path path file filename title subject description question \
    prompt name id";

/// `Read src/importer.py`: the tool, and its file or command, on one line, shortened and without
/// secrets.
pub fn called(call: &Call<'_>) -> String {
    let object = Object::parse(&call.arguments).ok();
    let file = object.as_ref().and_then(|object| FileUse::of_object(&call.name, object));
    called_on(&call.name, &call.arguments, object.as_ref(), file.as_ref())
}

/// The same, of a call whose arguments were read before.
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
        // Free text is the input of the tool.
        (None, None) => command(arguments),
    };
    if what.is_empty() {
        return tool;
    }
    let name = format!("{tool} {what}");
    // Truncated, and with other words after it, a text may look like a secret that it is not.
    if redact(&format!("{name}, all")).1 == 0 { name } else { tool }
}

/// The name of a tool whose call is not known.
pub fn tool_of(name: &str) -> String {
    beginning(&one_line(&redact(piece(name)).0), TOOL_CHARS)
}

fn of_members(object: &Object<'_>) -> String {
    let run = COMMANDS.iter().find_map(|key| {
        let given = words_of(object, key)?;
        Some(command(&given)).filter(|it| !it.is_empty())
    });
    let main = || {
        let texts = MAIN.split(' ').filter_map(|key| object.text_of(key));
        let mut texts = texts.map(|text| beginning(&one_line(&clean(&text)), WHAT_CHARS));
        texts.find(|text| !text.is_empty())
    };
    run.or_else(main).unwrap_or_else(|| plain_values(object))
}

/// What is run: a text, or a list of words such as `["bash", "-lc", "ls"]`.
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

/// The beginning of a command, with only the ends of long paths. A leading `cd` is skipped, because
/// the command after it says more.
fn command(text: &str) -> String {
    let line = one_line(&clean(text));
    let rest = line.strip_prefix("cd ").and_then(|rest| {
        let (folder, rest) = rest.split_once(" && ")?;
        (!folder.contains([';', '|', '&'])).then_some(rest)
    });
    let mut shown = String::new();
    for word in rest.unwrap_or(&line).split(' ') {
        if word == "2>&1" {
            continue;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        let is_path = word.matches('/').count() > 2 && !word.contains("://");
        if is_path {
            shown.push_str(&end_of_path(word, PATH_CHARS));
        } else {
            shown.push_str(word);
        }
        if shown.len() > 4 * WHAT_CHARS {
            break;
        }
    }
    beginning(&shown, WHAT_CHARS)
}

/// The first texts and numbers, where no member is known by its name.
fn plain_values(object: &Object<'_>) -> String {
    let mut line = String::new();
    for member in object.members() {
        let text = match object.text_of(&member.key) {
            Some(text) => one_line(&clean(&text)),
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

/// Without secrets. Before anything is cut: half a key is not recognised.
fn clean(text: &str) -> Cow<'_, str> {
    redact(piece(text)).0
}

#[cfg(test)]
mod tests;
