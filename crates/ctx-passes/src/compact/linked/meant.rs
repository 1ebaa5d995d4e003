//! Whether the agent would read what is meant: the log with its new lines is lowered again, and
//! what that gives is compared with what the compaction left.

use std::hash::{DefaultHasher, Hash, Hasher};

use ctx_transcript::{Message, Part, Role};

use super::super::content::Content;
use crate::{ErrorKind, PassError};

/// A part of a message, which is only compared.
type Said = (Role, u64);

/// Refuses lines after which the context is another one than `meant`.
pub(super) fn compare(meant: &Content, read: &Content) -> Result<(), PassError> {
    let (meant, read) = (said(meant)?, said(read)?);
    // An agent may have an answer of the model behind the summary.
    let extra = read.len().saturating_sub(meant.len());
    let is_same = extra <= 1 && {
        let begin = meant.iter().zip(&read).take_while(|(a, b)| a == b).count();
        meant[begin..] == read[begin + extra..] && (extra == 0 || read[begin].0 == Role::Assistant)
    };
    if is_same {
        Ok(())
    } else {
        Err(ErrorKind::OtherContext.into())
    }
}

/// All that a plain session says, but summaries: they stand where the format puts them.
fn said(content: &Content) -> Result<Vec<Said>, PassError> {
    let mut said = Vec::new();
    content.each(|record| {
        let Some(object) = record.whole_object() else {
            return Ok(());
        };
        if content.dialect.summary_text(object).is_some() {
            return Ok(());
        }
        if let Some(message) = content.dialect.message(object) {
            said.extend(parts(&message));
        }
        Ok(())
    })?;
    Ok(said)
}

fn parts(message: &Message<'_>) -> Vec<Said> {
    let parts = message.parts.iter();
    parts.map(|part| (message.role, hash(part))).collect()
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
