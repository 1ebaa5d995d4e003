//! The counts as JSON. JSON keys may be added but never removed.

use std::collections::BTreeMap;

use ctx_cli::{json_line, json_name};
use ctx_engine::count::{Breakdown, Counts, Row};
use serde::Serialize;

use super::{Args, File, total};
use crate::args::Counting;

/// The counts for one file, or the total for all files.
#[derive(Serialize)]
struct CountJson<'a> {
    /// `file` for the counts of one file, and `total` for the total.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The name of the file as the user gave it; null for stdin and the total.
    name: Option<&'a str>,
    /// The number of files, given only in the total.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    conversations: u64,
    messages: u64,
    tokens: u64,
    bytes: u64,
    records: u64,
    bad_lines: u64,
    encoding: &'static str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    model: Option<OfModel<'a>>,
    /// Tokens by kind of content.
    kinds: BTreeMap<&'static str, u64>,
    /// The name of the requested breakdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Row>>,
}

/// The model, or only the context window, that the user named.
#[derive(Clone, Copy, Serialize)]
struct OfModel<'a> {
    /// The name of the model as the user gave it, or `None` if only a window is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    window: u64,
    /// The file's tokens as a share of the context window. The total has none, because each file is
    /// sent separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// Whether the tokens were counted in the model's own encoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
}

/// Returns a JSON object for each file, and then one for the total.
pub(super) fn of(args: &Args, counting: &Counting, files: &[File]) -> String {
    let model = counting.model;
    let window = args.window.or(model.map(|model| model.window));
    let name = |prefix| args.counting.models.name().unwrap_or(prefix);
    let of_model = |window| OfModel {
        model: model.map(|model| name(model.prefix)),
        window,
        share: None,
        exact: model.map(|_| counting.is_exact()),
    };
    let model = window.map(of_model);
    let json = |kind, counts: &Counts| CountJson {
        kind,
        name: None,
        files: None,
        conversations: counts.tally.conversations,
        messages: counts.tally.messages,
        tokens: counts.tally.tokens.total(),
        bytes: counts.bytes,
        records: counts.records,
        bad_lines: counts.bad.count(),
        encoding: counting.counter.encoding.name(),
        model,
        kinds: counts.tally.tokens.rows().into_iter().collect(),
        by: args.by.map(Breakdown::into),
        rows: args.by.map(|by| by.rows(counts)),
    };
    let of_file = |file: &File| {
        let json = json("file", &file.counts);
        let share = |window: u64| Some(json.tokens as f64 / window as f64);
        let model = model.map(|it| OfModel { share: share(it.window), ..it });
        json_line(&CountJson { name: json_name(&file.name), model, ..json })
    };
    let lines: String = files.iter().map(of_file).collect();
    lines + &json_line(&CountJson { files: Some(files.len()), ..json("total", &total(files)) })
}
