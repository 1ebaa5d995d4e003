//! Assembles the context for the start of a session from several layers.
//!
//! The layers have a fixed order: base prompt, soul, memory, runtime, summary. If the context
//! exceeds the budget, lines are removed from the layers in a different order, starting with the
//! layer whose content the session can most easily rediscover. The base prompt is never shortened.

use ctx_format::counted;
use ctx_text::bisected;

/// A layer of the context. The variants are in the same order as the layers in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Layer {
    /// The base prompt of the agent.
    Base,
    /// The agent's character and instructions.
    Soul,
    /// Rules, decisions and facts from all sessions.
    Memory,
    /// Commands that were run in earlier sessions.
    Runtime,
    /// The newest summary of the session.
    Summary,
}

impl Layer {
    /// All layers, in the order in which they appear in the context.
    pub const ALL: [Self; 5] = [Self::Base, Self::Soul, Self::Memory, Self::Runtime, Self::Summary];

    /// The order in which lines are removed from the layers.
    const SACRIFICE: [Self; 4] = [Self::Runtime, Self::Memory, Self::Summary, Self::Soul];
}

/// The assembled context, and how much of each layer it leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The text; empty if all layers are empty.
    pub text: String,
    /// The number of tokens in `text`.
    pub tokens: u64,
    /// The number of lines removed from each layer, in the order in which the layers were
    /// shortened.
    pub left_out: Vec<(Layer, usize)>,
}

/// The error returned if the base prompt alone exceeds the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the base prompt alone has {tokens} tokens, more than the budget of {budget}")]
pub struct NoRoom {
    /// The number of tokens in the base prompt.
    pub tokens: u64,
    /// The maximum number of tokens in the context.
    pub budget: u64,
}

/// Joins the layers into a context of at most `budget` tokens, counted by `count`.
pub fn assemble(
    layers: &[(Layer, String)],
    budget: Option<u64>,
    count: impl Fn(&str) -> u64,
) -> Result<Context, NoRoom> {
    let mut parts: Vec<Part<'_>> = layers.iter().map(Part::of).collect();
    parts.sort_by_key(|part| part.layer);
    let budget = budget.unwrap_or(u64::MAX);
    let mut left_out = Vec::new();
    for layer in Layer::SACRIFICE {
        if count(&joined(&parts)) <= budget {
            break;
        }
        let Some(at) = parts.iter().position(|part| part.layer == layer && !part.is_empty()) else {
            continue;
        };
        // Remove as few lines as possible. If the context exceeds the budget even without the
        // layer, remove all of the layer's lines.
        let (_, enough) = bisected(parts[at].lines.len(), |left_out| {
            parts[at].left_out = left_out;
            count(&joined(&parts)) <= budget
        });
        parts[at].left_out = enough;
        left_out.push((layer, enough));
    }
    let text = joined(&parts);
    let tokens = count(&text);
    if tokens > budget {
        return Err(NoRoom { tokens, budget });
    }
    Ok(Context { text, tokens, left_out })
}

struct Part<'a> {
    layer: Layer,
    lines: Vec<&'a str>,
    left_out: usize,
}

impl<'a> Part<'a> {
    fn of((layer, text): &'a (Layer, String)) -> Self {
        Self { layer: *layer, lines: text.trim().lines().collect(), left_out: 0 }
    }

    fn is_empty(&self) -> bool {
        self.left_out == self.lines.len()
    }

    fn text(&self) -> String {
        if self.left_out == 0 {
            return self.lines.join("\n");
        }
        let note = format!("⟦{} left out⟧", counted(self.left_out as u64, "line"));
        let mut lines = self.lines.clone();
        // The runtime layer starts with the oldest lines, so remove its first lines. All other
        // layers start with the most important lines.
        let start = if self.layer == Layer::Runtime { 0 } else { lines.len() - self.left_out };
        lines.splice(start..start + self.left_out, [note.as_str()]);
        lines.join("\n")
    }
}

fn joined(parts: &[Part<'_>]) -> String {
    parts.iter().filter(|part| !part.is_empty()).map(Part::text).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Context, Layer, NoRoom, assemble};

    fn words(text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }

    fn part(layer: Layer, text: &str) -> (Layer, String) {
        (layer, text.to_owned())
    }

    fn of(parts: &[(Layer, String)], budget: Option<u64>) -> Context {
        assemble(parts, budget, words).expect("room for the base")
    }

    #[test]
    fn layers_come_in_their_order_without_empty_ones() {
        let context = of(
            &[
                part(Layer::Summary, "so far\n"),
                part(Layer::Runtime, " \n"),
                part(Layer::Memory, ""),
                part(Layer::Base, "be brief\n\n"),
                part(Layer::Soul, "\nkind"),
            ],
            None,
        );
        assert_eq!(context.text, "be brief\n\nkind\n\nso far");
        assert_eq!((context.tokens, context.left_out), (5, vec![]));
        assert_eq!(of(&[], Some(0)).text, "");
    }

    #[test]
    fn runtime_memory_summary_and_soul_lose_lines_in_this_order() {
        let parts = Layer::ALL.map(|layer| part(layer, "aa bb\ncc dd\nee ff"));
        let left_out = |budget| of(&parts, Some(budget)).left_out;
        assert_eq!(left_out(30), []);
        // Each line has two words, and the note about removed lines has four.
        let context = of(&parts, Some(28));
        assert_eq!(context.left_out, [(Layer::Runtime, 3)]);
        let many =
            [part(Layer::Base, "base"), part(Layer::Runtime, "a b c d e\nf g h i j\nk l m n o")];
        let context = of(&many, Some(15));
        assert_eq!(context.text, "base\n\n⟦1 line left out⟧\nf g h i j\nk l m n o");
        assert_eq!(left_out(20), [(Layer::Runtime, 3), (Layer::Memory, 3)]);
        assert_eq!(
            left_out(8),
            [(Layer::Runtime, 3), (Layer::Memory, 3), (Layer::Summary, 3), (Layer::Soul, 3),]
        );
        assert_eq!(assemble(&parts, Some(5), words), Err(NoRoom { tokens: 6, budget: 5 }));
    }

    proptest! {
        #[test]
        fn the_budget_holds(
            texts in prop::array::uniform5("([a-c ]{0,9}\n){0,5}"),
            budget in 0_u64..40,
        ) {
            let parts: Vec<_> = Layer::ALL.iter().zip(&texts).map(|(layer, text)| part(*layer, text)).collect();
            let whole = of(&parts, None);
            match assemble(&parts, Some(budget), words) {
                Ok(context) => {
                    prop_assert!(context.tokens <= budget);
                    prop_assert_eq!(context.tokens, words(&context.text));
                    prop_assert!(context.text.starts_with(texts[0].trim()));
                    prop_assert_eq!(whole.tokens <= budget, context == whole);
                }
                Err(error) => prop_assert!(error.tokens > budget && error.tokens == words(&texts[0])),
            }
        }
    }
}
