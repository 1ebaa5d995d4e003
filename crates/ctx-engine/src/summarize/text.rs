//! The finished text of a summary, and the notes about it.

use ctx_format::counted;
use ctx_redact::redact;

use super::old::{OldZone, Sizes};
use super::{Plan, Summary, TellSizes};
use crate::Notes;

/// The summary with its header and without secrets. Each method removes secrets from its input;
/// this is the last check, whatever wrote the text.
pub(super) fn clean(plan: &Plan, mut summary: Summary) -> Summary {
    let (clean, secrets) = redact(&summary.text);
    let text = without_controls(&clean);
    summary.text = plan.recognizer.compose(&text);
    summary.redacted_late = secrets;
    summary
}

/// The text with one kind of line end, since quotes are marked at the beginning of a line and
/// nothing else may look like one. Names of tools or files in it must not control a terminal
/// either.
fn without_controls(text: &str) -> String {
    let is_other = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{2028}' | '\u{2029}')
    };
    text.replace("\r\n", "\n").replace(is_other, " ")
}

/// Notes what was removed, and how long the summary is.
pub(super) fn tell(plan: &Plan, old: &OldZone, summary: &Summary, notes: &mut Notes) {
    for (count, what) in [(summary.redacted, "summary"), (summary.redacted_late, "written summary")]
    {
        if count > 0 {
            notes.info(format_args!("secrets removed from the {what}: {count}"));
        }
    }
    let text = summary.text.as_str();
    let sizes = match plan.tell_sizes {
        TellSizes::Never => return,
        TellSizes::WhenLonger if old.is_far_longer_than(text) => None,
        TellSizes::WhenLonger | TellSizes::Always => old.sizes(text),
    };
    let messages = counted(old.messages, "message");
    match sizes {
        Some(Sizes { before, after }) if after >= before => notes.warn(
            &[],
            format_args!(
                "the summary is no shorter than what it replaces: {before} tokens, now {after}"
            ),
        ),
        Some(Sizes { before, after }) => {
            notes.info(format_args!("{messages} summarized: {before} tokens, now {after}"));
        }
        None => notes.info(format_args!("{messages} summarized")),
    }
}

#[cfg(test)]
mod tests {
    use ctx_summary::Recognizer;

    use super::super::fixtures::{ASK, LEDGER, old, plan, texts};
    use super::super::{Plan, TellSizes};
    use super::{clean, tell};
    use crate::Notes;

    #[test]
    fn the_last_form_has_its_header_one_line_end_and_no_secret() {
        let plan = Plan { recognizer: Recognizer::new(Some("[Before]"), &[]), ..plan() };
        let old = old(&plan, LEDGER, &[ASK]);
        let text = "a\r\nb\rc\u{2028}d\u{1b}\u{9b}\te password=hunter2x";
        let clean = clean(&plan, old.summary(text.to_owned()));
        let text = clean.text;
        assert!(text.starts_with("[Before]\n\n"), "{text}");
        assert!(text.ends_with("\n\na\nb c d  \te password=[REDACTED]"), "{text}");
        assert_eq!((clean.redacted, clean.redacted_late), (0, 1));
    }

    #[test]
    fn sizes_are_told_as_the_plan_says() {
        let long = format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(400));
        let told = |tell_sizes, text: &str| {
            let plan = Plan { tell_sizes, ..plan() };
            let old = old(&plan, LEDGER, &[&long]);
            let mut summary = old.summary(text.to_owned());
            summary.redacted = 2;
            let mut notes = Notes::new();
            tell(&plan, &old, &summary, &mut notes);
            let mut told = texts(&mut notes);
            assert_eq!(told.remove(0), "secrets removed from the summary: 2");
            told.pop()
        };
        let longer = "x".repeat(800);
        assert_eq!(told(TellSizes::Never, &longer), None);
        for always in [TellSizes::Always, TellSizes::WhenLonger] {
            let no_shorter = "the summary is no shorter than what it replaces: 104 tokens, now 204";
            assert_eq!(told(always, &longer).as_deref(), Some(no_shorter));
        }
        let uncounted = told(TellSizes::WhenLonger, "short");
        assert_eq!(uncounted.as_deref(), Some("1 message summarized"));
        let counted = told(TellSizes::Always, "short");
        let sizes = "1 message summarized: 104 tokens, now 6";
        assert_eq!(counted.as_deref(), Some(sizes));
    }
}
