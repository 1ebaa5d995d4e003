//! Files that a tool reads.

use std::ffi::OsStr;
use std::path::Path;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};

/// Sessions by their names, and the folders on the way to them.
pub(super) fn sessions(word: &OsStr) -> Vec<CompletionCandidate> {
    let is_session = |path: &Path| {
        let extension = path.extension().and_then(OsStr::to_str);
        matches!(extension, Some("jsonl" | "json" | "ndjson"))
    };
    let mut found = PathCompleter::any().filter(is_session).complete(word);
    // Where nothing is called so, a file of any name may be one.
    if found.iter().all(is_folder) {
        found = any(word);
    }
    found
}

/// Any file.
pub(super) fn any(word: &OsStr) -> Vec<CompletionCandidate> {
    PathCompleter::any().complete(word)
}

fn is_folder(candidate: &CompletionCandidate) -> bool {
    candidate.get_value().as_encoded_bytes().ends_with(b"/")
}
