//! What a message that stays tells: it need not be told again.

use ctx_transcript::Message;

use super::quoting::Reader;
use crate::arguments::Arguments;
use crate::hash::hash;
use crate::output::pieces;
use crate::segment::segments;
use crate::statement::statements;

impl Reader {
    /// What a message that stays tells: its texts as they are, and its calls.
    pub(super) fn stays(&mut self, message: &Message<'_>) {
        for text in message.texts() {
            self.told(text);
            let kept = &mut self.reading.kept;
            kept.extend(statements(text).iter().map(|one| hash(&one.text)));
            kept.extend(pieces(text).iter().map(|(_, piece)| hash(piece)));
        }
        for call in message.calls() {
            let arguments = Arguments::parse(&call.arguments).unwrap_or_default();
            let values = arguments.leaves.iter().map(|leaf| leaf.value.as_str());
            let text = std::iter::once(call.name.as_ref()).chain(values);
            self.told(&text.collect::<Vec<_>>().join(" "));
        }
    }

    pub(super) fn told(&mut self, text: &str) {
        for segment in segments(text) {
            let segment = &text[segment];
            let mentions = &mut self.reading.mentions;
            for found in self.scan.read(segment, true, true) {
                let number = mentions.number(&segment[found.place.clone()], found.shape, None);
                let told = &mut mentions.list[number as usize].told;
                *told = (*told).max(1 + found.words);
            }
        }
    }
}
