//! How much of a session a compaction kept, by what its record tells.

use ctx_ledger::score::{Class, Standing, rounded};
use serde_json::Value;

/// The fidelity of a compaction, from 0 to 1, by the member `survived` of its record: the
/// items kept of ctx-score. The mean of the classes that have items, by their weights; in a
/// class an item that stands in the new session is one, one that the new session refers to a
/// half, one that is lost none. The record has numbers only, so that all identifiers of a
/// session count the same here, while ctx-score weighs each by its chance to be needed.
/// None where nothing was scored.
pub fn fidelity(survived: &Value) -> Option<f64> {
    let (mut kept, mut all) = (0.0, 0.0);
    for class in Class::ALL {
        let Some(row) = survived.get(class.as_str()) else {
            continue;
        };
        let count = |key| row.get(key).and_then(Value::as_u64).unwrap_or(0) as f64;
        let counts = [
            (Standing::Retained, count("retained")),
            (Standing::Recoverable, count("recoverable")),
            (Standing::Lost, count("lost")),
        ];
        let items: f64 = counts.iter().map(|(_, count)| count).sum();
        if items > 0.0 {
            let credits = counts
                .iter()
                .map(|(standing, count)| standing.credit() * count);
            kept += class.weight() * credits.sum::<f64>() / items;
            all += class.weight();
        }
    }
    (all > 0.0).then(|| rounded(kept / all))
}

#[cfg(test)]
mod tests {
    use ctx_ledger::score::rounded;
    use serde_json::{Value, json};

    use super::fidelity;

    fn row(retained: u64, recoverable: u64, lost: u64) -> Value {
        json!({"retained": retained, "recoverable": recoverable, "lost": lost})
    }

    /// 16: classes by their weights, items by their standing.
    #[test]
    fn it_is_the_items_kept_of_the_score() {
        for (survived, expected) in [
            (json!({"asks": row(4, 0, 0)}), Some(1.0)),
            (json!({"asks": row(1, 1, 0)}), Some(0.75)),
            (json!({"asks": row(0, 0, 7)}), Some(0.0)),
            (
                json!({"asks": row(1, 0, 0), "files": row(0, 0, 9)}),
                Some(0.75),
            ),
            (
                json!({"asks": row(1, 0, 0), "identifiers": row(0, 0, 1)}),
                Some(0.6),
            ),
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
