//! Runs the engine's passes over a session, and shows their notes and failures to the user.

use std::collections::HashMap;
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
            Level::Advice => io.advise(text),
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
    hint.into_iter().fold(failure, Failure::hint)
}

fn within(name: &str, lines: &[u64]) -> String {
    lines.iter().fold(name.to_owned(), |name, line| format!("{name}:{line}"))
}

/// Returns the hint for this kind of error, if there is one.
fn hint(kind: &ErrorKind) -> Option<String> {
    let name = match kind {
        ErrorKind::Foreign(foreign) | ErrorKind::Unread { foreign: Some(foreign), .. } => {
            return Some(foreign.remedy.to_owned());
        }
        ErrorKind::Document { dialect, .. } => {
            return Some(format!("ctx-convert --to {dialect} -o FILE writes a file of lines"));
        }
        ErrorKind::Unread { unread, .. } if unread.rule == UnreadRule::VendorSummary => {
            "VendorSummary"
        }
        ErrorKind::Unread { unread, .. } if unread.rule == UnreadRule::BadLine => "UnreadLine",
        ErrorKind::Tape(TapeError::Missing(_)) => "MissingTape",
        ErrorKind::Tape(TapeError::Damaged(_)) => "DamagedTape",
        ErrorKind::Words(CompactionError::NoHeader) => "NoHeader",
        ErrorKind::Words(CompactionError::Elsewhere) => "Elsewhere",
        kind => kind.into(),
    };
    known_hint("session", name)
}

/// Returns the hint for an error about a `session` or the `store` by the name of its variant, or by
/// a name of its own.
pub fn known_hint(about: &str, name: &str) -> Option<String> {
    hints().get_mut(about)?.remove(name)
}

fn hints() -> HashMap<&'static str, HashMap<&'static str, String>> {
    serde_json::from_str(include_str!("hints.json")).expect("the tests read the hints")
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
}

/// Returns a watch that shows progress on the terminal, or a watch that does nothing if progress is
/// not shown.
fn watch() -> Watch {
    let progress = Progress::current();
    if progress.is_shown() { Watch::of(Arc::new(Shown(progress))) } else { Watch::default() }
}

#[cfg(test)]
mod tests {
    use ctx_engine::ErrorKind;
    use ctx_store::StoreError;
    use strum::VariantNames;

    use super::hints;

    #[test]
    fn each_hint_belongs_to_an_error() {
        let own =
            ["VendorSummary", "UnreadLine", "MissingTape", "DamagedTape", "NoHeader", "Elsewhere"];
        let known = [("session", ErrorKind::VARIANTS), ("store", StoreError::VARIANTS)];
        for (about, variants) in known {
            for (name, hint) in &hints()[about] {
                let is_known = variants.contains(name) || own.contains(name);
                assert!(is_known && !hint.is_empty(), "{about}: {name}");
            }
        }
    }
}
