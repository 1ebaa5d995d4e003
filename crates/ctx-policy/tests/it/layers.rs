//! Later layers win for each setting separately, and the environment can change every setting.

use ctx_policy::{Layer, Policy, environment, read_config, settings, variable_of};
use serde_json::Value;

/// A complete set of values, one for every setting.
const ONE: &str = r#"
name = "one"
enabled = true
mode = "summary_only"
encoding = "o200k_base"
[trigger]
messages = 1
tokens = 1
share = 0.1
window = 1
reserve = 1
tool_bytes = 1
turns = 1
min_messages = 1
flush_share = 0.1
at_limit = true
on_overflow = true
[keep]
messages = 1
turns = 1
tokens = 1
recent_share = 0.1
[target]
tokens = 1
share = 0.1
max_history_share = 0.1
reserve = 1
overhead = 1
min_gain = 0.1
max_attempts = 1
[offload]
min_tokens = 1
enough_tokens = 1
reference = "one"
unavailable = "one"
restore_before_summary = true
delete_unreferenced = true
[prune]
when = "before"
max_chars = 1
head_share = 0.1
tail_share = 0.1
cut = "one"
clear = "always"
placeholder = "one"
drop = ["empty"]
protect_last = 1
allow = ["one"]
deny = ["one"]
cache_ttl = "1m"
window_messages = 1
min_gain = 1
[summary]
method = "llm"
offline = "rule"
fallback = ["rule"]
tokens = 1
target_tokens = 1
max_output_factor = 1.1
max_share = 0.1
model = "one"
tries = 1
backoff_seconds = 1
safeguard = true
complete = true
role = "user"
header = "one"
template = "one"
sections = ["one"]
instructions = "one"
cumulative = true
in_report = true
extract = true
[retention]
keep_days = 1
pack_after_days = 1
"#;

/// Returns the lines of [`ONE`], each with a different value.
fn two() -> String {
    let mut text = ONE.to_owned();
    for (one, two) in [
        ("\"one\"", "\"two\""),
        ("= 1\n", "= 2\n"),
        ("= 0.1\n", "= 0.2\n"),
        ("= 1.1\n", "= 1.2\n"),
        ("= true\n", "= false\n"),
        ("\"1m\"", "\"2m\""),
        ("\"summary_only\"", "\"prune_only\""),
        ("\"o200k_base\"", "\"chars4\""),
        ("\"before\"", "\"sent\""),
        ("\"always\"", "\"if_needed\""),
        ("\"empty\"", "\"noise\""),
        ("\"llm\"", "\"none\""),
        ("\"rule\"", "\"extractive\""),
        ("\"user\"", "\"system\""),
    ] {
        text = text.replace(one, two);
    }
    text
}

fn layer(text: &str) -> Layer {
    let config = read_config(text, None, None).expect(text);
    assert_eq!(config.warnings, [], "{text}");
    config.layer
}

fn over(layers: &[&Layer]) -> Policy {
    let built_in = Policy::default();
    layers.iter().fold(built_in, |policy, over| policy.layer(over))
}

fn at<'v>(shown: &'v Value, key: &str) -> &'v Value {
    key.split('.').fold(shown, |value, key| &value[key])
}

/// Returns TOML with only this setting.
fn only(key: &str, value: &Value) -> String {
    match key.split_once('.') {
        Some((table, key)) => format!("[{table}]\n{key} = {value}\n"),
        None => format!("{key} = {value}\n"),
    }
}

#[test]
fn a_layer_changes_what_it_says_and_nothing_else() {
    let (one, two) = (layer(ONE), layer(&two()));
    let below = over(&[&one]).to_json();
    let above = over(&[&two]).to_json();
    for key in &settings() {
        let value = at(&above, key);
        assert_ne!(at(&below, key), value, "{key}: the test must tell them apart");
        let changed = over(&[&one, &layer(&only(key, value))]).to_json();
        for other in &settings() {
            let expected = if other == key { &above } else { &below };
            assert_eq!(at(&changed, other), at(expected, other), "{key}");
        }
    }
}

#[test]
fn the_later_layer_wins_whole_and_an_empty_one_changes_nothing() {
    let (one, two) = (layer(ONE), layer(&two()));
    assert_eq!(over(&[&one, &two]), over(&[&two]));
    assert_eq!(over(&[&two, &one]), over(&[&one]));
    assert_eq!(over(&[&one, &Layer::default()]), over(&[&one]));
    assert_eq!(over(&[&Layer::default()]), Policy::default());
}

#[test]
fn a_setting_can_be_switched_off_again() {
    let on = layer("[trigger]\nmessages = 80\n[summary]\nheader = \"x\"\n");
    let off = layer("[trigger]\nmessages = false\n[summary]\nheader = \"off\"\n");
    let policy = over(&[&on, &off]);
    assert_eq!(policy.trigger.messages, None);
    assert_eq!(policy.summary.header, None);
}

#[test]
fn what_is_shown_is_read_as_the_same_policy() {
    for text in [ONE, &two()] {
        let policy = over(&[&layer(text)]);
        let again = read_config(&policy.to_json().to_string(), None, None).expect("valid");
        assert_eq!(over(&[&again.layer]), policy);
    }
}

#[test]
fn the_environment_has_every_setting_over_the_file() {
    let (one, two) = (layer(ONE), over(&[&layer(&two())]).to_json());
    for key in &settings() {
        let Some(variable) = &variable_of(key) else {
            assert_eq!(key, "name");
            continue;
        };
        let value = match at(&two, key) {
            Value::String(text) => text.clone(),
            Value::Array(items) => items[0].as_str().expect("texts").to_owned(),
            other => other.to_string(),
        };
        let look_up = |name: &str| (name == variable).then(|| value.clone());
        let set = environment(&Policy::default(), look_up).expect(variable);
        let changed = over(&[&one, &set]).to_json();
        assert_eq!(at(&changed, key), at(&two, key), "{variable}={value}");
    }
}

#[test]
fn five_layers_each_win_over_those_before() {
    // built-in < preset < file < environment < flags: 3 attempts, 2, ..., by hand.
    let preset = ctx_policy::layer("turns").expect("a preset");
    let file = layer("[keep]\nturns = 5\n[trigger]\nshare = 0.7\n[target]\nshare = 0.4\n");
    let variables = |name: &str| match name {
        "KEEP_LAST_TURNS" => Some("4".to_owned()),
        "COMPACT_TRIGGER" => Some("0.6".to_owned()),
        _ => None,
    };
    let environment = environment(&over(&[&preset, &file]), variables).expect("valid");
    let flags = layer("[keep]\nturns = 3\n");
    let policy = over(&[&preset, &file, &environment, &flags]);
    assert_eq!(policy.keep.turns, Some(3), "flags");
    assert_eq!(policy.trigger.share, "0.6".parse().ok(), "environment");
    assert_eq!(policy.target.share, "0.4".parse().ok(), "file");
    assert_eq!(policy.trigger.window, Some(64_000), "preset");
    assert_eq!(policy.summary.tries, 3, "built in");
}
