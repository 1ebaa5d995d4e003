//! The chart of the context: kinds stacked over each other, cuts, the window; with its legend, its
//! readout and all its figures. Drawn here, so that it is there without a script; a script walks its
//! points.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use ctx_cli::short_count;
use ctx_metrics::profile::{ContentKind, Cut, Mark, Point, TokensByKind};

use super::label;
use super::subject::Subject;
use super::tables::{Table, number as grouped, text, tokens};

/// The units of the drawing. It is stretched to the room that there is, and so has no text.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 300.0;

/// Names of marks are in this many rows above the drawing.
const ROWS: i32 = 3;

/// The content of the chart.
struct Chart<'a> {
    points: &'a [Point],
    marks: &'a [Mark],
    window: u64,
}

impl Chart<'_> {
    fn scale(&self) -> Scale {
        let totals = self.points.iter().map(|point| point.kinds.total());
        let recorded = self.points.iter().filter_map(|point| point.recorded);
        let most = totals.chain(recorded).max().unwrap_or_default();
        // Far below the window there would be nothing but the window to see.
        let shows_window = self.window <= most.saturating_mul(4);
        Scale::up_to(if shows_window { most.max(self.window) } else { most })
    }

    /// The horizontal position of the record `at`, from 0 to 1.
    fn place(&self, at: u64) -> f64 {
        let ends = |point: Option<&Point>| point.map_or(1, |point| point.at);
        let (first, last) = (ends(self.points.first()), ends(self.points.last()));
        if last == first {
            return 0.0;
        }
        at.saturating_sub(first) as f64 / (last - first) as f64
    }

    /// The corners of the curve: at a cut it falls, and does not slope.
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

    /// The kinds that there are anything of.
    fn kinds(&self) -> Vec<ContentKind> {
        let mut kinds = ContentKind::ALL.to_vec();
        kinds.retain(|kind| self.points.iter().any(|point| point.kinds.of(*kind) > 0));
        kinds
    }

    /// The figure; `number` is that of the session in the page.
    fn figure(&self, number: usize, described: &str) -> String {
        let scale = self.scale();
        let corners = self.corners();
        let bands = self.kinds().into_iter().map(|kind| {
            let (word, path) = (kind.as_str(), band(&corners, kind, scale));
            format!(
                "<path class=\"band\" data-kind=\"{word}\" fill=\"url(#fill-{word})\" d=\"{path}\"/>"
            )
        });
        let bands: String = bands.collect();
        let labels = (0..=scale.steps).rev().map(|step| short_count(step * scale.step));
        let labels = labels.collect::<Vec<_>>().join("</span><span>");
        let window = self.window_line(scale);
        let (marks, rows) = self.mark_lines();
        let recorded = self.recorded(scale);
        let lines = (0..=scale.steps).map(|step| {
            let y = scale.y(step * scale.step);
            format!("<path class=\"grid\" d=\"M0 {y:.1}H{WIDTH}\"/>")
        });
        let lines: String = lines.collect();
        let top = scale.top();
        format!(
            "<div class=\"chart rows{rows}\"><div class=\"ticks\" aria-hidden=\"true\"><span>{labels}</span></div>\
             <div class=\"plot\" id=\"s{number}-plot\" role=\"img\" aria-labelledby=\"s{number}-curve-title s{number}-curve-desc\" data-top=\"{top}\">\
             <svg width=\"100%\" height=\"{HEIGHT}\">\
             <title id=\"s{number}-curve-title\">Tokens of the context over the session, by kind</title>\
             <desc id=\"s{number}-curve-desc\">{described}</desc>\
             <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"100%\" height=\"{HEIGHT}\" preserveAspectRatio=\"none\">{lines}{bands}{recorded}</svg>\
             {window}{marks}\
             <line class=\"cursor\" x1=\"0\" x2=\"0\" y1=\"0\" y2=\"100%\" visibility=\"hidden\"/>\
             </svg></div></div>",
        )
    }

    fn window_line(&self, scale: Scale) -> String {
        if self.window == 0 || self.window > scale.top() {
            return String::new();
        }
        let y = scale.y(self.window);
        // The label is above the line if it fits, else below it.
        let text = if y > 20.0 { y - 5.0 } else { y + 14.0 };
        format!(
            "<line class=\"window\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"label\" x=\"4\" y=\"{text:.1}\">the window: {}</text>",
            short_count(self.window)
        )
    }

    /// Whether the agent recorded any usage.
    fn has_recorded(&self) -> bool {
        self.points.iter().any(|point| point.recorded.is_some())
    }

    /// The API's counts as a line that each cut interrupts.
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
        if path.is_empty() {
            return path;
        }
        format!("<path class=\"recorded\" d=\"{path}\"/>")
    }

    /// The marks, and how many rows their names take.
    fn mark_lines(&self) -> (String, i32) {
        let (mut lines, mut rows) = (String::new(), 0);
        let (mut row, mut last) = (0, -100.0);
        for (name, mark) in named(self.marks) {
            let x = self.place(mark.at) * 100.0;
            let cut = mark.cut.as_str();
            // Neighbours are above each other.
            row = if x - last < 8.0 { (row + 1) % ROWS } else { 0 };
            last = x;
            rows = rows.max(row + 1);
            let _ = write!(
                lines,
                "<line class=\"mark {cut}\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"-4\" y2=\"100%\"/>\
                 <text class=\"label\" x=\"{x:.2}%\" y=\"{y}\" text-anchor=\"middle\">{name}</text>",
                y = -7 - 13 * row,
            );
        }
        (lines, rows)
    }
}

/// The marks with short names: C1 is the first compaction.
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

/// The outline of a kind: its upper edge, then its lower one back.
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

/// The end of the largest scale.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// Round steps from nothing up to its upper end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    /// The tokens between two lines.
    step: u64,
    /// The number of steps.
    steps: u64,
}

impl Scale {
    /// At most five steps up to `most`, each a round number. It does not cover impossible sizes
    /// that a file may claim.
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

    /// The tokens at its upper end.
    fn top(self) -> u64 {
        self.step * self.steps
    }

    /// The vertical position of a number of tokens.
    fn y(self, tokens: u64) -> f64 {
        let share = tokens as f64 / self.top() as f64;
        HEIGHT - share.min(1.0) * HEIGHT
    }
}

/// The part of the page for session `number`; empty if it has no message.
pub(super) fn curve(number: usize, subject: &Subject) -> String {
    let profile = &subject.profile;
    let Some(last) = profile.points.last() else {
        return String::new();
    };
    let chart =
        Chart { points: &profile.points, marks: &profile.marks, window: subject.status.window() };
    let described = format!(
        "{} now; {}. All figures are in the table below it.",
        tokens(last.kinds.total()),
        match profile.marks.len() {
            0 => "no compaction or rollback".to_owned(),
            1 => "one compaction or rollback".to_owned(),
            times => format!("{times} compactions and rollbacks"),
        }
    );
    let buttons: String = chart.kinds().into_iter().map(button).collect();
    let recorded = if chart.has_recorded() {
        format!(
            "<span class=\"key\"><svg width=\"24\" height=\"16\" aria-hidden=\"true\"><path class=\"recorded\" d=\"M0 8H24\"/></svg>{RECORDED}</span>"
        )
    } else {
        String::new()
    };
    format!(
        "<h3>The context over the session</h3>\n\
         <div class=\"legend\" role=\"group\" aria-label=\"Kinds: show or hide\">{buttons}{recorded}</div>\n\
         {figure}\
         <div class=\"axis\" aria-hidden=\"true\"><span>record {first}</span><span>record {last}</span></div>\n\
         <p class=\"readout\" id=\"s{number}-readout\" role=\"status\" aria-live=\"polite\"></p>\n\
         {marks}{figures}",
        figure = chart.figure(number, &described),
        first = grouped(profile.points.first().map_or(1, |point| point.at)),
        last = grouped(last.at),
        marks = marks(&profile.marks),
        figures = figures(number, subject, &chart),
    )
}

fn button(kind: ContentKind) -> String {
    let word = kind.as_str();
    format!(
        "<button type=\"button\" class=\"kind\" data-kind=\"{word}\" aria-pressed=\"true\" disabled>\
         <svg width=\"16\" height=\"16\" aria-hidden=\"true\"><rect width=\"16\" height=\"16\" fill=\"url(#fill-{word})\"/></svg>{}</button>",
        label(kind)
    )
}

fn marks(marks: &[Mark]) -> String {
    let heading = "Mark|What|By|>Line|Time (UTC)|>Before|>After";
    let mut table = Table::new("Compactions and rollbacks", heading);
    let known = |value: Option<u64>| value.map_or_else(|| "not known".to_owned(), grouped);
    for (name, mark) in named(marks) {
        table.push(&[
            name,
            mark.cut.as_str().to_owned(),
            match (&mark.tool, mark.before) {
                (Some(tool), _) => text(tool),
                (None, Some(_)) => "the agent".to_owned(),
                (None, None) => "not known".to_owned(),
            },
            mark.line.map_or_else(String::new, grouped),
            mark.time.map_or_else(String::new, time),
            known(mark.before),
            grouped(mark.after),
        ]);
    }
    table.unless_empty("", "")
}

fn time(time: DateTime<Utc>) -> String {
    time.format("<time>%Y-%m-%d %H:%M:%S</time>").to_string()
}

/// The label of the line of recorded usage.
const RECORDED: &str = "as the API counted";

/// The points of the chart, which the script reads, too.
fn figures(number: usize, subject: &Subject, chart: &Chart<'_>) -> String {
    let (kinds, has_recorded) = (chart.kinds(), chart.has_recorded());
    let mut heading = ">Record|>Line|Time (UTC)|>All".to_owned();
    let labels = kinds.iter().map(|kind| label(*kind));
    for name in labels.chain(has_recorded.then_some(RECORDED)) {
        heading += "|>";
        heading += name;
    }
    let mut table = Table::new("The figures of the chart", &heading);
    for point in &subject.profile.points {
        let mut cells = vec![
            grouped(point.at),
            grouped(point.line),
            point.time.map_or_else(String::new, time),
            grouped(point.kinds.total()),
        ];
        cells.extend(kinds.iter().map(|kind| grouped(point.kinds.of(*kind))));
        let recorded = || point.recorded.map_or_else(String::new, grouped);
        cells.extend(has_recorded.then(recorded));
        let anew = if point.anew { " data-anew" } else { "" };
        table.push_with(anew, &cells);
    }
    format!(
        "<details id=\"s{number}-figures\"><summary>The figures of the chart</summary>\n{}</details>\n",
        table.html("points")
    )
}

#[cfg(test)]
mod tests {
    use ctx_metrics::profile::{Cut, Mark};

    use super::{Scale, named};

    /// Each mark has a name that says what it is, and a number.
    #[test]
    fn marks_have_short_names() {
        let mark =
            |cut| Mark { cut, tool: None, at: 1, line: None, time: None, before: None, after: 0 };
        let cuts = [Cut::Compaction, Cut::Rollback, Cut::Compaction, Cut::Replacement];
        let marks = cuts.map(mark);
        let names: Vec<String> = named(&marks).map(|(name, _)| name).collect();
        assert_eq!(names, ["C1", "R1", "C2", "O1"]);
    }

    /// The scale has round steps, covers everything, and wastes little.
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
