//! Names that are built in.

use clap_complete::engine::CompletionCandidate;
use ctx_summary::Template;
use ctx_tokens::Model;

/// The presets, with what the head of each says.
pub(super) fn presets() -> Vec<CompletionCandidate> {
    let preset = |name: &'static str| {
        let source = ctx_policy::source(name).unwrap_or_default();
        CompletionCandidate::new(name).help(Some(head(source).into()))
    };
    ctx_policy::names().map(preset).collect()
}

/// The first clause of the comment that a preset begins with, behind its name.
fn head(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("# "));
    let text = lines.collect::<Vec<_>>().join(" ");
    let what = text.split_once(": ").map_or("", |(_, what)| what);
    let end = what.find("; ").unwrap_or(what.len());
    what[..end].trim_end_matches('.').to_owned()
}

/// The models that are known, with their windows.
pub(super) fn models() -> Vec<CompletionCandidate> {
    let model = |it: &ctx_tokens::Model| {
        let window = format!("a window of {} tokens", it.window);
        CompletionCandidate::new(it.prefix).help(Some(window.into()))
    };
    let short = |(short, name): &(&'static str, &'static str)| {
        CompletionCandidate::new(*short).help(Some(format!("short for {name}").into()))
    };
    let shorts = Model::short_names().iter().map(short);
    shorts.chain(Model::all().iter().map(model)).collect()
}

/// The templates of summaries.
pub(super) fn templates() -> Vec<CompletionCandidate> {
    Template::names().map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::{head, models, presets};

    /// 17: a preset is known by the first thing that it does.
    #[test]
    fn presets_say_what_they_do() {
        assert_eq!(
            head("# x: this\n# and that; more\n#\n# else\n"),
            "this and that"
        );
        assert_eq!(head("# x: our own.\n#\n"), "our own");
        for preset in presets() {
            let help = preset.get_help().map(ToString::to_string);
            assert!(help.is_some_and(|it| it.len() > 5), "{preset:?}");
        }
    }

    /// 17: a model that is offered is one that can be named.
    #[test]
    fn models_can_be_named() {
        let models = models();
        assert!(models.len() > 20);
        for model in models {
            let name = model.get_value().to_string_lossy();
            let full = ctx_tokens::full_name(&name).unwrap_or(&name);
            assert!(ctx_tokens::model(full).is_some(), "{name}");
        }
    }
}
