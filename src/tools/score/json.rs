//! The score as JSON. JSON keys may be added but never removed.

use ctx_cli::json_line;
use ctx_engine::score::{BatchScore, Mark, Measure, Recall, measures, recall};
use ctx_summary::ledger::score::{Needed, Row, Score, rounded};
use indexmap::IndexMap;
use serde::Serialize;

/// A JSON object with the score of one session.
#[derive(Serialize)]
struct ScoreJson<'a> {
    before: Option<&'a str>,
    after: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    items_kept: f64,
    classes: IndexMap<&'a str, Figures>,
    future: Option<IndexMap<&'a str, Measure>>,
    evidence: Option<ExamJson<'a>>,
}

/// A JSON object with the score of all conversations in a batch.
#[derive(Serialize)]
struct BatchScoreJson<'a> {
    before: Option<&'a str>,
    after: Option<&'a str>,
    conversations: u64,
    failed: u64,
    items_kept: f64,
    /// The smallest share of items kept in any conversation; null if there are no conversations.
    least_kept: Option<f64>,
    least_line: Option<u64>,
    classes: IndexMap<&'a str, Figures>,
}

#[derive(Serialize)]
struct Figures {
    weight: f64,
    #[serde(flatten)]
    row: Row,
}

#[derive(Serialize)]
struct ExamJson<'a> {
    #[serde(flatten)]
    all: Recall<'a>,
    categories: IndexMap<&'a str, Recall<'a>>,
    marks: Vec<Mark<'a>>,
}

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
    json_line(&ScoreJson {
        before,
        after,
        line,
        items_kept: rounded(score.items_kept()),
        classes: classes(&score.rows()),
        future: future.map(IndexMap::from),
        evidence: marks.map(ExamJson::of),
    })
}

/// Returns the report on the batch `after`, which was made from `before`. A name is `None` for
/// stdin.
pub(super) fn of_batch([before, after]: [Option<&str>; 2], score: &BatchScore) -> String {
    json_line(&BatchScoreJson {
        before,
        after,
        conversations: score.scored,
        failed: score.failed,
        items_kept: rounded(score.items_kept()),
        least_kept: score.least.map(|(_, kept)| rounded(kept)),
        least_line: score.least.map(|(line, _)| line),
        classes: classes(&score.rows()),
    })
}

fn classes<'a>(rows: &[Row; 8]) -> IndexMap<&'a str, Figures> {
    let figures = |row: &Row| Figures { weight: row.class.weight(), row: *row };
    rows.iter().map(|row| (row.class.into(), figures(row))).collect()
}

impl<'a> ExamJson<'a> {
    fn of(marks: &[Mark<'a>]) -> Self {
        let named = recall(marks).into_iter().filter_map(|row| Some((row.category?, row)));
        Self { all: Recall::of(None, marks), categories: named.collect(), marks: marks.to_vec() }
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
