//! Whatever a session contains, the other dialect can read the converted session. If records are
//! converted as a whole, each record is in one exchange, and none is lost.

use std::collections::BTreeSet;

use ctx_format::convert::{Converter, Reading, Report, SourceId};
use ctx_format::dialect::{ALL, Anthropic};
use ctx_format::{Options, Origin, Records, Role, Spool};

pub(crate) fn run(bytes: &[u8]) {
    // Convert to one dialect per run. Altered inputs have different lengths, so every dialect has
    // its turn.
    let to = ALL[bytes.len() % ALL.len()];
    if let Some((written, _)) = convert(bytes, Converter::new(to)) {
        let options = Options { dialect: Some(to), ..Options::default() };
        let records = Records::open(written.as_bytes(), &options);
        let mut records = records.expect("memory does not fail");
        while let Some(record) = records.next().expect("memory does not fail") {
            // A document without messages is read line by line.
            let is_document = to.format().is_document;
            let Some(object) = record.whole_object() else {
                assert!(is_document && !written.contains("\"role\""), "{}: {written}", to.name());
                continue;
            };
            // A log contains lines that are not messages, and unknown items are kept.
            let is_linear = !to.is_log() && object.get("type").is_none();
            let is_message = to.outline(object).is_some() || !is_linear;
            assert!(is_message, "{}: {}", to.name(), object.text());
        }
    }
    let lowering = Converter { mark: Some("_source"), ..Converter::new(&Anthropic) };
    let Some((written, report)) = convert(bytes, lowering) else { return };
    whole_records(&written, &report);
    let of_report: BTreeSet<u64> =
        report.sources.iter().flat_map(|it| &it.origins).map(|it| it.record).collect();
    assert_eq!(of_report, inside(bytes), "a record is lost");
}

fn open(bytes: &[u8]) -> Records<&[u8]> {
    Records::open(bytes, &Options::default()).expect("memory does not fail")
}

fn convert(bytes: &[u8], converter: Converter<'_>) -> Option<(String, Report)> {
    let mut records = open(bytes);
    let spool = Spool::with_limit("", usize::MAX);
    let mut reading = Reading::new(converter, records.dialect()?, spool);
    while let Some(record) = records.next().expect("memory does not fail") {
        reading.push(&record).expect("memory does not fail");
    }
    let mut out = Vec::new();
    let report = reading.write(&mut out).expect("memory does not fail");
    Some((String::from_utf8(out).expect("JSON is UTF-8"), report))
}

/// Returns the numbers of the records that are messages.
fn inside(bytes: &[u8]) -> BTreeSet<u64> {
    let mut records = open(bytes);
    let dialect = records.dialect();
    let mut inside = BTreeSet::new();
    let mut number = 0;
    while let Some(record) = records.next().expect("memory does not fail") {
        if record.message(dialect).is_some() {
            inside.insert(number);
        }
        number += u64::from(record.piece.begins());
    }
    inside
}

/// Checks that every record is in only one message, or else in a reply and the results directly
/// after it.
fn whole_records(written: &str, report: &Report) {
    let mut seen = BTreeSet::new();
    let mut before: &[SourceId] = &[];
    for (line, source) in written.lines().zip(&report.sources) {
        let record = Origin::ALONE.record(line.as_bytes());
        let outline = record.outline(Some(&Anthropic)).expect("a message");
        let answers = outline.role == Role::User && !outline.results.is_empty();
        for origin in &source.origins {
            let is_of_reply = answers && before.contains(origin);
            let is_new = seen.insert(*origin);
            assert!(is_new || is_of_reply, "{origin:?} is in two messages");
        }
        before = &source.origins;
    }
}
