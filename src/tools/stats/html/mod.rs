//! `--html`: one page that shows where the window of each session goes.
//!
//! The page needs nothing but itself, and says so to the browser: its policy lets no other
//! style and no other script in than the two that are in it, by their hashes, and loads nothing.
//! All text that is not ours is escaped. What never changes is in
//! `page.html`.

mod chart;
mod subject;
mod tables;

use std::fmt::Write;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ctx_cli::{Failure, percent, shell_word};
use ctx_metrics::profile::ContentKind;
use ctx_policy::trigger::Step;
use sha2::{Digest, Sha256};

use self::chart::curve;
use self::subject::Subject;
use self::tables::{
    UNRECORDED, commands, fate, groups, kinds, largest, number, text, tokens, tools, unrecorded,
};
use super::status::StatusRequest;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page of all sessions that could be read, and the failures of the others.
pub(super) fn page(
    operands: &[PathBuf],
    request: StatusRequest<'_>,
) -> (Option<String>, Vec<Failure>) {
    let (mut subjects, mut failures) = (Vec::new(), Vec::new());
    for operand in operands {
        match Subject::look_at(operand, request) {
            Ok(subject) => subjects.push(subject),
            Err(failure) => failures.push(failure),
        }
    }
    let page = (!subjects.is_empty()).then(|| whole(&subjects));
    (page, failures)
}

fn whole(subjects: &[Subject]) -> String {
    let (title, contents) = match subjects {
        [one] => (format!("{}: where its window goes", text(&short_name(one))), String::new()),
        several => {
            let title = format!("Where the windows of {} sessions go", several.len());
            (title, contents(several))
        }
    };
    let sections: String =
        (1..).zip(subjects).map(|(number, subject)| section(number, subject)).collect();
    format!(
        include_str!("page.html"),
        policy = policy(),
        title = title,
        style = STYLE,
        fills = fills(),
        contents = contents,
        sections = sections,
        script = SCRIPT,
    )
}

/// Nothing is loaded, and nothing runs but what is in the page and ours.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

fn contents(subjects: &[Subject]) -> String {
    let mut entries = String::new();
    for (number, subject) in (1..).zip(subjects) {
        let (name, used) = (text(&subject.name), used(subject));
        let _ = write!(entries, "<li><a href=\"#s{number}\">{name}</a>: {used}</li>");
    }
    format!("<nav aria-label=\"Sessions\"><ol>{entries}</ol></nav>")
}

/// What each kind is filled with: a colour and a pattern, so that none is known by its colour
/// alone.
fn fills() -> String {
    let fill = |kind: ContentKind| {
        let word = kind.as_str();
        let pattern = match kind {
            ContentKind::System => "",
            ContentKind::Summary => "<path d=\"M0 4H8M4 0V8\"/>",
            ContentKind::User => "<path d=\"M0 2H8M0 6H8\"/>",
            ContentKind::Assistant => "<path d=\"M2 0V8M6 0V8\"/>",
            ContentKind::Reasoning => "<path d=\"M1 2H3M5 6H7\"/>",
            ContentKind::Calls => "<path d=\"M-2 2L2 -2M0 8L8 0M6 10L10 6\"/>",
            ContentKind::Results => "<path d=\"M-2 6L2 10M0 0L8 8M6 -2L10 2\"/>",
        };
        format!(
            "<pattern id=\"fill-{word}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect class=\"{word}\" width=\"8\" height=\"8\"/>{pattern}</pattern>"
        )
    };
    ContentKind::ALL.into_iter().map(fill).collect()
}

/// The section; `number` is that of the session in the page, from 1.
fn section(number: usize, subject: &Subject) -> String {
    let profile = &subject.profile;
    let name = text(&short_name(subject));
    let parts = [
        first_screen(subject),
        commands(subject),
        curve(number, subject),
        kinds(subject),
        tools(profile),
        largest(profile),
        groups(profile),
        fate(subject),
    ];
    format!(
        "<section id=\"s{number}\" aria-labelledby=\"s{number}-name\">\n<h2 id=\"s{number}-name\">{name}</h2>\n{}</section>\n",
        parts.concat()
    )
}

/// `30,282 of 128,000 tokens (23.7%)`
fn used(subject: &Subject) -> String {
    let (used, window) = (subject.status.tokens(), subject.status.window());
    format!("{} of {} ({})", number(used), tokens(window), percent(used, window))
}

/// The last part of a path; the whole path is shown below.
fn short_name(subject: &Subject) -> String {
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
    let fired = due.fired().map(|reading| {
        let (value, limit) = (number(reading.value), number(reading.limit));
        format!("{} {value} of {limit}", reading.trigger.as_str())
    });
    let fired: Vec<String> = fired.collect();
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
            "<rect class=\"unrecorded\" x=\"{x:.3}%\" width=\"{width:.3}%\" height=\"100%\"/>"
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
    let kind = |(kind, tokens): (ContentKind, u64)| (tokens, label(kind).to_owned());
    let own =
        |(kind, _): &(ContentKind, u64)| !matches!(kind, ContentKind::Calls | ContentKind::Results);
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
fn label(kind: ContentKind) -> &'static str {
    match kind {
        ContentKind::Calls => "tool calls",
        ContentKind::Results => "tool results",
        other => other.as_str(),
    }
}
