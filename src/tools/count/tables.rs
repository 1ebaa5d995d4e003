//! Formats the tables, which have headings on a terminal, and the bars showing what fills the
//! window.

use ctx_cli::{Cell, Io, Listing, Paint, Portion, bar, percent, printable};
use ctx_engine::count::{Breakdown, Counts, Slice};
use unicode_width::UnicodeWidthStr;

use super::{Args, File, total};
use crate::args::Counting;

/// Bars are shown for at most this many files. More bars would be hard to compare.
const MOST_BARS: usize = 3;

/// Returns the table of files followed by the bars, or the breakdown table.
pub(super) fn of(
    args: &Args,
    counting: &Counting,
    files: &[File],
    columns: Option<usize>,
    io: &Io,
) -> String {
    let shown = |listing: Listing| match columns {
        Some(_) => listing.painted(columns, io),
        None => listing.narrow(),
    };
    if let Some(by) = args.by {
        return shown(of_breakdown(by, &total(files)));
    }
    let windows: Vec<Window> = files.iter().map(|file| Window::of(args, counting, file)).collect();
    let mut text = shown(table(args, files, &windows));
    if let Some(columns) = columns.filter(|_| !args.text && files.len() <= MOST_BARS) {
        for (file, window) in files.iter().zip(&windows) {
            // The conversations in a batch are sent separately, so they do not share a window.
            if file.counts.tally.conversations == 1 {
                text += &window.use_of(file, args, columns, io);
            }
        }
    }
    text
}

/// Returns the table of files, with a total if there are several. The columns are `messages tokens
/// bytes [share] name`, or `tokens name` for plain text. The share is included if the window is
/// known.
fn table(args: &Args, files: &[File], windows: &[Window]) -> Listing {
    let has_share = windows.iter().any(|window| window.tokens.is_some());
    let numbers = if args.text { ">TOKENS" } else { ">MESSAGES|>TOKENS|>BYTES" };
    let share = if has_share { "|>WINDOW" } else { "" };
    let mut listing = Listing::new(&format!("{numbers}{share}|FILE"));
    let mut push = |counts: &Counts, share: Cell, name: String, colour: Option<Paint>| {
        let tally = &counts.tally;
        let mut row = vec![(tally.tokens.total().to_string(), Some(Paint::Cyan))];
        if !args.text {
            row.insert(0, (tally.messages.to_string(), colour));
            row.push((counts.bytes.to_string(), colour));
        }
        row.extend(has_share.then_some(share));
        row.push((name, colour));
        listing.push_painted(row);
    };
    for (file, window) in files.iter().zip(windows) {
        push(&file.counts, window.share(&file.counts), name(args, file), None);
    }
    if files.len() > 1 {
        // Sessions are sent separately, so the total has no share of a window.
        let none = ("-".to_owned(), None);
        push(&total(files), none, "total".to_owned(), Some(Paint::Bold));
    }
    listing
}

fn name(args: &Args, file: &File) -> String {
    // Without operands, the input is stdin, and no name is shown.
    if args.files.is_empty() { String::new() } else { printable(&file.name) }
}

/// Returns the breakdown table for all files together, with the total.
fn of_breakdown(by: Breakdown, total: &Counts) -> Listing {
    let size = if by.is_of_bytes() { "BYTES" } else { "TOKENS" };
    let what = <&str>::from(by).to_uppercase();
    let mut listing = Listing::new(&format!(">COUNT|>{size}|>SHARE|{what}"));
    let all = by.total(total);
    let mut push = |count: u64, size: u64, what: String, colour: Option<Paint>| {
        listing.push_painted(vec![
            (count.to_string(), colour),
            (size.to_string(), colour.or(Some(Paint::Cyan))),
            (percent(size, all), colour),
            (what, colour),
        ]);
    };
    let rows = by.rows(total);
    for row in &rows {
        push(row.count, row.size(), printable(&row.key), None);
    }
    let count = rows.iter().map(|row| row.count).sum();
    push(count, all, "total".to_owned(), Some(Paint::Bold));
    listing
}

/// The context window of a session.
struct Window {
    /// The size of the window in tokens, or `None` if it is unknown.
    tokens: Option<u64>,
    model: Option<String>,
}

impl Window {
    /// Returns the window that the flags set, or else the window of the named model, or else the
    /// window from the file.
    fn of(args: &Args, counting: &Counting, file: &File) -> Self {
        let of_session = &file.counts.of_session;
        let of_model = counting.model.map(|model| model.window);
        if let Some(window) = args.window.or(of_model) {
            let model = args.counting.models.name().filter(|_| args.window.is_none());
            return Self { tokens: Some(window), model: model.map(printable) };
        }
        let named = of_session.model.as_deref();
        let known = named.and_then(ctx_tokens::model).map(|model| model.window);
        Self { tokens: of_session.window.or(known), model: named.map(printable) }
    }

    fn share(&self, counts: &Counts) -> Cell {
        let (tokens, _) = sent(counts);
        self.tokens.map_or(("-".to_owned(), None), |window| {
            (percent(tokens, window), Some(fullness(tokens, window)))
        })
    }

    /// Returns a headline, a bar and a legend showing what fills the window.
    fn use_of(&self, file: &File, args: &Args, columns: usize, io: &Io) -> String {
        let (tokens, beside) = sent(&file.counts);
        let used = file.counts.slices().into_iter();
        let mut parts: Vec<(Portion, &str)> =
            used.map(|(slice, size)| (portion(slice, size), slice.into())).collect();
        let mut add = |fill, paint, amount, what| {
            let paint = Some(paint);
            parts.push((Portion { fill, paint, amount }, what));
        };
        add(':', Paint::Yellow, beside, "not in the file");
        if let Some(window) = self.tokens {
            add('·', Paint::Dim, window.saturating_sub(tokens), "free");
        }
        parts.retain(|(portion, what)| portion.amount > 0 || *what == "free");
        let portions: Vec<Portion> = parts.iter().map(|(portion, _)| *portion).collect();
        let all = self.tokens.unwrap_or(tokens).max(tokens);
        [
            "\n".to_owned(),
            self.headline(&name(args, file), &file.counts, columns, io),
            bar(&portions, columns, |colour, text| io.paint(colour, text)) + "\n",
            legend(&parts, all, columns, io),
        ]
        .concat()
    }

    fn headline(&self, name: &str, counts: &Counts, columns: usize, io: &Io) -> String {
        let name = if name.is_empty() { "stdin" } else { name };
        let (tokens, beside) = sent(counts);
        let about = if beside > 0 { "about " } else { "" };
        let (what, colour) = match self.tokens {
            Some(window) => (
                format!("{about}{tokens} of {window} tokens, {}", percent(tokens, window)),
                fullness(tokens, window),
            ),
            None => (format!("{about}{tokens} tokens"), Paint::Cyan),
        };
        let model = match (&self.model, self.tokens) {
            (Some(model), Some(_)) => format!(" of {model}"),
            (Some(model), None) => format!("; the window of {model} is not known"),
            (None, None) => "; --model or --window shows the share of the window".to_owned(),
            (None, Some(_)) => String::new(),
        };
        // If the name is too long, it is left out, because it is also in the table.
        let lines = [format!("{name}: {what}{model}"), format!("{name}: {what}"), what];
        let fits = |line: &&String| line.width() <= columns;
        let line = lines.iter().find(fits).unwrap_or(&lines[2]);
        io.paint(colour, line) + "\n"
    }
}

/// Returns the number of tokens in a request, and how many of them are not in the file. Request
/// sizes recorded by an agent include the system prompt and the tools, which are not in the file.
pub(super) fn sent(counts: &Counts) -> (u64, u64) {
    let counted = counts.tally.tokens.total();
    let estimate = counts.of_session.estimate;
    let tokens = estimate.map_or(counted, |estimate| estimate.tokens.max(counted));
    (tokens, tokens - counted)
}

/// Returns a colour that shows how full the window is.
fn fullness(tokens: u64, window: u64) -> Paint {
    match u128::from(tokens) * 100 / u128::from(window.max(1)) {
        0..60 => Paint::Green,
        60..85 => Paint::Yellow,
        _ => Paint::Red,
    }
}

fn portion(slice: Slice, amount: u64) -> Portion {
    // Neighbouring portions look different both with and without colour.
    let (fill, paint) = match slice {
        Slice::System => ('█', Paint::Blue),
        Slice::User => ('▒', Paint::Green),
        Slice::Assistant => ('▓', Paint::Cyan),
        Slice::Reasoning => ('░', Paint::Magenta),
        Slice::Calls => ('=', Paint::Yellow),
        Slice::Results => ('#', Paint::Blue),
        Slice::Media => ('@', Paint::Green),
        Slice::Other => ('?', Paint::Cyan),
        Slice::Overhead => ('+', Paint::Magenta),
    };
    Portion { fill, paint: Some(paint), amount }
}

/// Returns the legend for the bar, in as many columns as fit on the terminal.
fn legend(parts: &[(Portion, &str)], all: u64, columns: usize, io: &Io) -> String {
    let longest = |length: fn(&(Portion, &str)) -> usize| parts.iter().map(length).max();
    let name = longest(|(_, name)| name.len()).unwrap_or(0);
    let number = longest(|(portion, _)| portion.amount.to_string().len()).unwrap_or(0);
    let entries = parts.iter().map(|(portion, what)| {
        let fill = io.paint(portion.paint, &portion.fill.to_string());
        let (amount, share) = (portion.amount, percent(portion.amount, all));
        format!("{fill} {what:<name$}  {amount:>number$}  {share:>6}")
    });
    let entries: Vec<String> = entries.collect();
    // An entry consists of the fill character, a space, the name, the number and the share.
    let width = 2 + name + 2 + number + 2 + 6;
    let across = ((columns + GAP) / (width + GAP)).clamp(1, entries.len().max(1));
    let down = entries.len().div_ceil(across);
    let mut text = String::new();
    for row in 0..down {
        let row: Vec<&str> = entries.iter().skip(row).step_by(down).map(String::as_str).collect();
        text += &(row.join(&" ".repeat(GAP)) + "\n");
    }
    text
}

/// The number of spaces between two columns of the legend.
const GAP: usize = 4;
