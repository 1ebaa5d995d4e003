//! The counts as JSON. JSON keys may be added but never removed.

use std::collections::BTreeMap;

use ctx_cli::{json_line, json_name, json_object};
use ctx_engine::count::Counts;
use serde::Serialize;

use super::tables::sent;
use super::{Args, File, total};
use crate::args::Counting;

/// Returns a JSON object for each file, and then one for the total of several files.
pub(super) fn of(args: &Args, counting: &Counting, files: &[File]) -> String {
    let of_file = |file: &File| {
        let name = json_name(&file.name);
        object(args, counting, &file.counts, json_object! { r#type: "file", name }, true)
    };
    let lines: String = files.iter().map(of_file).collect();
    if files.len() == 1 {
        return lines;
    }
    let head = json_object! { r#type: "total", name: None::<&str>, files: files.len() };
    lines + &object(args, counting, &total(files), head, false)
}

/// Returns the object that begins with the members of `head`. `is_file` is true for the counts of
/// one file.
fn object(
    args: &Args,
    counting: &Counting,
    counts: &Counts,
    head: impl Serialize,
    is_file: bool,
) -> String {
    let tokens = counts.tally.tokens.total();
    let model = counting.model;
    let of_window = |window: u64| {
        // The total has no share of the window, because each file is sent separately.
        let share = is_file.then(|| sent(counts).0 as f64 / window as f64);
        let name = |prefix| args.counting.models.name().unwrap_or(prefix);
        json_object! {
            /// The name of the model as the user gave it, unless only a window is known.
            #[serde(flatten)]
            model: model.map(|it| json_object! { model: name(it.prefix) }),
            window,
            #[serde(flatten)]
            share: share.map(|share| json_object! { share }),
            /// Whether the tokens were counted in the model's own encoding.
            #[serde(flatten)]
            exact: model.map(|_| json_object! { exact: counting.is_exact() }),
        }
    };
    json_line(&json_object! {
        #[serde(flatten)]
        head,
        conversations: counts.tally.conversations,
        messages: counts.tally.messages,
        tokens,
        bytes: counts.bytes,
        records: counts.records,
        bad_lines: counts.bad.count(),
        encoding: counting.counter.encoding.name(),
        #[serde(flatten)]
        model: args.window.or(model.map(|model| model.window)).map(of_window),
        /// Tokens by kind of content.
        kinds: counts.tally.tokens.rows().into_iter().collect::<BTreeMap<_, _>>(),
        /// The requested breakdown.
        #[serde(flatten)]
        rows: args.by.map(|by| json_object! { by: <&str>::from(by), rows: by.rows(counts) }),
    })
}
