//! Candidates for a list of values: statements that are clear on their own, with a value that
//! cannot be guessed.

use crate::ledger::{Origin, Segment};

use crate::is_shell;

/// Marks of code, of diffs and of listings with line numbers.
const CODE: [&str; 30] = [
    "()",
    "::",
    "->",
    "=>",
    ":=",
    "==",
    "!=",
    "&&",
    "||",
    " = ",
    "+=",
    "self.",
    "});",
    "*/",
    "/*",
    "\\n",
    "</",
    "/>",
    "${",
    "{}",
    "[]",
    "@@",
    "//",
    " | ",
    "old_string",
    "new_string",
    "`json:",
    "timeout",
    "import ",
    "return ",
];

/// Whether a reader understands it alone: a sentence, or a name with its value; no line of code.
pub(super) fn is_statement(text: &str) -> bool {
    let text = text.trim().trim_start_matches(['-', '*', '•', ' ']);
    let begins = text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '“' | '《'));
    let ends = !text.ends_with(['{', '(', '[', ';', '\\', '=', '>', '<', '|']);
    if !begins || !ends || is_code(text) {
        return false;
    }
    let words = text.split_whitespace().filter(|word| {
        let letters = word.chars().filter(|c| c.is_alphabetic()).count();
        letters >= 2 && word.chars().all(|c| c.is_alphabetic() || ",.;:!?'’".contains(c))
    });
    let han = text.chars().filter(|c| matches!(c, '\u{4e00}'..='\u{9fff}')).count();
    is_pair(text) || words.count() >= 4 || han >= 4
}

fn is_code(text: &str) -> bool {
    let without_urls = text.replace("://", " ");
    let calls = |text: &str| {
        let mut places = text.match_indices('(');
        places.any(|(at, _)| text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let is_numbered = || {
        let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < text.len() && digits.starts_with([':', '\t', '→', '|'])
    };
    CODE.iter().any(|mark| without_urls.contains(mark)) || calls(text) || is_numbered()
}

/// Whether a text has a value that cannot be guessed: an id, number, date, address or path. Names
/// from code can be looked up.
pub(super) fn has_value(text: &str, origin: Origin, summary: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "\"'`(),;<>[]{}=，。；、（）".contains(c);
    let words = text.split(is_end).map(|word| word.trim_matches(['.', ':', '?', '!', '：']));
    let mut values = words.filter(|word| word.len() > 2 && !summary.contains(word));
    values.any(|word| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let is_path =
            word.contains('/') && word.rsplit('/').next().is_some_and(|name| name.contains('.'));
        let is_number = digits >= 2 && !word.contains('/');
        if origin == Origin::Call { is_path } else { is_number || is_path || word.contains('@') }
    })
}

/// Ends of the names of files with code.
const SOURCES: [&str; 24] = [
    "rs", "go", "py", "pyi", "js", "jsx", "ts", "tsx", "mjs", "java", "kt", "c", "h", "cc", "cpp",
    "cs", "rb", "php", "swift", "scala", "sh", "css", "html", "lock",
];
/// Tools that look for lines in files.
const FINDERS: [&str; 3] = ["grep", "glob", "search"];

/// Whether it is no line of code, of a search or of the output of a command that is only a
/// member of something: that can be looked up, and says nothing alone.
pub(super) fn is_no_listing<'a>(
    text: &str,
    segment: &Segment,
    source_of: &dyn Fn(u64) -> Option<&'a str>,
) -> bool {
    if segment.origin == Origin::Call {
        return !text.contains(';') && text.len() <= 120;
    }
    if segment.origin != Origin::Result {
        return true;
    }
    let Some(source) = source_of(segment.line) else {
        return true;
    };
    let (tool, work) = source.split_once(": ").unwrap_or((source, ""));
    let tool = tool.to_lowercase();
    let finds = FINDERS.iter().any(|name| tool.contains(name));
    let end = work.rsplit('.').next().unwrap_or_default();
    let is_code = work.contains('.') && SOURCES.contains(&end);
    // The output of commands is full of members without an object.
    let is_listing = finds || is_code || is_shell(&tool) && is_pair(text);
    !is_listing
}

/// `"order_id": "W8123"`, `port: 9443`.
fn is_pair(text: &str) -> bool {
    let Some((name, value)) = text.split_once([':', '：']) else {
        return false;
    };
    let name = name.trim_matches(['"', '\'', ' ']);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
    !name.is_empty()
        && name.len() <= 40
        && name.chars().all(is_name)
        && value.contains(char::is_alphanumeric)
}

/// Whether the summary has the names of all files that a text names, by other paths.
pub(super) fn names_known_files(text: &str, summary: &str) -> bool {
    let is_end =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '(' | ')' | ',' | ';');
    let paths = text.split(is_end).filter(|word| word.contains('/') && word.len() > 4);
    let mut names =
        paths.filter_map(|path| path.trim_end_matches(['.', ':', '/']).rsplit('/').next());
    let mut any = false;
    names.all(|name| {
        any = true;
        name.len() > 2 && summary.contains(name)
    }) && any
}

#[cfg(test)]
mod tests {
    use super::is_statement;

    #[test]
    fn lines_of_code_are_no_statements() {
        for text in [
            "except ValueError:",
            "return parse_line(text)",
            "let port = 9443;",
            "@@ -1,3 +1,4 @@",
            "self.port",
            "    }",
            "x_9443",
            "944:	laneInfo, hasLane := m.sessionLanes[flatIndex]",
            "HookSpecificOutput *hookSpecificOutput `json:\"hookSpecificOutput,omitempty\"`",
            "f, err := os.OpenFile(lockPath, os.O_WRONLY, 0o644)",
            "wingmanLog(\"apply already attempted at %s, skipping\", at)",
        ] {
            assert!(!is_statement(text), "{text}");
        }
        for text in [
            "invoice INV-4007 was paid on 2026-03-02",
            "\"order_id\": \"W8123\"",
            "port: 9443",
            "订单号是 W8123，请尽快发货",
        ] {
            assert!(is_statement(text), "{text}");
        }
    }
}
