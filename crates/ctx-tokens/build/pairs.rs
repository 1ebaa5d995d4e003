//! The table that maps two adjacent tokens to the token that they are merged into.

use std::cmp::Reverse;

use crate::layout::Pair;
use crate::vocabulary::Merge;

/// The average number of pairs in a bucket. More pairs would make finding the seeds slower; fewer
/// pairs would mean more seeds to store.
const PAIRS_OF_A_BUCKET: usize = 5;

/// Returns the table of pairs and the seed for each bucket. One table entry in 25 is empty.
pub(crate) fn table(merges: &[Merge]) -> (Vec<u32>, Vec<u16>) {
    let mut table = vec![0; merges.len() + merges.len() / 24];
    let mut seeds = vec![0; merges.len() / PAIRS_OF_A_BUCKET];
    let mut buckets = vec![Vec::new(); seeds.len()];
    for merge in merges {
        let pair = Pair::new(merge.left, merge.right);
        buckets[pair.bucket(seeds.len())].push((pair, merge.token));
    }
    // Place the fullest buckets first, while most of the table is still free.
    let mut order: Vec<usize> = (0..buckets.len()).collect();
    order.sort_by_key(|bucket| Reverse(buckets[*bucket].len()));
    for bucket in order {
        let pairs = buckets[bucket].as_slice();
        let places = (0..=u16::MAX).find_map(|seed| {
            seeds[bucket] = seed;
            free_places(pairs, seed, &table)
        });
        let places = places.expect("some seed leads to free places");
        for (place, (pair, token)) in places.into_iter().zip(pairs) {
            table[place] = pair.entry(*token);
        }
    }
    (table, seeds)
}

/// Returns the places that this seed assigns to the pairs; `None` if a place is already taken or
/// two pairs would share a place.
fn free_places(pairs: &[(Pair, u32)], seed: u16, table: &[u32]) -> Option<Vec<usize>> {
    let mut places = Vec::new();
    for (pair, _) in pairs {
        let place = pair.place(seed, table.len());
        if table[place] != 0 || places.contains(&place) {
            return None;
        }
        places.push(place);
    }
    Some(places)
}
