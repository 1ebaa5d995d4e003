//! What a terminal shows of bytes that were written to it: text and colours. Only what our tools
//! write is understood: lines, and the sequences for colour and weight.

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    /// One of the 16 colours of a terminal; the default colour if `None`.
    pub(super) colour: Option<u8>,
    pub(super) is_bold: bool,
    pub(super) is_faint: bool,
}

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) text: String,
    pub(super) style: Style,
}

/// The lines, each of them in runs.
pub(super) fn lines(text: &str) -> Vec<Vec<Run>> {
    let mut style = Style::default();
    let lines = text.lines();
    lines.map(|line| runs(line.trim_end_matches('\r'), &mut style)).collect()
}

fn runs(line: &str, style: &mut Style) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut parts = line.split("\u{1b}[");
    push(&mut runs, parts.next().unwrap_or_default(), *style);
    for part in parts {
        let Some((codes, text)) = part.split_once('m') else {
            continue;
        };
        for code in codes.split(';') {
            *style = changed(*style, code);
        }
        push(&mut runs, text, *style);
    }
    runs
}

fn push(runs: &mut Vec<Run>, text: &str, style: Style) {
    if !text.is_empty() {
        runs.push(Run { text: text.to_owned(), style });
    }
}

/// ECMA-48, select graphic rendition.
fn changed(style: Style, code: &str) -> Style {
    match code.parse().unwrap_or(0_u8) {
        0 => Style::default(),
        1 => Style { is_bold: true, ..style },
        2 => Style { is_faint: true, ..style },
        22 => Style { is_bold: false, is_faint: false, ..style },
        code @ 30..=37 => Style { colour: Some(code - 30), ..style },
        code @ 90..=97 => Style { colour: Some(code - 82), ..style },
        39 => Style { colour: None, ..style },
        _ => style,
    }
}

#[cfg(test)]
mod tests {
    use super::{Run, Style, lines};

    fn run(text: &str, colour: Option<u8>, is_bold: bool) -> Run {
        let style = Style { colour, is_bold, is_faint: false };
        Run { text: text.to_owned(), style }
    }

    #[test]
    fn colours_hold_until_they_are_reset() {
        let shown = lines("a \u{1b}[1;32mb\u{1b}[22mc\r\nd\u{1b}[0me\u{1b}[91mf");
        assert_eq!(
            shown,
            [
                vec![run("a ", None, false), run("b", Some(2), true), run("c", Some(2), false)],
                vec![run("d", Some(2), false), run("e", None, false), run("f", Some(9), false)],
            ]
        );
    }
}
