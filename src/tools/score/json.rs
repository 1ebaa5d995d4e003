//! The score as JSON. JSON keys may be added but never removed.

use ctx_cli::{json_line, json_object};
use ctx_engine::score::{BatchScore, Mark, Recall, measures, recall};
use ctx_summary::ledger::score::{Needed, Row, Score, rounded};
use indexmap::IndexMap;
use serde::Serialize;

/// Returns the report on the session `after`, which was made from `before`. A name is `None` for
/// stdin. `line` is the line number of the conversation in its batch.
pub(super) fn of_session(
    [before, after]: [Option<&str>; 2],
    line: Option<u64>,
    score: &Score,
    needed: Option<Needed>,
    marks: Option<&[Mark<'_>]>,
) -> String {
    let future = needed.map(|needed| measures(needed).map(|measure| (measure.key, measure)));
    json_line(&json_object! {
        before,
        after,
        #[serde(flatten)]
        line: line.map(|line| json_object! { line }),
        items_kept: rounded(score.items_kept()),
        classes: classes(score.rows()),
        future: future.map(IndexMap::from),
        evidence: marks.map(evidence),
    })
}

/// Returns the report on the batch `after`, which was made from `before`. A name is `None` for
/// stdin.
pub(super) fn of_batch([before, after]: [Option<&str>; 2], score: &BatchScore) -> String {
    json_line(&json_object! {
        before,
        after,
        conversations: score.scored,
        failed: score.failed,
        items_kept: rounded(score.items_kept()),
        /// The smallest share of items kept in any conversation; null if there are no conversations.
        least_kept: score.least.map(|(_, kept)| rounded(kept)),
        least_line: score.least.map(|(line, _)| line),
        classes: classes(score.rows()),
    })
}

fn classes(rows: impl IntoIterator<Item = Row>) -> IndexMap<&'static str, impl Serialize> {
    let figures = |row: Row| json_object! { weight: row.class.weight(), #[serde(flatten)] row };
    rows.into_iter().map(|row| (row.class.into(), figures(row))).collect()
}

fn evidence(marks: &[Mark<'_>]) -> impl Serialize {
    let named = recall(marks).into_iter().filter_map(|row| Some((row.category?, row)));
    json_object! {
        #[serde(flatten)]
        all: Recall::of(None, marks),
        categories: named.collect::<IndexMap<_, _>>(),
        marks,
    }
}

#[cfg(test)]
mod tests {
    use ctx_summary::ledger::score::{Needed, Score};

    use super::of_session;

    #[test]
    fn of_nothing_there_is_no_share() {
        let needed = Needed { total: 3, kept: 2, in_context: 1, ..Needed::default() };
        let json = of_session([None, Some("b")], None, &Score::default(), Some(needed), None);
        let future = r#""future":{"a_must":{"needed":3,"kept":2,"share":0.6667},"a_ctx":{"needed":3,"kept":1,"share":0.3333},"a_ctxfar":{"needed":0,"kept":0,"share":null}},"evidence":null}"#;
        assert!(json.starts_with(r#"{"before":null,"after":"b","#), "{json}");
        assert!(json.trim_end().ends_with(future), "{json}");
    }
}
