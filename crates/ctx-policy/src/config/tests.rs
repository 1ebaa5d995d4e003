use std::time::Duration;

use crate::duration::FixedSpan;
use crate::share::Share;
use serde_json::json;

use super::{Config, read_config, systems};
use crate::error::{ConfigError, Warning};
use crate::layer::{Layer, settings};
use crate::policy::Policy;
use crate::policy::{Clear, Method, When};
use crate::presets::preset;

fn read(text: &str) -> Config {
    read_config(text, None, None).expect(text)
}

fn error(text: &str) -> String {
    read_config(text, None, None).expect_err(text).to_string()
}

/// Returns the settings of the file on top of its preset.
fn policy(config: &Config) -> Policy {
    let name = config.preset.as_deref().expect("a shape with a preset");
    preset(name).expect(name).layer(&config.layer)
}

fn warnings(config: &Config) -> Vec<String> {
    config.warnings.iter().map(ToString::to_string).collect()
}

const SANBOT: &str = r#"{
  "agent": {"name": "b"},
  "compaction": {
    "enabled": false, "maxMessages": 40, "maxTokenRatio": 0.7,
    "maxToolOutputBytes": 1024, "keepRecentMessages": 10, "keepSystemPrompt": true,
    "useLLMSummary": false, "summaryMaxTokens": 300, "snapshotRetentionDays": 3
  }
}"#;

#[test]
fn sanbot_json_is_read_as_it_is() {
    let config = read(SANBOT);
    assert_eq!(config.preset.as_deref(), Some("sanbot"));
    assert!(config.warnings.is_empty());
    assert_eq!(
        error(r#"{"compaction": {"maxMessages": 9, "keepSystemPrompt": false}}"#),
        "compaction.keepSystemPrompt: expected true: system messages always stay, found false"
    );
    let policy = policy(&config);
    assert!(!policy.enabled);
    assert_eq!(policy.trigger.messages, Some(40));
    assert_eq!(policy.trigger.share, Some(Share::of_percent(70)));
    assert_eq!(policy.trigger.tool_bytes, Some(1024));
    assert_eq!(policy.keep.messages, Some(10));
    assert_eq!(policy.summary.method, Method::Rule);
    assert_eq!(policy.summary.tokens, Some(300));
    assert_eq!(policy.retention.keep_days, Some(3));
}

#[test]
fn what_a_file_leaves_out_is_the_presets() {
    let config = read(r#"{"compaction": {"maxMessages": 40, "useLLMSummary": true}}"#);
    let mut expected = preset("sanbot").expect("a preset");
    expected.trigger.messages = Some(40);
    assert_eq!(policy(&config), expected);
    let none = read_config(r#"{"compaction": {}}"#, None, Some("sanbot")).expect("it is named");
    assert_eq!(none.layer, Layer::default());
    assert_eq!(none.preset.as_deref(), Some("sanbot"));
    let nulls = read(r#"{"compaction": {"maxMessages": null}}"#);
    assert_eq!(nulls.layer, Layer::default());
}

#[test]
fn pomelobot_jsonc_is_read_as_it_is() {
    let config = read(
        "// what the agent does\n{ \"agent\": { \"compaction\": {\n\
         \"enabled\": true, /* on */\n\"auto_compact_threshold\": 60000,\n\
         \"context_window\": 100000, // tokens\n\"reserve_tokens\": 10000,\n\
         \"max_history_share\": 0.4,\n} } }\n",
    );
    assert_eq!(config.preset.as_deref(), Some("pomelobot"));
    assert_eq!(config.warnings, []);
    let policy = policy(&config);
    assert!(policy.enabled);
    assert_eq!(policy.trigger.tokens, Some(60_000));
    assert_eq!(policy.trigger.window, Some(100_000));
    assert_eq!(policy.target.reserve, Some(10_000));
    assert_eq!(policy.target.max_history_share, Some(Share::of_percent(40)));
}

#[test]
fn xopcbot_json5_is_read_as_it_is() {
    let config = read(
        "{ agents: { defaults: {
            model: 'm',
            compaction: { enabled: true, mode: 'safeguard', reserveTokens: 9000,
              triggerThreshold: .7, minMessagesBeforeCompact: 12, keepRecentMessages: 6 },
            pruning: { enabled: true, maxToolResultChars: 5000, headKeepRatio: 0.2,
              tailKeepRatio: 0.4, placeholder: '[gone]', },
        } } }",
    );
    assert_eq!(config.preset.as_deref(), Some("xopcbot"));
    assert_eq!(config.warnings, []);
    let policy = policy(&config);
    assert!(policy.summary.safeguard);
    assert_eq!(policy.trigger.reserve, Some(9_000));
    assert_eq!(policy.trigger.share, Some(Share::of_percent(70)));
    assert_eq!(policy.trigger.min_messages, Some(12));
    assert_eq!(policy.keep.messages, Some(6));
    assert_eq!(policy.prune.when, When::Sent);
    assert_eq!(policy.prune.max_chars, Some(5_000));
    assert_eq!(policy.prune.head_share, Share::of_percent(20));
    assert_eq!(policy.prune.tail_share, Share::of_percent(40));
    assert_eq!(policy.prune.placeholder, "[gone]");

    let off = read("{agents: {defaults: {pruning: {enabled: false}}}}");
    assert_eq!(off.preset.as_deref(), Some("xopcbot"));
    assert_eq!(off.layer.get("prune.when"), Some(&json!("never")));
}

#[test]
fn a_threshold_is_from_a_half_to_nearly_all() {
    let file = |n: &str| format!("{{agents:{{defaults:{{compaction:{{triggerThreshold:{n}}}}}}}}}");
    for good in ["0.5", "0.95", "0.8"] {
        assert!(read_config(&file(good), None, None).is_ok(), "{good}");
    }
    for bad in ["0.49", "0.96", "1", "0", "80"] {
        assert_eq!(
            error(&file(bad)),
            format!(
                "agents.defaults.compaction.triggerThreshold: \
                 expected a share from 0.5 to 0.95, found {bad}"
            )
        );
    }
}

#[test]
fn openclaw_context_pruning_is_read_as_it_is() {
    let config = read(
        "{ agents: { defaults: { contextPruning: {
            mode: 'cache-ttl', ttl: '1h', keepLastAssistants: 6,
            softTrimRatio: 0.3, minPrunableToolChars: 50000,
            softTrim: { maxChars: 6000, headChars: 1500, tailChars: 3000 },
            hardClear: { enabled: false, placeholder: '[old]' },
            tools: { allow: ['exec*'], deny: ['browser', 'canvas'] },
        } } } }",
    );
    assert_eq!(config.preset.as_deref(), Some("openclaw"));
    assert_eq!(
        warnings(&config),
        [
            "agents.defaults.contextPruning.minPrunableToolChars is not used here",
            "agents.defaults.contextPruning.softTrimRatio is not used here",
        ]
    );
    let prune = policy(&config).prune;
    assert_eq!(prune.when, When::Sent);
    assert_eq!(prune.cache_ttl, Some(FixedSpan(Duration::from_secs(3_600))));
    assert_eq!(prune.protect_last, 6);
    assert_eq!(prune.max_chars, Some(6_000));
    assert_eq!(prune.head_share, Share::of_percent(25));
    assert_eq!(prune.tail_share, Share::of_percent(50));
    assert_eq!(prune.clear, Clear::Never);
    assert_eq!(prune.placeholder, "[old]");
    assert_eq!(json!(prune.allow), json!(["exec*"]));
    assert_eq!(json!(prune.deny), json!(["browser", "canvas"]));
}

#[test]
fn openclaw_may_switch_pruning_off_and_leave_out_the_unit() {
    let off = read("{contextPruning: {mode: 'off'}}");
    assert_eq!(off.preset.as_deref(), Some("openclaw"));
    assert_eq!(policy(&off).prune.when, When::Never);
    for (ttl, seconds) in [("10", 600), ("'10'", 600), ("'30s'", 30), ("'5m'", 300)] {
        let config = read(&format!("{{contextPruning: {{ttl: {ttl}}}}}"));
        let ttl = policy(&config).prune.cache_ttl;
        assert_eq!(ttl, Some(FixedSpan(Duration::from_secs(seconds))));
    }
    let head = policy(&read("{contextPruning: {softTrim: {headChars: 1000}}}"));
    assert_eq!(head.prune.max_chars, Some(4_000));
    assert_eq!(head.prune.head_share, Share::of_percent(25));
    assert_eq!(head.prune.tail_share, Share::of_percent(30));
    let tokens = read("{agents: {defaults: {compaction: {keepRecentTokens: 9000}}}}");
    assert_eq!(tokens.preset.as_deref(), Some("openclaw"));
    assert_eq!(policy(&tokens).keep.tokens, Some(9_000));
}

#[test]
fn our_own_is_toml_or_json() {
    let text = "preset = \"turns\"\nmode = \"prune_only\"\n[trigger]\nmessages = 9\n[keep]\nturns = false\n";
    let config = read(text);
    assert_eq!(config.preset.as_deref(), Some("turns"));
    assert_eq!(config.layer.get("mode"), Some(&json!("prune_only")));
    assert_eq!(config.layer.get("trigger.messages"), Some(&json!(9)));
    assert_eq!(config.layer.get("keep.turns"), Some(&json!(false)));
    let json =
        "{preset: 'turns', mode: 'prune_only', trigger: {messages: 9}, keep: {turns: false}}";
    assert_eq!(read(json), config);
    assert_eq!(read_config(&format!("\u{feff}{text}"), None, None), Ok(config));
}

#[test]
fn an_empty_file_says_nothing() {
    for text in ["", "\n", "# nothing\n"] {
        assert_eq!(read(text).layer, Layer::default());
    }
    assert_eq!(
        read_config("", Some("c.json"), None),
        Err(ConfigError::Syntax {
            format: "JSON5",
            line: None,
            why: "EOF parsing value".to_owned()
        })
    );
    assert_eq!(read_config("{}", None, None), Err(ConfigError::NoSettings));
    assert_eq!(read_config("{agents: {defaults: {}}}", None, None), Err(ConfigError::NoSettings));
}

#[test]
fn the_content_decides_and_the_name_is_a_hint() {
    let as_toml = read_config(SANBOT, Some("c.toml"), None).expect("JSON all the same");
    assert_eq!(as_toml.preset.as_deref(), Some("sanbot"));
    let json = read_config("[]", Some("dir.d/c.JSON"), None).expect_err("no object");
    assert_eq!(json.to_string(), "the file: expected an object, found a list");
    assert_eq!(read_config("[keep]", Some("c.d/json"), None).map(|c| c.preset), Ok(None));
}

#[test]
fn unknown_keys_are_warnings() {
    let own = read("tigger = 1\n[keep]\nmessage = 4\n[trigger]\nmessages = 9\n");
    assert_eq!(warnings(&own), ["unknown key tigger", "unknown key keep.message"]);
    let sanbot = read(r#"{"compaction": {"maxMessages": 2, "maxMessage": 1}}"#);
    assert_eq!(warnings(&sanbot), ["unknown key compaction.maxMessage"]);
    let pomelobot = read(r#"{"agent": {"compaction": {"x": 1}, "y": 2}}"#);
    assert_eq!(warnings(&pomelobot), ["unknown key agent.compaction.x"]);
    let claw = read("{agents:{defaults:{contextPruning:{tools:{prefer:[]}},pruning:{z:0}}}}");
    assert_eq!(
        warnings(&claw),
        [
            "unknown key agents.defaults.contextPruning.tools.prefer",
            "unknown key agents.defaults.pruning.z"
        ]
    );
}

#[test]
fn a_second_shape_is_told() {
    let both = read(r#"{"compaction": {"maxMessages": 9}, "agent": {"compaction": {}}}"#);
    assert_eq!(both.preset.as_deref(), Some("sanbot"));
    assert_eq!(both.warnings, [Warning::Shadowed("agent.compaction".to_owned())]);
}

#[test]
fn wrong_values_name_the_key_and_what_is_wanted() {
    for (text, why) in [
        (
            "[trigger]\nmessages = \"many\"",
            "trigger.messages: expected a whole number, 0 or more; or false to turn it off, \
             found \"many\"",
        ),
        ("trigger = 3", "trigger: expected a table, found 3"),
        ("enabled = 1", "enabled: expected true or false, found 1"),
        (
            "[summary]\nrole = \"tool\"",
            "summary.role: expected user, assistant or system, found \"tool\"",
        ),
        (
            "[prune]\ndrop = [\"all\"]",
            "prune.drop: expected a list in which each item is superseded, duplicates, noise, \
             images, reasoning or empty, found [\"all\"]",
        ),
        (
            "[prune]\ndrop = [\"noise\", \"copies\"]",
            "prune.drop: expected a list in which each item is superseded, duplicates, noise, \
             images, reasoning or empty, found [\"noise\",\"copies\"]",
        ),
        (
            r#"{"compaction": {"maxTokenRatio": 1.5}}"#,
            "compaction.maxTokenRatio: expected a share such as 0.8, above 0 and up to 1; \
             or false to turn it off, found 1.5",
        ),
        (r#"{"compaction": true}"#, "compaction: expected a table, found true"),
        (
            r#"{"agent": {"compaction": {"context_window": -1}}}"#,
            "agent.compaction.context_window: expected a whole number, 0 or more; \
             or false to turn it off, found -1",
        ),
        (
            "{agents:{defaults:{compaction:{mode:'strict'}}}}",
            "agents.defaults.compaction.mode: expected default or safeguard, \
             found \"strict\"",
        ),
        (
            "{contextPruning:{mode:'manual'}}",
            "contextPruning.mode: expected off or cache-ttl, found \"manual\"",
        ),
        (
            "{contextPruning:{ttl:'soon'}}",
            "contextPruning.ttl: expected a time such as 30s, 5m or 1h; or false to turn it off, \
             found \"soon\"",
        ),
        (
            "{contextPruning:{softTrim:{headChars:4001}}}",
            "contextPruning.softTrim.headChars: expected a whole number from 1 to maxChars, \
             found 4001",
        ),
        (
            "{contextPruning:{tools:{deny:'x'}}}",
            "contextPruning.tools.deny: expected a list in which each item is text, found \"x\"",
        ),
    ] {
        assert_eq!(error(text), why, "{text}");
    }
}

#[test]
fn a_pattern_that_cannot_be_used_is_an_error() {
    let text = format!("[prune]\ndeny = [\"a*\", {:?}]", "?".repeat(100_000));
    assert_eq!(
        error(&text),
        format!(
            "prune.deny: expected a list in which each item is a pattern; the pattern that begins with \
             {:?} is too long, found a list",
            "?".repeat(40)
        )
    );
}

#[test]
fn system_messages_stay_whatever_sanbot_says() {
    for (value, is_heeded) in [("true", true), ("false", false), ("\"no\"", false)] {
        let text = format!("{{compaction: {{keepSystemPrompt: {value}}}}}");
        let read = read_config(&text, None, None);
        assert_eq!(read.is_ok(), is_heeded, "{value}");
    }
}

#[test]
fn slips_of_the_pen_are_told_with_their_line() {
    let toml = error("[keep]\nturns = 6\nturns = 7\n");
    assert_eq!(toml, "line 3: not valid TOML: duplicate key");
    assert_eq!(
        error("{\n  compaction: {\n    enabled: yes\n}}"),
        "line 3: not valid JSON5: expected value"
    );
}

#[test]
fn depth_has_an_end() {
    for open in ["[", "{a:"] {
        let text = format!("{{x:{}", open.repeat(200_000));
        assert_eq!(error(&text), "not valid JSON5: nested too deeply");
    }
    let toml = error(&format!("x = {}", "[".repeat(200_000)));
    assert!(toml.starts_with("line 1: not valid TOML"), "{toml}");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in "[\\PC\n]{0,80}",
        tokens in proptest::collection::vec(
            proptest::sample::select(vec![
                "{", "}", "[", "]", ":", "=", ",", "\"", "'", "\n", "//", "/*", "*/", "#", "\\u", "0x",
                "1e9", "-", ".5", "NaN", "null", "true", "compaction", "agent", "agents", "defaults",
                "contextPruning", "pruning", "trigger", "messages", "ttl", "tools", "é",
            ]),
            0..40,
        ),
    ) {
        for text in [&text, &tokens.concat(), &format!("{{{}}}", tokens.concat())] {
            for name in [None, Some("c.json")] {
                if let Err(error) = read_config(text, name, None) {
                    proptest::prop_assert!(!error.to_string().is_empty());
                }
            }
        }
    }
}

#[test]
fn what_other_systems_say_is_said_of_settings() {
    let systems = systems();
    let names: Vec<&str> = systems.iter().map(|system| system.name).collect();
    assert_eq!(names, ["openclaw", "pomelobot", "sanbot", "xopcbot"]);
    for system in systems {
        for key in system.settings() {
            assert!(settings().iter().any(|known| known == key), "{}: {key}", system.name);
        }
    }
}

#[test]
fn a_bare_block_is_of_the_system_whose_keys_it_has() {
    for (text, preset) in [
        (r#"{"compaction": {"enabled": true, "reserveTokens": 16384}}"#, "openclaw"),
        (r#"{"compaction": {"enabled": true, "keepRecentTokens": 9}}"#, "openclaw"),
        (r#"{"compaction": {"enabled": true, "maxMessages": 40}}"#, "sanbot"),
        (r#"{"compaction": {"useLLMSummary": false}}"#, "sanbot"),
    ] {
        assert_eq!(read(text).preset.as_deref(), Some(preset), "{text}");
    }
    let shared = r#"{"compaction": {"enabled": false, "keepRecentMessages": 7}}"#;
    assert_eq!(
        error(shared),
        "this file may belong to several systems; choose one with --preset: openclaw, sanbot"
    );
    for preset in ["openclaw", "sanbot"] {
        let config = read_config(shared, None, Some(preset)).expect("it is named");
        assert_eq!(config.preset.as_deref(), Some(preset));
        assert_eq!(policy(&config).keep.messages, Some(7));
    }
}
