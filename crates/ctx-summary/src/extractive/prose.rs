//! How well a line of a call, a result or a pasted text reads on its own.

use super::patterns::{CODE_LINE, LISTED};
use crate::ledger::is_frame;
use crate::ledger::{Index, Kind, Origin, Segment};
use ctx_text::is_prose;

/// A text that was handed on says it worse than the one who handed it on.
const PASTED: f64 = 0.3;
const OUTCOME: f64 = 1.3;
/// One of many, mostly.
const PASSED: f64 = 0.3;
const DEFINITION: f64 = 2.0;
/// A name in a call says less than a name in its place.
const NAME: f64 = 0.9;
const WRITTEN: f64 = 0.8;
const CODE: f64 = 0.5;
/// A change shows what was changed.
const ECHO: f64 = 0.3;

/// How well each segment reads: 1 for a line that is understood with what it stands under.
pub(super) fn all(index: &Index) -> Vec<f64> {
    let is_echo = |segment: &Segment| {
        segment.origin == Origin::Result
            && segment.head.is_some_and(|head| index.segments()[head].kind == Kind::Change)
    };
    let all = index.segments().iter();
    let reads = |segment| {
        if is_echo(segment) { ECHO } else { reads(segment, index.text(segment)) }
    };
    all.map(reads).collect()
}

fn reads(segment: &Segment, text: &str) -> f64 {
    match segment.origin {
        Origin::Said if segment.kind == Kind::Quoted => {}
        Origin::User | Origin::Said | Origin::Earlier => return 1.0,
        Origin::Pasted => return PASTED,
        Origin::Call | Origin::Result => {}
    }
    // A member of an object says what it is.
    let is_member = || text.contains("\": ");
    let is_listed = LISTED.is_match(text);
    match (segment.kind, segment.origin) {
        (Kind::Outcome, _) if text.starts_with("ok ") => PASSED,
        (Kind::Line, _) if is_frame(text) => PASSED,
        (Kind::Outcome, _) => OUTCOME,
        (Kind::Name, Origin::Result) => DEFINITION,
        (Kind::Name, _) => NAME,
        (Kind::Line | Kind::Quoted, _) if is_listed => CODE,
        (Kind::Line | Kind::Quoted, _) if is_prose(text) && !CODE_LINE.is_match(text) => 1.0,
        (Kind::Line, Origin::Call) if !is_member() => WRITTEN,
        (Kind::Line | Kind::Quoted, _) if is_code(text) && !is_member() => CODE,
        _ => 1.0,
    }
}

/// Whether a line looks like one of a program.
fn is_code(text: &str) -> bool {
    CODE_LINE.is_match(text)
        || text.ends_with(['{', '}', ';', '(', ','])
        || [" := ", " = ", "()"].iter().any(|sign| text.contains(sign))
        || text.ends_with(')') && text.contains('(') && !text.contains(' ')
}
