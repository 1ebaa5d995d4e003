//! sanbot: three triggers, the last 20 messages are kept, and the summary has four sections.

use ctx_testkit::{Act, Server};

use super::talk::Talk;
use super::{asking, call, call_in, due, is_due_above, run, said, with_sections};

const SECTIONS: [&str; 4] = ["任务目标", "已完成", "关键决策", "待处理"];

#[test]
fn due_above_80_messages() {
    for (messages, fires) in [(79, false), (80, false), (81, true)] {
        // System messages do not count.
        let session = Talk::new().system(10).system(10).talk(messages, 10_000);
        let ran = run(call("sanbot", session.as_str()).args(["--if-due"]));
        ran.is(if fires { "compacted" } else { "not-due" });
        let fired: &[&str] = if fires { &["messages"] } else { &[] };
        assert_eq!(ran.report["triggers"], serde_json::json!(fired));
        assert_eq!(ran.live == session.as_str(), !fires, "{messages}");
    }
}

#[test]
fn due_above_eight_tenths_of_the_window() {
    is_due_above("sanbot", 102_400, "share", &|tokens| Talk::of(50, tokens), &[]);
    // This trigger is a share of the model's own window.
    let model = ["--model", "gpt-4"];
    is_due_above("sanbot", 6_553, "share", &|tokens| Talk::of(50, tokens), &model);
}

#[test]
fn due_above_50_kib_of_tool_results() {
    for (bytes, fires) in [(51_199, false), (51_200, false), (51_201, true)] {
        let [first, second] = ["x".repeat(30_000), "x".repeat(bytes - 30_000)];
        let session = Talk::new()
            .talk(30, 5_000)
            .call("ls", &first, 0)
            .call("ls", &second, 0)
            .talk(30, 9_000);
        let (outcome, fired, _) = due("sanbot", &session, &[]);
        assert_eq!(outcome == "compacted", fires, "{bytes}: {outcome}");
        assert_eq!(fired, if fires { vec!["tool-bytes"] } else { vec![] });
    }
}

#[test]
fn the_last_20_messages_stay() {
    for (messages, outcome) in [(19, "nothing-to-do"), (20, "nothing-to-do"), (21, "compacted")] {
        let session = Talk::new().system(10).talk(messages, 21_000);
        let ran = run(call("sanbot", session.as_str()));
        ran.is(outcome);
        if outcome == "compacted" {
            assert_eq!(ran.number("kept_records"), 20);
            let (role, text) = ran.summary();
            assert_eq!(role, "user");
            assert!(text.starts_with("## 会话摘要"), "{text}");
            let kept: Vec<&str> = session.as_str().lines().skip(2).collect();
            assert!(ran.live.ends_with(&format!("{}\n", kept.join("\n"))));
        }
    }
}

#[test]
fn snapshot_summary_memory_and_audit_are_in_the_store() {
    let before =
        "{\"role\":\"user\",\"content\":\"We decided to use SQLite. I prefer short names.\"}\n";
    let session = format!("{before}{}", Talk::of(40, 20_000).as_str());
    let ran = run(call("sanbot", &session));
    ran.is("compacted");
    let snapshot = ran.report["snapshot"].as_str().expect("an id");
    for file in [
        &format!("session-summaries/{snapshot}.jsonl"),
        &format!("session-summaries/{snapshot}.meta.json"),
        "session-summaries/demo.md",
        "extracted/decisions.md",
        "extracted/preferences.md",
        "context/events.jsonl",
    ] {
        assert!(ran.store_has(file), "{file}");
    }
    // The summary's length is a limit.
    let (_, text) = ran.summary();
    let tokens = ctx_tokens::Encoding::default().counter().count(&text);
    assert!(tokens <= 550, "{tokens}: {text}");
}

#[test]
fn a_model_writes_the_summary() {
    let server = Server::new([said(&with_sections(&SECTIONS))]);
    let session = Talk::of(40, 20_000);
    let ran = run(asking(&server, call("sanbot", session.as_str())));
    ran.is("compacted");
    let (_, text) = ran.summary();
    assert!(text.contains("## 关键决策\nNone."), "{text}");
    let request = server.requests().concat();
    for section in SECTIONS {
        assert!(request.contains(&format!("## {section}")), "{section}");
    }
    assert!(request.contains("500"), "{request}");
}

#[test]
fn without_a_good_answer_it_is_the_rule_summary() {
    type Row = (fn() -> Act, usize, &'static str);
    let long = format!("## 已完成\n{}", "a ".repeat(40_000));
    // Each row has the server's behaviour, the number of requests and the message.
    let rows: [Row; 5] = [
        (|| Act::Cut, 3, "connection failed"),
        (|| said("  "), 3, "the answer is empty"),
        (|| Act::answer("500 Internal Server Error", "", ""), 3, "status 500"),
        (|| Act::answer("401 Unauthorized", "", ""), 1, "status 401"),
        (|| said("I'm sorry, but I can't help with that."), 1, "the model refused"),
    ];
    let session = Talk::of(40, 20_000);
    for (act, tries, why) in rows {
        let server = Server::new((0..tries).map(|_| act()));
        let case = call("sanbot", session.as_str()).stderr_has(why);
        let ran = run(asking(&server, case));
        ran.is("compacted");
        assert!(ran.summary().1.starts_with("## 会话摘要"), "{why}");
        assert_eq!(server.requests().len(), tries, "{why}");
    }
    // The answer is longer than the messages that it summarizes.
    let server = Server::new([said(&long)]);
    let case =
        call("sanbot", session.as_str()).stderr_has("longer than the messages that it replaces");
    let ran = run(asking(&server, case));
    ran.is("compacted");
    assert!(ran.summary().1.starts_with("## 会话摘要"));
}

#[test]
fn no_model_is_asked_when_the_policy_or_nobody_names_one() {
    let config =
        r#"{"compaction": {"useLLMSummary": false, "maxMessages": 30, "keepRecentMessages": 4}}"#;
    let server = Server::new([said("never")]);
    let session = Talk::of(31, 20_000);
    let case = call("sanbot", session.as_str()).file("policy.json", config).args([
        "--config",
        "policy.json",
        "--if-due",
    ]);
    let ran = run(asking(&server, case));
    ran.is("compacted");
    assert_eq!(ran.report["triggers"], serde_json::json!(["messages"]));
    assert_eq!(ran.number("kept_records"), 4);
    assert!(server.requests().is_empty());
}

/// The last messages have more than 50 KiB of tool output, so they are cleaned as well.
#[test]
fn tool_output_of_what_is_kept_is_cleaned_where_it_is_too_much() {
    let words = "a line of a log and more ".repeat(400);
    for (older, outcome) in [(0, "compacted"), (40, "compacted")] {
        let mut session = Talk::new();
        if older > 0 {
            session = session.talk(older, 9_000);
        }
        for _ in 0..6 {
            session = session.user(10).call("ls", &words, 2_500).reply(20);
        }
        let ran = run(call("sanbot", session.as_str()).args(["--if-due"]));
        ran.is(outcome);
        let results = ran.live.lines().filter(|line| line.contains("\"tool_call_id\""));
        let bytes: usize = results.map(str::len).sum();
        assert!(bytes < 51_200 + 1_000, "{bytes}");
        // The last results are whole or cut.
        assert!(ran.live.matches("a line of a log").count() > 100);
        let again = call_in(ran.done.dir(), "sanbot").args(["--if-due"]);
        run(again).is("not-due");
    }
}
