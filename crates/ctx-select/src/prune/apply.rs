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
        for (result, action) in message.results().zip(&changes.results) {
            let (Some(slot), Some(text)) = (&result.slot, result.text()) else {
                continue;
            };
            if let Some((rule, new)) = self.result(&text, action, counter) {
                edits.put(slot, &new.text);
                freed.push(Freed {
                    rule,
                    before: new.before,
                    after: new.after,
                });
            }
        }
        if changes.arguments {
            for call in message.calls() {
                let new = self.arguments(&call.arguments, counter);
                if let (Some(slot), Some(new)) = (&call.slot, new) {
                    edits.put(slot, &new.text);
                    freed.push(Freed {
                        rule: Rule::Arguments,
                        before: new.before,
                        after: new.after,
                    });
                }
            }
        }
        if changes.reasoning {
            for place in &message.reasoning {
                edits.cut(place.clone());
            }
            let is_cut = |part: &&Part<'_>| message.is_cut_as_reasoning(part, object);
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
