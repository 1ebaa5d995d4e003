//! A verdict carried out on a message: the edits, and what each frees.

use ctx_transcript::{Dialect, Edits, Object, Part};

use super::policy::Policy;
use super::verdict::{Changes, Freed, Rule};
use crate::count::MessageCounter;

impl Policy {
    /// The edits of a message's object, and what they free. What would not become
    /// smaller is not among them.
    pub fn apply(
        &self,
        changes: &Changes,
        dialect: &dyn Dialect,
        object: &Object<'_>,
        counter: &MessageCounter,
    ) -> (Edits, Vec<Freed>) {
        let mut edits = Edits::new();
        let mut freed = Vec::new();
        let Some(message) = dialect.message(object) else {
            return (edits, freed);
        };
        let places = dialect.result_contents(object);
        let results = message.results().zip(places).zip(&changes.results);
        for ((result, place), action) in results {
            let (Some(place), Some(text)) = (place, result.text()) else {
                continue;
            };
            if let Some((rule, new)) = self.result(&text, action, counter) {
                edits.replace_with_text(place, &new.text);
                freed.push(Freed {
                    rule,
                    before: new.before,
                    after: new.after,
                });
            }
        }
        if changes.arguments {
            let places = dialect.call_arguments(object);
            for (call, place) in message.calls().zip(places) {
                let new = self.arguments(&call.arguments, counter);
                let (Some(place), Some(new)) = (place, new) else {
                    continue;
                };
                if object.text()[place.clone()].starts_with('"') {
                    edits.replace_with_text(place, &new.text);
                } else {
                    edits.replace(place, new.text);
                }
                freed.push(Freed {
                    rule: Rule::Arguments,
                    before: new.before,
                    after: new.after,
                });
            }
        }
        if changes.reasoning {
            let places = dialect.reasoning(object);
            let raw: String = places
                .iter()
                .map(|place| &object.text()[place.clone()])
                .collect();
            for place in places {
                edits.cut(place);
            }
            let is_cut = |part: &&Part<'_>| match part {
                Part::Reasoning(_) => true,
                Part::Opaque(opaque) => raw.contains(opaque),
                _ => false,
            };
            let parts = message.parts.iter().filter(is_cut);
            freed.push(Freed {
                rule: Rule::Reasoning,
                before: parts.map(|part| counter.part(part).total()).sum(),
                after: 0,
            });
        }
        (edits, freed)
    }
}
