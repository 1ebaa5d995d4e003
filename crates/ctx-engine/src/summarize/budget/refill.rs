//! Makes shortened records longer again, latest first, using the tokens that are left in the budget
//! after the summary. Refilling is the last step, because the length of a summary is known only
//! once it has been written.

use ctx_format::Record;
use ctx_text::bisected;

use super::super::assembly::Kept;
use super::super::shorten::{Limits, Shortener};
use crate::Result;
use crate::prune::saturating_usize;
use crate::waiting::WaitingRecords;

/// The minimum number of tokens by which to lengthen a record. Fewer tokens would hardly make its
/// text more informative.
const LEAST_GAIN: u64 = 32;
/// How many limits to try before giving up on a record that stays too long.
const TRIES: usize = 3;

/// A record that has been shortened.
pub(super) struct Cut {
    /// The index of the record among the original records.
    pub(super) index: usize,
    /// The position and length of the shortened record in the kept bytes.
    pub(super) place: (usize, usize),
    /// The limits to which the record was shortened.
    pub(super) limits: Limits,
    /// The names of the calls that the record's results answer.
    pub(super) calls: Vec<String>,
    /// The token counts of the original record and of the shortened one, in this order.
    pub(super) tokens: (u64, u64),
}

/// Lengthens shortened records by at most `free` tokens in total. Returns how many tokens were used
/// and how many records are whole again.
pub(super) fn refill(
    cuts: &[Cut],
    records: &mut WaitingRecords,
    kept: &mut Kept,
    shortener: Shortener<'_>,
    free: u64,
) -> Result<(u64, usize)> {
    let (mut left, mut restored) = (free, 0);
    let mut changes = Vec::new();
    for cut in cuts.iter().rev() {
        if left < LEAST_GAIN {
            break;
        }
        let bytes = records.bytes(cut.index)?;
        let (whole, now) = cut.tokens;
        let longer = if whole <= now + left {
            restored += 1;
            Some((bytes, whole))
        } else {
            cut.longer(&records.record(cut.index, &bytes), shortener, left)
        };
        if let Some((bytes, tokens)) = longer {
            left -= tokens.saturating_sub(now);
            changes.push((cut.place, bytes));
        }
    }
    changes.reverse();
    kept.change(&changes)?;
    Ok((free - left, restored))
}

impl Cut {
    /// Returns how many tokens were cut from the record.
    pub(super) fn lost(&self) -> u64 {
        self.tokens.0.saturating_sub(self.tokens.1)
    }

    /// Shortens the original record again, but less than before, so that it gains at most `more`
    /// tokens. Returns the new record and its token count, or `None` if the record does not become
    /// longer.
    fn longer(
        &self,
        record: &Record<'_>,
        shortener: Shortener<'_>,
        more: u64,
    ) -> Option<(Vec<u8>, u64)> {
        let Shortener { dialect, counter, .. } = shortener;
        let tokens = |record: &Record<'_>| {
            let message = record.message(Some(dialect));
            message.map(|message| counter.message(&message).total())
        };
        let message = record.message(Some(dialect))?;
        let results = message.results().map(|it| counter.result(it).results);
        let mut limits = self.limits;
        limits.tokens = raised(&results.collect::<Vec<_>>(), limits.tokens, more);
        let most = self.tokens.1 + more;
        for _ in 0..TRIES {
            let short = shortener.shorten(record, limits, &self.calls)?;
            let now = tokens(&record.origin.clone().record(&short))?;
            if now <= most {
                return (now > self.tokens.1).then_some((short, now));
            }
            limits.tokens = limits.tokens.saturating_sub(now - most);
        }
        None
    }
}

/// Returns the highest limit that makes the results at most `more` tokens longer than `limit` does.
fn raised(results: &[u64], limit: u64, more: u64) -> u64 {
    let under = |limit: u64| -> u64 { results.iter().map(|tokens| *tokens.min(&limit)).sum() };
    let most = under(limit) + more;
    let is_above = |raise: usize| under(limit + raise as u64) > most;
    limit + bisected(saturating_usize(more + 1), is_above).0 as u64
}

#[cfg(test)]
mod tests {
    use super::raised;

    #[test]
    fn a_limit_is_raised_for_all_results_together() {
        assert_eq!(raised(&[500], 100, 50), 150);
        assert_eq!(raised(&[500, 500], 100, 50), 125);
        // A result that is already complete takes no additional tokens.
        assert_eq!(raised(&[500, 80, 110], 100, 50), 140);
        assert_eq!(raised(&[500], 100, 0), 100);
    }
}
