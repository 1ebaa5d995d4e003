//! Lines of a terminal as a picture.

use std::fmt::Write;

use super::{Run, Style};

/// Colours on a background: those of the text, faint text, and the 16 of a terminal.
pub(super) struct Theme {
    background: &'static str,
    border: &'static str,
    text: &'static str,
    faint: &'static str,
    colours: [&'static str; 16],
}

/// Each colour has a contrast of 4.5 and more on the background (WCAG 2.2, 1.4.3).
pub(super) const LIGHT: Theme = Theme {
    background: "#ffffff",
    border: "#d0d7de",
    text: "#1f2328",
    faint: "#59636e",
    colours: [
        "#24292f", "#b31d28", "#116329", "#7d4e00", "#0550ae", "#6f2dbd", "#0b6070", "#57606a",
        "#57606a", "#a40e26", "#1a7f37", "#633c01", "#0969da", "#8250df", "#1b7c83", "#424a53",
    ],
};

/// The same on a dark one.
pub(super) const DARK: Theme = Theme {
    background: "#0d1117",
    border: "#30363d",
    text: "#e6edf3",
    faint: "#9198a1",
    colours: [
        "#8b949e", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4",
        "#8b949e", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
    ],
};

/// In user units: a character of the font is 0.6 of its size wide.
const SIZE: f64 = 14.0;
const COLUMN: f64 = 8.4;
const ROW: f64 = 20.0;
const MARGIN: f64 = 20.0;

/// Draws `lines`, on as many columns as the longest takes.
pub(super) fn draw(lines: &[Vec<Run>], theme: &Theme) -> String {
    let columns = lines.iter().map(|runs| runs.iter().map(columns).sum::<usize>());
    let columns = columns.max().unwrap_or(0);
    let width = COLUMN * columns as f64 + 2.0 * MARGIN;
    let height = ROW * lines.len() as f64 + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.0}\" role=\"img\" aria-label=\"ctx-tools in a terminal\">\n\
         <style>text {{ font: {SIZE}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }}</style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{:.1}\" height=\"{:.1}\" rx=\"8\" fill=\"{}\" stroke=\"{}\"/>\n",
        width - 1.0,
        height - 1.0,
        theme.background,
        theme.border,
    );
    for (row, runs) in lines.iter().enumerate() {
        let y = MARGIN + ROW * (row as f64 + 0.75);
        let mut column = 0;
        for run in runs {
            let x = MARGIN + COLUMN * column as f64;
            text(&mut out, run, x, y, theme);
            column += columns_of(&run.text);
        }
    }
    out + "</svg>\n"
}

/// One run, at its place whatever font there is.
fn text(out: &mut String, run: &Run, x: f64, y: f64, theme: &Theme) {
    if run.text.trim().is_empty() {
        return;
    }
    let fill = colour(run.style, theme);
    let weight = if run.style.is_bold { " font-weight=\"bold\"" } else { "" };
    let length = COLUMN * columns(run) as f64;
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{fill}\"{weight} textLength=\"{length:.1}\" xml:space=\"preserve\">{}</text>",
        escaped(&run.text),
    );
}

fn colour(style: Style, theme: &Theme) -> &'static str {
    match style.colour {
        Some(colour) => theme.colours[usize::from(colour)],
        None if style.is_faint => theme.faint,
        None => theme.text,
    }
}

fn columns(run: &Run) -> usize {
    columns_of(&run.text)
}

fn columns_of(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{DARK, LIGHT, Theme, draw};
    use crate::picture::screen;

    /// Relative luminance, as WCAG 2.2 defines it.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let byte = u8::from_str_radix(&colour[at..at + 2], 16).expect("hex");
            let value = f64::from(byte) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn every_colour_can_be_read() {
        for Theme { background, text, faint, colours, .. } in [LIGHT, DARK] {
            for colour in colours.into_iter().chain([text, faint]) {
                let contrast = contrast(colour, background);
                assert!(contrast >= 4.5, "{colour} on {background}: {contrast}");
            }
        }
    }

    #[test]
    fn text_stands_at_its_column_and_is_escaped() {
        let drawn = draw(&screen("ab\u{1b}[31m<&>\u{1b}[0m  x"), &LIGHT);
        assert!(drawn.contains(">&lt;&amp;&gt;</text>"), "{drawn}");
        assert!(drawn.contains("x=\"36.8\""), "{drawn}");
        assert!(drawn.contains("fill=\"#b31d28\""), "{drawn}");
    }
}
