//! Any configuration file or environment is either refused with a reason or results in a usable
//! policy.

use ctx_policy::{Layer, environment, preset, read_config};

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for name in [None, Some("a.toml"), Some("a.json5")] {
        match read_config(&text, name, None) {
            Ok(config) => apply(&config.layer),
            Err(error) => assert!(!error.to_string().is_empty(), "refused without a reason"),
        }
    }
    variables(&text);
}

fn apply(layer: &Layer) {
    let policy = preset("default").expect("a preset").layer(layer);
    let _ = policy.check();
    let shown = policy.to_json().to_string();
    let again = read_config(&shown, Some("shown.json"), None).expect("what is shown is read");
    let again = preset("default").expect("a preset").layer(&again.layer);
    assert_eq!(again.to_json(), policy.to_json(), "a policy says itself");
}

/// Interprets the lines of the form `NAME=VALUE` as an environment, and reads settings from it.
fn variables(text: &str) {
    let policy = preset("xopcbot").expect("a preset");
    let look_up = |name: &str| {
        let found = text.lines().find_map(|line| {
            let (known, value) = line.split_once('=')?;
            (known == name).then(|| value.to_owned())
        });
        found.filter(|value| !value.is_empty())
    };
    if let Ok(layer) = environment(&policy, look_up) {
        let _ = policy.layer(&layer).check();
    }
}
