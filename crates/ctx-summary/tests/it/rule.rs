//! Tests the exact text of rule summaries, with earlier summaries and limits.

use ctx_format::Object;
use ctx_format::dialect::{Anthropic, Chat, Dialect};
use ctx_summary::RuleSummary;
use ctx_tokens::Encoding;
use proptest::prelude::*;

fn summary_of(dialect: &dyn Dialect, records: &[&str]) -> RuleSummary {
    let mut summary = RuleSummary::default();
    for text in records {
        let object = Object::parse(text).expect("an object");
        summary.push(&dialect.message(&object).expect("a message"));
    }
    summary
}

fn write(summary: &RuleSummary) -> String {
    summary.finish(None, Encoding::Chars4.counter())
}

fn user(text: &str) -> String {
    serde_json::json!({"role": "user", "content": text}).to_string()
}

#[test]
fn counts_topics_and_tools() {
    let summary = summary_of(
        &Chat,
        &[
            r#"{"role":"user","content":"one"}"#,
            r#"{"role":"user","content":"two\n\n  lines"}"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"cat","arguments":"{}"}}]}"#,
            r#"{"role":"tool","tool_call_id":"a","content":"user said no"}"#,
            r#"{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:"}}]}"#,
            r#"{"role":"user","content":"我们用 PostgreSQL 还是 SQLite？请比较两者在单机部署、备份和并发写入方面的优缺点，并给出建议和理由，谢谢你的帮助"}"#,
        ],
    );
    assert_eq!(
        write(&summary),
        "## 会话摘要 / Session summary\n\n\
         - 用户消息数 / User messages: 4\n\
         - 工具调用数 / Tool calls: 3\n\
         - 最近话题 / Latest topics: two lines; see [image_url]; 我们用 PostgreSQL 还是 SQLite？请比较两者在单机部署、备份和并发写入方面的优缺点，\n\
         - 使用的工具 / Tools used: ls, cat"
    );
}

#[test]
fn results_are_no_user_messages() {
    let summary = summary_of(
        &Anthropic,
        &[
            r#"{"role":"user","content":"go"}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"},{"type":"text","text":"and now"}]}"#,
        ],
    );
    let text = write(&summary);
    assert!(text.contains("User messages: 2\n"), "{text}");
    assert!(text.contains("Latest topics: go; and now\n"), "{text}");
}

#[test]
fn nothing_said_leaves_lines_out() {
    assert_eq!(
        write(&RuleSummary::default()),
        "## 会话摘要 / Session summary\n\n- 用户消息数 / User messages: 0\n- 工具调用数 / Tool calls: 0"
    );
}

#[test]
fn secrets_do_not_become_topics() {
    let summary =
        summary_of(&Chat, &[&user("the password=hunter2x, and then some more words to fill it")]);
    assert!(!write(&summary).contains("hunter2x"));
    assert_eq!(summary.redacted, 1);
}

#[test]
fn an_earlier_rule_summary_is_added_up() {
    let first = write(&summary_of(&Chat, &[&user("alpha"), &user("beta")]));
    let mut second = RuleSummary::default();
    second.push_earlier(&first);
    second.push(
        &Chat.message(&Object::parse(&user("gamma")).expect("an object")).expect("a message"),
    );
    let second = write(&second);
    assert_eq!(
        second,
        "## 会话摘要 / Session summary\n\n\
         - 用户消息数 / User messages: 3\n\
         - 工具调用数 / Tool calls: 0\n\
         - 最近话题 / Latest topics: gamma\n\n\
         ### 更早的摘要 / Earlier summary\n\n\
         - 更早话题 / Earlier topics: alpha; beta"
    );
    let mut third = RuleSummary::default();
    third.push_earlier(&second);
    let third = write(&third);
    assert!(third.contains("User messages: 3\n"), "{third}");
    assert!(
        third.ends_with("Earlier topics: alpha; beta\n- 更早话题 / Earlier topics: gamma"),
        "{third}"
    );
}

#[test]
fn another_earlier_summary_is_carried_word_for_word_and_never_nested() {
    let foreign = "## Technical Context\n- Rust 1.89\n\n## Pending\n- release";
    let mut text = foreign.to_owned();
    for round in 0..12 {
        let mut summary = RuleSummary::default();
        summary.push_earlier(&text);
        let topic = user(&format!("topic {round}"));
        summary.push(&Chat.message(&Object::parse(&topic).expect("an object")).expect("a message"));
        text = write(&summary);
    }
    assert_eq!(text.matches("Earlier summary").count(), 1, "{text}");
    assert!(text.contains(foreign), "{text}");
    assert!(text.contains("User messages: 12\n"), "{text}");
    assert!(text.contains("Latest topics: topic 11\n"), "{text}");
    // Each round adds one line, so the summary grows slowly.
    assert_eq!(text.matches("Earlier topics: ").count(), 11, "{text}");
    assert_eq!(text.matches('\n').count(), 24, "{text}");
}

#[test]
fn several_earlier_summaries_stand_in_one_section() {
    let mut summary = RuleSummary::default();
    summary.push_earlier("first");
    summary.push_earlier("second");
    assert!(write(&summary).ends_with("### 更早的摘要 / Earlier summary\n\nfirst\n\nsecond"));
}

#[test]
fn the_oldest_lines_leave_first_and_it_is_said() {
    let counter = Encoding::Chars4.counter();
    let lines: Vec<String> = (0..40).map(|n| format!("- fact number {n}")).collect();
    let mut summary = RuleSummary::default();
    summary.push_earlier(&lines.join("\n"));
    let text = summary.finish(Some(80), counter);
    assert!(counter.count(&text) <= 80, "{text}");
    assert!(text.contains("older lines left out）\n"), "{text}");
    assert!(text.ends_with("- fact number 39"), "{text}");
    assert!(!text.contains("number 0\n"), "{text}");
    // The summary leaves out as few lines as possible, so one more line would make it too long.
    let kept = text.matches("fact number").count();
    assert!(kept >= 8, "{text}");

    let mut next = RuleSummary::default();
    next.push_earlier(&text);
    let again = next.finish(Some(60), counter);
    assert_eq!(again.matches("left out").count(), 1, "{again}");
    let kept = again.matches("fact number").count();
    assert!(again.contains(&format!("（已省略更早的 {} 行", 40 - kept)), "{again}");
}

#[test]
fn counts_stay_whatever_the_limit() {
    let call = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"NAME","arguments":""}}]}"#;
    let calls: Vec<String> = (0..30).map(|n| call.replace("NAME", &format!("tool_{n}"))).collect();
    let mut records: Vec<&str> = calls.iter().map(String::as_str).collect();
    let topic = user("a topic");
    records.push(&topic);
    let summary = summary_of(&Chat, &records);
    let counter = Encoding::Chars4.counter();
    let text = summary.finish(Some(60), counter);
    assert!(counter.count(&text) <= 60, "{text}");
    assert!(text.contains("tool_0, tool_1"), "{text}");
    assert!(text.contains(", +"), "{text}");
    assert!(text.contains("a topic"), "{text}");
    let tiny = summary.finish(Some(1), counter);
    assert_eq!(
        tiny,
        "## 会话摘要 / Session summary\n\n- 用户消息数 / User messages: 1\n- 工具调用数 / Tool calls: 30\n- 使用的工具 / Tools used: +30"
    );
}

proptest! {
    #[test]
    fn a_summary_of_a_summary_loses_no_count(texts in prop::collection::vec("\\PC{0,80}", 0..12), cut in 0usize..12) {
        let records: Vec<String> = texts.iter().map(|text| user(text)).collect();
        let records: Vec<&str> = records.iter().map(String::as_str).collect();
        let (early, late) = records.split_at(cut.min(records.len()));
        let mut summary = RuleSummary::default();
        summary.push_earlier(&write(&summary_of(&Chat, early)));
        for text in late {
            summary.push(&Chat.message(&Object::parse(text).expect("an object")).expect("a message"));
        }
        let text = write(&summary);
        let count = format!("User messages: {}\n", records.len());
        prop_assert!(text.contains(&count), "{}", text);
        prop_assert_eq!(&text, &write(&summary));
    }

    #[test]
    fn any_earlier_text_is_taken(text in "\\PC{0,60}(\\n\\PC{0,60}){0,6}", limit in prop::option::of(0u64..80)) {
        let mut summary = RuleSummary::default();
        summary.push_earlier(&text);
        let written = summary.finish(limit, Encoding::Chars4.counter());
        let is_own = "## 会话摘要 / Session summary\n\n- 用户消息数 / User messages: ";
        prop_assert!(written.starts_with(is_own));
    }
}
