//! The context that a session begins with, out of the layers of the memory.
//!
//! The parts stand in a fixed order: base prompt, soul, user memory, runtime, summary. Empty ones
//! are left out. What is above a budget gives way line by line, in another order: what is soonest
//! told again goes first, and the base prompt never.

use std::fmt;

/// A part of the context, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The prompt of the agent itself.
    Base,
    /// Who the agent is to be.
    Soul,
    /// What is remembered of the user and the work.
    Memory,
    /// What was run in this project.
    Runtime,
    /// What happened in this session so far.
    Summary,
}

impl Layer {
    /// All of them, in that order.
    pub const ALL: [Self; 5] = [
        Self::Base,
        Self::Soul,
        Self::Memory,
        Self::Runtime,
        Self::Summary,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Soul => "soul",
            Self::Memory => "memory",
            Self::Runtime => "runtime",
            Self::Summary => "summary",
        }
    }

    /// Which gives way first, and which of its lines: those of the runtime are written behind
    /// each other, so the first are the oldest; the others have the most important ones first.
    const SACRIFICE: [(Self, End); 4] = [
        (Self::Runtime, End::First),
        (Self::Memory, End::Last),
        (Self::Summary, End::Last),
        (Self::Soul, End::Last),
    ];
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

/// A context, put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Its text; empty where no part has any.
    pub text: String,
    /// Its tokens.
    pub tokens: u64,
    /// How many lines of which parts were left out, in the order in which they gave way.
    pub left_out: Vec<(Layer, usize)>,
}

/// The base prompt alone is above the budget, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the base prompt alone has {tokens} tokens, more than the budget of {budget}")]
pub struct NoRoom {
    /// Of the base prompt.
    pub tokens: u64,
    /// What the context may have.
    pub budget: u64,
}

/// Puts the parts together, in not more than `budget` tokens as `count` has them.
pub fn assemble(
    parts: &[(Layer, String)],
    budget: Option<u64>,
    count: impl Fn(&str) -> u64,
) -> Result<Context, NoRoom> {
    let mut parts: Vec<Part<'_>> = parts.iter().map(Part::of).collect();
    parts.sort_by_key(|part| part.layer);
    let budget = budget.unwrap_or(u64::MAX);
    let mut left_out = Vec::new();
    for (layer, end) in Layer::SACRIFICE {
        if count(&joined(&parts)) <= budget {
            break;
        }
        let Some(at) = parts
            .iter()
            .position(|part| part.layer == layer && !part.is_empty())
        else {
            continue;
        };
        let lines = parts[at].lines.len();
        parts[at].end = Some(end);
        // The fewest lines that have to go; all of them where that is not enough.
        let (mut fits, mut too_large) = (lines, 0);
        while fits - too_large > 1 {
            parts[at].gone = usize::midpoint(too_large, fits);
            let is_within = count(&joined(&parts)) <= budget;
            let bound = if is_within { &mut fits } else { &mut too_large };
            *bound = parts[at].gone;
        }
        parts[at].gone = fits;
        left_out.push((layer, fits));
    }
    let text = joined(&parts);
    let tokens = count(&text);
    if tokens > budget {
        return Err(NoRoom { tokens, budget });
    }
    Ok(Context {
        text,
        tokens,
        left_out,
    })
}

struct Part<'a> {
    layer: Layer,
    lines: Vec<&'a str>,
    /// So many of its lines are left out, at that end.
    gone: usize,
    end: Option<End>,
}

impl<'a> Part<'a> {
    fn of((layer, text): &'a (Layer, String)) -> Self {
        Self {
            layer: *layer,
            lines: text.trim().lines().collect(),
            gone: 0,
            end: None,
        }
    }

    fn is_empty(&self) -> bool {
        self.gone == self.lines.len()
    }

    fn text(&self) -> String {
        let note = match self.gone {
            0 => return self.lines.join("\n"),
            1 => "⟦1 line left out⟧".to_owned(),
            gone => format!("⟦{gone} lines left out⟧"),
        };
        let mut lines = self.lines.clone();
        if self.end == Some(End::First) {
            lines.splice(..self.gone, [note.as_str()]);
        } else {
            lines.splice(lines.len() - self.gone.., [note.as_str()]);
        }
        lines.join("\n")
    }
}

fn joined(parts: &[Part<'_>]) -> String {
    let there = parts.iter().filter(|part| !part.is_empty());
    there.map(Part::text).collect::<Vec<_>>().join("\n\n")
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

    /// 16: the order is that of the policy whatever they come in, and what is empty leaves no gap.
    #[test]
    fn parts_stand_in_their_order_and_empty_ones_are_left_out() {
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

    /// 16: the oldest runs go first, then the least of the memory, of the summary, of the soul.
    #[test]
    fn what_is_soonest_told_again_gives_way_first() {
        let parts = Layer::ALL.map(|layer| part(layer, "aa bb\ncc dd\nee ff"));
        let left_out = |budget| of(&parts, Some(budget)).left_out;
        assert_eq!(left_out(30), []);
        // A line has two words, the note of what is left out four.
        let context = of(&parts, Some(28));
        assert_eq!(context.left_out, [(Layer::Runtime, 3)]);
        let many = [
            part(Layer::Base, "base"),
            part(Layer::Runtime, "a b c d e\nf g h i j\nk l m n o"),
        ];
        let context = of(&many, Some(15));
        assert_eq!(
            context.text,
            "base\n\n⟦1 line left out⟧\nf g h i j\nk l m n o"
        );
        assert_eq!(left_out(20), [(Layer::Runtime, 3), (Layer::Memory, 3)]);
        assert_eq!(
            left_out(8),
            [
                (Layer::Runtime, 3),
                (Layer::Memory, 3),
                (Layer::Summary, 3),
                (Layer::Soul, 3),
            ]
        );
        assert_eq!(
            assemble(&parts, Some(5), words),
            Err(NoRoom {
                tokens: 6,
                budget: 5
            })
        );
    }

    proptest! {
        /// 16: never above the budget; the base stands whole in front; with room for all nothing goes.
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
