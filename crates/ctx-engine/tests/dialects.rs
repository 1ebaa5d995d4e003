//! Tests that a new dialect whose file is a tree needs no change in the passes.

#[path = "../../ctx-format/tests/dialects/tree.rs"]
mod tree;

use ctx_engine::count::{CountPass, Plan as CountPlan};
use ctx_engine::message_counter::MessageCounter;
use ctx_engine::offload::{Change, ChangePass, Reading, Substitute};
use ctx_engine::{BadLines, Invalid, Notes, PassError, Session};
use ctx_format::{Dialect, Options, Record, ToolResult};
use ctx_tokens::Encoding;
use tree::Tree;

/// A session with an abandoned branch, and a reply of three calls with results between its lines.
/// The session is valid only if these lines are recognized as one message.
const TREE: [&str; 12] = [
    r#"{"type":"header"}"#,
    r#"{"type":"user","id":"1","text":"TEXT"}"#,
    r#"{"type":"reply","id":"2","parent":"1","reply":"r","text":"TEXT"}"#,
    r#"{"type":"reply","id":"x","parent":"2","reply":"left","call":"none"}"#,
    r#"{"type":"result","id":"y","parent":"x","of":"none","text":"z"}"#,
    r#"{"type":"user","id":"3","parent":"2","text":"two"}"#,
    r#"{"type":"reply","id":"4","parent":"3","reply":"s","call":"a"}"#,
    r#"{"type":"reply","id":"5","parent":"4","reply":"s","call":"b"}"#,
    r#"{"type":"result","id":"6","parent":"5","of":"b","text":"TEXT"}"#,
    r#"{"type":"reply","id":"7","parent":"6","reply":"s","call":"c"}"#,
    r#"{"type":"result","id":"8","parent":"7","of":"a","text":"x"}"#,
    r#"{"type":"result","id":"9","parent":"8","of":"c","text":"y"}"#,
];

fn input() -> String {
    let text = "many words ".repeat(300);
    TREE.map(|line| line.replace("TEXT", &text) + "\n").concat()
}

fn each(mut handle: impl FnMut(&Record<'_>) -> Result<(), PassError>) {
    let options = Options { dialect: Some(&Tree), ..Options::default() };
    let reader = Box::new(std::io::Cursor::new(input()));
    let mut session = Session::open(reader, &options, Invalid::Keep).expect("from memory");
    session.each(|record| handle(record)).expect("no failure");
}

fn counter() -> MessageCounter {
    MessageCounter::new(Encoding::default())
}

/// Returns the output lines that were input lines.
fn lines_left(output: &[u8]) -> Vec<usize> {
    let output = std::str::from_utf8(output).expect("UTF-8");
    let input = input();
    let left = input.lines().enumerate();
    left.filter(|(_, line)| output.lines().any(|it| it == *line)).map(|(at, _)| at + 1).collect()
}

#[test]
fn messages_are_counted_once_and_only_in_the_context() {
    let plan =
        CountPlan { counter: counter(), batch: false, threads: 1, reach: false, of_session: false };
    let mut pass = CountPass::new(&plan, Some(&Tree));
    each(|record| {
        pass.push(record);
        Ok(())
    });
    let counts = pass.finish(&BadLines::default());
    assert_eq!((counts.records, counts.tally.messages), (12, 7));
}

struct Blank;

impl Change for Blank {
    fn result(
        &mut self,
        _: u64,
        _: &ToolResult<'_>,
        _: &str,
    ) -> Result<Option<Substitute>, PassError> {
        Ok(Some(Substitute::Text(String::new())))
    }
}

#[test]
fn the_last_replies_are_protected_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    let changed = |protect_last| {
        let reading =
            Reading { dialect: Some(&Tree as &dyn Dialect), protect_last, ..Reading::default() };
        let mut blank = Blank;
        let mut pass = ChangePass::new(reading, &mut blank, Some(dir.path()));
        each(|record| pass.push(record));
        let spool = pass.finish(0, &mut Notes::default()).expect("no failure");
        let mut output = Vec::new();
        let spool = spool.expect("it is written");
        spool.write_to(&mut output).expect("to memory");
        let left = lines_left(&output);
        (1..=TREE.len()).filter(|line| !left.contains(line)).collect::<Vec<_>>()
    };
    assert_eq!(changed(0), [9, 11, 12]);
    // A line of the last reply is between the results, and the reply begins before all of them.
    assert!(changed(1).is_empty());
}
