//! Converts sessions that are given as text.

use std::io::Read;

use ctx_format::convert::{Converter, Reading, Report};
use ctx_format::{Frame, Options, Records, Spool, dialect};

/// Converts a session to the dialect `to`, and returns its lines and the report.
pub(crate) fn convert(to: &str, session: &str) -> (Vec<String>, Report) {
    let to = dialect::by_name(to).expect("a dialect");
    of_reader(session.as_bytes(), Converter { times: true, ..Converter::new(to) })
}

/// Lowers a session to the dialect `anthropic`, so that each record is in only one exchange.
pub(crate) fn lower(session: &str) -> (Vec<String>, Report) {
    of_reader(session.as_bytes(), lowering())
}

pub(crate) fn lowering() -> Converter<'static> {
    let to = dialect::by_name("anthropic").expect("a dialect");
    Converter { mark: Some("_source"), ..Converter::new(to) }
}

/// Converts a session. The lines of a document are its messages.
pub(crate) fn of_reader(source: impl Read, converter: Converter<'_>) -> (Vec<String>, Report) {
    let is_document = converter.to.format().is_document;
    let (mut out, report) = bytes_of(source, converter);
    if is_document {
        out = Frame::of_document(out).map(|frame| frame.lines()).unwrap_or_default();
    }
    let text = String::from_utf8(out).expect("UTF-8");
    (text.lines().map(str::to_owned).collect(), report)
}

pub(crate) fn bytes_of(source: impl Read, converter: Converter<'_>) -> (Vec<u8>, Report) {
    let mut records = Records::open(source, &Options::default()).expect("it can be read");
    let from = records.dialect().expect("a known dialect");
    let mut reading = Reading::new(converter, from, Spool::new(std::env::temp_dir()));
    while let Some(record) = records.next().expect("it can be read") {
        reading.push(&record).expect("it can wait");
    }
    let mut out = Vec::new();
    let report = reading.write(&mut out).expect("memory takes it");
    (out, report)
}

/// The losses in the report, each as kind, name and count.
pub(crate) fn losses(report: &Report) -> Vec<String> {
    let losses = report.losses.iter();
    losses.map(|loss| format!("{:?} {} {}", loss.kind, loss.name, loss.count)).collect()
}
