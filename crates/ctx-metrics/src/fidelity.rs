//! How much of a session a compaction kept, by what its record tells.

use ctx_store::ClassCounts;
use ctx_summary::ledger::score::{Class, Standing, rounded};
use serde_json::Value;

/// The fidelity of a compaction, from 0 to 1, from the member `survived` of its record: the items
/// kept as in ctx-score. It is the weighted mean over the classes with items; a retained item
/// counts one, a recoverable one a half, a lost one zero. The record has only numbers, so all
/// identifiers count the same here, while ctx-score weighs each by the probability that it is
/// needed. `None` if nothing was scored.
pub fn fidelity(survived: &Value) -> Option<f64> {
    let (mut kept, mut all) = (0.0, 0.0);
    for (class, counts) in counts_of(survived) {
        let counts = [
            (Standing::Retained, counts.retained as f64),
            (Standing::Recoverable, counts.recoverable as f64),
            (Standing::Lost, counts.lost as f64),
        ];
        let items: f64 = counts.iter().map(|(_, count)| count).sum();
        let credits = counts.iter().map(|(standing, count)| standing.credit() * count);
        kept += class.weight() * credits.sum::<f64>() / items;
        all += class.weight();
    }
    (all > 0.0).then(|| rounded(kept / all))
}

/// How many items of each class the record has, the classes without any left out.
pub(crate) fn counts_of(survived: &Value) -> impl Iterator<Item = (Class, ClassCounts)> {
    let counts = |class: Class| {
        let row = survived.get(class.as_str())?;
        let count = |key| row.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (retained, recoverable) = (count("retained"), count("recoverable"));
        let counts = ClassCounts { retained, recoverable, lost: count("lost") };
        (counts != ClassCounts::default()).then_some((class, counts))
    };
    Class::ALL.into_iter().filter_map(counts)
}

#[cfg(test)]
mod tests {
    use ctx_summary::ledger::score::rounded;
    use serde_json::{Value, json};

    use super::fidelity;

    fn row(retained: u64, recoverable: u64, lost: u64) -> Value {
        json!({"retained": retained, "recoverable": recoverable, "lost": lost})
    }

    /// Classes by their weights, items by what became of them.
    #[test]
    fn it_is_the_items_kept_of_the_score() {
        for (survived, expected) in [
            (json!({"asks": row(4, 0, 0)}), Some(1.0)),
            (json!({"asks": row(1, 1, 0)}), Some(0.75)),
            (json!({"asks": row(0, 0, 7)}), Some(0.0)),
            (json!({"asks": row(1, 0, 0), "files": row(0, 0, 9)}), Some(0.75)),
            (json!({"asks": row(1, 0, 0), "identifiers": row(0, 0, 1)}), Some(0.6)),
            (json!({}), None),
            (json!({"asks": row(0, 0, 0)}), None),
            (json!({"moods": row(1, 0, 0)}), None),
            (json!([1]), None),
            (json!({"asks": {"retained": "many", "lost": -1}}), None),
        ] {
            assert_eq!(fidelity(&survived), expected.map(rounded), "{survived}");
        }
    }
}
