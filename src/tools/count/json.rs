//! What programs read. The keys are a contract: new ones may come, none goes.

use std::collections::BTreeMap;

use ctx_select::tally::Tally;
use serde::Serialize;

use super::breakdown::By;
use super::counted::Counted;
use super::{Args, Plan};

/// The object of a file, or of the total.
#[derive(Serialize)]
struct Counts<'a> {
    /// `file` or `total`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The file as it was named; null for stdin, and for the total.
    name: Option<&'a str>,
    /// In the total: how many files it sums up.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    conversations: u64,
    messages: u64,
    tokens: u64,
    bytes: u64,
    records: u64,
    bad: u64,
    encoding: &'static str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    model: Option<OfModel<'a>>,
    /// Tokens by kind of content.
    kinds: Kinds,
    /// With `--by`: by what, and the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Row>>,
}

type Kinds = BTreeMap<&'static str, u64>;

/// With `--model`.
#[derive(Serialize)]
struct OfModel<'a> {
    model: &'a str,
    window: u64,
    /// Of a file: tokens / window.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// Whether the encoding is the model's own.
    exact: bool,
}

#[derive(Serialize)]
struct Row {
    key: String,
    count: u64,
    tokens: u64,
}

/// An object for each file, then one for the total.
pub(super) fn of(args: &Args, plan: &Plan, files: &[Counted]) -> String {
    let mut out = String::new();
    for file in files {
        let counts = Counts {
            name: (file.name != ctx_cli::STDIN_NAME).then_some(file.name.as_str()),
            ..counts("file", file, args, plan)
        };
        push(&mut out, &counts);
    }
    let total = Counted::total(files);
    let counts = Counts {
        files: Some(files.len()),
        ..counts("total", &total, args, plan)
    };
    push(&mut out, &counts);
    out
}

fn counts<'a>(kind: &'static str, file: &Counted, args: &'a Args, plan: &Plan) -> Counts<'a> {
    let tally = &file.tally;
    let tokens = tally.tokens().total();
    let model = plan.counting.model.map(|model| OfModel {
        model: args.counting.model.as_deref().unwrap_or(model.prefix),
        window: model.window,
        share: (kind == "file").then(|| tokens as f64 / model.window as f64),
        exact: plan.counting.is_exact(),
    });
    Counts {
        kind,
        name: None,
        files: None,
        conversations: tally.conversations(),
        messages: tally.messages(),
        tokens,
        bytes: file.bytes,
        records: file.records,
        bad: file.bad.count(),
        encoding: plan.counting.counter.encoding().name(),
        model,
        kinds: tally.tokens().rows().into_iter().collect(),
        by: args.by.map(By::word),
        rows: args.by.map(|by| rows(by, tally)),
    }
}

fn rows(by: By, tally: &Tally) -> Vec<Row> {
    let rows = by.rows(tally).into_iter();
    rows.map(|(key, share)| Row {
        key,
        count: share.count,
        tokens: share.tokens,
    })
    .collect()
}

fn push(out: &mut String, counts: &Counts<'_>) {
    out.push_str(&serde_json::to_string(counts).expect("keys are strings, numbers are finite"));
    out.push('\n');
}
