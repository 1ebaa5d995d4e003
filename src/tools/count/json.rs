//! What programs read.

use ctx_cli::{json_line, json_name};
use ctx_passes::count::{Counts, OfModel, Telling};

use super::{Args, File};
use crate::counting::Counting;

/// An object for each file, then one for the total.
pub(super) fn of(args: &Args, counting: &Counting, files: &[File], total: &Counts) -> String {
    let telling = Telling {
        encoding: counting.counter.encoding(),
        model: counting.model.map(|model| OfModel {
            model: args.counting.models.name().unwrap_or(model.prefix),
            window: model.window,
            share: None,
            exact: counting.is_exact(),
        }),
        by: args.by,
    };
    let of_file = |file: &File| json_line(&telling.file(json_name(&file.name), &file.counts));
    let lines: String = files.iter().map(of_file).collect();
    lines + &json_line(&telling.total(files.len(), total))
}
