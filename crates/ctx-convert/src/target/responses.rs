//! OpenAI Responses.

use ctx_transcript::Dialect;
use ctx_transcript::dialect::Responses;

use super::items::Accepts;
use super::{Line, Notes, Target};
use crate::turn::Turn;

/// Writes items of the OpenAI Responses API.
pub(super) struct Writer;

impl Target for Writer {
    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for turn in turns {
            notes.at(turn);
            let items = match turn {
                Turn::Said(said) => Accepts::All.said(said, notes),
                Turn::Results(results) => Accepts::All.results(results, notes),
                Turn::Summary {
                    role,
                    text,
                    origins,
                } => {
                    let role = Responses.summary_role(*role);
                    vec![(Responses.summary_record(role, text), origins.clone())]
                }
            };
            let items = items.into_iter();
            lines.extend(items.map(|(item, origins)| Line::of_message(item, &origins)));
        }
        lines
    }
}
