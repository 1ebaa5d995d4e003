//! Lines: how they end, and what stands before them where they are shown.

use super::run;

/// Length of the line end that a text begins with, also of one in quoted text.
pub(super) fn line_end(bytes: &[u8]) -> Option<usize> {
    let ends: [&[u8]; 4] = [b"\n", b"\r\n", b"\\n", b"\\r\\n"];
    let end = ends.iter().find(|end| bytes.starts_with(end));
    end.map(|end| end.len())
}

/// Length of what stands before a line where lines are shown: the sign of a diff, a number
/// and an arrow or a tab.
pub(super) fn margin(line: &[u8]) -> usize {
    let blanks = run(line, |b| b == b' ');
    let digits = run(&line[blanks..], |b| b.is_ascii_digit());
    let rest = &line[blanks + digits..];
    let mark = ["→", "\t"]
        .into_iter()
        .find(|mark| rest.starts_with(mark.as_bytes()));
    match mark {
        Some(mark) if digits > 0 => blanks + digits + mark.len(),
        _ => usize::from(matches!(line.first(), Some(b'+' | b'-'))),
    }
}

#[cfg(test)]
mod tests {
    use super::{line_end, margin};

    #[test]
    fn lines_end_and_begin_in_several_ways() {
        for (text, length) in [("\n", 1), ("\r\n", 2), ("\\n", 2), ("\\r\\n", 4)] {
            assert_eq!(line_end(text.as_bytes()), Some(length), "{text:?}");
        }
        assert_eq!(line_end(b"\\t"), None);
        for (text, length) in [
            ("+a", 1),
            ("-a", 1),
            ("  12→a", 7),
            ("3\ta", 2),
            ("  a", 0),
            ("12", 0),
        ] {
            assert_eq!(margin(text.as_bytes()), length, "{text:?}");
        }
    }
}
