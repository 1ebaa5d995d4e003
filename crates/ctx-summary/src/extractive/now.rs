//! Writes the section that says where the work stands: the latest request, whether the summary
//! already tells the work on it, the last check that was seen to pass or fail, and the last commit.

use std::fmt::Write as _;
use std::sync::LazyLock;

use ctx_text::{Matcher, shorten_words};

use super::page::chain_of_heads;
use super::segment_worth::LISTS;
use crate::ledger::form::NOW;
use crate::ledger::{Index, Label, Origin, Segment, SegmentKind, Verdict};

/// The maximum lengths of a request and of a command, in characters.
const REQUEST: usize = 160;
const COMMAND: usize = 100;
/// The maximum number of files that are named.
const FILES: usize = 8;

/// Writes the section, or nothing if there is no request.
pub(super) fn now(index: &Index) -> String {
    let segments = &index.segments;
    let is_request = |segment: &&Segment| segment.origin == Origin::User && segment.kind.is_said();
    let Some(last) = segments.iter().rfind(is_request) else { return String::new() };
    let is_of = |segment: &&Segment| is_request(segment) && segment.turn == last.turn;
    let words: Vec<&str> = segments.iter().filter(is_of).map(|it| index.text(it)).collect();
    let mut text = format!("{NOW}\n- Latest request");
    cite(&mut text, last);
    let words = words.join(" ").replace('\n', " ");
    let _ = writeln!(text, " ({}): {}", stage(segments, last), shorten_words(&words, REQUEST));
    // What a tool says is quoted, here as well.
    let quote = <&str>::from(Label::Quote);
    let latest = |verdict: Verdict| {
        segments.iter().enumerate().rev().find_map(|(number, segment)| {
            let outcome = segment.outcome.as_deref()?;
            let is_command = segment.kind == SegmentKind::Command;
            let has_verdict = || Verdict::of(index.text(segment), outcome) == Some(verdict);
            (is_command && has_verdict()).then_some((number, segment, outcome))
        })
    };
    if let Some((_, command, outcome)) = latest(Verdict::Check) {
        text.push_str("- Last check in this record");
        cite(&mut text, command);
        let name = shorten_words(&index.text(command).replace('\n', " "), COMMAND);
        let _ = writeln!(text, ": {name}\n{quote}{outcome}");
    }
    if let Some((number, command, outcome)) = latest(Verdict::Commit) {
        text.push_str("- Last commit in this record");
        cite(&mut text, command);
        let _ = writeln!(text, ":\n{quote}{outcome}");
        let edited = edited(index, number);
        if !edited.is_empty() {
            let _ = writeln!(text, "- Edited after it: {}", edited.join(", "));
        }
    }
    text
}

/// Hides what an earlier summary of the model says about the state of the work, unless the session
/// ends with this summary: the work went on.
pub(super) fn hide_outdated(index: &Index, hidden: &mut [bool]) {
    let segments = &index.segments;
    let is_work = |segment: &Segment| matches!(segment.origin, Origin::Call | Origin::Said);
    let last_work = segments.iter().rposition(is_work).unwrap_or(0);
    let tells_state = |number: &usize| STATES.is_match(index.text(&segments[*number]));
    for number in (0..last_work).filter(|number| segments[*number].origin == Origin::Earlier) {
        hidden[number] |= chain_of_heads(index, None, number).skip(1).any(|it| tells_state(&it));
    }
}

static STATES: LazyLock<Matcher> = LazyLock::new(|| LISTS.matcher("states of the work"));

/// Says how far the work on the last request is.
fn stage(segments: &[Segment], last: &Segment) -> &'static str {
    let is_work = |segment: &&Segment| matches!(segment.origin, Origin::Call | Origin::Said);
    let of_request = || segments.iter().rev().take_while(|it| it.turn == last.turn);
    let told = of_request().filter(is_work).find(|segment| !segment.is_covered);
    let goes_on = of_request().filter(is_work).any(|segment| segment.is_covered);
    match (told.map(|segment| segment.origin), last.is_covered) {
        (None, _) if goes_on => "see the messages after this record",
        (None, _) => "not worked on in this record",
        (Some(_), true) => "kept after this record, which already tells work on it",
        (Some(_), false) if goes_on => "the messages after this record go on with it",
        (Some(Origin::Said), false) => "answered at the end of this record",
        (Some(_), false) => "in progress at the end of this record",
    }
}

/// Returns the last files that calls after segment `after` edit, each once, up to [`FILES`].
fn edited(index: &Index, after: usize) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    for segment in index.segments[after..].iter().filter(|it| it.origin == Origin::Call) {
        let text = index.text(segment);
        let path = match segment.kind {
            SegmentKind::Change => text.split("; ").next().and_then(|it| it.split_once(": ")),
            _ => text.strip_prefix("*** ").and_then(|it| it.split_once(" File: ")),
        };
        if let Some((_, path)) = path.filter(|(_, path)| !files.contains(path)) {
            files.push(path);
        }
    }
    let first = files.len().saturating_sub(FILES);
    files.split_off(first)
}

fn cite(text: &mut String, segment: &Segment) {
    if segment.line > 0 {
        let _ = write!(text, " ⟦{}⟧", segment.line);
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Message, Role, Zone};

    use super::now;
    use crate::ledger::Ledger;
    use crate::ledger::fixtures::{answers, calls, says};

    fn of(messages: &[Message<'_>], kept: Option<&Message<'_>>) -> String {
        let mut ledger = Ledger::default();
        for (line, message) in (1..).zip(messages) {
            ledger.push(line, message, Zone::Old);
        }
        if let Some(kept) = kept {
            ledger.absorb(0, crate::ledger::Reading::of_stay(kept));
        }
        now(&ledger.index)
    }

    #[test]
    fn how_things_stood_before_is_hidden_once_the_work_went_on() {
        let summary = "This session is being continued from a previous conversation.\nSummary:\n\
             1. Problem Solving:\n   - The cache of order_3 was wrong.\n\n\
             2. Pending Tasks:\n   - Repair order_4.\n\n3. Next Step:\n   - Test order_5.";
        let texts = |messages: &[Message<'_>]| {
            let mut ledger = Ledger::default();
            for (line, message) in (1..).zip(messages) {
                ledger.push(line, message, Zone::Old);
            }
            crate::extractive(&ledger, 2_000, ctx_tokens::Encoding::Chars4.counter())
        };
        let summary = says(Role::User, summary);
        let before = texts(std::slice::from_ref(&summary));
        assert!(before.contains("order_4") && before.contains("order_5"), "{before}");
        let after = texts(&[summary, says(Role::Assistant, "I repaired both.")]);
        assert!(after.contains("order_3"), "{after}");
        assert!(!after.contains("order_4") && !after.contains("order_5"), "{after}");
    }

    #[test]
    fn the_latest_request_and_the_last_check_are_named() {
        let ask = says(Role::User, "Please fix the login.");
        let check = calls("Bash", r#"{"command":"make check"}"#);
        let messages =
            [ask, check, answers("2 failed, 9 passed"), says(Role::Assistant, "It fails.")];
        assert_eq!(
            of(&messages, None),
            "## Where we are\n\
             - Latest request ⟦1⟧ (answered at the end of this record): Please fix the login.\n\
             - Last check in this record ⟦2⟧: Bash command: make check\n\
             > 2 failed, 9 passed\n"
        );
        let under_way = of(&messages[..3], None);
        assert!(under_way.contains("(in progress at the end of this record)"), "{under_way}");
        let kept = of(&messages, Some(&messages[0]));
        assert!(kept.contains("(kept after this record, which already tells"), "{kept}");
        let not_begun = of(&messages[..1], Some(&messages[0]));
        assert!(not_begun.contains("(not worked on in this record)"), "{not_begun}");
        assert_eq!(of(&messages[1..], None), "");
    }
}
