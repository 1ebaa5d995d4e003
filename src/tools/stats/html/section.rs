//! Computes one session's figures as values for the page template.

use ctx_cli::shell_word;
use ctx_metrics::profile::{ContentKind, Profile};
use minijinja::context;
use minijinja::value::{Serde, Value};

use super::chart::chart;
use super::session_data::SessionData;

/// The maximum number of parts of the context that the page lists.
const MOST_NAMED: usize = 3;

/// Returns all values that the page shows about a session.
pub(super) fn section(data: &SessionData) -> Value {
    let (status, profile) = (&data.status, &data.profile);
    let path = data.path.as_deref();
    let name = path.and_then(|path| path.file_name());
    let name = name.map_or_else(|| data.name.clone(), |name| name.to_string_lossy().into_owned());
    let path = path.map(|path| path.display().to_string());
    // Without ./, the command would interpret the name as a flag.
    let file = path.as_deref().map(|path| {
        shell_word(&if path.starts_with('-') { format!("./{path}") } else { path.to_owned() })
    });
    let fired: Vec<Value> = status
        .due
        .fired()
        .map(|it| context! { trigger => <&str>::from(it.trigger), value => it.value, limit => it.limit })
        .collect();
    // Tokens outside all messages: the agent's system prompt and tools, and extra tokens that the
    // API counts.
    let unrecorded = status.tokens().saturating_sub(profile.context.total());
    context! {
        name,
        operand => &data.name,
        path,
        file => file.unwrap_or_else(|| "FILE".to_owned()),
        dialect => data.dialect,
        model => &profile.model,
        snapshot => &data.snapshot,
        used => status.tokens(),
        window => status.window(),
        window_flag => (!status.window_is_known).then(|| window_flag(profile.model.as_deref())),
        step => <&str>::from(status.due.step),
        fired,
        messages => profile.context.total(),
        unrecorded,
        kinds => Value::from(Serde(present(profile).collect::<Vec<_>>())),
        bar => bar(profile, unrecorded, status.window()),
        most => most(profile, unrecorded),
        tools => Value::from(Serde(&profile.tools)),
        largest => Value::from(Serde(&profile.largest)),
        chart => chart(profile, status.window()),
        savings => profile.savings.as_ref().ok().map(|it| Value::from(Serde(it))),
        refusal => profile.savings.as_ref().err(),
        offload => data.offload.map(|(results, freed)| context! { results, freed }),
        score => data.score.as_ref().map(|it| Value::from(Serde(it))),
        of_all_classes => data.score.as_ref().map(|it| Value::from(Serde(it.total()))),
    }
}

/// Returns the flag that sets the window: `--model` for a known model, and otherwise `--window N`.
fn window_flag(model: Option<&str>) -> String {
    let listed = model.filter(|model| ctx_tokens::model(model).is_some());
    listed.map_or_else(|| "--window N".to_owned(), |model| format!("--model {}", shell_word(model)))
}

/// Returns the kinds of content in the context, each with its token count.
fn present(profile: &Profile) -> impl Iterator<Item = (ContentKind, u64)> {
    profile.context.rows().filter(|(_, tokens)| *tokens > 0)
}

/// Returns the parts of the bar for the window, each with its position and its width in percent.
fn bar(profile: &Profile, unrecorded: u64, window: u64) -> Vec<Value> {
    let whole = window.max(profile.context.total() + unrecorded).max(1);
    let kinds = present(profile).map(|(kind, tokens)| (Some(kind.into()), tokens));
    let rest = (unrecorded > 0).then_some((None, unrecorded));
    let mut x = 0.0;
    let part = |(word, tokens): (Option<&str>, u64)| {
        let width = tokens as f64 * 100.0 / whole as f64;
        x += width;
        context! { word, x => x - width, width }
    };
    kinds.chain(rest).map(part).collect()
}

/// Returns the largest parts of the context: each tool, and each kind of content other than calls
/// and results. The part outside all messages has an empty name; the template supplies a label for
/// it.
fn most(profile: &Profile, unrecorded: u64) -> Vec<Value> {
    let is_outside_tools =
        |(kind, _): &(ContentKind, u64)| !matches!(kind, ContentKind::Calls | ContentKind::Results);
    let kinds = present(profile).filter(is_outside_tools);
    let tools = profile.tools.iter();
    let mut parts: Vec<(u64, String)> = tools
        .map(|(name, share)| (share.tokens, format!("calls and results of {name}")))
        .chain(kinds.map(|(kind, tokens)| (tokens, <&str>::from(kind).to_owned())))
        .chain([(unrecorded, String::new())])
        .filter(|(tokens, _)| *tokens > 0)
        .collect();
    parts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let parts = parts.into_iter().take(MOST_NAMED);
    parts.map(|(tokens, what)| context! { what, tokens }).collect()
}
