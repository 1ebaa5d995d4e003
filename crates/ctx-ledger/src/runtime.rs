//! What the tools did: each call in short, and the errors they ended with.

use std::sync::LazyLock;

use ctx_redact::redact;
use ctx_transcript::{Call, Object, Part, ToolResult};
use regex::Regex;
use serde_json::Value;

use crate::text::{ascii_regex, cut, plain_line};

/// Longest digest, in characters.
pub const DIGEST_MAX: usize = 160;

/// Arguments that say most about a call, best first.
const MAIN: &str = "\
    command cmd script code file_path filepath path file filename notebook_path pattern query q \
    search url prompt question title subject description name id input text";

/// `Bash: cargo test`: the tool and its main argument.
pub fn digest(call: &Call<'_>) -> String {
    let argument = main_argument(&call.arguments)
        // Before the names of members and the ends of lines are gone: they give secrets away.
        .unwrap_or_else(|| all_arguments(&redact(&call.arguments).0));
    line(call, &argument)
}

/// The same, from the arguments without their secrets.
pub(crate) fn digest_of(call: &Call<'_>, clean: &str) -> String {
    line(
        call,
        &main_argument(clean).unwrap_or_else(|| all_arguments(clean)),
    )
}

fn line(call: &Call<'_>, argument: &str) -> String {
    let mut line = plain_line(&call.name);
    if !argument.is_empty() {
        line = format!("{line}: {argument}");
    }
    // Before the cut: half a key is not recognised.
    cut(redact(&line).0.into_owned(), DIGEST_MAX)
}

/// The argument that says most, without secrets; `None` where no name is known.
fn main_argument(arguments: &str) -> Option<String> {
    let object = Object::parse(arguments).ok()?;
    let mut main = MAIN
        .split(' ')
        .filter_map(|name| object.text_of(name))
        .map(|text| plain_line(&redact(&text).0));
    main.find(|text| !text.is_empty())
}

/// All plain values in their order.
fn all_arguments(clean: &str) -> String {
    let Ok(object) = Object::parse(clean) else {
        // Free text, or JSON that the model did not finish.
        return plain_line(clean);
    };
    let mut plain = Vec::new();
    for member in object.members() {
        let value = serde_json::from_str(member.value).unwrap_or_default();
        collect_plain(&value, &mut plain);
    }
    plain.join(", ")
}

fn collect_plain(value: &Value, plain: &mut Vec<String>) {
    match value {
        Value::String(text) => plain.push(plain_line(&redact(text).0)),
        Value::Number(number) => plain.push(number.to_string()),
        Value::Bool(flag) => plain.push(flag.to_string()),
        Value::Array(values) => values.iter().for_each(|value| collect_plain(value, plain)),
        Value::Object(members) => members
            .values()
            .for_each(|value| collect_plain(value, plain)),
        Value::Null => {}
    }
}

/// The error a result reports, on one line; `None` when it reports none.
///
/// Few formats mark errors, so the first lines are looked at: a tool says at
/// once that it failed. Words like "error" further down are mostly content.
pub fn error(result: &ToolResult<'_>) -> Option<String> {
    let texts = result.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_ref()),
        _ => None,
    });
    let mut lines = texts
        .flat_map(str::lines)
        .filter(|line| !line.trim().is_empty());
    let head: Vec<&str> = lines.by_ref().take(LOOKED_AT).collect();
    // Most results are none, and long: secrets are looked for in errors only.
    if !result.is_error && !head.iter().any(|line| says_error(line.trim())) {
        return None;
    }
    // Together: the name of a secret may be on the line before.
    let head = head.join("\n");
    let head = redact(&head).0;
    let head: Vec<&str> = head.lines().map(str::trim).collect();
    let found = head.iter().position(|line| says_error(line));
    let at = found.or(result.is_error.then_some(0))?;
    let Some(first) = head.get(at) else {
        return Some("error without a text".to_owned());
    };
    let rest = head[at + 1..].iter().copied();
    let message = if first.starts_with("Traceback (") {
        // Python names the error at the end.
        let end = rest
            .chain(lines.map(str::trim))
            .find(|line| names_exception(line));
        end.map_or_else(|| (*first).to_owned(), ToOwned::to_owned)
    } else if is_bare(first) {
        // "Exit code 1" alone says little.
        rest.take(1)
            .fold((*first).to_owned(), |text, next| format!("{text}: {next}"))
    } else {
        (*first).to_owned()
    };
    let message = message
        .replace("<tool_use_error>", "")
        .replace("</tool_use_error>", "");
    Some(cut(plain_line(&redact(&message).0), DIGEST_MAX))
}

/// How many lines of a result are looked at.
const LOOKED_AT: usize = 3;

/// How the line of an error looks. Case is kept: "error" in the middle of a listing and
/// "Errors are handled …" in a document are no errors.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"^(?:[Ee]rror:|ERROR:|Error |error\[|ERROR |\[ERROR\]|\[error\]|[Ff]atal:|FATAL|错误：|错误:|报错)",
        r"^(?:Traceback \(|panic:|thread '|Exception:|Exception in|Unhandled|Uncaught|<tool_use_error>)",
        r"^(?:[Pp]ermission denied|No such file|Segmentation fault|command not found|Command failed)",
        r"^(?:[Ff]ailed to|Cannot |npm ERR!)",
        ": (?:command not found|No such file or directory|Permission denied)$",
        EXCEPTION,
    ];
    ascii_regex(&forms.join("|"))
});

/// `ValueError: …`, `java.io.IOException: …`: one word that ends so, then a colon or nothing.
const EXCEPTION: &str = "^[A-Za-z0-9._]*(?:[A-Za-z0-9._]Error|Exception)(?::|$)";

fn says_error(line: &str) -> bool {
    ERROR.is_match(line) || exit_code(line).is_some_and(|code| code != 0)
}

/// The code of `Exit code 1`, `exit status 1`, `Process exited with code 1`.
fn exit_code(line: &str) -> Option<i64> {
    static EXIT: LazyLock<Regex> = LazyLock::new(|| {
        let words = "exit code|exit status|process exited with code|exited with code";
        ascii_regex(&format!("^(?i-u:{words})[: =]*([0-9-]+)"))
    });
    EXIT.captures(line)?[1].parse().ok()
}

fn is_bare(line: &str) -> bool {
    exit_code(line).is_some() || line.ends_with(':')
}

fn names_exception(line: &str) -> bool {
    static NAME: LazyLock<Regex> = LazyLock::new(|| ascii_regex(EXCEPTION));
    NAME.is_match(line)
}

#[cfg(test)]
mod tests {
    use ctx_transcript::{Call, Denial, Part, ToolResult};

    use super::{DIGEST_MAX, digest, error};

    fn call(name: &str, arguments: &str) -> String {
        digest(&Call {
            id: None,
            name: name.into(),
            arguments: arguments.into(),
            slot: None,
        })
    }

    #[test]
    fn a_call_is_its_name_and_its_main_argument() {
        for (arguments, digest) in [
            (
                r#"{"description":"List","command":"ls\n -l"}"#,
                "Bash: ls -l",
            ),
            (r#"{"limit":3,"file_path":"/a/b.rs"}"#, "Bash: /a/b.rs"),
            (
                r#"{"zeta":"z","n":1,"a":[{"b":true}],"c":null}"#,
                "Bash: z, 1, true",
            ),
            (r#"{"command":""}"#, "Bash"),
            (" {} ", "Bash"),
            ("", "Bash"),
            ("free\ntext", "Bash: free text"),
            (r#"{"command":"cut o"#, r#"Bash: {"command":"cut o"#),
        ] {
            assert_eq!(call("Bash", arguments), digest);
        }
    }

    /// D13: the name of a secret was gone before the secret was looked for.
    #[test]
    fn a_secret_is_known_by_its_name_in_a_digest_too() {
        let word = ["correct-", "horse"].concat();
        for (arguments, digest) in [
            (
                serde_json::json!({"host": "db", "password": word}),
                "login: db, [REDACTED]",
            ),
            (
                serde_json::json!({"command": format!("cat a\npassword: >-\n  {word}\nuser: b")}),
                "login: cat a password: >- [REDACTED] user: b",
            ),
        ] {
            assert_eq!(call("login", &arguments.to_string()), digest);
        }
    }

    #[test]
    fn a_digest_has_a_limit() {
        let long = "决".repeat(500);
        let digest = digest(&Call {
            id: None,
            name: "t".into(),
            arguments: long.into(),
            slot: None,
        });
        assert_eq!(digest.chars().count(), DIGEST_MAX);
        assert!(digest.ends_with('…'));
    }

    fn result(text: &'static str, is_error: bool) -> Option<String> {
        error(&ToolResult {
            id: None,
            name: None,
            is_error,
            denial: Denial::None,
            parts: vec![Part::Text(text.into())],
            slot: None,
        })
    }

    #[test]
    fn errors_are_seen_in_the_first_lines() {
        for (text, message) in [
            ("Error: no such flight", "Error: no such flight"),
            (
                "Exit code 1\n[lint] failed\nmore",
                "Exit code 1: [lint] failed",
            ),
            ("Exit code 2", "Exit code 2"),
            (
                "\nbash: foo: command not found",
                "bash: foo: command not found",
            ),
            (
                "running\nTraceback (most recent call last):\n  File \"a.py\", line 1\n    x\nValueError: bad",
                "ValueError: bad",
            ),
            (
                "Traceback (most recent call last):\n  cut",
                "Traceback (most recent call last):",
            ),
            (
                "<tool_use_error>File has not been read</tool_use_error>",
                "File has not been read",
            ),
            (
                "error[E0308]: mismatched types",
                "error[E0308]: mismatched types",
            ),
            (
                "cat: x: No such file or directory",
                "cat: x: No such file or directory",
            ),
            ("java.io.IOException: gone", "java.io.IOException: gone"),
            ("错误：文件不存在", "错误：文件不存在"),
        ] {
            assert_eq!(result(text, false).as_deref(), Some(message), "{text}");
        }
    }

    #[test]
    fn look_alikes_of_errors_are_none() {
        for text in [
            "",
            "Exit code 0\nall fine",
            "a\nb\nc\nError: far down",
            "Errors are handled in src/error.rs",
            "src/error.rs:10: fn error()",
            "0 errors, 2 warnings",
            "The word Error alone",
            "Error",
            "No error.",
            "exit codes are listed below",
        ] {
            assert_eq!(result(text, false), None, "{text}");
        }
    }

    #[test]
    fn a_marked_error_is_one_whatever_it_says() {
        assert_eq!(
            result("the user said no\nmore", true).as_deref(),
            Some("the user said no")
        );
        assert_eq!(result("", true).as_deref(), Some("error without a text"));
    }
}
