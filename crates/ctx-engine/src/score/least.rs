//! The minimum of a score.

use ctx_summary::ledger::score::Score;

use super::exam::{Mark, Recall};

/// The shortfalls of a score, one sentence each.
pub fn shortfalls(
    score: &Score,
    marks: Option<&[Mark<'_>]>,
    min_items: Option<f64>,
    min_evidence: Option<f64>,
) -> Vec<String> {
    let evidence = marks.and_then(|marks| Recall::of_all(marks).share());
    let asked = [
        ("share of items kept", Some(score.items_kept()), min_items),
        ("evidence recall", evidence, min_evidence),
    ];
    let shortfall = |(what, share, min): (&str, Option<f64>, Option<f64>)| match (share, min?) {
        (Some(share), min) if share < min => {
            Some(format!("the {what} of {share:.3} is under {min}"))
        }
        (Some(_), _) => None,
        (None, _) => Some("BEFORE can answer none of the questions".to_owned()),
    };
    asked.into_iter().filter_map(shortfall).collect()
}

#[cfg(test)]
mod tests {
    use ctx_summary::ledger::score::Score;

    use super::shortfalls;

    #[test]
    fn only_what_is_asked_for_can_fall_short() {
        // Nothing to lose is nothing lost.
        let score = Score::default();
        assert_eq!(shortfalls(&score, None, None, None), [""; 0]);
        assert_eq!(shortfalls(&score, None, Some(1.0), None), [""; 0]);
        assert_eq!(
            shortfalls(&score, Some(&[]), Some(1.5), Some(0.5)),
            [
                "the share of items kept of 1.000 is under 1.5",
                "BEFORE can answer none of the questions"
            ]
        );
    }
}
