//! The environment: `CTX_…` for every setting, and the names that the systems of
//! the presets gave theirs.

use serde_json::Value;

use crate::error::ConfigError;
use crate::policy::Layer;
use crate::section::Source;
use crate::setting::Setting;

/// Preset, variable, and the setting that it is. They work under their preset
/// only: `COMPACT_TRIGGER` could be anyone's.
const OTHER_NAMES: [(&str, &str, &str, &str); 10] = [
    (
        "synapse",
        "SYNAPSE_COMPACT_TRIGGER_THRESHOLD",
        "offload",
        "enough_tokens",
    ),
    (
        "synapse",
        "SYNAPSE_COMPACT_TARGET_TOKENS",
        "summary",
        "target_tokens",
    ),
    (
        "synapse",
        "SYNAPSE_COMPACT_PRESERVE_COUNT",
        "keep",
        "messages",
    ),
    ("synapse", "SYNAPSE_COMPACT_MODEL", "summary", "model"),
    (
        "synapse",
        "SYNAPSE_COMPACT_RETRY_COUNT",
        "summary",
        "retries",
    ),
    ("turns", "CONTEXT_WINDOW_TOKENS", "trigger", "window"),
    ("turns", "COMPACT_TRIGGER", "trigger", "share"),
    ("turns", "COMPACT_TARGET", "target", "share"),
    ("turns", "KEEP_LAST_TURNS", "keep", "turns"),
    ("turns", "MAX_COMPACTION_ATTEMPTS", "target", "max_attempts"),
];

/// What the environment says of a policy, under a preset. `variable` looks a name
/// up; an empty value is none.
pub fn environment(
    preset: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Layer, ConfigError> {
    Layer::read(&mut Environment { preset, variable })
}

/// The variables that a preset brings of its own, each with its setting.
pub fn other_names(preset: &str) -> impl Iterator<Item = (&'static str, String)> {
    OTHER_NAMES
        .iter()
        .filter(move |(of, ..)| *of == preset)
        .map(|(_, variable, section, key)| (*variable, format!("{section}.{key}")))
}

/// The variable of a setting.
pub(crate) fn variable_of(section: &str, key: &str) -> Option<String> {
    Some(match (section, key) {
        // It says whose policy this is, not what to do.
        ("", "name") => return None,
        // One model writes summaries, whichever tool asks it.
        ("summary", "model") => "CTX_LLM_MODEL".to_owned(),
        ("", key) => format!("CTX_{}", key.to_ascii_uppercase()),
        (section, key) => format!("CTX_{section}_{key}").to_ascii_uppercase(),
    })
}

struct Environment<'p, F> {
    preset: &'p str,
    variable: F,
}

impl<F: Fn(&str) -> Option<String>> Source for Environment<'_, F> {
    /// Our own name wins: it was written for this program.
    fn get<T: Setting>(&mut self, section: &str, key: &str) -> Result<Option<T>, ConfigError> {
        let others = OTHER_NAMES
            .iter()
            .filter(|(of, _, in_section, of_key)| {
                (*of, *in_section, *of_key) == (self.preset, section, key)
            })
            .map(|(_, variable, ..)| (*variable).to_owned());
        let names = variable_of(section, key).into_iter().chain(others);
        let set = names
            .filter_map(|name| Some(((self.variable)(&name)?, name)))
            .find(|(text, _)| !text.trim().is_empty());
        let Some((text, name)) = set else {
            return Ok(None);
        };
        match T::parse(text.trim()) {
            Some(value) => Ok(Some(value)),
            None => Err(ConfigError::wrong(&name, T::wanted(), &Value::String(text))),
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_select::prune::Rule;
    use ctx_select::share::Share;

    use super::{OTHER_NAMES, environment, other_names};
    use crate::policy::{Layer, Policy};
    use crate::presets::preset;
    use crate::words::Mode;

    fn of(preset: &str, variables: &[(&str, &str)]) -> Result<Layer, String> {
        let look_up = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        environment(preset, look_up).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_set_says_nothing() {
        assert_eq!(of("synapse", &[]), Ok(Layer::default()));
        let empty = [("KEEP_LAST_TURNS", ""), ("CTX_KEEP_TURNS", " ")];
        assert_eq!(of("turns", &empty), Ok(Layer::default()));
    }

    #[test]
    fn synapse_reads_its_own_names() {
        let variables = [
            ("SYNAPSE_COMPACT_TRIGGER_THRESHOLD", "20000"),
            ("SYNAPSE_COMPACT_TARGET_TOKENS", "4000"),
            ("SYNAPSE_COMPACT_PRESERVE_COUNT", "7"),
            ("SYNAPSE_COMPACT_MODEL", "small"),
            ("SYNAPSE_COMPACT_RETRY_COUNT", "5"),
        ];
        let layer = of("synapse", &variables).expect("valid");
        let policy = preset("synapse").expect("a preset").layer(&layer);
        assert_eq!(policy.offload.enough_tokens, Some(20_000));
        assert_eq!(policy.summary.target_tokens, Some(4_000));
        assert_eq!(policy.keep.messages, Some(7));
        assert_eq!(policy.summary.model.as_deref(), Some("small"));
        assert_eq!(policy.summary.retries, 5);
        for other in ["default", "turns", ""] {
            assert_eq!(of(other, &variables), Ok(Layer::default()), "{other}");
        }
    }

    #[test]
    fn turns_reads_its_own_names() {
        let variables = [
            ("CONTEXT_WINDOW_TOKENS", "32000"),
            ("COMPACT_TRIGGER", "0.6"),
            ("COMPACT_TARGET", "40%"),
            ("KEEP_LAST_TURNS", "2"),
            ("MAX_COMPACTION_ATTEMPTS", "3"),
        ];
        let layer = of("turns", &variables).expect("valid");
        let policy = preset("turns").expect("a preset").layer(&layer);
        assert_eq!(policy.trigger.window, Some(32_000));
        assert_eq!(policy.trigger.share, Some(Share::of_percent(60)));
        assert_eq!(policy.target.share, Some(Share::of_percent(40)));
        assert_eq!(policy.keep.turns, Some(2));
        assert_eq!(policy.target.max_attempts, 3);
        assert_eq!(of("synapse", &variables), Ok(Layer::default()));
    }

    #[test]
    fn our_names_work_under_every_preset_and_win() {
        let variables = [
            ("KEEP_LAST_TURNS", "2"),
            ("CTX_KEEP_TURNS", "9"),
            ("CTX_MODE", "prune_only"),
            ("CTX_TRIGGER_MESSAGES", "off"),
            ("CTX_PRUNE_DROP", "reasoning, empty"),
            ("CTX_LLM_MODEL", "large"),
            ("CTX_NAME", "no setting"),
        ];
        let layer = of("turns", &variables).expect("valid");
        let policy = Policy::default().layer(&layer);
        assert_eq!(policy.keep.turns, Some(9));
        assert_eq!(policy.general.mode, Mode::PruneOnly);
        assert_eq!(layer.trigger.messages, Some(None));
        assert_eq!(policy.prune.drop, [Rule::Reasoning, Rule::Empty]);
        assert_eq!(policy.summary.model.as_deref(), Some("large"));
        assert_eq!(layer.general.name, None);
    }

    #[test]
    fn what_cannot_be_is_told_by_its_name() {
        for (preset, variable, value, error) in [
            (
                "synapse",
                "SYNAPSE_COMPACT_RETRY_COUNT",
                "thrice",
                "SYNAPSE_COMPACT_RETRY_COUNT: expected a whole number, 0 or more, found \"thrice\"",
            ),
            (
                "turns",
                "COMPACT_TRIGGER",
                "75",
                "COMPACT_TRIGGER: expected a share such as 0.8, above 0 and up to 1; \
                 or false for none, found \"75\"",
            ),
            (
                "default",
                "CTX_MODE",
                "all",
                "CTX_MODE: expected one of summary_only, summary_plus_prune, prune_only, \
                 found \"all\"",
            ),
        ] {
            assert_eq!(of(preset, &[(variable, value)]), Err(error.to_owned()));
        }
    }

    #[test]
    fn every_other_name_is_of_a_setting() {
        for (preset, variable, section, key) in OTHER_NAMES {
            assert!(Layer::has(section, key), "{key}");
            assert!(other_names(preset).any(|(name, _)| name == variable));
        }
    }
}
