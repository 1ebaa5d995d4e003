//! Computes the chart of the context: the stacked kinds of content, the points where the context
//! was reduced, and the window. Drawing the chart here lets the page show it without a script. The
//! page's script only lets the user select points.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use ctx_cli::short_count;
use ctx_metrics::profile::{ContentKind, Cut, Mark, Point, Profile, TokensByKind};
use minijinja::{Value, context};

/// The width of the chart in its own units. The chart contains no text, because it is stretched to
/// fit the page.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;

/// The maximum number of rows of mark names above the chart.
const ROWS: i32 = 3;

/// Returns the chart of a session, or `None` if the session has no messages.
pub(super) fn chart(profile: &Profile, window: u64) -> Option<Value> {
    let (first, last) = (profile.points.first()?, profile.points.last()?);
    let chart = Chart { points: &profile.points, first: first.at, last: last.at };
    let scale = chart.scale(window);
    let corners = chart.corners();
    let kinds = chart.kinds();
    let band = |kind: &ContentKind| {
        let (word, path) = (<&str>::from(kind), band(&corners, *kind, scale));
        context! { word, path }
    };
    let point = |point: &Point| {
        let tokens: Vec<u64> = kinds.iter().map(|kind| point.kinds.of(*kind)).collect();
        context! {
            at => point.at,
            line => point.line,
            time => point.time.map(time),
            all => point.kinds.total(),
            kinds => tokens,
            recorded => point.recorded,
            anew => point.anew,
        }
    };
    let line = |step| {
        let tokens = step * scale.step;
        context! { y => scale.y(tokens), label => short_count(tokens) }
    };
    let is_shown = window > 0 && window <= scale.top();
    let window = is_shown.then(|| context! { y => scale.y(window), label => short_count(window) });
    let (marks, rows) = chart.marks(&profile.marks);
    Some(context! {
        first => first.at,
        last => last.at,
        now => last.kinds.total(),
        top => scale.top(),
        lines => (0..=scale.steps).map(line).collect::<Vec<_>>(),
        kinds => kinds.iter().map(band).collect::<Vec<_>>(),
        recorded => chart.recorded(scale),
        window,
        marks,
        rows,
        points => profile.points.iter().map(point).collect::<Vec<_>>(),
    })
}

fn time(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// The points of the curve, and the numbers of the first and the last record.
struct Chart<'a> {
    points: &'a [Point],
    first: u64,
    last: u64,
}

impl Chart<'_> {
    fn scale(&self, window: u64) -> Scale {
        let totals = self.points.iter().map(|point| point.kinds.total());
        let recorded = self.points.iter().filter_map(|point| point.recorded);
        let most = totals.chain(recorded).max().unwrap_or_default();
        // If the curve is far below the window, the window is left out, because it would make the
        // curve too flat to see.
        let shows_window = window <= most.saturating_mul(4);
        Scale::up_to(if shows_window { most.max(window) } else { most })
    }

    /// Returns the horizontal position, from 0 to 1, of record number `at`.
    fn place(&self, at: u64) -> f64 {
        let length = self.last - self.first;
        if length == 0 { 0.0 } else { at.saturating_sub(self.first) as f64 / length as f64 }
    }

    /// Returns the corners of the curve. Where the context starts over, the curve drops vertically.
    fn corners(&self) -> Vec<(f64, TokensByKind)> {
        let mut corners: Vec<(f64, TokensByKind)> = Vec::with_capacity(self.points.len() + 8);
        for point in self.points {
            let x = self.place(point.at) * WIDTH;
            if let Some((_, before)) = corners.last().copied().filter(|_| point.anew) {
                corners.push((x, before));
            }
            corners.push((x, point.kinds));
        }
        if let [(_, only)] = corners[..] {
            corners.push((WIDTH, only));
        }
        corners
    }

    /// Returns the kinds of content that have tokens at any point.
    fn kinds(&self) -> Vec<ContentKind> {
        let mut kinds = ContentKind::ALL.to_vec();
        kinds.retain(|kind| self.points.iter().any(|point| point.kinds.of(*kind) > 0));
        kinds
    }

    /// Returns the path of a line through the API's token counts, with a gap where the context
    /// starts over. The path is empty if the agent recorded no counts.
    fn recorded(&self, scale: Scale) -> String {
        let (mut path, mut letter) = (String::new(), 'M');
        for point in self.points {
            if point.anew {
                letter = 'M';
            }
            if let Some(tokens) = point.recorded {
                let (x, y) = (self.place(point.at) * WIDTH, scale.y(tokens));
                let _ = write!(path, "{letter}{x:.1} {y:.1}");
                letter = 'L';
            }
        }
        path
    }

    /// Returns the marks, with their positions as percentages of the width, and the number of rows
    /// that their names need.
    fn marks(&self, marks: &[Mark]) -> (Vec<Value>, i32) {
        let (mut rows, mut row, mut before) = (0, 0, -100.0);
        let marks = named(marks).map(|(name, mark)| {
            let x = self.place(mark.at) * 100.0;
            // The names of marks that are close to each other are in different rows.
            row = if x - before < 8.0 { (row + 1) % ROWS } else { 0 };
            before = x;
            rows = rows.max(row + 1);
            context! {
                name,
                cut => <&str>::from(mark.cut),
                tool => &mark.tool,
                line => mark.line,
                time => mark.time.map(time),
                before => mark.before,
                after => mark.after,
                x,
                y => -7 - 13 * row,
            }
        });
        let marks = marks.collect();
        (marks, rows)
    }
}

/// Returns the marks with short names, such as C1 for the first compaction.
fn named(marks: &[Mark]) -> impl Iterator<Item = (String, &Mark)> {
    let mut counts = [0_u32; 3];
    marks.iter().map(move |mark| {
        let (letter, count) = match mark.cut {
            Cut::Compaction => ('C', &mut counts[0]),
            Cut::Rollback => ('R', &mut counts[1]),
            Cut::Replacement => ('O', &mut counts[2]),
        };
        *count += 1;
        (format!("{letter}{count}"), mark)
    })
}

/// Returns the path around the band for a kind of content: along its upper edge from left to right,
/// and back along its lower edge.
fn band(corners: &[(f64, TokensByKind)], kind: ContentKind, scale: Scale) -> String {
    let below = |kinds: &TokensByKind| -> u64 {
        let kinds = kinds.rows().take_while(|(other, _)| *other != kind);
        kinds.map(|(_, tokens)| tokens).sum()
    };
    let mut path = String::new();
    for (number, (x, kinds)) in corners.iter().enumerate() {
        let y = scale.y(below(kinds) + kinds.of(kind));
        let letter = if number == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{x:.1} {y:.1}");
    }
    for (x, kinds) in corners.iter().rev() {
        let _ = write!(path, "L{x:.1} {:.1}", scale.y(below(kinds)));
    }
    path.push('Z');
    path
}

/// The maximum number of tokens on a scale.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// A vertical scale that begins at zero and has round steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    /// The number of tokens between two grid lines.
    step: u64,
    /// The number of steps.
    steps: u64,
}

impl Scale {
    /// Returns a scale that covers `most` tokens in at most five round steps. Impossibly large
    /// sizes, which a file may claim, are capped at [`MOST_TOKENS`].
    fn up_to(most: u64) -> Self {
        let most = most.min(MOST_TOKENS);
        let mut unit = 1;
        loop {
            for step in [unit, 2 * unit, 5 * unit] {
                let steps = most.div_ceil(step).max(1);
                if steps <= 5 {
                    return Self { step, steps };
                }
            }
            unit *= 10;
        }
    }

    /// Returns the number of tokens at the top of the scale.
    fn top(self) -> u64 {
        self.step * self.steps
    }

    /// Returns the vertical position of a number of tokens.
    fn y(self, tokens: u64) -> f64 {
        let share = tokens as f64 / self.top() as f64;
        HEIGHT - share.min(1.0) * HEIGHT
    }
}

#[cfg(test)]
mod tests {
    use ctx_metrics::profile::{Cut, Mark};

    use super::{Scale, named};

    /// The name of each mark consists of a letter for the kind and a number.
    #[test]
    fn marks_have_short_names() {
        let mark =
            |cut| Mark { cut, tool: None, at: 1, line: None, time: None, before: None, after: 0 };
        let cuts = [Cut::Compaction, Cut::Rollback, Cut::Compaction, Cut::Replacement];
        let marks = cuts.map(mark);
        let names: Vec<String> = named(&marks).map(|(name, _)| name).collect();
        assert_eq!(names, ["C1", "R1", "C2", "O1"]);
    }

    /// The scale has round steps, includes all values, and is at most twice as high as needed.
    #[test]
    fn the_scale_has_round_steps() {
        for (most, step, steps) in [
            (0, 1, 1),
            (4, 1, 4),
            (7, 2, 4),
            (11, 5, 3),
            (30_282, 10_000, 4),
            (128_000, 50_000, 3),
            (200_000, 50_000, 4),
        ] {
            assert_eq!(Scale::up_to(most), Scale { step, steps }, "{most}");
        }
        assert_eq!(Scale::up_to(u64::MAX).top(), super::MOST_TOKENS);
        for most in 1..2_000 {
            let top = Scale::up_to(most).top();
            assert!(top >= most && top <= most * 2, "{most}");
        }
    }
}
