use std::path::Path;

use crate::message_counter::MessageCounter;
use ctx_format::Options;
use ctx_tokens::Encoding;

use super::{AnnotatePass, CountPass, Counts, Plan, tokens};
use crate::{Invalid, Notes, Result, Session};

const CHAT: &str = r#"{"role":"user","content":"one two three"}
{"role":"assistant","content":"four"}
"#;

fn plan(batch: bool, threads: usize) -> Plan {
    Plan {
        counter: MessageCounter::new(Encoding::Chars4),
        batch,
        threads,
        reach: false,
        of_session: false,
    }
}

fn open(input: &str, batch: bool, invalid: Invalid) -> Session {
    let reader = Box::new(std::io::Cursor::new(input.to_owned().into_bytes()));
    let options = Options { batch, ..Options::default() };
    Session::open(reader, &options, invalid).expect("from memory")
}

fn count(input: &str, plan: &Plan) -> Counts {
    let mut session = open(input, plan.batch, Invalid::Keep);
    session.accepts_unknown = true;
    let mut pass = CountPass::new(plan, session.dialect());
    let done = session.each(|record| -> Result<()> {
        pass.push(record);
        Ok(())
    });
    done.expect("from memory");
    pass.finish(&session.bad)
}

fn annotate(input: &str) -> (String, Counts) {
    let mut session = open(input, false, Invalid::Drop);
    let plan = plan(false, 1);
    let mut pass = AnnotatePass::new(&plan, session.dialect(), Vec::new(), Path::new("/tmp"));
    session.each(|record| pass.push(record)).expect("to memory");
    let (output, counts) = pass.finish(&session.bad).expect("to memory");
    (String::from_utf8(output).expect("text"), counts)
}

fn warnings(counts: &Counts) -> Vec<String> {
    let mut notes = Notes::default();
    counts.report(&mut notes);
    notes.take().into_iter().map(|note| note.text).collect()
}

#[test]
fn messages_records_and_bytes_are_counted() {
    let input = format!("{CHAT}broken\n");
    let counts = count(&input, &plan(false, 1));
    assert_eq!((counts.records, counts.tally.messages), (3, 2));
    assert_eq!(counts.bytes, input.len() as u64);
    assert_eq!(counts.tally.conversations, 1);
    // There are 3 tokens for the reply, 4 for the overhead of each message, and texts of 13 and 4
    // characters.
    assert_eq!(counts.tally.tokens.total(), 3 + 4 + 4 + 4 + 1);
    let [bad] = &warnings(&counts)[..] else {
        panic!("one warning");
    };
    assert!(bad.starts_with("1 bad line kept in place"), "{bad}");
}

#[test]
fn a_batch_is_counted_alike_on_any_number_of_threads() {
    let one = r#"{"messages":[{"role":"user","content":"some words of a question"}]}"#;
    let lines: Vec<String> = (0..20_000)
        .map(|n| match n % 1_000 {
            7 => "{\"no\":\"conversation\"}\n".to_owned(),
            _ => format!("{one}\n"),
        })
        .collect();
    let input = lines.concat();
    let expected = count(&input, &plan(true, 1));
    assert_eq!(expected.tally.conversations, 19_980);
    for threads in [2, 5] {
        let counts = count(&input, &plan(true, threads));
        assert_eq!(counts.records, expected.records);
        assert_eq!(counts.bytes, expected.bytes);
        assert_eq!(counts.tally.tokens, expected.tally.tokens);
        assert_eq!(counts.tally.conversations, 19_980);
        let warned = "lines without a conversation (\"messages\"): 20";
        assert_eq!(warnings(&counts), [warned]);
    }
}

#[test]
fn an_unknown_format_is_counted_as_text() {
    let counts = count("{\"what\":1}\n{\"what\":2}\n", &plan(false, 1));
    assert_eq!((counts.records, counts.tally.messages), (2, 0));
    assert_eq!(counts.tally.tokens.total(), 6);
    assert!(warnings(&counts)[0].starts_with("unknown format"));
}

#[test]
fn only_a_known_dialect_has_tokens() {
    let counter = plan(false, 1).counter;
    let tokens = |input: &'static str| tokens(Box::new(input.as_bytes()), &counter);
    assert_eq!(tokens(CHAT).expect("from memory"), Some(16));
    assert_eq!(tokens("{\"what\":1}\n").expect("from memory"), None);
}

#[test]
fn sums_are_of_all_files() {
    let mut total = Counts::default();
    for input in [CHAT, CHAT, "broken\n"] {
        total.merge(&count(input, &plan(false, 1)));
    }
    assert_eq!((total.records, total.tally.messages), (5, 4));
    assert_eq!(total.bad.count(), 1);
}

#[test]
fn a_text_may_hold_bytes_that_are_no_text() {
    let counts = Counts::of_text(b"abcd\xff\xff\xff\xff", &plan(false, 1).counter);
    assert_eq!((counts.bytes, counts.records), (8, 0));
    assert_eq!(counts.tally.tokens.total(), 2);
}

#[test]
fn each_record_gets_its_size_and_the_last_one_the_end() {
    let (output, counts) = annotate(CHAT);
    let tags: Vec<&str> = output
        .lines()
        .filter_map(|line| line.split_once("\"role\"")?.0.strip_prefix("{\"_ctx\":"))
        .collect();
    assert_eq!(
        tags,
        [
            r#"{"line":1,"bytes":41,"tokens":8,"encoding":"chars4"},"#,
            r#"{"line":2,"bytes":37,"tokens":5,"encoding":"chars4","end":2},"#,
        ]
    );
    assert_eq!(counts.tally.messages, 2);
}

#[test]
fn a_stream_that_ended_early_stays_so() {
    let tagged = |end: &str| {
        format!("{{\"_ctx\":{{\"zone\":\"keep\"{end}}},\"role\":\"user\",\"content\":\"a\"}}\n")
    };
    assert!(!annotate(&tagged("")).0.contains("\"end\""));
    assert!(annotate(&tagged(",\"end\":1")).0.contains("\"end\":1"));
    // The announced number of records includes a bad line that is left out.
    let (output, _) = annotate(&format!("broken\n{}", tagged(",\"end\":2")));
    assert!(output.contains("\"end\":1"), "{output}");
}
