//! What programs read. The keys are a contract: new ones may come, none goes.

use std::path::Path;

use ctx_summary::score::{Needed, Score};
use serde_json::{Map, Value, json};

use super::Args;
use super::table::measures;

/// One object on one line.
pub(super) fn of(args: &Args, score: &Score, needed: Option<Needed>) -> String {
    let object = json!({
        "before": name(&args.before),
        "after": name(&args.after),
        "fidelity": score.fidelity(),
        "classes": classes(score),
        "future": needed.map(future),
    });
    format!("{object}\n")
}

/// The figures of each class, also of those without items.
pub(crate) fn classes(score: &Score) -> Value {
    let rows = score.rows().map(|row| {
        let figures = json!({
            "weight": row.class.weight(),
            "total": row.total,
            "retained": row.retained,
            "recoverable": row.recoverable,
            "saved": row.saved,
            "lost": row.lost,
            "retired": row.retired,
            "score": row.score,
        });
        (row.class.as_str().to_owned(), figures)
    });
    Value::Object(Map::from_iter(rows))
}

fn future(needed: Needed) -> Value {
    let measures = measures(needed).map(|(name, needed, kept)| {
        let share = (needed > 0).then(|| kept as f64 / needed as f64);
        let figures = json!({"needed": needed, "kept": kept, "share": share});
        (name.to_owned(), figures)
    });
    Value::Object(Map::from_iter(measures))
}

fn name(path: &Path) -> Option<String> {
    (path.as_os_str() != "-").then(|| path.display().to_string())
}
