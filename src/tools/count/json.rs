//! What programs read. The keys are a contract: new ones may come, none goes.

use std::collections::BTreeMap;

use ctx_cli::{json_line, json_name};
use ctx_passes::count::{Breakdown, Counts};
use serde::Serialize;

use super::{Args, File};
use crate::counting::Counting;

/// The object of a file, or of the total.
#[derive(Serialize)]
struct Line<'a> {
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
    kinds: BTreeMap<&'static str, u64>,
    /// With `--by`: by what, and the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Row>>,
}

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
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// An object for each file, then one for the total.
pub(super) fn of(args: &Args, counting: &Counting, files: &[File], total: &Counts) -> String {
    let mut lines: Vec<Line<'_>> = files
        .iter()
        .map(|file| Line {
            name: json_name(&file.name),
            ..line("file", &file.counts, args, counting)
        })
        .collect();
    lines.push(Line {
        files: Some(files.len()),
        ..line("total", total, args, counting)
    });
    lines.iter().map(json_line).collect()
}

fn line<'a>(kind: &'static str, counts: &Counts, args: &'a Args, counting: &Counting) -> Line<'a> {
    let tally = &counts.tally;
    let tokens = tally.tokens.total();
    let rows = |by: Breakdown| {
        let rows = by.rows(counts).into_iter();
        let is_of_bytes = by.is_of_bytes();
        let rows = rows.map(|row| Row {
            key: row.key,
            count: row.count,
            tokens: (!is_of_bytes).then_some(row.size),
            bytes: is_of_bytes.then_some(row.size),
        });
        rows.collect()
    };
    Line {
        kind,
        name: None,
        files: None,
        conversations: tally.conversations,
        messages: tally.messages,
        tokens,
        bytes: counts.bytes,
        records: counts.records,
        bad: counts.bad.count(),
        encoding: counting.counter.encoding().name(),
        model: counting.model.map(|model| OfModel {
            model: args.counting.model.as_deref().unwrap_or(model.prefix),
            window: model.window,
            share: (kind == "file").then(|| tokens as f64 / model.window as f64),
            exact: counting.is_exact(),
        }),
        kinds: tally.tokens.rows().into_iter().collect(),
        by: args.by.map(Breakdown::as_str),
        rows: args.by.map(rows),
    }
}
