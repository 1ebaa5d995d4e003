//! Writes the section that says where the work stands: the latest request, whether the summary
//! already tells the work on it, and the last check that was seen to pass or fail.

use std::fmt::Write as _;

use ctx_text::shorten_words;

use crate::ledger::call::FAILED;
use crate::ledger::form::NOW;
use crate::ledger::{Index, Origin, Segment, SegmentKind, is_outcome};

/// The maximum lengths of a request and of a command, in characters.
const REQUEST: usize = 160;
const COMMAND: usize = 100;

/// Writes the section, or nothing if there is no request.
pub(super) fn now(index: &Index) -> String {
    let segments = &index.segments;
    let is_request = |segment: &&Segment| segment.origin == Origin::User && segment.kind.is_said();
    let Some(last) = segments.iter().rfind(is_request) else { return String::new() };
    let is_of = |segment: &&Segment| is_request(segment) && segment.turn == last.turn;
    let words: Vec<&str> = segments.iter().filter(is_of).map(|it| index.text(it)).collect();
    let later: Vec<&Segment> = segments
        .iter()
        .rev()
        .take_while(|segment| segment.turn == last.turn)
        .filter(|segment| matches!(segment.origin, Origin::Call | Origin::Said))
        .filter(|segment| !segment.is_covered)
        .collect();
    let stage = match (later.first().map(|it| it.origin), last.is_covered) {
        (None, _) => "not worked on in this record",
        (Some(Origin::Said), false) => "answered at the end of this record",
        (Some(_), false) => "in progress at the end of this record",
        (Some(_), true) => "kept after this record, which already tells work on it",
    };
    let mut text = format!("{NOW}\n- Latest request");
    cite(&mut text, last);
    let words = words.join(" ").replace('\n', " ");
    let _ = writeln!(text, " ({stage}): {}", shorten_words(&words, REQUEST));
    // The last command that says whether something passed or failed.
    let check = segments.iter().rev().find_map(|segment| {
        let outcome = segment.outcome.as_deref()?;
        let is_check = segment.kind == SegmentKind::Command && says_how(outcome);
        is_check.then_some((segment, outcome))
    });
    if let Some((command, outcome)) = check {
        text.push_str("- Last check");
        cite(&mut text, command);
        let name = shorten_words(&index.text(command).replace('\n', " "), COMMAND);
        let _ = writeln!(text, ": {name} → {outcome}");
    }
    text
}

fn cite(text: &mut String, segment: &Segment) {
    if segment.line > 0 {
        let _ = write!(text, " ⟦{}⟧", segment.line);
    }
}

/// Returns true if an outcome says whether something passed or failed.
fn says_how(outcome: &str) -> bool {
    outcome.split("; ").any(|part| {
        let bare = part.split_once(" × ").map_or(part, |(_, bare)| bare);
        is_outcome(bare) || part.starts_with(FAILED)
    })
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
    fn the_latest_request_and_the_last_check_are_named() {
        let ask = says(Role::User, "Please fix the login.");
        let check = calls("Bash", r#"{"command":"make check"}"#);
        let messages =
            [ask, check, answers("2 failed, 9 passed"), says(Role::Assistant, "It fails.")];
        assert_eq!(
            of(&messages, None),
            "## Where we are\n\
             - Latest request ⟦1⟧ (answered at the end of this record): Please fix the login.\n\
             - Last check ⟦2⟧: Bash command: make check → 2 failed, 9 passed\n"
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
