//! Files of agents without any flaw. Each file has several turns, the first of which has a call.

use ctx_format::{Dialect, dialect};

/// A format, and the lines of an intact file in it.
pub(crate) struct File {
    pub(crate) name: &'static str,
    pub(crate) lines: Vec<String>,
}

impl File {
    pub(crate) fn dialect(&self) -> &'static dyn Dialect {
        dialect::by_name(self.name).expect("a dialect")
    }

    /// The whole text of the file, with line endings.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}

/// Returns one intact file for each agent's format.
pub(crate) fn all() -> [File; 7] {
    [claude_code(), codex(), copilot(), gemini(), pi(), qwen(), kimi()]
}

fn time(number: usize) -> String {
    format!("2026-01-01T00:{number:02}:00.000Z")
}

/// A line of Claude Code whose parent is the line before it.
pub(crate) fn claude_line(number: usize, rest: &str) -> String {
    let parent = match number {
        0 => "null".to_owned(),
        _ => format!("\"u{}\"", number - 1),
    };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s","uuid":"u{number}","timestamp":"{}",{rest}}}"#,
        time(number)
    )
}

pub(crate) fn claude_user(number: usize) -> String {
    let rest = format!(r#""type":"user","message":{{"role":"user","content":"ask {number}"}}"#);
    claude_line(number, &rest)
}

fn claude_reply(number: usize, block: &str) -> String {
    let rest = format!(
        r#""type":"assistant","message":{{"id":"m{number}","role":"assistant","content":[{block}]}}"#
    );
    claude_line(number, &rest)
}

pub(crate) fn claude_code() -> File {
    let says = |number| claude_reply(number, r#"{"type":"text","text":"so"}"#);
    let lines = vec![
        claude_user(0),
        claude_reply(1, r#"{"type":"tool_use","id":"t","name":"ls","input":{}}"#),
        claude_line(
            2,
            r#""type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a {\"b\":1}"}]}"#,
        ),
        says(3),
        claude_user(4),
        says(5),
    ];
    File { name: "claude-code", lines }
}

/// A line of a Codex file.
pub(crate) fn codex_line(number: usize, kind: &str, payload: &str) -> String {
    format!(
        r#"{{"timestamp":"{}","ordinal":{number},"type":"{kind}","payload":{payload}}}"#,
        time(number)
    )
}

pub(crate) fn codex_said(role: &str, text: &str) -> String {
    let kind = if role == "user" { "input" } else { "output" };
    format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}_text","text":"{text}"}}]}}"#
    )
}

pub(crate) fn codex() -> File {
    let item = |number, payload: &str| codex_line(number, "response_item", payload);
    let lines = vec![
        codex_line(
            0,
            "session_meta",
            r#"{"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","originator":"o","cli_version":"1","history_mode":"paginated"}"#,
        ),
        item(1, &codex_said("user", "ask")),
        item(2, r#"{"type":"function_call","name":"ls","arguments":"{}","call_id":"t"}"#),
        item(3, r#"{"type":"function_call_output","call_id":"t","output":"a {\"b\":1}"}"#),
        item(4, &codex_said("assistant", "so")),
        item(5, &codex_said("user", "ask again")),
    ];
    File { name: "codex", lines }
}

/// An event of the Copilot CLI whose parent is the event before it.
pub(crate) fn copilot_line(number: usize, kind: &str, data: &str) -> String {
    let id = |number: usize| format!(r#""00000000-0000-4000-8000-{number:012}""#);
    let parent = number.checked_sub(1).map_or("null".to_owned(), id);
    format!(
        r#"{{"type":"{kind}","data":{data},"id":{},"timestamp":"{}","parentId":{parent}}}"#,
        id(number),
        time(number)
    )
}

pub(crate) fn copilot() -> File {
    let says =
        |number| copilot_line(number, "assistant.message", r#"{"messageId":"m","content":"so"}"#);
    let lines = vec![
        copilot_line(
            0,
            "session.start",
            r#"{"sessionId":"s","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-01-01T00:00:00.000Z"}"#,
        ),
        copilot_line(1, "user.message", r#"{"content":"ask"}"#),
        copilot_line(
            2,
            "assistant.message",
            r#"{"messageId":"m","content":"","toolRequests":[{"toolCallId":"t","name":"ls","arguments":{}}]}"#,
        ),
        copilot_line(
            3,
            "tool.execution_complete",
            r#"{"toolCallId":"t","success":true,"result":{"content":"a {\"b\":1}"}}"#,
        ),
        says(4),
        copilot_line(5, "user.message", r#"{"content":"ask again"}"#),
        says(6),
    ];
    File { name: "copilot", lines }
}

pub(crate) fn gemini_line(id: &str, kind: &str, rest: &str) -> String {
    format!(r#"{{"id":"{id}","timestamp":"{}","type":"{kind}",{rest}}}"#, time(1))
}

pub(crate) fn gemini() -> File {
    let user = |id: &str| gemini_line(id, "user", r#""content":[{"text":"ask"}]"#);
    let lines = vec![
        r#"{"sessionId":"s","projectHash":"p","kind":"main"}"#.to_owned(),
        user("u1"),
        gemini_line(
            "g1",
            "gemini",
            r#""content":"","toolCalls":[{"id":"t","name":"ls","args":{},"result":[{"functionResponse":{"id":"t","name":"ls","response":{"output":"a {\"b\":1}"}}}]}]"#,
        ),
        gemini_line("g2", "gemini", r#""content":"so""#),
        user("u2"),
        gemini_line("g3", "gemini", r#""content":"so""#),
    ];
    File { name: "gemini", lines }
}

pub(crate) fn kimi() -> File {
    let said = |role: &str, text: &str| {
        format!(
            r#"{{"type":"context.append_message","agentId":"main","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}],"toolCalls":[]}},"time":1}}"#
        )
    };
    let event = |event: &str| {
        format!(
            r#"{{"type":"context.append_loop_event","agentId":"main","event":{event},"time":1}}"#
        )
    };
    let lines = vec![
        r#"{"type":"metadata","protocol_version":"1.5","created_at":1}"#.to_owned(),
        said("user", "ask"),
        event(r#"{"type":"step.begin","uuid":"s"}"#),
        event(r#"{"type":"tool.call","stepUuid":"s","toolCallId":"t","name":"ls","args":{}}"#),
        event(r#"{"type":"tool.result","toolCallId":"t","result":{"output":"a {\"b\":1}"}}"#),
        event(r#"{"type":"step.end","uuid":"s"}"#),
        said("assistant", "so"),
        said("user", "ask again"),
    ];
    File { name: "kimi", lines }
}

/// An entry of pi whose parent is the entry before it.
pub(crate) fn pi_line(number: usize, rest: &str) -> String {
    let parent = match number {
        1 => "null".to_owned(),
        _ => format!("\"e{}\"", number - 1),
    };
    format!(r#"{{"id":"e{number}","parentId":{parent},"timestamp":"{}",{rest}}}"#, time(number))
}

pub(crate) fn pi_message(number: usize, message: &str) -> String {
    pi_line(number, &format!(r#""type":"message","message":{{{message}}}"#))
}

pub(crate) fn pi() -> File {
    let says = |number| {
        pi_message(
            number,
            r#""role":"assistant","content":[{"type":"text","text":"so"}],"stopReason":"stop""#,
        )
    };
    let user = |number| pi_message(number, r#""role":"user","content":"ask""#);
    let lines = vec![
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#
            .to_owned(),
        user(1),
        pi_message(
            2,
            r#""role":"assistant","content":[{"type":"toolCall","id":"t","name":"ls","arguments":{}}],"stopReason":"toolUse""#,
        ),
        pi_message(
            3,
            r#""role":"toolResult","toolCallId":"t","toolName":"ls","content":[{"type":"text","text":"a {\"b\":1}"}],"isError":false"#,
        ),
        says(4),
        user(5),
        says(6),
    ];
    File { name: "pi", lines }
}

/// A line of Qwen Code whose parent is the line before it.
fn qwen_line(number: usize, kind: &str, role: &str, part: &str) -> String {
    let parent = match number {
        0 => "null".to_owned(),
        _ => format!("\"u{}\"", number - 1),
    };
    format!(
        r#"{{"uuid":"u{number}","parentUuid":{parent},"sessionId":"s","timestamp":"{}","type":"{kind}","cwd":"/w","message":{{"role":"{role}","parts":[{part}]}}}}"#,
        time(number)
    )
}

pub(crate) fn qwen() -> File {
    let user = |number| qwen_line(number, "user", "user", r#"{"text":"ask"}"#);
    let says = |number| qwen_line(number, "assistant", "model", r#"{"text":"so"}"#);
    let call = r#"{"functionCall":{"id":"t","name":"ls","args":{}}}"#;
    let result =
        r#"{"functionResponse":{"id":"t","name":"ls","response":{"output":"a {\"b\":1}"}}}"#;
    let lines = vec![
        user(0),
        qwen_line(1, "assistant", "model", call),
        qwen_line(2, "tool_result", "user", result),
        says(3),
        user(4),
        says(5),
    ];
    File { name: "qwen", lines }
}
