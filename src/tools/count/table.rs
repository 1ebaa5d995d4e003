//! What people read.

use ctx_cli::{aligned, percent, printable};
use ctx_passes::count::{Breakdown, Counts};

use super::{Args, File};

/// `messages tokens bytes [share] name`, the share where a window is known, or of plain texts `tokens name`; and the
/// total of several.
pub(super) fn of_files(args: &Args, window: Option<u64>, files: &[File], total: &Counts) -> String {
    let row = |counts: &Counts, share: Option<String>, name: String| {
        let tally = &counts.tally;
        let tokens = tally.tokens.total().to_string();
        if args.text {
            return vec![tokens, name];
        }
        let numbers = [tally.messages.to_string(), tokens, counts.bytes.to_string()];
        numbers.into_iter().chain(share).chain([name]).collect()
    };
    let share = |counts: &Counts| Some(percent(counts.tally.tokens.total(), window?));
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
        let share = window.map(|_| "-".to_owned());
        rows.push(row(total, share, "total".to_owned()));
    }
    aligned(&rows)
}

/// `count size share what`, of all files together, and the total.
pub(super) fn of_breakdown(by: Breakdown, total: &Counts) -> String {
    let all = by.total(total);
    let row = |count: u64, size: u64, what: String| {
        vec![
            count.to_string(),
            size.to_string(),
            percent(size, all),
            what,
        ]
    };
    let rows = by.rows(total);
    let count = rows.iter().map(|row| row.count).sum();
    let rows = rows
        .iter()
        .map(|it| row(it.count, it.size, printable(&it.key)));
    let total = row(count, all, "total".to_owned());
    aligned(&rows.chain([total]).collect::<Vec<_>>())
}
