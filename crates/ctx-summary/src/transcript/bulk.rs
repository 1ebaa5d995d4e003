//! Decides which tool texts to cut, and by how much, if a record does not fit. The decision depends
//! on how useful the texts are, not only on their length.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ctx_text::{WordSet, bisected};
use ctx_tokens::TokenCounter;

use super::noise::cut;
use super::{Record, Spoken, ToolText, Transcript, whole, written};
use crate::{LISTS, is_shell};

/// A tool text of at most this many characters is never cut.
const SHORT: usize = 600;
/// A tool text of the usual worth is never cut to fewer characters than this. Splitting the record
/// into several questions is better than cutting such a text further.
const LEAST: usize = 1_000;
/// The number of tokens in the note about omitted text.
const MARK: u64 = 12;
/// The number of tokens in the blank line between pieces.
const BETWEEN: u64 = 2;

/// The worth of an ordinary tool text.
const USUAL: usize = 100;
/// The worth of content that can be read again, such as a file or a list.
const SHOWN: usize = 50;
/// The worth of text that the model wrote into a file or a change.
const WRITTEN: usize = 150;
const ERROR: usize = 300;
/// The additional worth of a text for each name in it that is used later, up to [`NAMES`] names.
const NAME: usize = 40;
const NAMES: usize = 5;
/// A text at the end of a record is worth this many times as much as one at the beginning.
const LATEST: usize = 3;

/// A tool text that is long enough to be cut.
struct Bulk {
    chars: usize,
    tokens: u64,
    worth: usize,
}

static SHOWING: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("showing tools"));
static COMMANDS: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("showing commands"));

/// Returns true if a call shows existing content. `digest` contains the tool's name and its main
/// argument.
pub(super) fn shows(name: &str, digest: &str) -> bool {
    let name = name.to_lowercase();
    if !is_shell(&name) {
        return SHOWING.iter().any(|word| name.contains(word.as_str()));
    }
    let command = digest.split_once(": ").map_or(digest, |(_, command)| command);
    let last = command.rsplit("&&").next().unwrap_or(command);
    let first = last.split_whitespace().next().unwrap_or_default();
    COMMANDS.contains(first)
}

impl Transcript {
    /// Returns the record. If the record has more than `room` tokens, its tool texts are cut until
    /// it fits. Returns `None` if the record does not fit even with its tool texts cut as far as is
    /// reasonable.
    pub(crate) fn within(&self, room: u64, counter: &dyn TokenCounter) -> Option<Record> {
        let tokens = |pieces: &[String]| -> u64 {
            pieces.iter().map(|piece| counter.count(piece) + BETWEEN).sum()
        };
        let pieces = self.pieces.as_slice();
        let all: Vec<String> = pieces.iter().map(|piece| written(piece, whole)).collect();
        let needed = tokens(&all);
        if needed <= room {
            return Some(Record { pieces: all, cuts: 0 });
        }
        let later = later(pieces);
        let bulks = self.bulks(&later, counter);
        let mut least = limit(&bulks, needed, room)?;
        while least >= LEAST {
            let record = self.shortened(&bulks, &later, least);
            if tokens(&record.pieces) <= room {
                return Some(record);
            }
            least = least * 9 / 10;
        }
        None
    }

    /// Returns the record with its tool texts cut as far as is reasonable.
    pub(crate) fn shortest(&self) -> Record {
        let later = later(&self.pieces);
        let bulks = self.bulks(&later, ctx_tokens::Encoding::Chars4.counter());
        self.shortened(&bulks, &later, LEAST)
    }

    /// Finds the tool texts that may be cut. The result has a list for each piece, with an entry
    /// for each part.
    fn bulks(&self, later: &Later<'_>, counter: &dyn TokenCounter) -> Vec<Vec<Option<Bulk>>> {
        let bulk = |at: usize, spoken: &Spoken| {
            let worth = match spoken.tool? {
                ToolText::Error => ERROR,
                ToolText::Arguments => WRITTEN,
                ToolText::Shown => SHOWN,
                ToolText::Result => USUAL,
            };
            let chars = spoken.text.chars().count();
            if chars <= SHORT {
                return None;
            }
            let used = names(&spoken.text).filter(|name| is_used(name, later, at));
            let used: HashSet<&str> = used.take(NAMES * 8).collect();
            let worth = worth + NAME * used.len().min(NAMES);
            let worth = worth + worth * (LATEST - 1) * at / self.pieces.len();
            Some(Bulk { chars, tokens: counter.count(&spoken.text), worth })
        };
        let pieces = self.pieces.iter().enumerate();
        pieces.map(|(at, piece)| piece.iter().map(|spoken| bulk(at, spoken)).collect()).collect()
    }

    fn shortened(&self, bulks: &[Vec<Option<Bulk>>], later: &Later<'_>, least: usize) -> Record {
        let mut record = Record { pieces: Vec::new(), cuts: 0 };
        for (at, (piece, bulks)) in self.pieces.iter().zip(bulks).enumerate() {
            let is_told = |line: &str| names(line).any(|name| is_used(name, later, at));
            record.pieces.push(written(piece, |part, spoken| match &bulks[part] {
                Some(bulk) if bulk.limit(least) < bulk.chars => {
                    record.cuts += 1;
                    cut(&spoken.text, bulk.limit(least), is_told).into()
                }
                _ => Cow::Borrowed(&spoken.text),
            }));
        }
        record
    }
}

/// Estimates to how many characters texts of the usual worth must be cut so that the record fits
/// into `room` tokens.
fn limit(bulks: &[Vec<Option<Bulk>>], needed: u64, room: u64) -> Option<usize> {
    let bulks = || bulks.iter().flatten().flatten();
    let tokens = |least: usize| -> u64 {
        let left_out = bulks().map(|bulk| {
            let kept = bulk.limit(least);
            let left = bulk.tokens * (bulk.chars - kept) as u64 / bulk.chars as u64;
            left.saturating_sub(if left > 0 { MARK } else { 0 })
        });
        needed.saturating_sub(left_out.sum())
    };
    let most = bulks().map(|bulk| bulk.chars).max()? * 2;
    let longest = || LEAST + bisected(most - LEAST, |more| tokens(LEAST + more) > room).0;
    (tokens(LEAST) <= room).then(longest)
}

impl Bulk {
    /// Returns how many characters of this tool text to keep if a text of the usual worth keeps
    /// `least` characters.
    fn limit(&self, least: usize) -> usize {
        (least * self.worth / USUAL).max(SHORT).min(self.chars)
    }
}

/// Names that the user or the model mentioned, each with the index of the last piece that contains
/// it.
type Later<'s> = HashMap<&'s str, usize>;

fn later(pieces: &[Vec<Spoken>]) -> Later<'_> {
    let mut later = HashMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        let own =
            piece.iter().filter(|spoken| matches!(spoken.tool, None | Some(ToolText::Arguments)));
        for spoken in own {
            later.extend(names(&spoken.text).map(|name| (name, at)));
        }
    }
    later
}

/// Returns the words in `text` that are probably names, such as names of files, functions and
/// orders.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '#');
    let words = text.split(move |c: char| !is_part(c));
    let words = words.map(|word| word.trim_matches(['.', '-', '/']));
    words.filter(|word| {
        let has_mark =
            word.contains(|c: char| c.is_ascii_digit() || matches!(c, '_' | '/' | '.' | '#'));
        let has_capital = || word.chars().skip(1).any(char::is_uppercase);
        word.len() >= 5 && word.len() < 200 && (has_mark || has_capital())
    })
}

/// Returns true if a piece after piece `at` mentions `name`.
fn is_used(name: &str, later: &Later<'_>, at: usize) -> bool {
    later.get(name).is_some_and(|last| *last > at)
}
