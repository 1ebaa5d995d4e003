//! Runs the engine's passes over a session, and shows their notes and failures to the user.

use std::borrow::Cow;
use std::sync::Arc;

use ctx_cli::{Failure, Io, Progress};
use ctx_engine::{ErrorKind, Level, Notes, PassError};
use ctx_format::compaction::CompactionError;
use ctx_format::{Observer, UnreadRule, Watch};
use ctx_llm::TapeError;

use crate::output;

/// Runs a pass over a session, and prints notes from the pass.
pub fn telling<T>(name: &str, io: &mut Io, pass: impl FnOnce(&mut Notes) -> T) -> T {
    let mut notes = Notes::watched(watch());
    let result = pass(&mut notes);
    for note in notes.take() {
        let text = format_args!("{}: {}", within(name, &note.lines), note.text);
        match note.level {
            Level::Warning => io.warn(text),
            Level::Info => io.note(text),
            Level::Detail => io.detail(text),
        }
    }
    result
}

/// Converts an error from a pass over a session into a failure.
pub fn failure(error: PassError, name: &str) -> Failure {
    let hint = hint(&error.kind);
    let failure = match error.kind {
        ErrorKind::Output(error) => return output::failure(error),
        ErrorKind::Temporary(_) => Failure::new(&error.kind),
        ErrorKind::Caller(error) => {
            let failure = error.downcast::<Failure>();
            return failure.map_or_else(Failure::new, |failure| *failure);
        }
        kind => match error.lines.split_last() {
            None => Failure::new(kind).at(name, None),
            Some((last, outer)) => Failure::new(kind).at(within(name, outer), Some(*last)),
        },
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn within(name: &str, lines: &[u64]) -> String {
    lines.iter().fold(name.to_owned(), |name, line| format!("{name}:{line}"))
}

/// Returns the hint for this kind of error, if there is one.
fn hint(kind: &ErrorKind) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match kind {
        ErrorKind::Temporary(_) => "set TMPDIR to another folder",
        ErrorKind::BadLine(_) => "--invalid keep keeps bad lines, --invalid drop leaves them out",
        ErrorKind::IllegalConversion(_) => {
            "ctx-check --repair writes a copy that can be converted or says why it cannot"
        }
        ErrorKind::LostLine(_) => {
            "ctx-check --repair recovers the message, --invalid drop leaves it out"
        }
        ErrorKind::UnknownFormat => {
            "name the format with --dialect; docs/format.md lists the formats"
        }
        ErrorKind::LateFormat { .. } => "name the format with --dialect",
        ErrorKind::Foreign(foreign) | ErrorKind::Unread { foreign: Some(foreign), .. } => {
            foreign.remedy
        }
        ErrorKind::Unread { unread, .. } if unread.rule == UnreadRule::VendorSummary => {
            "only its API can continue from it; ctx-prune keeps it and shortens results"
        }
        ErrorKind::Unread { unread, .. } if unread.rule == UnreadRule::BadLine => {
            "ctx-check --repair writes a copy with a readable line"
        }
        ErrorKind::Unread { foreign: None, .. } => {
            "this may belong to a message that would be removed; ctx-check --all lists such parts"
        }
        ErrorKind::KeptSummary => "keep fewer messages, so that it is summarized, too",
        ErrorKind::NoMessageOf(_) => "leave --dialect out: the tool detects the format",
        ErrorKind::LogDocument { dialect, .. } => {
            let lines = "writes a file of lines, which its agent can resume";
            return Some(format!("ctx-convert --to {dialect} -o FILE {lines}").into());
        }
        ErrorKind::ChangedContext => {
            "use fewer --drop rules: ctx-prune -n shows what each rule would remove"
        }
        ErrorKind::Linked { .. } => {
            "ctx-compact can compact this file; ctx-convert turns it into messages, which this tool can read"
        }
        ErrorKind::TwoFormats { .. } => {
            "no API accepts both formats: put each into a file of its own"
        }
        ErrorKind::Exam(_) => {
            r#"it reads {"questions":[{"id":"…","category":"…","question":"…","evidence":[["a quote","or another"],["and one of these"]]}]}"#
        }
        ErrorKind::OtherBeginning => {
            "BEFORE must be the beginning of FULL, the uncompacted session"
        }
        ErrorKind::Tagged => "ctx-split --strip removes the tags",
        ErrorKind::Unloadable(_) => "nothing was written",
        ErrorKind::NewProblem(_) => {
            "ctx-split keeps calls and results together; were the zones changed?"
        }
        ErrorKind::NotCarried => "without --strict, whatever can be converted is written",
        ErrorKind::OldProblem(_) => "--strict refuses invalid input",
        ErrorKind::NoZones => "ctx-split sets zones: ctx-split FILE | …",
        ErrorKind::OtherZones => "run ctx-split --batch again",
        ErrorKind::EarlyEnd(_) => {
            "did the previous tool in the pipeline fail? --partial accepts incomplete input"
        }
        ErrorKind::TooSmall(_) => "raise --budget, or keep and pin less",
        ErrorKind::Tape(TapeError::Missing(_)) => {
            "use the same session, flags, model and template as in the recording"
        }
        ErrorKind::Tape(TapeError::Damaged(_)) => "record it again",
        ErrorKind::NoAnswer(_) | ErrorKind::FailedCheck(_) => {
            "--on-failure extractive writes a summary that needs no model"
        }
        ErrorKind::Words(CompactionError::NoHeader) => {
            "ctx-check --repair writes a copy with a header, if the lines contain the necessary data"
        }
        ErrorKind::Words(_) | ErrorKind::OtherContext => {
            "ctx-convert makes a new session from what its agent would send"
        }
        ErrorKind::OpenLoop => {
            "let the agent finish its reply, or choose: --signed-reasoning remove, for models with adaptive thinking, or keep, for requests with drop_block"
        }
        ErrorKind::NoSuchLine(_) => {
            "both files must have the same number of lines; ctx-compact --batch keeps all lines"
        }
        ErrorKind::Read(_)
        | ErrorKind::NoConversation(_)
        | ErrorKind::Output(_)
        | ErrorKind::OtherRecord
        | ErrorKind::Tape(TapeError::Io(..))
        | ErrorKind::Caller(_) => return None,
    }))
}

/// Forwards the engine's progress to the progress line on the terminal.
struct Shown(Progress);

impl Observer for Shown {
    fn stage(&self, what: &str) {
        self.0.stage(what);
    }

    fn reading(&self, bytes: u64) {
        self.0.reading(bytes);
    }

    fn read(&self, bytes: u64) {
        self.0.read(bytes);
    }

    fn asking(&self, what: &str) {
        self.0.stage(what);
    }
}

/// Returns a watch that shows progress on the terminal, or a watch that does nothing if progress is
/// not shown.
fn watch() -> Watch {
    let progress = Progress::current();
    if progress.is_shown() { Watch::of(Arc::new(Shown(progress))) } else { Watch::default() }
}
