//! `--diff A B --raw`: which lines two sessions do not share.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Seek};
use std::ops::Range;

use ctx_cli::{ExitStatus, Failure, Io, Outcome, Paint, printable};
use ctx_store::diff::{Diff, Hunk};

/// Prints the lines of A that B lacks as `-`, and those that B has instead as
/// `+`, in the hunks of a unified diff without context.
pub(super) fn diff(old: File, new: File, io: &mut Io) -> Outcome {
    let read = Diff::of_files(old, new);
    let mut diff = read.map_err(|error| Failure::new(format_args!("cannot read: {error}")))?;
    let hunks = std::mem::take(&mut diff.hunks);
    for hunk in &hunks {
        show(&mut diff, hunk, io).map_err(|error| Failure::stdout(&error))?;
    }
    Ok(if hunks.is_empty() {
        ExitStatus::Done
    } else {
        ExitStatus::No
    })
}

/// Whether they differ in any byte, once they have been read.
pub(super) fn differ(mut old: File, mut new: File) -> io::Result<bool> {
    old.rewind()?;
    new.rewind()?;
    Ok(!Diff::of_files(old, new)?.hunks.is_empty())
}

fn show(diff: &mut Diff, Hunk { old, new }: &Hunk, io: &mut Io) -> io::Result<()> {
    // A range of no lines stands after the line before it, as in diff(1).
    let start = |range: &Range<usize>| range.start + usize::from(!range.is_empty());
    let (from, to) = (start(old), start(new));
    writeln!(io.out(), "@@ -{from},{} +{to},{} @@", old.len(), new.len())?;
    for (lines, range, sign, paint) in [
        (&mut diff.old, old, '-', Paint::Red),
        (&mut diff.new, new, '+', Paint::Green),
    ] {
        for line in range.clone() {
            let text = lines.read(line)?;
            let line = io.paint(paint, &format!("{sign}{}", shown(&text)));
            writeln!(io.out(), "{line}")?;
        }
    }
    Ok(())
}

/// A line without its end; what could drive a terminal is escaped.
fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut shown = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        let cells: Vec<String> = chunk.valid().split('\t').map(printable).collect();
        shown.push_str(&cells.join("\t"));
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_line_cannot_drive_the_terminal() {
        assert_eq!(
            shown(b"a\x1b]0;x\x07\xff\tb\n"),
            "a\\u{1b}]0;x\\u{7}\\xff\tb"
        );
    }
}
