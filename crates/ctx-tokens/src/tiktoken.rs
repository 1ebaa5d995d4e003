//! The counters of OpenAI's older encodings, by tiktoken-rs.

use tiktoken_rs::CoreBPE;

use crate::TokenCounter;

/// An encoding whose tables are built by the first text that is counted.
pub(crate) struct Tiktoken(fn() -> &'static CoreBPE);

pub(crate) static P50K: Tiktoken = Tiktoken(tiktoken_rs::p50k_base_singleton);
pub(crate) static R50K: Tiktoken = Tiktoken(tiktoken_rs::r50k_base_singleton);

/// The longest stretch, in bytes, that the engine is given without a change
/// between white space and anything else.
///
/// The engine splits text with a backtracking regex that remembers every
/// character of a run of white space and gives up (a panic) at a million; a
/// quarter of that is safe. Its memory also grows by some 50 bytes for each byte
/// of an unbroken run. So a longer run is cut, and as no token reaches over a
/// cut, the count of such a text is an estimate: at most a few tokens too many
/// a cut, that is one in many thousand. All other texts are counted exactly.
const LONGEST_RUN: usize = 256 * 1024;

/// No token of any of the vocabularies is longer; `count_up_to` relies on it.
const LONGEST_TOKEN: u64 = 128;

impl TokenCounter for Tiktoken {
    fn count(&self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        let engine = (self.0)();
        pieces(text)
            .map(|piece| engine.count_ordinary(piece) as u64)
            .sum()
    }

    fn count_up_to(&self, text: &str, limit: u64) -> Option<u64> {
        if (text.len() as u64).div_ceil(LONGEST_TOKEN) > limit {
            return None;
        }
        let tokens = self.count(text);
        (tokens <= limit).then_some(tokens)
    }
}

/// The text itself, or, where it has a run longer than [`LONGEST_RUN`], the parts it is cut into.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(first_cut(rest).unwrap_or(rest.len()));
        rest = after;
        Some(piece)
    })
}

/// Where the first run of `text` that is too long has to be cut.
fn first_cut(text: &str) -> Option<usize> {
    if text.len() <= LONGEST_RUN {
        return None;
    }
    let mut start = 0;
    let mut in_space = None;
    for (at, c) in text.char_indices() {
        let space = c.is_whitespace();
        if in_space != Some(space) {
            in_space = Some(space);
            start = at;
        } else if at + c.len_utf8() - start > LONGEST_RUN {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_RUN, LONGEST_TOKEN, P50K, R50K, Tiktoken, pieces};
    use crate::TokenCounter;

    const ALL: [&Tiktoken; 2] = [&P50K, &R50K];

    #[test]
    fn the_empty_text_has_no_tokens() {
        for counter in ALL {
            assert_eq!(counter.count(""), 0);
            assert_eq!(counter.count_up_to("", 0), Some(0));
        }
    }

    #[test]
    fn the_limit_is_inclusive() {
        assert_eq!(R50K.count("hello world"), 2);
        assert_eq!(R50K.count_up_to("hello world", 2), Some(2));
        assert_eq!(R50K.count_up_to("hello world", 1), None);
        assert_eq!(R50K.count_up_to("hello world", 0), None);
    }

    #[test]
    fn no_token_is_longer_than_count_up_to_assumes() {
        for counter in ALL {
            let engine = (counter.0)();
            let longest = (0..50_300)
                .filter_map(|rank| engine.decode_bytes(&[rank]).ok())
                .map(|bytes| bytes.len() as u64)
                .max();
            assert!(longest <= Some(LONGEST_TOKEN), "{longest:?}");
        }
    }

    #[test]
    fn cuts_fall_only_into_long_runs_and_lose_nothing() {
        let ordinary = "two words\n".repeat(LONGEST_RUN / 5);
        assert_eq!(pieces(&ordinary).count(), 1);
        let run = " ".repeat(LONGEST_RUN);
        assert_eq!(pieces(&format!("a{run}b")).count(), 1);
        for unit in [" ", "a", "中", "\u{3000}"] {
            let text = format!("x {} y", unit.repeat(LONGEST_RUN * 2 / unit.len() + 1));
            let parts: Vec<&str> = pieces(&text).collect();
            assert_eq!(parts.concat(), text);
            assert_eq!(parts.len(), 3, "{unit:?}");
            assert!(parts.iter().all(|part| part.len() <= LONGEST_RUN + 4));
        }
    }

    /// The engine itself panics at these.
    #[test]
    fn a_megabyte_of_spaces_is_counted() {
        for counter in ALL {
            let spaces = format!("{}x", " ".repeat(1 << 20));
            assert!(counter.count(&spaces) > 0);
        }
    }

    #[test]
    fn a_limit_that_the_length_alone_breaks_costs_nothing() {
        let letters = "a".repeat(16 << 20);
        for counter in ALL {
            assert_eq!(counter.count_up_to(&letters, 1_000), None);
        }
    }
}
