//! Records that no exchange can be made of, as one message of the user: all that they say,
//! so that it is counted and can be summarized.

use std::borrow::Cow;

use ctx_transcript::{Held, Part, Role};

use crate::said::Piece;
use crate::turn::{Said, Turn};

/// The turn that all of `held` are. With a summary among them it is a summary.
pub(crate) fn turn<'a>(held: &[Vec<Held<'a>>]) -> Vec<Turn<'a>> {
    let origins: Vec<usize> = (0..held.len()).collect();
    let all = || held.iter().flatten();
    let mut pieces = Vec::new();
    let mut summaries: Vec<Cow<'a, str>> = Vec::new();
    for held in all() {
        match &held.summary {
            Some(summary) => summaries.push(summary.clone()),
            None => add(held, &mut pieces),
        }
    }
    if summaries.is_empty() {
        return vec![Turn::Said(Said::of_user(pieces, origins))];
    }
    let beside = pieces.iter().map(|piece| match &piece.part {
        Part::Text(text) | Part::Opaque(text) => text.clone(),
        Part::Media(media) => Cow::Owned(format!("({})", media.kind)),
        _ => Cow::Borrowed(""),
    });
    summaries.extend(beside);
    let text = summaries.join("\n\n");
    vec![Turn::Summary {
        role: Role::User,
        text: text.into(),
        origins,
    }]
}

/// Adds what a message says, under who says it.
fn add<'a>(held: &Held<'a>, pieces: &mut Vec<Piece<'a>>) {
    let role = held.message.role.as_str();
    for part in &held.message.parts {
        let text = match part {
            Part::Text(text) | Part::Refusal(text) => format!("[{role}]\n{text}"),
            Part::Reasoning(text) => format!("[{role} reasoning]\n{text}"),
            Part::Call(call) => format!("[{role} calls {}]\n{}", call.name, call.arguments),
            Part::Result(result) => format!("[result]\n{}", texts(&result.parts).join("\n")),
            Part::Media(_) | Part::Opaque(_) => {
                pieces.push(Piece::bare(part.clone()));
                continue;
            }
        };
        pieces.push(Piece::bare(Part::Text(text.into())));
    }
}

fn texts<'p>(parts: &'p [Part<'_>]) -> Vec<&'p str> {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) | Part::Opaque(text) => text.as_ref(),
        Part::Media(media) => media.raw.as_ref(),
        _ => "",
    });
    texts.collect()
}
