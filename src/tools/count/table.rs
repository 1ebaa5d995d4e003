//! What people read.

use ctx_cli::{aligned, percent, printable};
use ctx_passes::count::{Breakdown, Counts};
use ctx_tokens::Model;

use super::{Args, File};

/// `messages tokens bytes [share] name`, or of plain texts `tokens name`; and the
/// total of several.
pub(super) fn of_files(
    args: &Args,
    model: Option<&Model>,
    files: &[File],
    total: &Counts,
) -> String {
    let row = |counts: &Counts, share: Option<String>, name: String| {
        let tally = &counts.tally;
        let tokens = tally.tokens.total().to_string();
        if args.text {
            return vec![tokens, name];
        }
        let numbers = [tally.messages.to_string(), tokens, counts.bytes.to_string()];
        numbers.into_iter().chain(share).chain([name]).collect()
    };
    let share = |counts: &Counts| Some(percent(counts.tally.tokens.total(), model?.window));
    let name = |file: &File| {
        // Stdin that nobody named has no name.
        if args.files.is_empty() {
            String::new()
        } else {
            printable(&file.name)
        }
    };
    let mut rows: Vec<Vec<String>> = files
        .iter()
        .map(|file| row(&file.counts, share(&file.counts), name(file)))
        .collect();
    if files.len() > 1 {
        // Sessions are sent one by one: together they fill no window.
        let share = model.map(|_| "-".to_owned());
        rows.push(row(total, share, "total".to_owned()));
    }
    aligned(&rows)
}

/// `count tokens share what`, of all files together, and the total.
pub(super) fn of_breakdown(by: Breakdown, total: &Counts) -> String {
    let all = total.tally.tokens.total();
    let row = |count: u64, tokens: u64, what: String| {
        vec![
            count.to_string(),
            tokens.to_string(),
            percent(tokens, all),
            what,
        ]
    };
    let shares = by.rows(&total.tally);
    let count = shares.iter().map(|(_, share)| share.count).sum();
    let rows = shares
        .iter()
        .map(|(what, share)| row(share.count, share.tokens, printable(what)));
    let total = row(count, all, "total".to_owned());
    aligned(&rows.chain([total]).collect::<Vec<_>>())
}
