//! The formats in which agents write their lines, as templates.

use super::lines::EXCHANGE;

/// A format. In the templates, `<N>` is the number of the line, `<ID>` that of the exchange, `<OWN>`
/// and `<ABOVE>` are the ids of the line and of the line before it, `<WORDS>` is a text, and
/// `<RESULT>` a longer one.
#[derive(Debug)]
pub struct Format {
    /// The name of the agent, or `chat`.
    pub name: &'static str,
    head: &'static str,
    /// A question, a call, its result and an answer.
    exchange: [&'static str; EXCHANGE],
    /// Whether the lines are the messages of one JSON document.
    pub is_document: bool,
}

/// The number of the first line of a session that was there before the agent. No agent writes that
/// many lines.
const BEFORE: usize = 1_000_000;
/// The number of exchanges that were there before the agent.
const EARLIER: usize = 3;

impl Format {
    /// Returns the line with this number, without a line end. Some results are so large that tools
    /// offload them.
    pub(super) fn record(&self, number: usize) -> String {
        let id = number / EXCHANGE;
        let words = "and some words more ".repeat(10);
        let result = words.repeat(if id % 16 == 15 { 60 } else { 3 });
        let own = |number: usize| format!("\"00000000-0000-4000-8000-{number:012}\"");
        let above = match number {
            BEFORE => "null".to_owned(),
            0 => own(BEFORE + EARLIER * EXCHANGE - 1),
            _ => own(number - 1),
        };
        self.exchange[number % EXCHANGE]
            .replace("<N>", &number.to_string())
            .replace("<ID>", &id.to_string())
            .replace("<OWN>", &own(number))
            .replace("<ABOVE>", &above)
            .replace("<WORDS>", &words)
            .replace("<RESULT>", &result)
    }

    /// Returns the session as it was before the agent, with this number of exchanges more.
    pub fn before(&self, more: usize) -> String {
        self.session(BEFORE..BEFORE + (EARLIER + more) * EXCHANGE)
    }

    /// Returns the session of an agent that has written the lines up to this number.
    pub(super) fn up_to(&self, number: usize) -> String {
        self.session((BEFORE..BEFORE + EARLIER * EXCHANGE).chain(0..=number))
    }

    fn session(&self, numbers: impl Iterator<Item = usize>) -> String {
        let all: Vec<String> = numbers.map(|number| self.record(number)).collect();
        if self.is_document {
            return format!("{}\n{}\n]}}\n", self.head, all.join(",\n"));
        }
        format!("{}{}\n", self.head, all.join("\n"))
    }

    /// Returns the numbers of the complete lines that an agent wrote. In a document, a comma may
    /// follow a line.
    pub fn numbers(&self, file: &[u8]) -> Vec<usize> {
        let text = String::from_utf8_lossy(file);
        let lines = text.split_inclusive('\n');
        lines.filter_map(|line| self.number(line)).filter(|number| *number < BEFORE).collect()
    }

    fn number(&self, line: &str) -> Option<usize> {
        let line = if self.is_document {
            line.trim().trim_end_matches(',')
        } else {
            line.strip_suffix('\n')?
        };
        let number = line.strip_prefix("{\"n\":")?.split(',').next()?.parse().ok()?;
        (line == self.record(number)).then_some(number)
    }
}

/// Chat messages, which no agent needs to recognize.
pub static CHAT: Format = Format {
    name: "chat",
    head: "",
    exchange: [
        r#"{"n":<N>,"role":"user","content":"question <ID> <WORDS>"}"#,
        r#"{"n":<N>,"role":"assistant","content":null,"tool_calls":[{"id":"c<ID>","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
        r#"{"n":<N>,"role":"tool","tool_call_id":"c<ID>","content":"result <RESULT>"}"#,
        r#"{"n":<N>,"role":"assistant","content":"We decided on answer <ID>. <WORDS>"}"#,
    ],
    is_document: false,
};

/// The Copilot CLI. It opens the file for some events at a time, and writes them at once.
pub static COPILOT: Format = Format {
    name: "copilot",
    head: concat!(
        r#"{"type":"session.start","data":{"sessionId":"s","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-01-01T00:00:00.000Z","selectedModel":"gpt-4.1","context":{"cwd":"/work"}},"id":"00000000-0000-4000-8000-999999999999","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}"#,
        "\n"
    ),
    exchange: [
        r#"{"n":<N>,"type":"user.message","data":{"content":"question <ID> <WORDS>"},"id":<OWN>,"timestamp":"2026-01-01T00:00:00.000Z","parentId":<ABOVE>}"#,
        r#"{"n":<N>,"type":"assistant.message","data":{"messageId":<OWN>,"model":"gpt-4.1","content":"","toolRequests":[{"toolCallId":"c<ID>","name":"f","arguments":{},"type":"function"}]},"id":<OWN>,"timestamp":"2026-01-01T00:00:00.000Z","parentId":<ABOVE>}"#,
        r#"{"n":<N>,"type":"tool.execution_complete","data":{"toolCallId":"c<ID>","success":true,"result":{"content":"result <RESULT>"}},"id":<OWN>,"timestamp":"2026-01-01T00:00:00.000Z","parentId":<ABOVE>}"#,
        r#"{"n":<N>,"type":"assistant.message","data":{"messageId":<OWN>,"model":"gpt-4.1","content":"We decided on answer <ID>. <WORDS>","toolRequests":[]},"id":<OWN>,"timestamp":"2026-01-01T00:00:00.000Z","parentId":<ABOVE>}"#,
    ],
    is_document: false,
};

/// Kimi Code. It opens the file for some lines at a time, and flushes them to the disk. To repair a
/// session or to move it to another version, it renames a new file.
pub static KIMI: Format = Format {
    name: "kimi",
    head: "{\"type\":\"metadata\",\"protocol_version\":\"1.5\",\"created_at\":1767225600000}\n",
    exchange: [
        r#"{"n":<N>,"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"question <ID> <WORDS>"}],"toolCalls":[],"origin":{"kind":"user"}},"time":1767225600000}"#,
        r#"{"n":<N>,"type":"context.append_message","agentId":"main","message":{"role":"assistant","content":[],"toolCalls":[{"type":"function","id":"c<ID>","function":{"name":"f","arguments":"{}"}}]},"time":1767225600000}"#,
        r#"{"n":<N>,"type":"context.append_message","agentId":"main","message":{"role":"tool","content":[{"type":"text","text":"result <RESULT>"}],"toolCalls":[],"toolCallId":"c<ID>"},"time":1767225600000}"#,
        r#"{"n":<N>,"type":"context.append_message","agentId":"main","message":{"role":"assistant","content":[{"type":"text","text":"We decided on answer <ID>. <WORDS>"}],"toolCalls":[]},"time":1767225600000}"#,
    ],
    is_document: false,
};

/// A document that `opencode export` writes from a database: over the old one, or next to it.
pub static OPENCODE: Format = Format {
    name: "opencode",
    head: r#"{"info":{"id":"ses_1","slug":"s","projectID":"global","directory":"/work","title":"t","version":"1.18.33","time":{"created":1767225600000,"updated":1767225600000}},"messages":["#,
    exchange: [
        r#"{"n":<N>,"info":{"role":"user","time":{"created":1767225600000},"agent":"build","model":{"providerID":"p","modelID":"m"},"id":<OWN>,"sessionID":"ses_1"},"parts":[{"type":"text","text":"question <ID> <WORDS>","id":<OWN>,"sessionID":"ses_1","messageID":<OWN>}]}"#,
        r#"{"n":<N>,"info":{"role":"assistant","time":{"created":1767225600000},"agent":"build","mode":"build","providerID":"p","modelID":"m","parentID":<ABOVE>,"path":{"cwd":"/work","root":"/"},"cost":0,"finish":"tool-calls","tokens":{"input":9,"output":9,"reasoning":0,"cache":{"read":0,"write":0}},"id":<OWN>,"sessionID":"ses_1"},"parts":[{"type":"tool","tool":"f","callID":"c<ID>","state":{"status":"completed","input":{},"output":"result <RESULT>","title":"","metadata":{},"time":{"start":1767225600000,"end":1767225600000}},"id":<OWN>,"sessionID":"ses_1","messageID":<OWN>}]}"#,
        r#"{"n":<N>,"info":{"role":"assistant","time":{"created":1767225600000},"agent":"build","mode":"build","providerID":"p","modelID":"m","parentID":<ABOVE>,"path":{"cwd":"/work","root":"/"},"cost":0,"finish":"stop","tokens":{"input":9,"output":9,"reasoning":0,"cache":{"read":0,"write":0}},"id":<OWN>,"sessionID":"ses_1"},"parts":[{"type":"text","text":"I look at <ID>. <WORDS>","id":<OWN>,"sessionID":"ses_1","messageID":<OWN>}]}"#,
        r#"{"n":<N>,"info":{"role":"assistant","time":{"created":1767225600000},"agent":"build","mode":"build","providerID":"p","modelID":"m","parentID":<ABOVE>,"path":{"cwd":"/work","root":"/"},"cost":0,"finish":"stop","tokens":{"input":9,"output":9,"reasoning":0,"cache":{"read":0,"write":0}},"id":<OWN>,"sessionID":"ses_1"},"parts":[{"type":"text","text":"We decided on answer <ID>. <WORDS>","id":<OWN>,"sessionID":"ses_1","messageID":<OWN>}]}"#,
    ],
    is_document: true,
};

/// Qwen Code. It opens the file for each line, and flushes the line to the disk.
pub static QWEN: Format = Format {
    name: "qwen",
    head: "",
    exchange: [
        r#"{"n":<N>,"uuid":<OWN>,"parentUuid":<ABOVE>,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","type":"user","cwd":"/work","version":"0.24.4","message":{"role":"user","parts":[{"text":"question <ID> <WORDS>"}]}}"#,
        r#"{"n":<N>,"uuid":<OWN>,"parentUuid":<ABOVE>,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","type":"assistant","cwd":"/work","version":"0.24.4","model":"gpt-4.1","message":{"role":"model","parts":[{"functionCall":{"id":"c<ID>","name":"f","args":{}}}]}}"#,
        r#"{"n":<N>,"uuid":<OWN>,"parentUuid":<ABOVE>,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","type":"tool_result","cwd":"/work","version":"0.24.4","message":{"role":"user","parts":[{"functionResponse":{"id":"c<ID>","name":"f","response":{"output":"result <RESULT>"}}}]}}"#,
        r#"{"n":<N>,"uuid":<OWN>,"parentUuid":<ABOVE>,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","type":"assistant","cwd":"/work","version":"0.24.4","model":"gpt-4.1","message":{"role":"model","parts":[{"text":"We decided on answer <ID>. <WORDS>"}]}}"#,
    ],
    is_document: false,
};
