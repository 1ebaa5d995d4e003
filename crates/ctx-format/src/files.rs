//! Uses a tool's name and a call's arguments to determine which file the call reads or writes.

use crate::Object;

/// A file that a call reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileUse {
    /// The path as the call's arguments state it, without a leading `./`.
    pub path: String,
    /// Whether the call reads or writes the file.
    pub access: Access,
}

/// How a call accesses its file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The call reads the file.
    Read {
        /// The arguments that select part of the file, or an empty string if the call reads the
        /// whole file.
        part: String,
    },
    /// The call writes or edits the file.
    Write,
}

/// The names of arguments that hold a file path.
const PATHS: &str = "file_path filePath path filename file_name file notebook_path absolute_path \
    relative_path target_file";

/// The names of arguments that do not select part of the file.
const BESIDE: [&str; 5] = ["command", "description", "explanation", "reason", "encoding"];

/// The values of `command`, an argument to editing tools with several functions, that tell whether
/// the tool writes the file.
const COMMANDS: [&str; 8] =
    ["view", "read", "create", "str_replace", "insert", "undo_edit", "write", "edit"];

impl FileUse {
    /// Returns the file that a call reads or writes; `None` if the call does not clearly read or
    /// write exactly one file.
    pub fn of(tool: &str, arguments: &str) -> Option<Self> {
        Self::of_object(tool, &Object::parse(arguments).ok()?)
    }

    /// Like [`Self::of`], but for arguments that are already parsed.
    pub fn of_object(tool: &str, arguments: &Object<'_>) -> Option<Self> {
        let find = |key| Some((key, arguments.text_of(key)?));
        let (key, path) = PATHS.split(' ').find_map(find)?;
        let path = path.trim_start_matches("./");
        let command = arguments.text_of("command");
        let by_command =
            command.as_deref().filter(|it| COMMANDS.contains(it)).and_then(writes_by_name);
        let writes = by_command.or_else(|| writes_by_name(tool))?;
        let read = || Access::Read { part: part(arguments, key) };
        let access = if writes { Access::Write } else { read() };
        (!path.is_empty()).then(|| Self { path: path.to_owned(), access })
    }
}

/// Guesses from the name of a tool or of a command whether it writes files; `None` if the name
/// suggests neither reading nor writing.
fn writes_by_name(tool: &str) -> Option<bool> {
    const READ: [&str; 4] = ["read", "view", "open", "cat"];
    const WRITE: [&str; 9] =
        ["write", "edit", "create", "replace", "patch", "update", "insert", "append", "save"];
    let words = words(tool);
    let any = |begins: &[&str]| {
        let begins_word = |word: &String| begins.iter().any(|begin| word.starts_with(begin));
        words.iter().any(begins_word)
    };
    let writes = any(&WRITE);
    (writes || any(&READ)).then_some(writes)
}

/// Splits the name of a tool, such as `NotebookRead`, `read_file` or `fs.read`, into lower-case
/// words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (lower && c.is_uppercase()) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

fn part(arguments: &Object<'_>, path: &str) -> String {
    let says_part = |key: &str| key != path && !BESIDE.contains(&key);
    let mut members: Vec<String> = arguments
        .members()
        .iter()
        .filter(|member| says_part(&member.key) && member.value != "null")
        .map(|member| format!("{}={}", member.key, member.value))
        .collect();
    members.sort();
    members.join(",")
}

#[cfg(test)]
mod tests {
    use super::{Access, FileUse};

    fn file_use(tool: &str, arguments: &str) -> Option<(String, Option<String>)> {
        let FileUse { path, access } = FileUse::of(tool, arguments)?;
        Some(match access {
            Access::Read { part } => (path, Some(part)),
            Access::Write => (path, None),
        })
    }

    #[test]
    fn reads_and_their_parts() {
        let whole = Some(("a.rs".to_owned(), Some(String::new())));
        for (tool, arguments) in [
            ("Read", r#"{"file_path":"a.rs"}"#),
            ("read_file", r#"{"path":"./a.rs","limit":null}"#),
            ("fs.readFile", r#"{"filename":"a.rs","explanation":"why"}"#),
            ("str_replace_editor", r#"{"command":"view","path":"a.rs"}"#),
        ] {
            assert_eq!(file_use(tool, arguments), whole, "{tool}");
        }
        assert_eq!(
            file_use("Read", r#"{"offset":9,"file_path":"a.rs","limit": 5}"#),
            Some(("a.rs".to_owned(), Some("limit=5,offset=9".to_owned())))
        );
    }

    #[test]
    fn writes() {
        let write = Some(("a.rs".to_owned(), None));
        for (tool, arguments) in [
            ("Write", r#"{"file_path":"a.rs","content":"x"}"#),
            ("MultiEdit", r#"{"file_path":"a.rs","edits":[]}"#),
            ("search_replace", r#"{"target_file":"a.rs"}"#),
            ("view_or_edit", r#"{"path":"a.rs"}"#),
            ("str_replace_editor", r#"{"command":"create","path":"a.rs"}"#),
        ] {
            assert_eq!(file_use(tool, arguments), write, "{tool}");
        }
    }

    #[test]
    fn other_calls_use_no_file() {
        for (tool, arguments) in [
            ("Grep", r#"{"path":"src","pattern":"x"}"#),
            ("Bash", r#"{"command":"cat a.rs"}"#),
            ("Read", "{}"),
            ("Read", r#"{"file_path":""}"#),
            ("Read", r#"{"file_path":7}"#),
            ("Read", "a.rs"),
            ("review", r#"{"path":"a.rs"}"#),
        ] {
            assert_eq!(file_use(tool, arguments), None, "{tool} {arguments}");
        }
    }
}
