//! What programs read.

use ctx_cli::{json_line, json_name};
use ctx_passes::count::{Counts, OfModel, Telling};

use super::{Args, File};
use crate::counting::Counting;

/// An object for each file, then one for the total.
pub(super) fn of(args: &Args, counting: &Counting, files: &[File], total: &Counts) -> String {
    let model = counting.model;
    let window = args.window.or(model.map(|model| model.window));
    let name = |prefix| args.counting.models.name().unwrap_or(prefix);
    let telling = Telling {
        encoding: counting.counter.encoding(),
        model: window.map(|window| OfModel {
            model: model.map(|model| name(model.prefix)),
            window,
            share: None,
            exact: model.map(|_| counting.is_exact()),
        }),
        by: args.by,
    };
    let of_file = |file: &File| json_line(&telling.file(json_name(&file.name), &file.counts));
    let lines: String = files.iter().map(of_file).collect();
    lines + &json_line(&telling.total(files.len(), total))
}
