//! What programs read. The keys are a contract: new ones may come, none goes.

use ctx_cli::{input_name, json_line, json_name};
use ctx_ledger::score::{Needed, Row, Score, rounded};
use serde::{Serialize, Serializer};

use super::Args;
use super::table::measures;

#[derive(Serialize)]
struct Scores<'a> {
    before: Option<&'a str>,
    after: Option<&'a str>,
    fidelity: f64,
    classes: InOrder<Figures>,
    future: Option<InOrder<Measure>>,
}

/// An object whose members stand in this order.
struct InOrder<T>(Vec<(&'static str, T)>);

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

impl<T: Serialize> Serialize for InOrder<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
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
    let [before, after] = [&args.before, &args.after].map(|path| input_name(path));
    let rows = score.rows().into_iter();
    let classes = rows.map(|row| (row.class.as_str(), Figures::from(row)));
    let measure = |(name, needed, kept): (_, u64, u64)| {
        let share = (needed > 0).then(|| rounded(kept as f64 / needed as f64));
        let measure = Measure {
            needed,
            kept,
            share,
        };
        (name, measure)
    };
    json_line(&Scores {
        before: json_name(&before),
        after: json_name(&after),
        fidelity: rounded(score.fidelity()),
        classes: InOrder(classes.collect()),
        future: needed.map(|needed| InOrder(measures(needed).map(measure).into())),
    })
}
