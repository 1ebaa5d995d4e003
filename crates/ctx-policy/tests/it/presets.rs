//! Each preset has the settings that its system's documentation describes, and no others.

use ctx_format::{Object, dialect};
use ctx_policy::{Method, Policy, headers, names, preset, settings, source};
use ctx_summary::{Recognizer, Template};
use serde_json::{Value, json};

/// Returns the headings of prompts/default.md.
fn default_sections() -> Value {
    json!([
        "Goal",
        "Constraints and Preferences",
        "Decisions",
        "Findings",
        "Done",
        "Current State",
        "Open Requests",
        "Next Step",
        "Places",
        "Exact Details"
    ])
}

fn at<'v>(shown: &'v Value, key: &str) -> &'v Value {
    key.split('.').fold(shown, |value, key| &value[key])
}

/// Checks that a preset equals the built-in policy except for the settings in `rows`.
fn check(name: &str, rows: &[(&str, Value)]) {
    let shown = preset(name).expect(name).to_json();
    let built_in = Policy::default().to_json();
    for key in &settings() {
        let row = rows.iter().find(|(of, _)| of == key);
        let expected = match row {
            Some((_, value)) => value,
            None => at(&built_in, key),
        };
        assert_eq!(at(&shown, key), expected, "{name}: {key}");
    }
    for (key, _) in rows {
        assert!(settings().iter().any(|setting| setting == key), "{key}");
    }
}

#[test]
fn what_is_built_in_triggers_and_keeps_nothing_of_its_own() {
    let shown = Policy::default().to_json();
    for (key, value) in [
        ("enabled", json!(true)),
        ("trigger.messages", json!(false)),
        ("trigger.tokens", json!(false)),
        ("trigger.share", json!(false)),
        ("trigger.window", json!(false)),
        ("trigger.reserve", json!(false)),
        ("trigger.tool_bytes", json!(false)),
        ("trigger.turns", json!(false)),
        ("trigger.min_messages", json!(false)),
        ("trigger.flush_share", json!(false)),
        ("trigger.at_limit", json!(false)),
        ("trigger.on_overflow", json!(true)),
        ("keep.messages", json!(false)),
        ("keep.turns", json!(false)),
        ("keep.tokens", json!(false)),
        ("keep.recent_share", json!(false)),
        ("offload.min_tokens", json!(false)),
        ("offload.delete_unreferenced", json!(false)),
        ("prune.cache_ttl", json!(false)),
        ("prune.allow", json!([])),
        ("prune.deny", json!([])),
        ("prune.window_messages", json!(false)),
        ("summary.tries", json!(3)),
        ("summary.safeguard", json!(false)),
        ("summary.instructions", json!(false)),
        ("summary.model", json!(false)),
        ("summary.extract", json!(false)),
        ("retention.keep_days", json!(false)),
    ] {
        assert_eq!(at(&shown, key), &value, "{key}");
    }
}

#[test]
fn sanbot() {
    check(
        "sanbot",
        &[
            ("name", json!("sanbot")),
            ("mode", json!("summary_plus_prune")),
            ("trigger.messages", json!(80)),
            ("trigger.share", json!(0.8)),
            ("trigger.tool_bytes", json!(50 * 1024)),
            ("keep.messages", json!(20)),
            ("summary.method", json!("llm")),
            ("summary.offline", json!("rule")),
            ("summary.fallback", json!(["rule", "prune"])),
            ("prune.when", json!("fallback")),
            ("prune.max_chars", json!(10_000)),
            ("prune.head_share", json!(0.3)),
            ("prune.tail_share", json!(0.3)),
            ("prune.clear", json!("if_needed")),
            ("prune.drop", json!([])),
            ("prune.protect_last", json!(3)),
            ("summary.tokens", json!(500)),
            ("summary.template", json!("sanbot")),
            ("summary.sections", json!(["任务目标", "已完成", "关键决策", "待处理"])),
            ("summary.extract", json!(true)),
            ("retention.keep_days", json!(7)),
        ],
    );
}

#[test]
fn synapse() {
    check(
        "synapse",
        &[
            ("name", json!("synapse")),
            ("mode", json!("summary_only")),
            ("trigger.share", json!(0.8)),
            ("offload.min_tokens", json!(2_000)),
            ("offload.enough_tokens", json!(15_000)),
            ("offload.reference", json!("Tool result is at: {path}")),
            ("offload.unavailable", json!("[Content unavailable: {path}]")),
            ("offload.restore_before_summary", json!(true)),
            ("offload.delete_unreferenced", json!(true)),
            ("keep.messages", json!(5)),
            ("summary.method", json!("llm")),
            ("summary.target_tokens", json!(8_000)),
            ("summary.max_output_factor", json!(1.2)),
            ("summary.tries", json!(3)),
            ("summary.backoff_seconds", json!(1)),
            ("summary.fallback", json!(["fail"])),
            ("summary.template", json!("synapse")),
            (
                "summary.sections",
                json!([
                    "Technical Context",
                    "Project Overview",
                    "Code Changes",
                    "Debugging & Issues",
                    "Current Status",
                    "Pending Tasks",
                    "User Preferences",
                    "Key Decisions"
                ]),
            ),
            ("summary.role", json!("user")),
            ("summary.header", json!("[Compressed History]")),
        ],
    );
}

#[test]
fn pomelobot() {
    check(
        "pomelobot",
        &[
            ("name", json!("pomelobot")),
            ("mode", json!("summary_only")),
            ("trigger.tokens", json!(80_000)),
            ("trigger.flush_share", json!(0.9)),
            ("trigger.at_limit", json!(true)),
            ("trigger.window", json!(128_000)),
            ("target.max_history_share", json!(0.5)),
            ("target.reserve", json!(20_000)),
            ("target.overhead", json!(500)),
            ("keep.recent_share", json!(0.6)),
            ("summary.method", json!("llm")),
            ("summary.target_tokens", json!(2_000)),
            ("summary.fallback", json!(["extractive"])),
            ("summary.sections", default_sections()),
            ("summary.header", json!("[对话历史摘要]")),
        ],
    );
}

#[test]
fn turns() {
    check(
        "turns",
        &[
            ("name", json!("turns")),
            ("mode", json!("summary_plus_prune")),
            ("encoding", json!("chars4")),
            ("trigger.window", json!(64_000)),
            ("trigger.share", json!(0.75)),
            ("trigger.on_overflow", json!(true)),
            ("target.share", json!(0.5)),
            ("target.max_attempts", json!(2)),
            ("keep.turns", json!(6)),
            ("summary.method", json!("llm")),
            ("summary.target_tokens", json!(2_000)),
            ("summary.fallback", json!(["prune"])),
            ("summary.sections", default_sections()),
            ("summary.role", json!("assistant")),
            ("summary.header", json!("[COMPACTED_CONTEXT]")),
            ("prune.when", json!("fallback")),
            ("prune.max_chars", json!(false)),
            ("prune.drop", json!(["reasoning", "empty"])),
            ("prune.protect_last", json!(0)),
        ],
    );
}

/// Returns the settings that xopcbot and openclaw share.
fn claw() -> Vec<(&'static str, Value)> {
    vec![
        ("mode", json!("summary_plus_prune")),
        ("trigger.share", json!(0.8)),
        ("trigger.on_overflow", json!(true)),
        ("trigger.min_messages", json!(10)),
        ("summary.method", json!("llm")),
        ("summary.target_tokens", json!(2_000)),
        ("summary.fallback", json!(["extractive"])),
        ("summary.sections", default_sections()),
        ("summary.role", json!("system")),
        ("summary.header", json!("[Previous conversation summary]: ")),
        ("prune.when", json!("sent")),
        ("prune.max_chars", json!(10_000)),
        ("prune.head_share", json!(0.3)),
        ("prune.tail_share", json!(0.3)),
        ("prune.cut", json!("... ({chars} chars truncated) ...")),
        ("prune.clear", json!("if_needed")),
        ("prune.placeholder", json!("[Old tool result content cleared]")),
        ("prune.drop", json!([])),
        ("prune.protect_last", json!(3)),
    ]
}

#[test]
fn xopcbot() {
    let mut rows = claw();
    rows.extend([
        ("summary.in_report", json!(true)),
        ("name", json!("xopcbot")),
        ("trigger.reserve", json!(8_000)),
        ("keep.messages", json!(5)),
    ]);
    check("xopcbot", &rows);
}

#[test]
fn openclaw() {
    let mut rows = claw();
    rows.extend([
        ("summary.in_report", json!(true)),
        ("name", json!("openclaw")),
        ("trigger.reserve", json!(16_384)),
        ("keep.tokens", json!(20_000)),
        ("prune.cache_ttl", json!("5m")),
        ("prune.allow", json!(["exec", "read"])),
        ("prune.deny", json!(["*image*"])),
    ]);
    check("openclaw", &rows);
}

#[test]
fn our_own() {
    check(
        "default",
        &[
            ("name", json!("default")),
            ("mode", json!("summary_plus_prune")),
            ("trigger.share", json!(0.8)),
            ("trigger.reserve", json!(16_000)),
            ("trigger.flush_share", json!(0.9)),
            ("keep.turns", json!(1)),
            ("keep.tokens", json!(20_000)),
            ("target.share", json!(0.5)),
            ("target.min_gain", json!(0.05)),
            ("prune.min_gain", json!(4_000)),
            ("summary.fallback", json!(["smaller", "prune"])),
            ("summary.tokens", json!(10_000)),
            ("summary.max_share", json!(0.2)),
            ("summary.complete", json!(true)),
        ],
    );
}

#[test]
fn every_preset_is_written_about_and_enabled() {
    let all: Vec<&str> = names().collect();
    let policies = ["default", "openclaw", "pomelobot", "sanbot", "synapse", "turns", "xopcbot"];
    assert_eq!(all, policies);
    for name in names() {
        let text = source(name).expect(name);
        assert!(text.starts_with(&format!("# {name}: ")), "{name}");
        assert!(text.ends_with('\n') && text.lines().all(|line| line.len() < 110));
        assert!(preset(name).expect(name).enabled, "{name}");
    }
}

#[test]
fn the_prompt_of_a_preset_asks_for_its_sections() {
    for name in names() {
        let summary = preset(name).expect(name).summary;
        let template = Template::by_name(&summary.template).expect(name);
        let (system, _) = template.fill(&ctx_summary::Filling::default());
        let headings: Vec<&str> =
            system.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        // A summary that is made without a model has fixed headings.
        if summary.method == Method::Llm {
            assert_eq!(headings, summary.sections, "{name}");
        }
    }
}

#[test]
fn the_summaries_of_all_presets_are_recognized() {
    let chat = dialect::by_name("chat").expect("a dialect");
    let any = Recognizer::new(None, headers());
    for name in names() {
        let header = preset(name).expect(name).summary.header;
        let own = Recognizer::new(header.as_deref(), headers());
        let text = own.compose("it was");
        // In a record that another tool wrote, only the header marks the summary.
        let record = json!({"role": "user", "content": text}).to_string();
        let object = Object::parse(&record).expect("an object");
        let message = chat.message(&object).expect("a message");
        let found = any.summary_in(chat, &object, &message);
        assert_eq!(found.as_deref(), Some("it was"), "{name}");
    }
}

#[test]
fn without_a_policy_the_template_is_the_same() {
    assert_eq!(Policy::default().summary.template, Template::DEFAULT);
}
