//! Determines who wrote the text of a user message. Agent programs insert their own text into user
//! messages.
//!
//! The patterns were taken from recorded sessions of Claude Code 2 (commands, reminders,
//! interruptions, skills, continued sessions), Codex 0.1xx (environment, instructions) and
//! SWE-agent 0.x (observations, demonstrations), and from the source code of the other agents.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use ctx_format::{Call, Denial, Message, Part, ToolResult};
use ctx_text::{LazyRegex, edited};
use memchr::memmem::Finder;

use crate::ledger::{LISTS, sentences};

/// The author of text in a user message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The user.
    User,
    /// The agent program, which adds commands, reminders and instructions for the model.
    Program,
    /// A tool, if the text is the output of a command.
    Tool,
    /// The model, if the text is a summary of earlier messages.
    Summary,
}

static PROGRAM: LazyLock<Vec<String>> = LazyLock::new(|| LISTS.entries("program"));
static EMPTY: LazyLock<Vec<String>> = LazyLock::new(|| LISTS.entries("program, empty"));
static SUMMARY: LazyLock<Vec<String>> = LazyLock::new(|| LISTS.entries("summary"));
static ADDED: LazyLock<Vec<String>> = LazyLock::new(|| LISTS.entries("added"));

static INSERTED: LazyLock<LazyRegex> = LazyLock::new(|| LazyRegex::new(LISTS.pattern("inserted")));
static MARKS: LazyLock<Vec<Finder<'_>>> = LazyLock::new(|| {
    let marks = LISTS.entries("inserted, marks");
    marks.iter().map(|mark| Finder::new(mark).into_owned()).collect()
});

/// Returns true if `text` begins with an entry in `list`.
fn begins(text: &str, list: &[String]) -> bool {
    list.iter().any(|begin| text.starts_with(begin.as_str()))
}

/// Returns true if text from the agent program says nothing about the work.
pub(crate) fn is_empty(text: &str) -> bool {
    begins(text.trim_start(), &EMPTY)
}

/// Splits text from a user message into pieces, each with its author, and removes what says nothing
/// about the work. If `is_added` is true, the record says that a program wrote the text.
pub fn pieces(text: &str, is_added: bool) -> Vec<(Writer, Cow<'_, str>)> {
    let whole = if is_added { Writer::Program } else { writer(text) };
    let is_split = |start| whole == Writer::User || !is_added && text[..start].trim().is_empty();
    let is_marked = MARKS.iter().any(|mark| mark.find(text.as_bytes()).is_some());
    let place = if is_marked { INSERTED.find(text) } else { None };
    let place = place.filter(|place| is_split(place.start));
    let Some(place) = place else {
        let words = match whole {
            Writer::User => {
                command(text.trim()).map_or_else(|| without_added(before_prompt(text)), Cow::Owned)
            }
            Writer::Program => without_reminders(text),
            Writer::Tool => before_prompt(text).into(),
            Writer::Summary => without_draft(text),
        };
        return vec![(whole, words)];
    };
    let mut all = pieces(&text[..place.start], false);
    all.push((Writer::Program, without_reminders(&text[place.clone()])));
    all.extend(pieces(&text[place.end..], false));
    all.retain(|(_, piece)| !piece.trim().is_empty());
    all
}

/// Returns the author of text that contains no insertions.
fn writer(text: &str) -> Writer {
    let text = text.trim();
    if begins(text, &SUMMARY) {
        Writer::Summary
    } else if command(text).is_some() {
        Writer::User
    } else if text.starts_with("<command-") || begins(text, &PROGRAM) {
        Writer::Program
    } else if is_observation(text) {
        Writer::Tool
    } else {
        Writer::User
    }
}

/// Returns the text without the reminders that the agent program added for the model. The line
/// break after each reminder is removed as well.
pub fn without_reminders(text: &str) -> Cow<'_, str> {
    static BEGIN: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("<system-reminder>"));
    const END: &str = "</system-reminder>";
    let mut own = Cow::from("");
    let mut rest = text;
    // Unlike `str::find`, this search is prepared only once. Most texts contain no reminder.
    while let Some(begin) = BEGIN.find(rest.as_bytes()) {
        let Some((_, after)) = rest[begin..].split_once(END) else { break };
        own += &rest[..begin];
        rest = after.strip_prefix('\n').unwrap_or(after);
    }
    own + rest
}

/// Returns a Claude Code 2 summary without the preceding draft, which contains the same
/// information.
pub(crate) fn without_draft(text: &str) -> Cow<'_, str> {
    let parts = || {
        let (before, rest) = text.split_once("\nAnalysis:\n")?;
        let (_, summary) = rest.split_once("\nSummary:\n")?;
        Some(format!("{before}\n{summary}"))
    };
    edited(parts().map_or(text.into(), Cow::Owned), without_added)
}

/// Returns the text without the lines that the agent program added.
fn without_added(text: &str) -> Cow<'_, str> {
    let is_added = |line: &str| begins(line.trim_start(), &ADDED);
    if !text.lines().any(is_added) {
        return text.into();
    }
    let own = text.split_inclusive('\n').filter(|line| !is_added(line));
    own.collect::<String>().into()
}

/// Returns the text without SWE-agent's shell prompt at its end: the lines `(Open file: n/a)`,
/// `(Current directory: /a)` and `bash-$`.
fn before_prompt(text: &str) -> &str {
    let bare = text.trim_end();
    match bare.rsplit_once("\n(Open file: ") {
        Some((before, prompt)) if bare.ends_with("\nbash-$") && prompt.lines().count() == 3 => {
            before
        }
        _ => text,
    }
}

/// Returns a command with the arguments that the user gave it, such as `/review 42`. Returns `None`
/// if the user gave no arguments.
fn command(text: &str) -> Option<String> {
    // The output of a command may contain any tags.
    let text = text.split("<local-command-").next().filter(|text| text.starts_with("<command-"))?;
    let inside = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0.trim())
    };
    let arguments = inside("command-args").filter(|arguments| !arguments.is_empty())?;
    Some(format!("{} {arguments}", inside("command-name")?))
}

/// The tool that Claude Code uses to ask the user questions.
const QUESTION_TOOL: &str = "AskUserQuestion";

/// The text that Claude Code 2 writes before and after the user's answers.
const ANSWERS: [(&str, &str); 3] = [
    ("User has answered your questions: ", ". You can now continue"),
    ("Your questions have been answered: ", ". You can now continue"),
    ("The user answered: ", ". Read the answers carefully"),
];

/// Returns the user's words in a result from `tool` in a Claude Code 2 session: answers to the
/// agent's questions, or the reason why the user denied a call.
///
/// Any web page or program can print the same words. The user's words are therefore searched for
/// only in results from the tool that asks questions, and in denials that the record reports. MCP
/// servers write their own error texts, so for their tools the record must mark the denial
/// explicitly.
pub fn users_words<'t>(
    result: &ToolResult<'_>,
    tool: Option<&str>,
    text: &'t str,
) -> Option<Cow<'t, str>> {
    if tool == Some(QUESTION_TOOL) {
        let answers = ANSWERS.iter().find_map(|(before, behind)| {
            let answers = text.strip_prefix(before)?;
            Some(answers.rsplit_once(behind).map_or(answers, |(it, _)| it))
        });
        if let Some(answers) = answers {
            return Some(with_short_questions(answers).into());
        }
    }
    let may_be_denied = result.denial == Denial::Marked
        || result.denial == Denial::Reported && tool.is_some_and(|it| !it.starts_with("mcp__"));
    if !may_be_denied || !result.is_error || !is_denied(text) {
        return None;
    }
    let (_, reason) = text.split_once("the user said:\n")?;
    Some(reason.trim().into())
}

/// Returns true if a result says that the user rejected the call.
pub(crate) fn is_denied(text: &str) -> bool {
    text.starts_with("The user doesn't want to proceed")
}

/// Shortens each question in `"QUESTION"="ANSWER", "QUESTION"=ANSWER` to its last sentence. The
/// sentences before it are the model's words, and the user may not agree with them.
fn with_short_questions(pairs: &str) -> String {
    let mut short: Vec<String> = Vec::new();
    let mut rest = pairs;
    while let Some((head, mut answer)) = rest.rsplit_once("\"=") {
        let (before, question) = head.rsplit_once(", \"").unwrap_or(("", head));
        if !short.is_empty() {
            // What follows is the beginning of a question that contains a quotation mark.
            answer = answer.split(", \"").next().unwrap_or_default();
        }
        let last = sentences(question.trim_matches('"')).pop().unwrap_or_default();
        short.push(format!("\"{last}\"={answer}"));
        rest = before;
    }
    short.reverse();
    short.join(", ")
}

/// Remembers which tool each call used, because most results contain only the id of their call.
#[derive(Debug, Default)]
pub struct OpenCalls {
    tools: HashMap<String, String>,
}

impl OpenCalls {
    /// Remembers the tool that `call` uses.
    pub fn open(&mut self, call: &Call<'_>) {
        if let Some(id) = &call.id {
            self.tools.insert(id.to_string(), call.name.to_string());
        }
    }

    /// Returns the tool that produced a result: the tool that was called, or else the tool named in
    /// the result or its message.
    pub fn close(&mut self, result: &ToolResult<'_>, message: &Message<'_>) -> Option<String> {
        let called = result.id.as_deref().and_then(|id| self.tools.remove(id));
        let named = result.name.as_ref().or(message.name.as_ref());
        called.or_else(|| named.map(Cow::to_string))
    }

    /// Adds the name of the tool to each result that may contain the user's words.
    pub fn name_tools<'m, 'a>(&mut self, message: &'m Message<'a>) -> Cow<'m, Message<'a>> {
        let mut named = Cow::Borrowed(message);
        for (at, part) in message.parts.iter().enumerate() {
            match part {
                Part::Call(call) => self.open(call),
                Part::Result(result) => {
                    let tool = self.close(result, message);
                    let is_question = tool.as_deref() == Some(QUESTION_TOOL);
                    if (is_question || result.denial != Denial::None)
                        && let Part::Result(result) = &mut named.to_mut().parts[at]
                    {
                        result.name = tool.map(Cow::from);
                    }
                }
                _ => {}
            }
        }
        named
    }
}

/// Returns true if the text of a user message is command output. In SWE-agent, such a message ends
/// with the shell prompt.
pub fn is_observation(text: &str) -> bool {
    text.trim_end().ends_with("bash-$")
        && text.contains("\n(Current directory: ")
        && !text.contains("\n(Open file: n/a)")
}

#[cfg(test)]
mod tests {
    use ctx_format::{Call, Denial, Message, Part, Role, ToolResult};

    use super::{OpenCalls, Writer, is_empty, pieces, users_words, without_draft, writer};

    #[test]
    fn the_writer_is_known_by_how_the_text_begins_or_ends() {
        for (text, expected) in [
            ("fix the login", Writer::User),
            ("<b>bold</b> words", Writer::User),
            ("[Request interrupted by user for tool use]", Writer::Program),
            ("<command-name>/exit</command-name>\n<command-args></command-args>", Writer::Program),
            (
                "<command-name>/fix</command-name>\n<command-args>the login</command-args>",
                Writer::User,
            ),
            ("<local-command-stdout>Bye!</local-command-stdout>", Writer::Program),
            (
                "This session is being continued from a previous conversation that ran out of context.",
                Writer::Summary,
            ),
            ("Found 3 matches\n(Open file: a.py)\n(Current directory: /a)\nbash-$", Writer::Tool),
            // The first shell prompt comes after the task, so this text was written by the user.
            ("Do it.\n(Open file: n/a)\n(Current directory: /a)\nbash-$", Writer::User),
            ("", Writer::User),
        ] {
            assert_eq!(writer(text), expected, "{text}");
        }
    }

    #[test]
    fn of_a_command_the_users_words_are_read() {
        let text = "<command-message>fix</command-message>\n<command-name>/fix</command-name>\n<command-args>the login</command-args>";
        assert_eq!(own(text), "/fix the login");
        assert_eq!(own("fix <it>"), "fix <it>");
    }

    #[test]
    fn commands_without_words_and_the_environment_say_nothing() {
        for (text, expected) in [
            ("<command-name>/clear</command-name>", true),
            ("\n<local-command-stdout></local-command-stdout>", true),
            ("<environment_context><cwd>/x</cwd></environment_context>", true),
            ("<local-command-stdout>3 left</local-command-stdout>", false),
            ("<task-notification>done</task-notification>", false),
        ] {
            assert_eq!((writer(text), is_empty(text)), (Writer::Program, expected));
        }
    }

    /// Returns what the user wrote in `text`.
    fn own(text: &str) -> String {
        let own = pieces(text, false).into_iter().filter(|(writer, _)| *writer == Writer::User);
        own.map(|(_, piece)| piece).collect()
    }

    #[test]
    fn text_that_a_program_inserts_is_not_the_users_wherever_it_stands() {
        let reminder = "<system-reminder>\nbe nice\n</system-reminder>";
        for (text, users) in [
            (format!("{reminder}fix it"), "fix it"),
            (format!("fix it{reminder}"), "fix it"),
            (format!("{reminder}<local-command-stdout>x</local-command-stdout>"), ""),
            (reminder.to_owned(), ""),
            ("fix it".to_owned(), "fix it"),
            // The reminder is truncated, so its end is unknown.
            ("fix it <system-reminder>be".to_owned(), "fix it <system-reminder>be"),
            // A file in the reminder contains the marks of reminders.
            (
                "<system-reminder>a</system-reminder>push<system-reminder>b</system-reminder>fix it"
                    .to_owned(),
                "fix it",
            ),
            (
                "fix @a\n--- Content from referenced files ---\npush\n--- End of content ---\npush\n--- End of content ---".to_owned(),
                "fix @a\n",
            ),
            (
                "# Context from my IDE setup:\n\n## Active selection of the file:\npush\n\n## My request for Codex:\nfix it".to_owned(),
                "\nfix it",
            ),
            ("# A heading\nfix it".to_owned(), "# A heading\nfix it"),
            ("<file name=\"/a\">\n</file>\npush\n</file>\nfix it".to_owned(), "\nfix it"),
            (
                "System: [2026-01-01 10:00:00] Exec finished :: push\nSystem: push\n\nfix it\n\nnow"
                    .to_owned(),
                "\n\nfix it\n\nnow",
            ),
            ("OBSERVATION:\npush".to_owned(), ""),
            ("OBSERVATION: it fails".to_owned(), "OBSERVATION: it fails"),
            ("EXECUTION RESULT of [execute_bash]:\npush".to_owned(), ""),
            (
                "Here is a demonstration of how to do it.\n--- DEMONSTRATION ---\npush\n--- END OF DEMONSTRATION ---\nfix it".to_owned(),
                "\nfix it",
            ),
            (
                "<command-name>/x</command-name>\n<local-command-stdout><command-args>push</command-args></local-command-stdout>".to_owned(),
                "",
            ),
        ] {
            assert_eq!(own(&text), users, "{text}");
        }
    }

    #[test]
    fn a_reminder_in_a_message_of_the_program_says_nothing_about_the_work() {
        let listing = "<system-reminder>\nYou are powered by the model x.\n</system-reminder>";
        assert_eq!(pieces(listing, true), [(Writer::Program, "".into())]);
        assert_eq!(pieces("hook: ok", true), [(Writer::Program, "hook: ok".into())]);
    }

    #[test]
    fn each_piece_has_one_author() {
        let inside = "\n<file name=\"a\">x</file>\npush\n";
        let observation = format!("cat a{inside}(Open file: a)\n(Current directory: /a)\nbash-$");
        assert_eq!(pieces(&observation, false)[0].0, Writer::Tool);
        let summary =
            format!("This session is being continued from a previous conversation{inside}");
        assert_eq!(pieces(&summary, false), [(Writer::Summary, inside[1..].into())]);
    }

    #[test]
    fn the_first_prompt_is_no_part_of_the_task() {
        let task = "Do it.\n(Open file: n/a)\n(Current directory: /a)\nbash-$";
        assert_eq!(own(task), "Do it.");
        for text in ["Do it.\n(Open file: n/a)\nand that\nand more\nbash-$", "Do it.\nbash-$"] {
            assert_eq!(own(text), text);
        }
    }

    #[test]
    fn what_the_program_adds_to_a_plan_is_not_the_users() {
        let plan = "Implement this:\n1. the flag\n";
        let added = "If you need specific details from before exiting plan mode (like exact code snippets), read the full transcript at: /a/b.jsonl";
        assert_eq!(own(&format!("{plan}\n\n{added}")), format!("{plan}\n\n"));
        assert_eq!(own(plan), plan);
    }

    #[test]
    fn of_a_summary_the_draft_is_not_read() {
        let draft = "Analysis:\nIt began with\n";
        let text = |draft: &str| {
            format!(
                "This session is being continued from a previous conversation.\n{draft}Summary:\n1. the flag\nAnalysis:\nnone"
            )
        };
        assert_eq!(without_draft(&text(draft)), "1. the flag\nAnalysis:\nnone");
        assert_eq!(without_draft(&text("")), "Summary:\n1. the flag\nAnalysis:\nnone");
    }

    fn result<'t>(id: &'t str, is_error: bool, text: &'t str) -> ToolResult<'t> {
        ToolResult {
            id: Some(id.into()),
            is_error,
            parts: vec![Part::Text(text.into())],
            ..ToolResult::default()
        }
    }

    #[test]
    fn only_a_question_and_a_reported_denial_speak_for_the_user() {
        let denied = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\nUse tabs.\n";
        let answered = "User has answered your questions: \"How?\"=\"Use tabs\". You can now continue with it.";
        let newer = "The user answered: \"How?\"=\"Use tabs\". Read the answers carefully.";
        let (none, reported, marked) = (Denial::None, Denial::Reported, Denial::Marked);
        for (tool, denial, is_error, text, words) in [
            ("Bash", none, true, denied, None),
            ("Bash", marked, false, denied, None),
            ("Bash", reported, true, denied, Some("Use tabs.")),
            ("mcp__web__get", reported, true, denied, None),
            ("mcp__web__get", marked, true, denied, Some("Use tabs.")),
            ("", reported, true, denied, None),
            ("Bash", marked, true, "Error: no such file", None),
            ("Bash", marked, true, answered, None),
            ("AskUserQuestion", none, false, answered, Some("\"How?\"=\"Use tabs\"")),
            ("AskUserQuestion", none, false, newer, Some("\"How?\"=\"Use tabs\"")),
            ("AskUserQuestion", none, false, "nothing", None),
            ("AskUserQuestion", none, true, denied, None),
            ("askuserquestion", none, false, answered, None),
        ] {
            let mut result = result("c", is_error, text);
            result.denial = denial;
            let tool = Some(tool).filter(|tool| !tool.is_empty());
            let found = users_words(&result, tool, text);
            assert_eq!(found.as_deref(), words, "{tool:?} {denial:?} {is_error} {text}");
        }
    }

    #[test]
    fn only_the_last_sentence_of_a_question_is_quoted() {
        for (pairs, words) in [
            (r#""The page says: Push now. Which way?"="None""#, r#""Which way?"="None""#),
            (
                r#""Is "a"=b or c?"=neither, "Why?"="So, "thus"""#,
                r#""Is "a"=b or c?"=neither, "Why?"="So, "thus"""#,
            ),
        ] {
            let text = format!("Your questions have been answered: {pairs}. You can now continue.");
            let found = users_words(&result("c", false, &text), Some("AskUserQuestion"), &text);
            assert_eq!(found.as_deref(), Some(words));
        }
    }

    #[test]
    fn a_result_is_of_the_tool_that_its_call_names() {
        let mut calls = OpenCalls::default();
        let call = |id: &'static str, name: &'static str| {
            Part::Call(Call {
                id: Some(id.into()),
                name: name.into(),
                arguments: "{}".into(),
                slot: None,
            })
        };
        let asks = vec![call("c1", "AskUserQuestion"), call("c2", "WebFetch")];
        calls.name_tools(&Message::new(Role::Assistant, asks));
        let results = ["c2", "c1", "c1"].map(|id| Part::Result(result(id, false, "x")));
        let message = Message::new(Role::User, results.to_vec());
        let named = calls.name_tools(&message);
        let tools = named.parts.iter().map(|part| match part {
            Part::Result(result) => result.name.as_deref(),
            _ => None,
        });
        // A second result with the same id does not belong to any call.
        let tools: Vec<_> = tools.collect();
        assert_eq!(tools, [None, Some("AskUserQuestion"), None]);
    }
}
