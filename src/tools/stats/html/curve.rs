//! The chart with its legend, its readout, the compactions and rollbacks, and all its figures.

use chrono::{DateTime, Utc};
use ctx_engine::stats::profile::{Kind, Mark};

use super::chart::{Chart, named};
use super::elements::{Table, number as grouped, text, tokens};
use super::section::label;
use super::subject::Subject;

/// The part of the page for session `number`; empty if it has no message.
pub(super) fn of(number: usize, subject: &Subject) -> String {
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
    let first = profile.points.first().map_or(1, |point| point.at);
    format!(
        "<h3>The context over the session</h3>\n\
         <div class=\"legend\" role=\"group\" aria-label=\"Kinds: show or hide\">{buttons}{recorded}</div>\n\
         {figure}\
         <div class=\"axis\" aria-hidden=\"true\"><span>record {first}</span><span>record {last}</span></div>\n\
         <p class=\"readout\" id=\"s{number}-readout\" role=\"status\" aria-live=\"polite\"></p>\n\
         {marks}{figures}",
        recorded = if chart.has_recorded() {
            format!(
                "<span class=\"key\"><svg width=\"24\" height=\"16\" aria-hidden=\"true\"><path class=\"recorded\" d=\"M0 8H24\"/></svg>{RECORDED}</span>"
            )
        } else {
            String::new()
        },
        figure = chart.figure(number, &described),
        first = grouped(first),
        last = grouped(last.at),
        marks = marks(&profile.marks),
        figures = figures(number, subject, &chart),
    )
}

fn button(kind: Kind) -> String {
    let word = kind.as_str();
    format!(
        "<button type=\"button\" class=\"kind\" data-kind=\"{word}\" aria-pressed=\"true\" disabled>\
         <svg width=\"16\" height=\"16\" aria-hidden=\"true\"><rect width=\"16\" height=\"16\" fill=\"url(#fill-{word})\"/></svg>{}</button>",
        label(kind)
    )
}

fn marks(marks: &[Mark]) -> String {
    let mut table = Table::new(
        "Compactions and rollbacks",
        &[
            ("Mark", false),
            ("What", false),
            ("By", false),
            ("Line", true),
            ("Time (UTC)", false),
            ("Before", true),
            ("After", true),
        ],
    );
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
    if table.is_empty() {
        return String::new();
    }
    table.html("")
}

fn time(time: DateTime<Utc>) -> String {
    time.format("<time>%Y-%m-%d %H:%M:%S</time>").to_string()
}

/// The label of the line of recorded usage.
const RECORDED: &str = "as the API counted";

/// The points of the chart, which the script reads, too.
fn figures(number: usize, subject: &Subject, chart: &Chart<'_>) -> String {
    let (kinds, has_recorded) = (chart.kinds(), chart.has_recorded());
    let mut columns = vec![("Record", true), ("Line", true), ("Time (UTC)", false), ("All", true)];
    columns.extend(kinds.iter().map(|kind| (label(*kind), true)));
    columns.extend(has_recorded.then_some((RECORDED, true)));
    let mut table = Table::new("The figures of the chart", &columns);
    for point in &subject.profile.points {
        let mut cells = vec![
            grouped(point.at),
            grouped(point.line),
            point.time.map_or_else(String::new, time),
            grouped(point.kinds.total()),
        ];
        let tokens = kinds.iter().map(|kind| point.kinds.of(*kind));
        cells.extend(tokens.map(grouped));
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
