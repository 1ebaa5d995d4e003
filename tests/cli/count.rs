//! Tests of `ctx-count`.

use std::process::{Command, Stdio};

use ctx_testkit::Case;
use proptest::prelude::*;

const CTX_COUNT: &str = env!("CARGO_BIN_EXE_ctx-count");

const CHAT: &str = r#"{"role":"system","content":"You are a coding agent."}
{"role":"user","content":"list the files 列出文件"}
{"role":"assistant","content":null,"reasoning_content":"use ls","tool_calls":[{"id":"call_1","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]}
{"role":"tool","tool_call_id":"call_1","content":"a.txt\nb.txt"}
{"role":"assistant","content":"Two files: a.txt and b.txt."}
"#;

const ANTHROPIC: &str = r#"{"role":"user","content":"look"}
{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"look","input":{}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"hello world"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ="}}]}]}
"#;

fn count() -> Case {
    Case::new(CTX_COUNT)
}

#[test]
fn one_file_is_one_line() {
    count().file("s.jsonl", CHAT).args(["s.jsonl"]).stdout("5 58 406 s.jsonl\n").run();
}

#[test]
fn stdin_has_no_name() {
    count().stdin(CHAT).stdout("5 58 406\n").run();
    count().args(["-"]).stdin(CHAT).stdout("5 58 406 <stdin>\n").run();
}

#[test]
fn several_files_have_a_total_whatever_the_number_of_jobs() {
    for jobs in ["1", "2", "9"] {
        count()
            .file("a.jsonl", CHAT)
            .file("b/c.jsonl", ANTHROPIC)
            .file("empty.jsonl", "")
            .args(["--jobs", jobs, "a.jsonl", "b/c.jsonl", "empty.jsonl"])
            .stdout("5   58 406 a.jsonl\n3 1020 351 b/c.jsonl\n0    0   0 empty.jsonl\n8 1078 757 total\n")
            .run();
    }
}

#[test]
fn an_empty_input_is_no_failure() {
    count().stdout("0 0 0\n").run();
    count()
        .args(["--json"])
        .stdout(concat!(
            r#"{"type":"file","name":null,"conversations":0,"messages":0,"tokens":0,"bytes":0,"records":0,"bad_lines":0,"encoding":"o200k_base","kinds":{"calls":0,"media":0,"other":0,"overhead":0,"reasoning":0,"results":0,"text":0}}"#,
            "\n",
        ))
        .run();
    count().args(["--by", "role"]).stdout("0 0 - total\n").run();
}

#[test]
fn tokens_are_broken_down() {
    let by = |what: &str, table: &str| {
        count().args(["--by", what]).stdin(CHAT).stdout(table).run();
    };
    by(
        "role",
        "2 25  43.1% assistant\n1 11  19.0% user\n1 10  17.2% system\n1  9  15.5% tool\n\
         0  3   5.2% (other)\n5 58 100.0% total\n",
    );
    by(
        "kind",
        " 5 23  39.7% overhead\n 3 22  37.9% text\n 1  6  10.3% calls\n 1  5   8.6% results\n \
         1  2   3.4% reasoning\n11 58 100.0% total\n",
    );
    by("tool", "0 47  81.0% (other)\n1 11  19.0% ls\n1 58 100.0% total\n");
}

#[test]
fn an_image_is_never_counted_as_text() {
    count()
        .args(["--by", "kind"])
        .stdin(ANTHROPIC)
        .stdout(
            "1 1000  98.0% media\n3   15   1.5% overhead\n1    2   0.2% calls\n\
             1    2   0.2% results\n1    1   0.1% text\n7 1020 100.0% total\n",
        )
        .run();
}

#[test]
fn json_has_an_object_per_file_and_a_total() {
    count()
        .file("s.jsonl", CHAT)
        .args(["--json", "s.jsonl", "s.jsonl"])
        .stdout_has("{\"type\":\"total\",\"name\":null,\"files\":2,\"conversations\":2,\"messages\":10,\"tokens\":116,")
        .run();
    count()
        .file("s.jsonl", CHAT)
        .args(["--json", "--model", "gpt-4", "--by", "tool", "s.jsonl"])
        .stdout(concat!(
            r#"{"type":"file","name":"s.jsonl","conversations":1,"messages":5,"tokens":58,"bytes":406,"records":5,"bad_lines":0,"encoding":"cl100k_base","model":"gpt-4","window":8192,"share":0.007080078125,"exact":true,"kinds":{"calls":6,"media":0,"other":0,"overhead":23,"reasoning":2,"results":5,"text":22},"by":"tool","rows":[{"key":"(other)","count":0,"tokens":47},{"key":"ls","count":1,"tokens":11}]}"#,
            "\n",
        ))
        .run();
}

#[test]
fn a_model_brings_its_window_and_says_when_it_is_an_estimate() {
    count()
        .file("s.jsonl", CHAT)
        .args(["--model", "gpt-4", "s.jsonl", "s.jsonl"])
        .stdout(" 5  58 406 0.7% s.jsonl\n 5  58 406 0.7% s.jsonl\n10 116 812    - total\n")
        .run();
    count()
        .args(["--model", "claude-sonnet-4-5"])
        .stdin(CHAT)
        .stdout("5 58 406 0.0%\n")
        .stderr("ctx-count: warning: the tokenizer of claude… is not published: counts with o200k_base are estimates\n")
        .run();
    count()
        .args(["--model", "Qwen/Qwen3-32B"])
        .stdin(CHAT)
        .stdout("5 58 406 0.1%\n")
        .stderr("ctx-count: warning: the tokenizer of qwen3… is not built in: counts with o200k_base are estimates\n")
        .run();
    count()
        .args(["--model", "parrot"])
        .stdin(CHAT)
        .stderr("ctx-count: unknown model \"parrot\"; --list-models prints the known models; for other models, use --encoding NAME\n")
        .code(2)
        .run();
}

/// The name of a model family means its newest model, and a typing error is recognized.
#[test]
fn a_short_name_is_the_newest_model_of_its_family() {
    for (short, full, window, why) in [
        ("sonnet", "claude-sonnet-5", 1_000_000, "published"),
        ("Haiku", "claude-haiku-5", 1_000_000, "published"),
        ("deepseek", "deepseek-v4", 1_000_000, "built in"),
        ("qwen", "qwen3.8", 262_144, "built in"),
        ("kimi", "kimi-k3", 1_048_576, "built in"),
        ("glm", "glm-5.3", 1_000_000, "built in"),
        ("llama", "llama-4", 1_048_576, "built in"),
        ("mistral", "mistral-large-4", 1_048_576, "built in"),
        ("grok", "grok-4.7", 500_000, "published"),
    ] {
        let day = ctx_tokens::Model::listed_on();
        count()
            .args(["--model", short, "--json", "-v"])
            .stdin(CHAT)
            .stdout_has(&format!(r#""model":"{full}","window":{window},"#))
            .stderr(&format!(
                "ctx-count: the model is {full}, the newest model in its family as of {day}\n\
                 ctx-count: warning: the tokenizer of {full}… is not {why}: counts with o200k_base are estimates\n"
            ))
            .run();
    }
    for (name, near) in [("sonet", "sonnet"), ("gtp-4o", "gpt-4o, gpt-4 or gpt-4.1")] {
        count()
            .args(["--model", name])
            .stdin(CHAT)
            .stderr(&format!(
                "ctx-count: unknown model \"{name}\"; did you mean {near}? --list-models prints the known models; for other models, use --encoding NAME\n"
            ))
            .code(2)
            .run();
    }
}

/// The list of models has windows, encodings, short names and its own date, as text and as JSON.
#[test]
fn models_are_listed() {
    let list = count().args(["--list-models"]).stdout_any().run();
    let list = String::from_utf8(list.stdout).expect("text");
    for line in [
        "MODEL                           WINDOW  ENCODING       COUNT     SHORT NAME\n",
        "claude-sonnet-5                1000000  o200k_base     estimate  sonnet\n",
        "gpt-oss                         131072  o200k_harmony  exact\n",
        &format!("\nAs documented by the vendors on {}. ", ctx_tokens::Model::listed_on()),
    ] {
        assert!(list.contains(line), "{line}{list}");
    }
    count()
        .args(["--list-models", "--json"])
        .stdout_has(r#"{"model":"claude-sonnet-5","window":1000000,"encoding":"o200k_base","exact":false,"open":false,"short_names":["sonnet"],"listed_on":"2026-"#)
        .run();
}

#[test]
fn encodings_differ() {
    for (encoding, tokens) in [("o200k_base", 58), ("p50k_base", 67), ("chars4", 50)] {
        count()
            .args(["--encoding", encoding])
            .stdin(CHAT)
            .stdout(format!("5 {tokens} 406\n"))
            .run();
    }
    count()
        .args(["--encoding", "o300k"])
        .stderr_has("one of o200k_base, o200k_harmony, cl100k_base, p50k_base, r50k_base, chars4")
        .code(2)
        .run();
}

/// `--window` adds the share of the window to the output, like a model does, and overrides the
/// model's window.
#[test]
fn a_window_can_be_named_without_a_model() {
    for args in [&["--window", "580"][..], &["--window=580", "--model", "gpt-4o"]] {
        let case = count().args(args.iter().copied()).stdin(CHAT);
        case.stdout("5 58 406 10.0%\n").run();
    }
    count()
        .args(["--window", "580", "--json"])
        .stdin(CHAT)
        .stdout_has("\"encoding\":\"o200k_base\",\"window\":580,\"share\":0.1,\"kinds\":")
        .run();
}

#[test]
fn text_is_counted_as_text() {
    count().args(["--text"]).stdin("hello world").stdout("2\n").run();
    count()
        .file("a.txt", "hello world")
        .file("b.bin", b"\xff\xfe")
        .args(["--text", "a.txt", "b.bin"])
        .stdout("2 a.txt\n1 b.bin\n3 total\n")
        .run();
    count().args(["--text", "--encoding", "chars4"]).stdin("12345").stdout("2\n").run();
}

#[test]
fn files_that_fail_do_not_stop_the_others() {
    count()
        .file("s.jsonl", CHAT)
        .args(["missing.jsonl", "s.jsonl", "."])
        .stdout("5 58 406 s.jsonl\n")
        .stderr(
            "ctx-count: missing.jsonl: no such file or directory; check the path\n\
             ctx-count: .: is a directory; to read the session files in this folder: -r .\n",
        )
        .code(3)
        .run();
    count()
        .args(["missing.jsonl"])
        .stderr("ctx-count: missing.jsonl: no such file or directory; check the path\n")
        .code(2)
        .run();
}

#[test]
fn bad_lines_are_counted_kept_refused_or_dropped() {
    let input = format!("{{\"role\":\n{CHAT}[1]\n{{\"role\":\"user\",\"con");
    let bytes = input.len();
    count()
        .stdin(input.clone())
        .stdout(format!("5 58 {bytes}\n"))
        .stderr("ctx-count: warning: <stdin>:1: 2 bad lines kept in place; the first: not JSON: the line is cut\n")
        .run();
    count()
        .args(["--invalid", "drop", "-q"])
        .stdin(input.clone())
        .stdout(format!("5 58 {}\n", bytes - 13))
        .run();
    count()
        .args(["--invalid", "fail"])
        .stdin(input)
        .stderr_has("ctx-count: <stdin>:1: not JSON")
        .code(2)
        .run();
}

#[test]
fn other_lines_than_messages_have_no_tokens() {
    let input = format!("{CHAT}\n{{\"type\":\"progress\",\"percent\":50}}\n");
    let bytes = input.len();
    count().stdin(input).stdout(format!("5 58 {bytes}\n")).run();
}

#[test]
fn an_unknown_format_is_counted_as_text_and_said_so() {
    count()
        .file("native.jsonl", "{\"type\":\"session\"}\n{\"type\":\"x\"}\n")
        .args(["native.jsonl"])
        .stdout("0 10 32 native.jsonl\n")
        .stderr("ctx-count: warning: native.jsonl: unknown format, so each line is counted as plain text; --dialect or --batch says how to read it\n")
        .run();
}

#[test]
fn batch_records_are_counted_alike_whatever_the_number_of_jobs() {
    let line = |n: usize| match n % 50 {
        7 => format!("{{\"no\":\"conversation {n}\"}}\n"),
        9 => "broken\n".to_owned(),
        _ => format!(
            "{{\"messages\":[{},{}]}}\n",
            format_args!("{{\"role\":\"user\",\"content\":\"{}\"}}", "look ".repeat(n % 400)),
            format_args!(
                "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{}\",\
                 \"type\":\"function\",\"function\":{{\"name\":\"tool_{}\",\"arguments\":\"{{}}\"}}}}]}}",
                n % 3,
                n % 11
            ),
        ),
    };
    let input: String = (0..2_000).map(line).collect();
    let counted = |jobs| {
        let case = count().args(["--batch", "--json", "--by", "tool", "--jobs", jobs]);
        let done =
            case.stdin(input.clone()).stdout_any().stderr_has("without a conversation").run();
        (done.stdout, done.stderr)
    };
    let alone = counted("1");
    assert!(alone.0.starts_with(b"{") && alone.0.len() > 500);
    for jobs in ["2", "3", "16"] {
        assert_eq!(counted(jobs), alone, "{jobs} jobs");
    }
}

#[test]
fn batch_records_are_conversations() {
    let line = |text: &str| {
        format!("{{\"id\":7,\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]}}\n")
    };
    let input = [line("hello"), line("hello world"), "{\"id\":8}\n".to_owned()].concat();
    count()
        .args(["--batch"])
        .stdin(input.clone())
        .stdout(format!("2 17 {}\n", input.len()))
        .stderr("ctx-count: warning: <stdin>: lines without a conversation (\"messages\"): 1\n")
        .run();
    let finished = count().args(["--batch", "--annotate", "-q"]).stdin(input).stdout_any().run();
    let lines: Vec<_> = finished.stdout.split(|b| *b == b'\n').collect();
    assert!(lines[0].starts_with(
        br#"{"_ctx":{"line":1,"bytes":55,"tokens":8,"encoding":"o200k_base"},"id":7"#
    ));
    assert!(lines[2].starts_with(
        br#"{"_ctx":{"line":3,"bytes":8,"tokens":0,"encoding":"o200k_base","end":3},"id":8"#
    ));
}

#[test]
fn a_document_is_counted_as_its_messages() {
    let document = "[\n  {\"role\": \"user\", \"content\": \"hello world\"},\n  {\"role\": \"user\", \"content\": \"hello\"}\n]\n";
    count()
        .args(["--json"])
        .stdin(document)
        .stdout_has(r#""conversations":1,"messages":2,"tokens":14,"#)
        .run();
}

#[test]
fn annotate_tags_what_can_carry_a_tag() {
    let input = "{\"role\":\"user\",\"content\":\"hello\"}\r\n\nbroken\n {\"meta\":1}\nbroken too\n\n{\"half";
    let tagged = "{\"_ctx\":{\"line\":1,\"bytes\":33,\"tokens\":5,\"encoding\":\"o200k_base\"},\"role\":\"user\",\"content\":\"hello\"}\r\n\nbroken\n \
        {\"_ctx\":{\"line\":4,\"bytes\":11,\"tokens\":0,\"encoding\":\"o200k_base\",\"end\":7},\"meta\":1}\nbroken too\n\n{\"half";
    count().args(["--annotate", "-q"]).stdin(input).stdout(tagged).run();
    count().args(["--annotate", "-q"]).stdin(tagged).stdout(tagged).run();
}

#[test]
fn annotate_keeps_what_others_decided() {
    count()
        .args(["--annotate", "--encoding", "cl100k_base"])
        .stdin(concat!(
            "{\"role\":\"user\",\"_ctx\":{\"zone\":\"old\",\"line\":41,\"mine\":[1],\"tokens\":9},\"content\":\"hello\"}\n",
            "{\"_ctx\":{\"zone\":\"keep\",\"line\":42,\"end\":2},\"role\":\"user\",\"content\":\"\"}\n",
        ))
        .stdout(concat!(
            "{\"_ctx\":{\"zone\":\"old\",\"line\":41,\"bytes\":33,\"tokens\":5,\"encoding\":\"cl100k_base\",\"mine\":[1]},\"role\":\"user\",\"content\":\"hello\"}\n",
            "{\"_ctx\":{\"zone\":\"keep\",\"line\":42,\"bytes\":28,\"tokens\":4,\"encoding\":\"cl100k_base\",\"end\":2},\"role\":\"user\",\"content\":\"\"}\n",
        ))
        .run();
}

/// If ctx-split dies, a later tool that reads the zones must still notice it, also after ctx-count.
#[test]
fn annotate_does_not_repair_a_stream_that_ended_early() {
    let zoned = "{\"_ctx\":{\"zone\":\"old\"},\"role\":\"user\",\"content\":\"hello\"}\n";
    let finished = count().args(["--annotate"]).stdin(zoned).stdout_any().run();
    assert!(!String::from_utf8_lossy(&finished.stdout).contains("\"end\""));
}

#[test]
fn annotate_counts_the_records_it_passes_on() {
    count()
        .args(["--annotate", "--invalid", "drop", "-q"])
        .stdin("broken\n{\"_ctx\":{\"zone\":\"old\",\"end\":2},\"role\":\"user\",\"content\":\"\"}\n")
        .stdout("{\"_ctx\":{\"zone\":\"old\",\"line\":2,\"bytes\":28,\"tokens\":4,\"encoding\":\"o200k_base\",\"end\":1},\"role\":\"user\",\"content\":\"\"}\n")
        .run();
}

#[test]
fn annotate_takes_one_file() {
    count()
        .args(["--annotate", "a", "b"])
        .stderr("ctx-count: --annotate takes one file; annotate files one by one, or pipe them in: cat … | ctx-count --annotate\n")
        .code(2)
        .run();
}

#[test]
fn names_cannot_drive_a_terminal() {
    count().file("a\u{1b}[2Jb", "").args(["a\u{1b}[2Jb"]).stdout("0 0 0 a\\u{1b}[2Jb\n").run();
}

#[test]
fn hostile_text_is_counted_without_a_panic() {
    let input = format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", " ".repeat(1 << 20));
    let bytes = input.len();
    count().stdin(input).stdout(format!("1 8199 {bytes}\n")).run();
}

#[test]
fn a_closed_stdout_is_silence() {
    for args in [&["--json"][..], &["--annotate"], &[]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let input = std::env::temp_dir().join(format!("ctx-count-{}", std::process::id()));
        std::fs::write(&input, CHAT).expect("a file");
        let output = Command::new(CTX_COUNT)
            .args(["--encoding", "chars4"])
            .args(args)
            .arg(&input)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .expect("the tool starts");
        std::fs::remove_file(&input).expect("the file goes");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{args:?}");
    }
}

/// Returns the tokens and the messages in the last line of `--json`.
fn total(stdout: &[u8]) -> (u64, u64) {
    let text = String::from_utf8_lossy(stdout);
    let last = text.lines().last().expect("a total");
    let json: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let number = |key: &str| json[key].as_u64().expect("a number");
    (number("messages"), number("tokens"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn counts_of_tags_add_up_to_the_total(texts in proptest::collection::vec("[a-z 中\\n\"]{0,40}", 1..8)) {
        let mut input = String::new();
        for text in &texts {
            let text = serde_json::to_string(text).expect("a string");
            input.push_str(r#"{"role":"user","content":"#);
            input.push_str(&text);
            input.push_str("}\n");
        }
        let counted = count().args(["--json", "--encoding", "chars4"]).stdin(input.clone()).stdout_any().run();
        let tagged = count().args(["--annotate", "--encoding", "chars4"]).stdin(input).stdout_any().run();
        let again = count().args(["--json", "--encoding", "chars4"]).stdin(tagged.stdout.clone()).stdout_any().run();
        let tags: u64 = String::from_utf8_lossy(&tagged.stdout)
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
            .map(|record| record["_ctx"]["tokens"].as_u64().expect("tokens"))
            .sum();
        let (messages, tokens) = total(&counted.stdout);
        prop_assert_eq!(messages, texts.len() as u64);
        prop_assert_eq!(tokens, tags + 3);
        prop_assert_eq!(total(&again.stdout), (messages, tokens));
    }
}
