//! What the page has of one session: first how full the window is, what fills it and what can
//! be done, then the chart and the tables.

use std::fmt::Write;

use ctx_cli::{percent, shell_word};
use ctx_engine::stats::profile::Kind;
use ctx_policy::trigger::Step;

use super::elements::{number, text, tokens};
use super::report::{UNRECORDED, fate, kinds, largest, tools, unrecorded};
use super::subject::Subject;
use super::{curve, savings};

/// The section; `number` is that of the session in the page, from 1.
pub(super) fn of(number: usize, subject: &Subject) -> String {
    let profile = &subject.profile;
    let parts = [
        first_screen(subject),
        savings::commands(subject),
        curve::of(number, subject),
        kinds(subject),
        tools(profile),
        largest(profile),
        savings::groups(profile),
        fate(subject),
    ];
    format!(
        "<section id=\"s{number}\" aria-labelledby=\"s{number}-name\">\n<h2 id=\"s{number}-name\">{}</h2>\n{}</section>\n",
        text(&short_name(subject)),
        parts.concat()
    )
}

/// `30,282 of 128,000 tokens (23.7%)`
pub(super) fn used(subject: &Subject) -> String {
    let (used, window) = (subject.status.tokens(), subject.status.window());
    format!("{} of {} ({})", number(used), tokens(window), percent(used, window))
}

/// The last part of a path; the whole path is shown below.
pub(super) fn short_name(subject: &Subject) -> String {
    let name = subject.path.as_ref().and_then(|path| path.file_name());
    name.map_or_else(|| subject.name.clone(), |name| name.to_string_lossy().into_owned())
}

fn first_screen(subject: &Subject) -> String {
    let status = &subject.status;
    let mut facts = Vec::new();
    let path = subject.path.as_ref();
    facts.extend(path.map(|path| text(&path.display().to_string())));
    facts.extend(subject.dialect.map(|dialect| format!("format {dialect}")));
    let model = subject.profile.model.as_deref();
    facts.extend(model.map(|model| format!("model {}", text(model))));
    let window = format!("window of {}", tokens(status.window()));
    facts.push(if status.window_is_known {
        window
    } else {
        format!("{window}, since nothing tells it: {}", window_flag(model))
    });
    let snapshot = subject.snapshot.as_deref();
    facts.extend(snapshot.map(|id| format!("as in the snapshot {}", text(id))));
    format!(
        "<p class=\"facts\">{}</p>\n<p class=\"lead\"><strong>The window is {} full</strong>: {} of {}. {}</p>\n{}<p>{}</p>\n",
        facts.join(" · "),
        percent(status.tokens(), status.window()),
        number(status.tokens()),
        tokens(status.window()),
        due(subject),
        bar(subject),
        filled(subject),
    )
}

/// The flag that tells the window.
fn window_flag(model: Option<&str>) -> String {
    let flag = match model.filter(|model| ctx_tokens::model(model).is_some()) {
        Some(model) => format!("--model {}", shell_word(model)),
        None => "--window N".to_owned(),
    };
    format!("<code>{}</code> does", text(&flag))
}

/// Whether a compaction is due, and what made it so.
fn due(subject: &Subject) -> String {
    let due = &subject.status.due;
    let fired: Vec<String> = due
        .fired()
        .map(|reading| {
            let (value, limit) = (number(reading.value), number(reading.limit));
            format!("{} {value} of {limit}", reading.trigger.as_str())
        })
        .collect();
    match due.step {
        Step::Compact => format!("A compaction is due: {}.", fired.join(", ")),
        Step::Flush => "A compaction is not due yet, but a flush is.".to_owned(),
        Step::None => "No compaction is due.".to_owned(),
    }
}

/// How much of the window each kind takes.
fn bar(subject: &Subject) -> String {
    let context = &subject.profile.context;
    let unrecorded = unrecorded(subject);
    let whole = subject.status.window().max(context.total() + unrecorded).max(1);
    let share = |tokens: u64| tokens as f64 * 100.0 / whole as f64;
    let (mut rects, mut x) = (String::new(), 0.0);
    for (kind, tokens) in context.rows().filter(|(_, tokens)| *tokens > 0) {
        let (word, width) = (kind.as_str(), share(tokens));
        let _ = write!(
            rects,
            "<rect x=\"{x:.3}%\" width=\"{width:.3}%\" height=\"100%\" fill=\"url(#fill-{word})\"/>"
        );
        x += width;
    }
    if unrecorded > 0 {
        let width = share(unrecorded);
        let _ = write!(
            rects,
            "<rect class=\"beside\" x=\"{x:.3}%\" width=\"{width:.3}%\" height=\"100%\"/>"
        );
    }
    format!(
        "<svg class=\"bar\" width=\"100%\" height=\"24\" role=\"img\" aria-label=\"{} of the window\">{rects}</svg>\n",
        percent(subject.status.tokens(), subject.status.window())
    )
}

/// What takes most of the context: tools, and the kinds outside tools.
fn filled(subject: &Subject) -> String {
    let profile = &subject.profile;
    let unrecorded = unrecorded(subject);
    let all = profile.context.total() + unrecorded;
    if all == 0 {
        return "There is no message in it.".to_owned();
    }
    let tool = |(name, share): &(String, ctx_engine::count::Share)| {
        (share.tokens, format!("calls and results of {}", text(name)))
    };
    let kind = |(kind, tokens): (Kind, u64)| (tokens, label(kind).to_owned());
    let own = |(kind, _): &(Kind, u64)| !matches!(kind, Kind::Calls | Kind::Results);
    let mut parts: Vec<(u64, String)> = profile.tools.iter().map(tool).collect();
    parts.extend(profile.context.rows().filter(own).map(kind));
    parts.push((unrecorded, UNRECORDED.to_owned()));
    parts.retain(|(tokens, _)| *tokens > 0);
    parts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let parts = parts.iter().take(3);
    let parts: Vec<String> =
        parts.map(|(tokens, what)| format!("{what} <b>{}</b>", percent(*tokens, all))).collect();
    format!("Most of it: {}.", parts.join(", "))
}

/// A kind, as people read it.
pub(super) fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::System => "system",
        Kind::Summary => "summary",
        Kind::User => "user",
        Kind::Assistant => "assistant",
        Kind::Reasoning => "reasoning",
        Kind::Calls => "tool calls",
        Kind::Results => "tool results",
    }
}
