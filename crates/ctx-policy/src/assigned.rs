//! Settings on the command line: `trigger.turns=40`.

use serde_json::Value;

use crate::env::read;
use crate::error::ConfigError;
use crate::layer::{Layer, settings};

/// The layer that the assignments `KEY=VALUE` make. The last assignment of a key wins.
pub fn assigned<'a>(assignments: impl Iterator<Item = &'a str>) -> Result<Layer, ConfigError> {
    let mut layer = Layer::default();
    for assignment in assignments {
        let Some((key, text)) = assignment.split_once('=') else {
            return Err(ConfigError::NoValue(assignment.to_owned()));
        };
        let key = key.trim();
        // The name says whose policy it is, not what to do.
        if key == "name" || !settings().iter().any(|known| known == key) {
            return Err(unknown(key));
        }
        read(&mut layer, key, text.trim())
            .map_err(|wanted| ConfigError::wrong(key, wanted, &Value::from(text)))?;
    }
    Ok(layer)
}

/// The error for an unknown setting. It suggests settings with the same last part or similar
/// spelling.
fn unknown(key: &str) -> ConfigError {
    let settings = settings().into_iter().filter(|known| known != "name");
    let last = |key: &str| key.rsplit('.').next().map(|last| last.replace('-', "_"));
    let is_near = |known: &String| {
        let distance = strsim::damerau_levenshtein(key, known);
        distance <= 2 || last(key) == last(known)
    };
    ConfigError::NoSetting { key: key.to_owned(), near: settings.filter(is_near).collect() }
}

#[cfg(test)]
mod tests {
    use super::assigned;
    use crate::policy::Policy;

    fn of(assignments: &[&str]) -> Result<Policy, String> {
        let layer = assigned(assignments.iter().copied());
        let policy = layer.map(|layer| Policy::default().layer(&layer));
        policy.map_err(|error| error.to_string())
    }

    /// One flag sets every setting, like the file and the environment.
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

    /// An error shows the value as it was typed.
    #[test]
    fn what_cannot_be_set_is_told() {
        for (assignment, error) in [
            ("trigger.turns", "\"trigger.turns\" is not KEY=VALUE"),
            ("turns=3", "there is no setting turns; did you mean keep.turns or trigger.turns?"),
            ("trigger.turn=3", "there is no setting trigger.turn; did you mean trigger.turns?"),
            (
                "colour=red",
                "there is no setting colour; ctx-compact --show-preset built-in lists them",
            ),
            (
                "name=mine",
                "there is no setting name; ctx-compact --show-preset built-in lists them",
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
