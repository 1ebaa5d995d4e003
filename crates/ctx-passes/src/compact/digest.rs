//! What a compaction leaves in the log of the day.

use ctx_store::{Digest, SessionId};
use ctx_transcript::counted;

use super::outcome::{Outcome, Report};

/// `compacted 30282 → 9004 tokens, 206 → 12 messages; summary: extractive; what was there is …`,
/// and what went into the memory files.
pub(super) fn digest(session: &SessionId, report: &Report) -> Digest {
    let what = if report.outcome == Outcome::Flushed {
        "written into the memory files, session unchanged".to_owned()
    } else {
        let tokens = counted(report.tokens_after, "token");
        let messages = counted(report.messages_after, "message");
        format!(
            "compacted {} → {tokens}, {} → {messages}; summary: {}",
            report.tokens_before, report.messages_before, report.summing.method
        )
    };
    let before = report.snapshot.as_deref();
    let before = before.map_or_else(String::new, |id| format!("; what was there is {id}"));
    Digest {
        session: Some(session.to_string()),
        what: what + &before,
        entries: report.entries.clone(),
    }
}
