//! Whether the agent would read what the compaction left: the log with its new lines is lowered
//! again, and the result is held against the new context.

use std::hash::{DefaultHasher, Hash, Hasher};

use ctx_format::{Part, Role};

use super::super::content::Content;
use crate::{ErrorKind, PassError};

/// A part of a message, which is only compared.
type PartHash = (Role, u64);

/// Refuses a log whose context is not `expected`.
pub(super) fn same_context(expected: &Content, read: &Content) -> Result<(), PassError> {
    let (expected, read) = (parts_of(expected)?, parts_of(read)?);
    // Some agents put a reply of the model after the summary.
    let extra = read.len().saturating_sub(expected.len());
    let is_same = extra <= 1 && {
        let begin = expected.iter().zip(&read).take_while(|(a, b)| a == b).count();
        expected[begin..] == read[begin + extra..]
            && (extra == 0 || read[begin].0 == Role::Assistant)
    };
    if is_same { Ok(()) } else { Err(ErrorKind::OtherContext.into()) }
}

/// All parts of a plain session but those of summaries, whose place the format decides.
fn parts_of(content: &Content) -> Result<Vec<PartHash>, PassError> {
    let mut parts = Vec::new();
    content.each(|record| {
        let Some(object) = record.whole_object() else {
            return Ok(());
        };
        if content.dialect.summary_text(object).is_none()
            && let Some(message) = content.dialect.message(object)
        {
            parts.extend(message.parts.iter().map(|part| (message.role, hash(part))));
        }
        Ok(())
    })?;
    Ok(parts)
}

fn hash(part: &Part<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(part).hash(&mut hasher);
    match part {
        Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) | Part::Opaque(text) => {
            text.hash(&mut hasher);
        }
        Part::Call(call) => (&call.id, &call.name, &call.arguments).hash(&mut hasher),
        Part::Result(result) => {
            result.id.hash(&mut hasher);
            for part in &result.parts {
                hash(part).hash(&mut hasher);
            }
        }
        Part::Media { .. } => {}
    }
    hasher.finish()
}
