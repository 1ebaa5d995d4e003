//! The text of a summary in its last form, and what is told of it.

use ctx_redact::redact;

use super::old::{OldZone, Sizes};
use super::{Plan, Summary, TellSizes};
use crate::Notes;

/// The summary with its header, and without the secrets that are still in it. Each
/// method takes secrets out of what it reads; here nothing passes, whatever put the
/// text together.
pub(super) fn clean(plan: &Plan, mut summary: Summary) -> Summary {
    let (clean, secrets) = redact(&summary.text);
    let text = one_kind_of_line(&clean);
    summary.text = plan.recognizer.compose(&text);
    summary.redacted_late = secrets;
    summary
}

/// The text with no other line ends than the usual one: marks stand at the beginning
/// of a line, and what looks like one must have them.
fn one_kind_of_line(text: &str) -> String {
    let others = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.replace("\r\n", "\n").replace(others, " ")
}

/// Says what was taken out, and how long the summary is.
pub(super) fn tell(plan: &Plan, old: &OldZone, summary: &Summary, notes: &mut Notes) {
    for (count, what) in [
        (summary.redacted, "summary"),
        (summary.redacted_late, "written summary"),
    ] {
        if count > 0 {
            notes.info(format_args!("secrets taken out of the {what}: {count}"));
        }
    }
    let text = summary.text.as_str();
    let sizes = match plan.tell_sizes {
        TellSizes::Never => return,
        TellSizes::WhenLonger if old.is_far_longer_than(text) => None,
        TellSizes::WhenLonger | TellSizes::Always => old.sizes(text),
    };
    let messages = old.messages;
    match sizes {
        Some(Sizes { before, after }) if after >= before => notes.warn(
            &[],
            format_args!(
                "the summary is no shorter than what it replaces: {before} tokens, now {after}"
            ),
        ),
        Some(Sizes { before, after }) => notes.info(format_args!(
            "{messages} messages summed up: {before} tokens, now {after}"
        )),
        None => notes.info(format_args!("{messages} messages summed up")),
    }
}
