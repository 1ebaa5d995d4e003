//! Extracts from each tool call a one-line digest, its file, command or task list, and the error in
//! its result.

use std::sync::LazyLock;

use ctx_format::files::{Access, FileUse};
use ctx_format::{Call, Object, Part, ToolResult};
use ctx_redact::redact;
use ctx_text::{LazyRegex, Matcher, WordSet, one_line, plain_line, shorten, shorten_words};
use serde_json::Value;

use crate::ledger::harness::is_denied;
use crate::ledger::output::is_outcome;
use crate::ledger::{Item, ItemKind, LISTS, Leaf, State};

/// The maximum length of a digest, in characters.
pub const DIGEST_MAX: usize = 160;

/// Names of the arguments that describe a call best, from most to least informative.
static MAIN: LazyLock<Vec<String>> = LazyLock::new(|| LISTS.entries("main argument"));

/// Returns the name of the tool and its main argument, such as `Bash: cargo test`.
pub fn digest(call: &Call<'_>) -> String {
    let object = Object::parse(&call.arguments).ok();
    let argument = object.as_ref().and_then(main_argument).unwrap_or_else(|| {
        // Redact first, because secrets are recognized by member names and line ends, which are
        // dropped below.
        let clean = redact(&call.arguments).0;
        all_arguments(&clean, Object::parse(&clean).ok().as_ref())
    });
    line(call, &argument)
}

fn line(call: &Call<'_>, argument: &str) -> String {
    let mut line = plain_line(&call.name);
    if !argument.is_empty() {
        line = format!("{line}: {argument}");
    }
    // Redact again before the line is shortened, because half a key is not recognized as a secret.
    shorten(redact(&line).0.into_owned(), DIGEST_MAX)
}

/// Returns the most informative argument, redacted, or `None` if no argument has a known name.
fn main_argument(object: &Object<'_>) -> Option<String> {
    let texts = MAIN.iter().filter_map(|name| object.text_of(name));
    let mut main = texts.map(|text| plain_line(&redact(&text).0));
    main.find(|text| !text.is_empty())
}

/// Returns all plain values in the arguments, in order. `clean` contains the redacted arguments.
fn all_arguments(clean: &str, object: Option<&Object<'_>>) -> String {
    // The arguments may be free text or incomplete JSON.
    let Some(object) = object else { return plain_line(clean) };
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
        Value::Object(members) => members.values().for_each(|value| collect_plain(value, plain)),
        Value::Null => {}
    }
}

/// Returns the error that a tool result reports, on one line, or `None` if it reports no error.
///
/// Few formats mark errors, so errors are searched for in the first lines of the result, where
/// tools usually report them. On later lines, words such as "error" are usually part of the
/// content.
pub fn error(result: &ToolResult<'_>) -> Option<String> {
    let texts = result.parts.iter().filter_map(Part::text);
    let mut lines = texts.flat_map(str::lines).filter(|line| !line.trim().is_empty());
    let head: Vec<&str> = lines.by_ref().take(LOOKED_AT).collect();
    if head.first().is_some_and(|line| is_denied(line)) {
        return Some(REJECTED.to_owned());
    }
    // Most results are long and report no error, so secrets are redacted only from errors.
    if !result.is_error && !head.iter().any(|line| says_error(line.trim())) {
        return None;
    }
    // Join the lines before redacting, because the name of a secret may be on the line before it.
    let head = head.join("\n");
    let head = redact(&head).0;
    let head: Vec<&str> = head.lines().map(str::trim).collect();
    let found = head.iter().position(|line| says_error(line));
    let at = found.or(result.is_error.then_some(0))?;
    let Some(first) = head.get(at) else { return Some("error without a text".to_owned()) };
    let rest = head[at + 1..].iter().copied();
    // "Exit code 1" is of little use without the next line.
    let is_bare = || exit_code(first).is_some() || first.ends_with(':');
    let message = if first.starts_with("Traceback (") {
        // Python reports the error on the last line of a traceback.
        let end = rest.chain(lines.map(str::trim)).find(|line| names_exception(line));
        end.map_or_else(|| (*first).to_owned(), ToOwned::to_owned)
    } else if is_bare() {
        let mut rest = rest.filter(|line| !is_echo(line));
        rest.next().into_iter().fold((*first).to_owned(), |text, next| format!("{text}: {next}"))
    } else {
        (*first).to_owned()
    };
    let message = message.replace("<tool_use_error>", "").replace("</tool_use_error>", "");
    Some(shorten(plain_line(&redact(&message).0), DIGEST_MAX))
}

/// The number of lines at the beginning of a result that are searched for an error.
const LOOKED_AT: usize = 3;

/// Returns true if a task runner repeats the command in the line before it runs the command.
fn is_echo(line: &str) -> bool {
    line.starts_with("$ ") || line.starts_with("> ") || line.contains("] $ ")
}

fn says_error(line: &str) -> bool {
    static BEGINNINGS: LazyLock<Vec<String>> = LazyLock::new(|| LISTS.entries("error"));
    static ENDS: LazyLock<Vec<String>> = LazyLock::new(|| LISTS.entries("error, ends"));
    let first = line.bytes().next();
    BEGINNINGS.iter().any(|it| it.bytes().next() == first && line.starts_with(it.as_str()))
        || ["[ERROR]", "[error]"].iter().any(|mark| line.starts_with(mark))
        || ENDS.iter().any(|end| line.ends_with(end.as_str()))
        || names_exception(line)
        || exit_code(line).is_some_and(|code| code != 0)
}

/// Returns true for a name that ends with `Error` or `Exception` and is followed by a colon or
/// nothing, as in `ValueError: …` and `java.io.IOException`.
pub(crate) fn names_exception(line: &str) -> bool {
    let name = line.split(':').next().unwrap_or_default();
    let is_error = name.ends_with("Exception") || name.ends_with("Error") && name != "Error";
    is_error && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte))
}

/// Returns the exit code in a line such as `Exit code 1`, `exit status 1` or `Process exited with
/// code 1`.
fn exit_code(line: &str) -> Option<i64> {
    static EXIT: LazyLock<LazyRegex> = LazyLock::new(|| LISTS.hinted("exit code"));
    // The pattern is rarely needed, because most lines begin with a different letter.
    line.starts_with(['E', 'e', 'P', 'p']).then(|| EXIT.groups(line))??[1]?.parse().ok()
}

/// What a tool call does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Action {
    /// The id of the call.
    pub(crate) id: Option<String>,
    /// The name of the tool and its main argument. Repeated calls have the same digest.
    pub(crate) digest: String,
    pub(crate) target: Target,
    /// The task list that the call writes, if any.
    pub(crate) tasks: Option<Vec<Item>>,
}

/// What a call acts on: a file, a command or neither.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    File { path: String, is_changed: bool },
    Command,
    Other,
}

impl Action {
    /// Reads a call. `clean` contains the redacted arguments, and `leaves` contains their values if
    /// they are JSON.
    pub(crate) fn of(call: &Call<'_>, clean: &str, leaves: Option<&[Leaf]>) -> Self {
        let object = Object::parse(clean).ok();
        let file = match &object {
            Some(object) if *clean == *call.arguments => FileUse::of_object(&call.name, object),
            _ => FileUse::of(&call.name, &call.arguments),
        };
        let target = match file {
            Some(file) => {
                Target::File { path: file.path, is_changed: file.access == Access::Write }
            }
            None if is_shell(&call.name) => Target::Command,
            None => Target::Other,
        };
        let object = object.as_ref();
        let main = object.and_then(main_argument);
        Self {
            id: call.id.as_ref().map(ToString::to_string),
            digest: line(call, &main.unwrap_or_else(|| all_arguments(clean, object))),
            target,
            tasks: leaves.and_then(|leaves| tasks(call, leaves)),
        }
    }
}

/// The part of a call's result that the ledger needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The id of the call.
    pub(crate) id: Option<String>,
    /// The error that the result reports, if any.
    pub(crate) error: Option<String>,
    /// The whole text of a result with a single line. The text of a longer result is empty.
    pub(crate) text: String,
}

impl Outcome {
    pub(crate) fn of(result: &ToolResult<'_>) -> Self {
        let texts = result.parts.iter().filter_map(Part::said);
        let mut lines = texts.flat_map(str::lines).filter(|line| !line.trim().is_empty());
        let text = match (lines.next(), lines.next()) {
            (None, _) => NO_OUTPUT.to_owned(),
            // A record is of use only as a whole.
            (Some(only), None) if only.starts_with(['{', '[']) && only.len() > OUTCOME_MAX => {
                String::new()
            }
            (Some(only), None) => shorten_words(&plain_line(&redact(only).0), OUTCOME_MAX),
            _ => String::new(),
        };
        Self { id: result.id.as_ref().map(ToString::to_string), error: error(result), text }
    }

    /// Reads the outcome of a call in an earlier summary.
    pub(crate) fn of_earlier(text: &str) -> Self {
        let error = text.strip_prefix(FAILED).or((text == REJECTED).then_some(text));
        let error = error.map(str::to_owned);
        Self { id: None, error, text: text.to_owned() }
    }

    /// Returns one line that says what came of the call. `found` are the lines of the result that
    /// say how something ended.
    pub(crate) fn line(&self, found: &[&str]) -> String {
        let mut parts: Vec<String> = Vec::new();
        match self.error.as_deref() {
            Some(REJECTED) => parts.push(REJECTED.to_owned()),
            Some(error) => parts.push(format!("{FAILED}{error}")),
            None => {}
        }
        // Lines such as those of passed packages are counted.
        let mut counts: Vec<(&str, usize, &str)> = Vec::new();
        let is_end = |line: &&&str| {
            // A line of a diff is not an outcome.
            let is_diff = line.starts_with(['-', '+']) && !line.starts_with("---");
            line.len() <= OUTCOME_MAX && !is_untested(line) && !is_diff
        };
        for line in found.iter().filter(is_end) {
            let word = line.split_whitespace().next().unwrap_or_default();
            let is_same = |known: &&str| *known == word && VERDICTS.contains(&word);
            match counts.iter_mut().find(|(known, ..)| is_same(known)) {
                Some((_, count, _)) => *count += 1,
                None => counts.push((word, 1, line)),
            }
        }
        // If the totals name no failure, single lines of the output do not either.
        let mut totals = counts.iter().filter(|(.., line)| is_total(line)).peekable();
        if totals.peek().is_some() && totals.all(|(.., line)| !is_failure(line)) {
            counts.retain(|(_, count, line)| *count > 1 || is_commit(line) || is_total(line));
        }
        // A commit comes first, then failures.
        counts.sort_by_key(|(word, _, line)| (!is_commit(line), PASSED.contains(word)));
        for (word, count, line) in counts.iter().take(OUTCOMES) {
            let is_known = |known: &String| known.contains(line.trim());
            if *count > 1 {
                parts.push(format!("{count} × {word}"));
            } else if !parts.iter().any(is_known) {
                parts.push(plain_line(line));
            }
        }
        if parts.is_empty() {
            return self.text.clone();
        }
        shorten_words(&parts.join("; "), OUTCOME_MAX)
    }
}

/// Returns true for a line with the total of a test run or a check.
fn is_total(line: &str) -> bool {
    static TOTAL: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("total"));
    TOTAL.is_match(line)
}

/// Returns true for a total that names a failure.
fn is_failure(line: &str) -> bool {
    static FAILED_TOTAL: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("failed total"));
    FAILED_TOTAL.is_match(line)
}

/// Returns true for a package without tests.
pub(crate) fn is_untested(line: &str) -> bool {
    line.ends_with("[no test files]")
}

/// The outcome of a call whose result has no text.
const NO_OUTPUT: &str = "no output";
/// The outcome of a call that the user rejected.
pub(crate) const REJECTED: &str = "rejected by the user";
/// The beginning of the outcome of a call that failed.
pub(crate) const FAILED: &str = "failed: ";
/// The first words of lines that say how a test or a package ended.
const VERDICTS: [&str; 6] = ["ok", "PASS", "PASSED", "FAIL", "FAILED", "---"];
const PASSED: [&str; 3] = ["ok", "PASS", "PASSED"];
/// The maximum length of an outcome, in characters, and the maximum number of lines in it.
const OUTCOME_MAX: usize = 200;
const OUTCOMES: usize = 3;

/// What the outcome of a command says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The command made a commit.
    Commit,
    /// A test, a build or another check passed or failed.
    Check,
}

impl Verdict {
    /// Returns what `outcome` says about `command`, if it says that something was committed, passed
    /// or failed.
    pub(crate) fn of(command: &str, outcome: &str) -> Option<Self> {
        static CHECKS: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("checks"));
        static VERDICT: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("verdict"));
        let mut parts = outcome.split("; ");
        if parts.clone().any(is_commit) {
            return Some(Self::Commit);
        }
        let mut words = command.split(|c: char| !c.is_ascii_alphanumeric());
        let checks = words.any(|word| CHECKS.contains(word));
        let is_end = |part: &str| part.starts_with(FAILED) || is_outcome(part);
        parts.any(|part| VERDICT.is_match(part) || checks && is_end(part)).then_some(Self::Check)
    }
}

/// Returns true if a line in the output of git names a new commit.
pub(crate) fn is_commit(line: &str) -> bool {
    static COMMIT: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("commit"));
    line.starts_with('[') && COMMIT.is_match(line)
}

/// Returns true if `tool` runs commands or scripts.
pub(crate) fn is_shell(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    crate::is_shell(&tool) || tool.contains("run")
}

/// Returns the tasks that a call writes. A task list is recognized by the name of the tool, and by
/// arguments that give each task a name and a status.
pub(crate) fn tasks(call: &Call<'_>, leaves: &[Leaf]) -> Option<Vec<Item>> {
    let name = call.name.to_ascii_lowercase();
    if !(name.contains("todo") || name.contains("plan") || name.contains("task")) {
        return None;
    }
    let mut tasks: Vec<Item> = Vec::new();
    let mut text: Option<String> = None;
    let mut status: Option<State> = None;
    for leaf in leaves {
        match leaf.key.as_str() {
            "content" | "step" | "task" | "title" => text = Some(one_line(&leaf.value)),
            "status" => {
                status = Some(match leaf.value.as_str() {
                    "completed" | "done" => State::Done,
                    "cancelled" => State::Superseded,
                    "in_progress" => State::InProgress,
                    _ => State::Current,
                });
            }
            _ => {}
        }
        if let (Some(name), Some(state)) = (&text, status) {
            let task = Item::new(ItemKind::Open, name.clone(), 0);
            tasks.push(Item { state, changed: true, ..task });
            (text, status) = (None, None);
        }
    }
    (!tasks.is_empty()).then_some(tasks)
}

#[cfg(test)]
mod tests {
    use ctx_format::{Call, ToolResult};

    use super::{Action, DIGEST_MAX, Outcome, Target, digest, error, tasks};
    use crate::ledger::fixtures::{call, leaves, result};
    use crate::ledger::items::State;
    use crate::ledger::json::Leaf;

    fn digest_of_call(name: &str, arguments: &str) -> String {
        digest(&Call { id: None, name: name.into(), arguments: arguments.into(), slot: None })
    }

    #[test]
    fn a_call_is_its_name_and_its_main_argument() {
        for (arguments, digest) in [
            (r#"{"description":"List","command":"ls\n -l"}"#, "Bash: ls -l"),
            (r#"{"limit":3,"file_path":"/a/b.rs"}"#, "Bash: /a/b.rs"),
            (r#"{"zeta":"z","n":1,"a":[{"b":true}],"c":null}"#, "Bash: z, 1, true"),
            (r#"{"command":""}"#, "Bash"),
            (" {} ", "Bash"),
            ("", "Bash"),
            ("free\ntext", "Bash: free text"),
            (r#"{"command":"cut o"#, r#"Bash: {"command":"cut o"#),
        ] {
            assert_eq!(digest_of_call("Bash", arguments), digest);
        }
    }

    #[test]
    fn of_a_run_that_passed_only_the_totals_are_told() {
        let outcome = Outcome::of(&ToolResult::default());
        let passed = ["[flags] Failed to load the flags", "All tests passed (29)"];
        assert_eq!(outcome.line(&passed), "All tests passed (29)");
        let failed = ["Failed to load the flags", "1 failed, 2 passed"];
        assert_eq!(outcome.line(&failed), "Failed to load the flags; 1 failed, 2 passed");
    }

    #[test]
    fn a_secret_is_known_by_its_name_in_a_digest_too() {
        let word = ["correct-", "horse"].concat();
        for (arguments, digest) in [
            (serde_json::json!({"host": "db", "password": word}), "login: db, [REDACTED]"),
            (
                serde_json::json!({"command": format!("cat a\npassword: >-\n  {word}\nuser: b")}),
                "login: cat a password: >- [REDACTED] user: b",
            ),
        ] {
            assert_eq!(digest_of_call("login", &arguments.to_string()), digest);
        }
    }

    #[test]
    fn a_digest_has_a_limit() {
        let long = "决".repeat(500);
        let digest =
            digest(&Call { id: None, name: "t".into(), arguments: long.into(), slot: None });
        assert_eq!(digest.chars().count(), DIGEST_MAX);
        assert!(digest.ends_with('…'));
    }

    fn error_in(text: &str, is_error: bool) -> Option<String> {
        error(&ToolResult { is_error, ..result(text) })
    }

    #[test]
    fn errors_are_seen_in_the_first_lines() {
        for (text, message) in [
            ("Error: no such flight", "Error: no such flight"),
            ("Exit code 1\n[lint] failed\nmore", "Exit code 1: [lint] failed"),
            ("Exit code 2", "Exit code 2"),
            ("\nbash: foo: command not found", "bash: foo: command not found"),
            (
                "running\nTraceback (most recent call last):\n  File \"a.py\", line 1\n    x\nValueError: bad",
                "ValueError: bad",
            ),
            ("Traceback (most recent call last):\n  cut", "Traceback (most recent call last):"),
            ("<tool_use_error>File has not been read</tool_use_error>", "File has not been read"),
            ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
            ("cat: x: No such file or directory", "cat: x: No such file or directory"),
            ("java.io.IOException: gone", "java.io.IOException: gone"),
            ("错误：文件不存在", "错误：文件不存在"),
        ] {
            assert_eq!(error_in(text, false).as_deref(), Some(message), "{text}");
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
            assert_eq!(error_in(text, false), None, "{text}");
        }
    }

    #[test]
    fn a_marked_error_is_one_whatever_it_says() {
        assert_eq!(error_in("the user said no\nmore", true).as_deref(), Some("the user said no"));
        assert_eq!(error_in("", true).as_deref(), Some("error without a text"));
    }

    fn target(tool: &str, arguments: &str) -> Target {
        let leaves = leaves(arguments);
        Action::of(&call(Some("c"), tool, arguments), arguments, leaves.as_deref()).target
    }

    fn outcome(text: &str) -> Option<String> {
        Outcome::of(&result(text)).error
    }

    #[test]
    fn what_a_call_works_on_is_known_by_tool_and_arguments() {
        let file = |is_changed| Target::File { path: "src/甲.rs".to_owned(), is_changed };
        let path = r#"{"file_path":"./src/甲.rs"}"#;
        assert_eq!(target("Read", path), file(false));
        assert_eq!(target("Write", path), file(true));
        assert_eq!(target("Bash", r#"{"command":"ls"}"#), Target::Command);
        assert_eq!(target("run_in_TERMINAL", "{}"), Target::Command);
        assert_eq!(target("get_weather", r#"{"city":"Oslo"}"#), Target::Other);
        assert_eq!(target("", ""), Target::Other);
    }

    #[test]
    fn arguments_that_are_no_json_are_quoted_and_hold_no_tasks() {
        let call = call(None, "todo_bash", "ls -l");
        let action = Action::of(&call, &call.arguments, None);
        assert_eq!((action.id, action.digest.as_str()), (None, "todo_bash: ls -l"));
        assert_eq!((action.target, action.tasks), (Target::Command, None));
    }

    #[test]
    fn a_list_of_tasks_is_read() {
        let list = r#"{"todos":[{"content":"one","status":"done"}]}"#;
        let leaves = leaves(list);
        let action = Action::of(&call(Some("c"), "TodoWrite", list), list, leaves.as_deref());
        assert_eq!(action.id.as_deref(), Some("c"));
        let tasks = action.tasks.expect("a list");
        assert!(tasks.len() == 1 && tasks[0].state == State::Done && tasks[0].text == "one");
    }

    #[test]
    fn an_error_is_on_one_line_and_not_too_long() {
        assert_eq!(outcome("all is well"), None);
        assert_eq!(outcome(""), None);
        assert_eq!(outcome("Error: no\tsuch   file").as_deref(), Some("Error: no such file"));
        for word in ["x", "错", "错 误 "] {
            let text = format!("Error: {}", word.repeat(2 * DIGEST_MAX));
            let error = outcome(&text).expect("an error");
            assert!(error.chars().count() <= DIGEST_MAX, "{error}");
            assert!(error.starts_with("Error: "), "{error}");
        }
    }

    #[test]
    fn a_failure_without_a_text_is_one_all_the_same() {
        let mut failed = result("");
        failed.is_error = true;
        let outcome = Outcome::of(&failed);
        assert_eq!(outcome.id.as_deref(), Some("c"));
        assert!(outcome.error.is_some_and(|error| !error.is_empty()));
    }

    fn of(tool: &str, arguments: &str) -> Option<Vec<(String, State)>> {
        let leaves: Vec<Leaf> = leaves(arguments).expect("JSON");
        let found = tasks(&call(None, tool, arguments), &leaves)?;
        Some(found.into_iter().map(|task| (task.text, task.state)).collect())
    }

    fn expected(list: &[(&str, State)]) -> Vec<(String, State)> {
        list.iter().map(|(text, state)| ((*text).to_owned(), *state)).collect()
    }

    #[test]
    fn a_list_is_known_by_its_tool_and_its_shape() {
        let list = r#"{"todos":[
            {"content":"build  it\n now","status":"completed","id":"1"},
            {"content":"测试它","status":"in_progress"},
            {"content":"drop it","status":"cancelled"}]}"#;
        let found = Some(expected(&[
            ("build it now", State::Done),
            ("测试它", State::InProgress),
            ("drop it", State::Superseded),
        ]));
        assert_eq!(of("TodoWrite", list), found);
        assert_eq!(of("update_plan", list), found);
        assert_eq!(of("Bash", list), None);
    }

    #[test]
    fn the_status_may_come_first() {
        let list = r#"{"plan":[{"status":"done","step":"one"},{"status":"pending","step":"two"}]}"#;
        assert_eq!(
            of("update_plan", list),
            Some(expected(&[("one", State::Done), ("two", State::Current)]))
        );
    }

    #[test]
    fn what_has_no_status_or_no_name_is_no_task() {
        assert_eq!(of("TodoWrite", "{}"), None);
        assert_eq!(of("TodoWrite", r#"{"todos":[]}"#), None);
        assert_eq!(of("TodoWrite", r#"{"content":"alone"}"#), None);
        assert_eq!(of("TodoWrite", r#"{"status":"done"}"#), None);
        // If two names precede a status, the second is the name of the task.
        let list = r#"{"title":"a list","tasks":[{"task":"one","status":"open"}]}"#;
        assert_eq!(of("tasks", list), Some(expected(&[("one", State::Current)])));
    }
}
