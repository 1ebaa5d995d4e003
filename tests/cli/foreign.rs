//! Tools × formats that are recognized but not read: each tool that reads messages refuses each of
//! them with the same sentence, and the tools for which a session is any bytes take them all.

use std::fs;

use ctx_testkit::Case;

use crate::{tool_path, tools};

/// The calls that read messages. The file is the last argument.
const READERS: [(&str, &[&str]); 25] = [
    ("ctx-check", &[]),
    ("ctx-check", &["--repair"]),
    ("ctx-check", &["--due"]),
    ("ctx-check", &["--dialect", "chat"]),
    ("ctx-compact", &["--min-idle", "0"]),
    ("ctx-compact", &["--min-idle", "0", "--dialect", "chat"]),
    ("ctx-compact", &["--min-idle", "0", "--batch"]),
    ("ctx-convert", &["--to", "codex"]),
    ("ctx-convert", &["--to", "codex", "--dialect", "anthropic"]),
    ("ctx-count", &[]),
    ("ctx-count", &["--annotate"]),
    ("ctx-count", &["--calibrate"]),
    ("ctx-extract", &[]),
    ("ctx-extract", &["--dialect", "chat"]),
    ("ctx-memory", &["inject", "--transcript"]),
    ("ctx-offload", &["-s", "s"]),
    ("ctx-offload", &["-s", "s", "--restore"]),
    ("ctx-prune", &["--trim"]),
    ("ctx-prune", &["--clear", "--dialect", "chat"]),
    ("ctx-prune", &["--window-messages", "2"]),
    ("ctx-score", &["after.jsonl"]),
    ("ctx-split", &["--keep-turns", "1"]),
    ("ctx-stats", &[]),
    ("ctx-stats", &["--html"]),
    ("ctx-summarize", &["--budget", "900"]),
];

/// The tools for which a session is any bytes, or that read no session that the user names.
const OTHERS: [&str; 4] = ["ctx-gc", "ctx-ls", "ctx-rollback", "ctx-snapshot"];

const SESSION: &str =
    "{\"role\":\"user\",\"content\":\"go\"}\n{\"role\":\"assistant\",\"content\":\"done\"}\n";

const UNKNOWN: &str = "the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen";

/// A file, what it is called, and how to convert it.
type Format<'a> = (&'a [u8], &'a str, &'a str);

/// Checks that each call refuses each file by name, writes nothing, and leaves the file as it is.
fn refused(formats: &[Format<'_>]) {
    for (bytes, name, remedy) in formats {
        // With --batch, the lines with a list of messages are read one by one.
        let is_batch = bytes.starts_with(b"{\"messages\":[{\"role\"");
        for (tool, args) in READERS.iter().filter(|it| !(is_batch && it.1.contains(&"--batch"))) {
            let done = Case::new(tool_path(tool))
                .file("s.jsonl", bytes)
                .file("after.jsonl", SESSION)
                .args(args.iter().copied().filter(|arg| *arg != "after.jsonl"))
                .args(["s.jsonl"])
                .args(args.iter().copied().filter(|arg| *arg == "after.jsonl"))
                .stderr(&format!(
                    "{tool}: s.jsonl: this is {name}, so it cannot be read; {remedy}\n"
                ))
                .code(2)
                .run();
            assert!(done.read("s.jsonl") == *bytes, "{tool} changed {name}");
            let left = fs::read_dir(done.dir()).expect("the folder").map(|it| it.expect("read"));
            let mut left: Vec<_> = left.map(|it| it.file_name()).collect();
            left.retain(|name| name != ".local" && name != ".cache");
            assert_eq!(left.len(), 2, "{tool} wrote a file for {name}: {left:?}");
        }
    }
}

#[test]
fn every_tool_is_in_the_table() {
    let mut listed: Vec<_> = READERS.iter().map(|it| it.0).chain(OTHERS).collect();
    listed.sort_unstable();
    listed.dedup();
    let mut all: Vec<_> = tools().iter().map(|tool| tool.name).collect();
    all.sort_unstable();
    assert_eq!(listed, all);
}

/// Returns the session in an encoding with `width` bytes for each character.
fn wide(width: usize, is_big: bool, mark: bool) -> Vec<u8> {
    let text = mark.then_some('\u{feff}').into_iter().chain(SESSION.chars());
    text.flat_map(|letter| {
        let bytes = u32::from(letter).to_le_bytes();
        let unit = bytes.into_iter().take(width);
        if is_big { unit.rev().collect::<Vec<_>>() } else { unit.collect() }
    })
    .collect()
}

/// The formats of files that have no readable lines, or whose lines only look like a session.
fn encoded() -> Vec<(Vec<u8>, &'static str, &'static str)> {
    let beside = |head: &[u8]| [head, b"\0\n", SESSION.as_bytes()].concat();
    let tar = [b"s.jsonl".to_vec(), vec![0; 250], b"ustar".to_vec(), vec![0; 250]].concat();
    let (utf_16, utf_32) = ("UTF-16 text", "UTF-32 text");
    vec![
        (b"\x1f\x8b\x08\0\0\0".to_vec(), "a gzip file", "gzip -dc unpacks it"),
        (b"\x28\xb5\x2f\xfd\x04\0".to_vec(), "a zstd file", "zstd -dc unpacks it"),
        (b"\xfd7zXZ\0\0".to_vec(), "an xz file", "xz -dc unpacks it"),
        (b"BZh91AY&SY".to_vec(), "a bzip2 file", "bzip2 -dc unpacks it"),
        (b"\x04\x22\x4d\x18\x64".to_vec(), "an lz4 file", "lz4 -dc unpacks it"),
        (beside(b"PK\x03\x04"), "a zip archive", "unzip -p unpacks it"),
        (beside(&tar), "a tar archive", "tar -xOf unpacks it"),
        (wide(2, false, true), utf_16, "iconv -f UTF-16 -t UTF-8 converts it"),
        (wide(2, true, true), utf_16, "iconv -f UTF-16 -t UTF-8 converts it"),
        (wide(2, false, false), utf_16, "iconv -f UTF-16LE -t UTF-8 converts it"),
        (wide(2, true, false), utf_16, "iconv -f UTF-16BE -t UTF-8 converts it"),
        (wide(4, false, true), utf_32, "iconv -f UTF-32 -t UTF-8 converts it"),
        (wide(4, true, true), utf_32, "iconv -f UTF-32 -t UTF-8 converts it"),
        (wide(4, false, false), utf_32, "iconv -f UTF-32LE -t UTF-8 converts it"),
        (wide(4, true, false), utf_32, "iconv -f UTF-32BE -t UTF-8 converts it"),
        (
            beside(b"SQLite format 3\0"),
            "an SQLite database, in which opencode, Cursor and other agents keep sessions",
            "opencode export ID prints a session of opencode as JSON, which the tools read",
        ),
        (
            beside(b"PAR1"),
            "a Parquet file",
            "duckdb -c \"COPY (SELECT * FROM 'FILE') TO 'batch.jsonl' (FORMAT json)\" makes a batch, which --batch reads",
        ),
        (beside(b"%PDF-1.7\n"), "a PDF file", "use the session file from which it was made"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n".to_vec(),
            "a Git LFS pointer without the file's content",
            "git lfs pull downloads the content",
        ),
        (
            b"\n<!DOCTYPE html>\n<html><body>hi</body></html>\n".to_vec(),
            "an HTML page",
            "download the session file itself: the page only shows it, or an error",
        ),
        (
            b"event: message_start\ndata: {\"type\":\"message_start\"}\n\n".to_vec(),
            "a stream of server-sent events",
            "request the reply without \"stream\": true, which makes it one JSON object",
        ),
        (
            b"<|start|>user<|message|>hi<|end|>\n".to_vec(),
            "text in the harmony format",
            "use the messages from which it was rendered",
        ),
        (
            b"\n# aider chat started at 2026-01-01 00:00:00\n\n#### hello\n".to_vec(),
            "an Aider chat history, which is Markdown",
            "aider --llm-history-file records what the model received, as text",
        ),
    ]
}

#[test]
fn what_is_packed_or_encoded_is_refused_by_name() {
    let formats = encoded();
    let formats: Vec<_> = formats.iter().map(|it| (&*it.0, it.1, it.2)).collect();
    refused(&formats);
}

#[test]
fn requests_and_training_data_are_refused_by_name() {
    let gemini = "use the OpenAI-compatible form of that API, which has chat messages";
    let formats = [
        (
            "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n",
            "a batch with one conversation per line",
            "--batch reads it, and sed -n 1p extracts one conversation",
        ),
        (
            "{\"custom_id\":\"r\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}}\n",
            "a batch of requests to the OpenAI API",
            "jq -c .body makes a batch, which --batch reads",
        ),
        (
            "{\"custom_id\":\"r\",\"url\":\"/v1/responses\",\"body\":{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"a\"}]}}\n",
            "a batch of requests to the OpenAI API",
            "jq -c '{messages: .body.input}' makes a batch, which --batch reads",
        ),
        (
            "{\"id\":\"b\",\"custom_id\":\"r\",\"response\":{\"status_code\":200,\"body\":{\"choices\":[]}},\"error\":null}\n",
            "the output of an OpenAI batch, which has only the replies",
            "jq -c '.response.body.choices[].message' extracts the replies; the input of the batch has the other messages",
        ),
        (
            "{\"custom_id\":\"r\",\"params\":{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}}\n",
            "a batch of requests to the Anthropic API",
            "jq -c .params makes a batch, which --batch reads",
        ),
        (
            "{\n \"object\": \"chat.completion\",\n \"choices\": [{\"message\": {\"role\": \"assistant\", \"content\": \"a\"}}]\n}\n",
            "a response of the OpenAI chat API",
            "jq -c '.choices[].message' extracts its message",
        ),
        (
            "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"a\"}]}\n",
            "a request to the OpenAI Responses API",
            "jq -c '.input[]' extracts its items",
        ),
        (
            "{\"object\":\"thread.message\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":{\"value\":\"a\"}}]}\n",
            "a list of messages of the OpenAI Assistants API",
            "jq -c '{role, content: [.content[].text.value // empty] | join(\"\\n\")}' converts one message",
        ),
        (
            "{\"role\":\"user\",\"content\":[{\"text\":\"go\"}]}\n{\"role\":\"assistant\",\"content\":[{\"toolUse\":{\"toolUseId\":\"t\",\"name\":\"run\",\"input\":{}}}]}\n",
            "a list of messages of the Bedrock Converse API",
            gemini,
        ),
        (
            "{\"messages\":[{\"role\":\"user\",\"content\":[{\"text\":\"go\"}]}],\"modelId\":\"m\"}\n",
            "a list of messages of the Bedrock Converse API",
            gemini,
        ),
        (
            "{\n \"contents\": [\n  {\"role\": \"user\", \"parts\": [{\"text\": \"go\"}]}\n ]\n}\n",
            "a request or response of the Gemini API",
            gemini,
        ),
        (
            "{\"role\":\"user\",\"parts\":[{\"text\":\"go\"}]}\n{\"role\":\"model\",\"parts\":[{\"text\":\"a\"}]}\n",
            "a list of contents of the Gemini API",
            gemini,
        ),
        (
            "{\"type\":\"human\",\"content\":\"a\"}\n{\"type\":\"ai\",\"content\":\"b\"}\n",
            "a list of LangChain messages",
            "LangChain's convert_to_openai_messages converts it to chat messages",
        ),
        (
            "[\n {\"lc\": 1, \"type\": \"constructor\", \"kwargs\": {\"content\": \"a\"}}\n]\n",
            "a list of LangChain messages",
            "LangChain's convert_to_openai_messages converts it to chat messages",
        ),
        (
            "{\"resourceSpans\":[{\"scopeSpans\":[]}]}\n",
            "a list of OpenTelemetry spans",
            "the messages are in attributes such as gen_ai.input.messages, if the program recorded them",
        ),
        (
            "{\"instruction\":\"Add\",\"input\":\"1 2\",\"output\":\"3\"}\n",
            "a list of instructions with outputs",
            "jq -c '{messages: [{role: \"user\", content: (.instruction + \"\\n\" + (.input // \"\"))}, {role: \"assistant\", content: .output}]}' makes a batch, which --batch reads",
        ),
        (
            "{\"prompt\":[{\"role\":\"user\",\"content\":\"a\"}],\"chosen\":[],\"rejected\":[]}\n",
            "preference data for fine-tuning",
            "jq -c '{messages: ((.prompt // []) + .chosen)}' makes a batch, which --batch reads",
        ),
    ];
    refused(&formats.map(|(text, name, remedy)| (text.as_bytes(), name, remedy)));
}

#[test]
fn sessions_of_other_agents_are_refused_by_name() {
    let formats = [
        (
            "{\"type\":\"session_start\",\"id\":\"s\",\"version\":2,\"cwd\":\"/w\"}\n{\"type\":\"message\",\"id\":\"1\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}\n",
            "a Factory session",
            "jq -c 'select(.message).message' extracts its messages",
        ),
        (
            "{\"type\":\"session.start\",\"data\":{\"sessionId\":\"s\"},\"id\":\"1\",\"parentId\":null}\n{\"type\":\"user.message\",\"data\":{\"content\":\"a\"},\"id\":\"2\",\"parentId\":\"1\"}\n",
            "a Copilot CLI session",
            "jq -c '.data.content as $text | {\"user.message\": \"user\", \"assistant.message\": \"assistant\"}[.type] // empty | {role: ., content: $text}' extracts its texts",
        ),
        (
            "{\"type\":\"metadata\",\"protocol_version\":\"1.5\"}\n",
            "the event file of Kimi CLI",
            "context.jsonl next to it holds the messages",
        ),
        (
            "{\"role\":\"_checkpoint\",\"id\":0}\n{\"role\":\"user\",\"content\":\"a\"}\n",
            "the context file of Kimi CLI",
            "grep -v '\"role\": *\"_' leaves only its chat messages",
        ),
        (
            "{\"working_dir\":\"/w\",\"message_count\":1}\n{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}\n",
            "a Goose session",
            "the program clustervision converts it: cv port goose:ID --harness claude --out DIR",
        ),
        (
            "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n",
            "the output of claude -p --output-format stream-json",
            "jq -c 'select(.message).message' extracts its messages; ctx-ls lists the session itself",
        ),
        (
            "[\n {\"id\": 0, \"source\": \"user\", \"action\": \"message\", \"args\": {}}\n]\n",
            "an OpenHands history",
            "OpenHands converts it to messages for its model: use those messages",
        ),
        (
            "[{\"title\":\"t\",\"mapping\":{}}]\n",
            "a ChatGPT export, which has a tree of messages for each conversation",
            "jq can convert one branch to chat messages",
        ),
        (
            "[{\"id\":\"1\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"a\"}]}]\n",
            "a list of UI messages of the Vercel AI SDK",
            "save what convertToModelMessages returns for a provider",
        ),
    ];
    refused(&formats.map(|(text, name, remedy)| (text.as_bytes(), name, remedy)));
}

/// A file that nothing shows to be a session is refused as well, except by the tools that can treat
/// it as plain lines: ctx-check reports it, ctx-count counts its text, and ctx-split splits lines.
#[test]
fn what_is_no_session_is_refused() {
    let lines = ["ctx-count", "ctx-split"];
    for bytes in [
        &b"role,content\nuser,hello\n"[..],
        b"Hello, this is a text.\n",
        b"{\"level\":\"info\",\"msg\":\"a\"}\n",
        b"{\n \"name\": \"a\",\n \"version\": 1\n}\n",
        b"[1,2,3]\n",
        b"\x7fELF\x02\x01\x01\0\n\xff\xfe\xfd\n",
    ] {
        for (tool, args) in READERS {
            if args.contains(&"--dialect") || args.contains(&"--batch") {
                continue;
            }
            let case = Case::new(tool_path(tool))
                .file("s.jsonl", bytes)
                .args(args.iter().map(|arg| arg.replace("after", "s")))
                .args(["s.jsonl"])
                .stdout_any()
                .stderr_has("");
            let done = if tool == "ctx-check" && args.is_empty() {
                case.stdout_has("no-message: ").code(1).run()
            } else if lines.contains(&tool) && args != ["--calibrate"] {
                case.run()
            } else {
                let said = format!("{tool}: s.jsonl: {UNKNOWN}\n");
                case.stdout("").stderr(&said).code(2).run()
            };
            assert!(done.read("s.jsonl") == bytes, "{tool}");
        }
    }
}

/// A snapshot saves any bytes, and a rollback brings them back.
#[test]
fn bytes_are_saved_and_brought_back_whatever_they_are() {
    for (bytes, name, _) in encoded() {
        let saved = Case::new(tool_path("ctx-snapshot"))
            .file("s.jsonl", &bytes)
            .args(["-q", "-s", "s", "s.jsonl"])
            .stdout_any()
            .run();
        fs::write(saved.dir().join("s.jsonl"), "lost").expect("written");
        let id = String::from_utf8_lossy(&saved.stdout).trim_end().to_owned();
        let run = |tool: &str, args: &[&str]| {
            let case = Case::new(tool_path(tool)).within(saved.dir()).args(args.iter().copied());
            case.stdout_any().stderr_has("").run()
        };
        let back = run("ctx-rollback", &["-q", "-s", "s", "--min-idle", "0", &id, "s.jsonl"]);
        assert!(back.read("s.jsonl") == bytes, "{name}");
        run("ctx-gc", &["-n", "--keep-last", "1"]);
        run("ctx-ls", &["s.jsonl"]);
    }
}
