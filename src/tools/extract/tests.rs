//! Tests of the messages that are read in plain, tagged and batch input, and of the held record.

use std::io::{self, Write};

use ctx_format::{Options, Records, Zone};
use ctx_summary::ledger::patterns::MemoryKind;

use ctx_engine::{ErrorKind, PassError};

use super::{ExtractPass, Extractor, HoldingWriter, Scope, ZoneReader, recognizer};

fn says(role: &str, text: &str) -> String {
    format!("{{\"role\":\"{role}\",\"content\":\"We decided on {text}.\"}}")
}

fn pass(scope: Option<Scope>, batch: bool) -> ExtractPass {
    ExtractPass {
        scope,
        batch,
        dialect: None,
        zones: ZoneReader::default(),
        extractor: Extractor::new("demo", &[MemoryKind::Decision]),
        recognizer: recognizer(None),
    }
}

/// Returns the last letter of each item, with its line.
fn read(
    session: &str,
    mut pass: ExtractPass,
    partial: bool,
) -> Result<Vec<(char, u64)>, PassError> {
    let options = Options { batch: pass.batch, ..Options::default() };
    let mut records = Records::open(session.as_bytes(), &options).expect("from memory");
    pass.dialect = records.dialect();
    let mut found = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        for item in pass.push(&record)? {
            assert_eq!(item.session, "demo");
            let letter = item.text.chars().rev().nth(1).expect("a letter");
            found.push((letter, item.line));
        }
    }
    pass.finish(partial).map(|_| found)
}

fn tagged(tag: &str, role: &str, text: &str) -> String {
    says(role, text).replacen('{', &format!("{{\"_ctx\":{{{tag}}},"), 1)
}

const SCOPES: [Option<Scope>; 5] = [
    None,
    Some(Scope::All),
    Some(Scope::Zone(Zone::System)),
    Some(Scope::Zone(Zone::Old)),
    Some(Scope::Zone(Zone::Keep)),
];

#[test]
fn a_plain_session_is_read_without_its_system_messages() {
    let summary = r#"{"role":"user","name":"ctx_summary","content":"[Compressed History]\n\nWe decided on D."}"#;
    let session = [says("system", "A"), says("user", "B"), says("assistant", "C")];
    let session = session.join("\nbroken\n") + "\n" + summary + "\n";
    let expected = [
        Some(vec![('B', 3), ('C', 5)]),
        Some(vec![('A', 1), ('B', 3), ('C', 5)]),
        Some(vec![('A', 1)]),
        None,
        None,
    ];
    for (scope, expected) in SCOPES.into_iter().zip(expected) {
        match (read(&session, pass(scope, false), false), expected) {
            (Ok(found), Some(expected)) => assert_eq!(found, expected, "{scope:?}"),
            (Err(error), None) => {
                let kind = error.kind;
                let no_zones = matches!(kind, ErrorKind::NoZones);
                assert!(no_zones && error.lines.is_empty(), "{scope:?}: {kind}");
            }
            (other, _) => panic!("{scope:?}: {other:?}"),
        }
        // An empty session is not missing a zone.
        assert!(read("", pass(scope, false), false).is_ok());
    }
}

#[test]
fn of_a_tagged_session_the_zone_is_read() {
    let session = [
        tagged(r#""zone":"system","line":7"#, "system", "A"),
        tagged(r#""zone":"old","line":8"#, "user", "B"),
        tagged(r#""zone":"keep","line":9,"end":3"#, "user", "C"),
    ]
    .join("\n");
    let expected = [
        vec![('B', 8)],
        vec![('A', 7), ('B', 8), ('C', 9)],
        vec![('A', 7)],
        vec![('B', 8)],
        vec![('C', 9)],
    ];
    for (scope, expected) in SCOPES.into_iter().zip(expected) {
        let found = read(&session, pass(scope, false), false).expect("it is whole");
        assert_eq!(found, expected, "{scope:?}");
    }
}

#[test]
fn a_tagged_session_must_be_whole() {
    let session = tagged(r#""zone":"old","end":2"#, "user", "A");
    let error = read(&session, pass(None, false), false).expect_err("one is missing");
    let kind = error.kind;
    assert!(matches!(kind, ErrorKind::EarlyEnd(_)), "{kind}");
    let found = read(&session, pass(None, false), true).expect("a part is enough");
    assert_eq!(found, [('A', 1)]);
}

#[test]
fn each_message_of_a_batch_record_has_its_zone() {
    let list = [says("system", "A"), says("user", "B"), says("user", "C")].join(",");
    let plain = format!("{{\"messages\":[{list}]}}\n{{\"messages\":7}}\n");
    let found = read(&plain, pass(None, true), false).expect("conversations");
    assert_eq!(found, [('B', 1), ('C', 1)]);
    let zones = r#""zones":["system","old","keep"],"line":5,"end":1"#;
    let tagged = format!("{{\"_ctx\":{{{zones}}},\"messages\":[{list}]}}\n");
    let expected = [vec!['B'], vec!['A', 'B', 'C'], vec!['A'], vec!['B'], vec!['C']];
    for (scope, expected) in SCOPES.into_iter().zip(expected) {
        let found = read(&tagged, pass(scope, true), false).expect("it is whole");
        let expected: Vec<_> = expected.into_iter().map(|letter| (letter, 5)).collect();
        assert_eq!(found, expected, "{scope:?}");
    }
}

#[test]
fn a_call_is_answered_in_its_own_conversation() {
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":"{}"}}]}"#;
    let result = r#"{"role":"tool","tool_call_id":"c","content":"Exit code 2"}"#;
    let session = format!("{{\"messages\":[{call}]}}\n{{\"messages\":[{result}]}}\n");
    let options = Options { batch: true, ..Options::default() };
    let mut records = Records::open(session.as_bytes(), &options).expect("from memory");
    let extractor = Extractor::new("demo", &[MemoryKind::Runtime]);
    let mut pass = ExtractPass { extractor, dialect: records.dialect(), ..pass(None, true) };
    let mut texts = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        let items = pass.push(&record).expect("a conversation");
        texts.extend(items.into_iter().map(|item| item.text));
    }
    assert_eq!(texts, ["Bash", "a tool failed: Exit code 2"]);
}

#[test]
fn secrets_are_counted_and_an_unknown_format_is_named() {
    let secret = says("user", "password=hunter2 for tests");
    let mut records = Records::open(secret.as_bytes(), &Options::default()).expect("from memory");
    let mut pass = ExtractPass { dialect: records.dialect(), ..pass(None, false) };
    let record = records.next().expect("from memory").expect("a record");
    assert_eq!(pass.push(&record).expect("a message").len(), 1);
    assert_eq!(pass.finish(false).expect("not tagged"), 1);

    let error = read("\n{\"a\":1}\n", self::pass(None, false), false).expect_err("unknown");
    let kind = error.kind;
    assert!(matches!(kind, ErrorKind::UnknownFormat), "{kind}");
}

/// Accepts this many bytes, then fails with this error.
struct Narrow(usize, io::ErrorKind, Vec<u8>);

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.2.len() + bytes.len() > self.0 {
            return Err(self.1.into());
        }
        self.2.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_last_record_waits_for_the_end() {
    let mut written = Vec::new();
    let mut writer = HoldingWriter::new(&mut written);
    writer.push(b"one\n").expect("to memory");
    writer.push(b"two\n").expect("to memory");
    writer.flush().expect("to memory");
    drop(writer);
    assert_eq!(written, b"one\n");
    let mut writer = HoldingWriter::new(Vec::new());
    for record in ["one\n", "two\n"] {
        writer.push(record.as_bytes()).expect("to memory");
    }
    let (written, held) = writer.into_parts();
    assert_eq!(written.expect("an output"), b"one\n");
    assert_eq!(held, b"two\n");
}

#[test]
fn without_a_reader_the_work_goes_on() {
    let mut writer = HoldingWriter::new(Narrow(4, io::ErrorKind::BrokenPipe, Vec::new()));
    for record in ["one\n", "two\n", "three\n"] {
        writer.push(record.as_bytes()).expect("a missing reader is no failure");
    }
    assert!(writer.into_parts().0.is_none());
}

#[test]
fn an_output_that_fails_is_an_error() {
    let mut writer = HoldingWriter::new(Narrow(4, io::ErrorKind::StorageFull, Vec::new()));
    writer.push(b"one\n").expect("held");
    writer.push(b"two\n").expect("it has room");
    writer.push(b"three\n").expect_err("it is full");
}
