//! What programs read. The keys are a contract: new ones may come, none goes.

use std::path::Path;

use ctx_ledger::score::{Needed, Row, Score, rounded};
use serde::{Serialize, Serializer};

use super::Args;
use super::table::measures;
use crate::output::json_line;

#[derive(Serialize)]
struct Scores<'a> {
    before: Option<String>,
    after: Option<String>,
    fidelity: f64,
    classes: Classes<'a>,
    future: Option<Measures>,
}

/// The figures by class, in a fixed order.
struct Classes<'a>(&'a Score);

/// The measures by name.
struct Measures(Needed);

#[derive(Serialize)]
struct Figures {
    weight: f64,
    total: u64,
    retained: u64,
    recoverable: u64,
    /// Of the recoverable, those in a snapshot only.
    saved: u64,
    lost: u64,
    /// Done or superseded: not scored.
    retired: u64,
    /// Null without items.
    score: Option<f64>,
}

#[derive(Serialize)]
struct Measure {
    needed: u64,
    kept: u64,
    /// Null when nothing was needed.
    share: Option<f64>,
}

impl Serialize for Classes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.0.rows();
        serializer.collect_map(rows.map(|row| (row.class.as_str(), Figures::from(row))))
    }
}

impl Serialize for Measures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let measures = measures(self.0).map(|(name, needed, kept)| {
            let share = (needed > 0).then(|| rounded(kept as f64 / needed as f64));
            let measure = Measure {
                needed,
                kept,
                share,
            };
            (name, measure)
        });
        serializer.collect_map(measures)
    }
}

impl From<Row> for Figures {
    fn from(row: Row) -> Self {
        Self {
            weight: row.class.weight(),
            total: row.total,
            retained: row.retained,
            recoverable: row.recoverable,
            saved: row.saved,
            lost: row.lost,
            retired: row.retired,
            score: row.score.map(rounded),
        }
    }
}

/// One object on one line.
pub(super) fn of(args: &Args, score: &Score, needed: Option<Needed>) -> String {
    let scores = Scores {
        before: name(&args.before),
        after: name(&args.after),
        fidelity: rounded(score.fidelity()),
        classes: Classes(score),
        future: needed.map(Measures),
    };
    json_line(&scores)
}

fn name(path: &Path) -> Option<String> {
    (path.as_os_str() != "-").then(|| path.display().to_string())
}
