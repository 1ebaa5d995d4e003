//! How shares are distributed, in tenths.

use serde::Serialize;

/// Shares from 0 to 1, counted in tenths, so that any number of them takes the same room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// How many there are.
    pub count: u64,
    /// The mean, if there are any.
    pub mean: Option<f64>,
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
    /// How many are at most 0.1, more than that and at most 0.2, …, more than 0.9.
    pub tenths: [u64; 10],
    /// Their sum.
    #[serde(skip)]
    pub sum: f64,
}

impl Shares {
    /// One more.
    pub fn add(&mut self, share: f64) {
        self.count += 1;
        self.sum += share;
        self.mean = Some(ctx_summary::ledger::score::rounded(self.sum / self.count as f64));
        self.min = Some(self.min.map_or(share, |min| min.min(share)));
        self.max = Some(self.max.map_or(share, |max| max.max(share)));
        let is_above = |tenth: &&u32| share > f64::from(**tenth) / 10.0;
        let above = (1..10).collect::<Vec<u32>>();
        let place = above.iter().filter(is_above).count();
        self.tenths[place] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Shares;

    /// Each share is in the tenth that it does not exceed.
    #[test]
    fn shares_are_counted_in_tenths() {
        let mut shares = Shares::default();
        assert_eq!((shares.mean, shares.min), (None, None));
        for share in [0.0, 0.1, 0.11, 0.8, 0.81, 1.0, 1.7] {
            shares.add(share);
        }
        assert_eq!(shares.tenths, [2, 1, 0, 0, 0, 0, 0, 1, 1, 2]);
        assert_eq!((shares.count, shares.min, shares.max), (7, Some(0.0), Some(1.7)));
        assert_eq!(shares.mean, Some(0.6457));
    }
}
