//! Reads settings from environment variables and from the command line. Each setting has a `CTX_…`
//! variable. A preset may also map another system's variables to settings. On the command line,
//! settings are assigned, as in `trigger.turns=40`.

use serde_json::Value;

use crate::{ConfigError, Layer, Policy, parse_count, settings};

/// Reads settings from environment variables. The resulting layer overrides the policy `below`.
/// `variable` looks up an environment variable. An empty variable counts as unset.
pub fn environment(
    below: &Policy,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Layer, ConfigError> {
    let set = |name: String| {
        let text = variable(&name)?.trim().to_owned();
        (!text.is_empty()).then_some((name, text))
    };
    let mut layer = Layer::default();
    for key in settings() {
        // Our own variable takes precedence over other systems' variables, because it was set for
        // this program.
        let theirs = below.environment.iter().filter(|(_, of)| **of == key);
        let theirs = theirs.map(|(name, _)| name.clone());
        if let Some((name, text)) = variable_of(&key).into_iter().chain(theirs).find_map(set) {
            read(&mut layer, &key, &text)
                .map_err(|wanted| ConfigError::wrong(&name, wanted, &Value::from(text)))?;
        }
    }
    Ok(layer)
}

/// Returns the name of the environment variable for a setting. Returns `None` for the key `name`.
pub fn variable_of(key: &str) -> Option<String> {
    Some(match key {
        // The name identifies the policy and is not a setting.
        "name" => return None,
        // All tools use the same variable for the name of the model.
        "summary.model" => "CTX_LLM_MODEL".to_owned(),
        key => format!("CTX_{}", key.replace('.', "_")).to_ascii_uppercase(),
    })
}

/// Sets `key` from the value of an environment variable. Tries a list, a string, a count, a number
/// and a boolean in turn, and uses the first that the setting accepts.
pub(crate) fn read(layer: &mut Layer, key: &str, text: &str) -> Result<(), String> {
    let list: Value = text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    let count = parse_count(text).map(Value::from).ok();
    let number = text.parse::<f64>().map(Value::from).ok();
    let word = match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(Value::Bool(true)),
        "false" | "0" | "no" | "off" => Some(Value::Bool(false)),
        _ => None,
    };
    let values = [Some(list), Some(text.into()), count, number, word];
    let mut wanted = String::new();
    for value in values.into_iter().flatten() {
        match layer.set(key, &value) {
            Ok(()) => return Ok(()),
            Err(other) => wanted = other,
        }
    }
    Err(wanted)
}

/// Reads assignments of the form `KEY=VALUE` as a layer. The last assignment to a key wins.
pub fn assigned<'a>(assignments: impl Iterator<Item = &'a str>) -> Result<Layer, ConfigError> {
    let mut layer = Layer::default();
    for assignment in assignments {
        let Some((key, text)) = assignment.split_once('=') else {
            return Err(ConfigError::NoValue(assignment.to_owned()));
        };
        let key = key.trim();
        // The key `name` cannot be set, because it only identifies the policy.
        if key == "name" || !settings().iter().any(|known| known == key) {
            return Err(unknown(key));
        }
        read(&mut layer, key, text.trim())
            .map_err(|wanted| ConfigError::wrong(key, wanted, &Value::from(text)))?;
    }
    Ok(layer)
}

/// Returns the error for an unknown setting, suggesting settings with the same last part or a
/// similar spelling.
fn unknown(key: &str) -> ConfigError {
    let settings = settings().into_iter().filter(|known| known != "name");
    let last = |key: &str| key.rsplit('.').next().map(|last| last.replace('-', "_"));
    let is_near =
        |known: &String| strsim::damerau_levenshtein(key, known) <= 2 || last(key) == last(known);
    ConfigError::NoSetting { key: key.to_owned(), near: settings.filter(is_near).collect() }
}

#[cfg(test)]
mod tests {
    use crate::Rule;
    use crate::share::Share;

    use serde_json::json;

    use super::environment;
    use crate::layer::{Layer, settings};
    use crate::policy::Mode;
    use crate::policy::Policy;
    use crate::presets::{names, preset};

    fn of(preset: &str, variables: &[(&str, &str)]) -> Result<Layer, String> {
        let look_up = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let below = crate::presets::preset(preset).unwrap_or_default();
        environment(&below, look_up).map_err(|error| error.to_string())
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
        assert_eq!(policy.summary.tries, 5);
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
        assert_eq!(policy.mode, Mode::PruneOnly);
        assert_eq!(layer.get("trigger.messages"), Some(&json!("off")));
        assert_eq!(policy.trigger.messages, None);
        assert_eq!(policy.prune.drop, [Rule::Reasoning, Rule::Empty]);
        assert_eq!(policy.summary.model.as_deref(), Some("large"));
        assert_eq!(layer.get("name"), None);
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
                 or false to turn it off, found \"75\"",
            ),
            (
                "default",
                "CTX_MODE",
                "all",
                "CTX_MODE: expected summary_only, summary_plus_prune or prune_only, \
                 found \"all\"",
            ),
        ] {
            assert_eq!(of(preset, &[(variable, value)]), Err(error.to_owned()));
        }
    }

    #[test]
    fn every_other_name_is_of_a_setting() {
        for name in names() {
            for key in preset(name).expect(name).environment.values() {
                assert!(settings().contains(key), "{key}");
            }
        }
    }
}

#[cfg(test)]
mod assigned_tests {
    use super::assigned;
    use crate::policy::Policy;

    fn of(assignments: &[&str]) -> Result<Policy, String> {
        let layer = assigned(assignments.iter().copied());
        let policy = layer.map(|layer| Policy::default().layer(&layer));
        policy.map_err(|error| error.to_string())
    }

    /// Every setting can be changed with `--set`, just as in a file or in the environment.
    #[test]
    fn each_kind_of_value_is_understood() {
        let policy = of(&[
            "trigger.turns=3",
            "trigger.turns=40",
            "trigger.tokens = 8k",
            "summary.extract=yes",
            "summary.header=[Earlier] a=b",
            "prune.drop=reasoning,empty",
            "target.share=off",
        ]);
        let policy = policy.expect("all fit");
        assert_eq!(policy.trigger.turns, Some(40));
        assert_eq!(policy.trigger.tokens, Some(8_000));
        assert!(policy.summary.extract);
        assert_eq!(policy.summary.header.as_deref(), Some("[Earlier] a=b"));
        assert_eq!(policy.prune.drop.len(), 2);
        assert_eq!(policy.target.share, None);
    }

    /// An error shows the value as the user typed it.
    #[test]
    fn what_cannot_be_set_is_told() {
        for (assignment, error) in [
            ("trigger.turns", "\"trigger.turns\" is not KEY=VALUE"),
            ("turns=3", "there is no setting turns; did you mean keep.turns or trigger.turns?"),
            ("trigger.turn=3", "there is no setting trigger.turn; did you mean trigger.turns?"),
            (
                "colour=red",
                "there is no setting colour; ctx-compact --show-preset built-in lists all settings",
            ),
            (
                "name=mine",
                "there is no setting name; ctx-compact --show-preset built-in lists all settings",
            ),
            (
                "trigger.turns=many",
                "trigger.turns: expected a whole number, 0 or more; or false to turn it off, found \"many\"",
            ),
        ] {
            assert_eq!(of(&[assignment]), Err(error.to_owned()));
        }
    }
}
