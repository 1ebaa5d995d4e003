//! xopcbot and openclaw: two triggers, a condition, and pruning of what is sent.

use ctx_testkit::{Case, Server};
use serde_json::Value;

use super::talk::Talk;
use super::{asking, call, due, is_due_above, run, said, with_sections};
use crate::compact::CTX_COMPACT;

const SECTIONS: [&str; 10] = [
    "Goal",
    "Constraints and Preferences",
    "Decisions",
    "Findings",
    "Done",
    "Current State",
    "Open Requests",
    "Next Step",
    "Places",
    "Exact Details",
];
const BOTH: [&str; 2] = ["xopcbot", "openclaw"];

#[test]
fn due_above_a_share_of_the_window_or_within_the_reserve() {
    let talk = |tokens| Talk::of(50, tokens);
    for preset in BOTH {
        is_due_above(preset, 102_400, "share", &talk, &[]);
    }
    is_due_above(
        "xopcbot",
        22_000,
        "reserve",
        &talk,
        &["--window", "30000", "--keep-messages", "5"],
    );
    is_due_above("openclaw", 43_616, "reserve", &talk, &["--window", "60000"]);
}

#[test]
fn with_fewer_than_10_messages_only_an_overflow_is_due() {
    for preset in BOTH {
        for (messages, overflow, fires) in
            [(9, false, false), (10, false, true), (11, false, true), (9, true, true)]
        {
            let session = Talk::of(messages, 110_000);
            let args: &[&str] = if overflow { &["--overflow"] } else { &[] };
            let (outcome, fired, _) = due(preset, &session, args);
            assert_eq!(!fired.is_empty(), fires, "{preset} {messages}: {fired:?}");
            assert_eq!(outcome == "compacted", fires, "{preset} {messages}: {outcome}");
        }
    }
}

#[test]
fn the_threshold_is_from_a_half_to_nearly_all() {
    for (share, is_allowed) in [("0.49", false), ("0.5", true), ("0.95", true), ("0.96", false)] {
        for preset in BOTH {
            let case =
                call(preset, Talk::of(12, 9_000).as_str()).args(["--trigger-share", share, "-n"]);
            let case = if is_allowed { case } else { case.code(2).stderr_has("trigger.share") };
            case.run();
        }
    }
}

#[test]
fn xopcbot_keeps_the_last_5_messages() {
    for (messages, outcome) in [(4, "nothing-to-do"), (5, "nothing-to-do"), (6, "compacted")] {
        let session = Talk::new().system(10).talk(messages, 6_000);
        let ran = run(call("xopcbot", session.as_str()));
        ran.is(outcome);
        if outcome == "compacted" {
            assert_eq!(ran.number("kept_records"), 5);
            assert_eq!(ran.number("first_kept_index"), 2);
            let (role, text) = ran.summary();
            assert_eq!(role, "system");
            assert!(text.starts_with("[Previous conversation summary]: "), "{text}");
        }
    }
}

#[test]
fn openclaw_keeps_the_last_20000_tokens() {
    for (messages, outcome) in [(19, "nothing-to-do"), (20, "nothing-to-do"), (21, "compacted")] {
        let session = Talk::of(messages, messages * 1_000 + 3);
        let ran = run(call("openclaw", session.as_str()));
        ran.is(outcome);
        if outcome == "compacted" {
            assert_eq!(ran.number("kept_records"), 20);
        }
    }
}

/// Returns the request that is sent when a session is piped through, with the report of a preview.
fn sent(session: &str, args: &[&str]) -> (String, Value) {
    let case = || Case::new(CTX_COMPACT).args(args.iter().copied()).stdin(session).stdout_any();
    let done = case().run();
    let preview = case().args(["-n", "--json"]).run();
    let report = serde_json::from_slice(&preview.stdout).expect("a JSON object");
    (String::from_utf8(done.stdout.clone()).expect("UTF-8"), report)
}

/// Returns a session with a result of this many characters that no rule protects from pruning.
fn with_result(tool: &str, chars: usize) -> Talk {
    let text = format!("{}{}", "h".repeat(chars / 2), "t".repeat(chars - chars / 2));
    Talk::new()
        .user(10)
        .call(tool, &text, 0)
        .user(10)
        .reply(10)
        .user(10)
        .reply(10)
        .user(10)
        .reply(10)
}

#[test]
fn results_over_10000_characters_are_trimmed_in_what_is_sent() {
    for (chars, is_trimmed) in [(9_999, false), (10_000, false), (10_001, true)] {
        let session = with_result("read", chars);
        let args = ["--preset", "xopcbot", "--if-due"];
        let (text, report) = sent(session.as_str(), &args);
        assert_eq!(text != session.as_str(), is_trimmed, "{chars}");
        assert_eq!(report["outcome"], if is_trimmed { "pruned" } else { "not-due" });
        if is_trimmed {
            let [head, tail] = ["h".repeat(3_000), "t".repeat(3_000)];
            let cut = format!("{head}\\n... ({} chars truncated) ...\\n{tail}", chars - 6_000);
            assert!(text.contains(&cut), "{text}");
            let freed = report["freed_tokens"].as_u64().expect("a number");
            assert!(freed > 0, "{report}");
        }
        // The stored session is never pruned, whatever the flags say.
        for args in [&["--if-due"][..], &["--set", "mode=prune_only"], &["--force"]] {
            let ran = run(call("xopcbot", session.as_str()).args(args.iter().copied()));
            assert!(!ran.live.contains("truncated"), "{args:?}");
            if args != ["--force"] {
                assert_eq!(ran.live, session.as_str());
            }
        }
    }
}

#[test]
fn a_compaction_and_pruning_of_what_is_sent_go_together() {
    let long = "x".repeat(20_000);
    let session = Talk::new().turns(10, 1_000).call("read", &long, 0).reply(10).reply(10).reply(10);
    let (text, report) = sent(session.as_str(), &["--preset", "xopcbot"]);
    assert_eq!(report["outcome"], "compacted");
    assert!(text.contains("ctx_summary") && text.contains("(14000 chars truncated)"), "{text}");
    // Without pruning the request is longer.
    let (_, whole) = sent(session.as_str(), &["--preset", "xopcbot", "--set", "mode=summary_only"]);
    let tokens = |report: &Value| report["tokens_after"].as_u64().expect("a number");
    assert!(tokens(&report) < tokens(&whole));
    // In this mode the session is pruned without a summary.
    let (text, report) =
        sent(session.as_str(), &["--preset", "xopcbot", "--set", "mode=prune_only"]);
    assert_eq!(report["outcome"], "pruned");
    assert!(!text.contains("ctx_summary") && text.contains("truncated"));
}

#[test]
fn a_sliding_window_keeps_system_messages_and_the_last_ones() {
    let session = Talk::new().system(10).talk(6, 700);
    for (window, lines) in [(7, 7), (6, 7), (5, 6), (2, 3)] {
        let case = Case::new(CTX_COMPACT)
            .args(["--preset", "xopcbot", "--if-due"])
            .env("CTX_PRUNE_WINDOW_MESSAGES", &window.to_string());
        let done = case.stdin(session.as_str()).stdout_any().run();
        let text = String::from_utf8(done.stdout.clone()).expect("UTF-8");
        assert_eq!(text.lines().count(), lines, "{window}");
        let all: Vec<&str> = session.as_str().split_inclusive('\n').collect();
        let kept = all[all.len() - (lines - 1)..].concat();
        assert_eq!(text, format!("{}{kept}", all[0]));
    }
}

#[test]
fn the_last_3_replies_are_protected() {
    let long = "x".repeat(20_000);
    for (replies, is_pruned) in [(1, false), (2, false), (3, true)] {
        let session = Talk::new().user(10).call("read", &long, 0);
        let session = (0..replies).fold(session, |talk, _| talk.reply(10).user(10));
        let (text, _) = sent(session.as_str(), &["--preset", "xopcbot", "--if-due"]);
        assert_eq!(text.contains("truncated"), is_pruned, "{replies}");
    }
}

#[test]
fn openclaw_prunes_only_what_its_lists_allow() {
    let old = "2020-01-01T00:00:00Z";
    for (tool, is_pruned) in [("read", true), ("exec", true), ("ls", false), ("read_image", false)]
    {
        let session = with_result(tool, 20_000);
        let args = ["--preset", "openclaw", "--if-due", "--last-call", old];
        let (text, _) = sent(session.as_str(), &args);
        assert_eq!(text.contains("truncated"), is_pruned, "{tool}");
    }
}

#[test]
fn openclaw_prunes_only_once_the_cache_is_cold() {
    let session = with_result("read", 20_000);
    let ago =
        |seconds: i64| (chrono::Utc::now() - chrono::TimeDelta::seconds(seconds)).to_rfc3339();
    for (seconds, is_cold) in [(0, false), (240, false), (301, true), (3_600, true)] {
        let args = ["--preset", "openclaw", "--if-due", "--last-call", &ago(seconds)];
        let (text, _) = sent(session.as_str(), &args);
        assert_eq!(text.contains("truncated"), is_cold, "{seconds}");
    }
    // A longer time to live keeps the cache warm during the pause; a shorter one does not.
    for (ttl, is_cold) in [("2h", false), ("10s", true)] {
        let args = [
            "--preset",
            "openclaw",
            "--if-due",
            "--set",
            &format!("prune.cache_ttl={ttl}"),
            "--last-call",
            &ago(60),
        ];
        let (text, _) = sent(session.as_str(), &args);
        assert_eq!(text.contains("truncated"), is_cold, "{ttl}");
    }
    // Information in the records overrides everything else.
    let told = session.as_str().replace(
        "{\"role\":\"assistant\",\"content\":\" a",
        "{\"role\":\"assistant\",\"timestamp\":\"2020-01-01T00:00:00Z\",\"content\":\" a",
    );
    let (text, _) = sent(&told, &["--preset", "openclaw", "--if-due", "--last-call", &ago(0)]);
    assert!(text.contains("truncated"));
    // If nothing in the session shows the time, the cache may be warm.
    Case::new(CTX_COMPACT)
        .args(["--preset", "openclaw", "--if-due"])
        .stdin(session.as_str())
        .stdout(session.as_str())
        .stderr_has("nothing was pruned, because the time of the last call is unknown")
        .run();
}

#[test]
fn old_results_are_cleared_only_where_trimming_is_not_enough() {
    // A trimmed result has about 2,000 tokens. The limit is the window.
    let long = "word ".repeat(4_000);
    let session = Talk::new().user(10).call("read", &long, 4_000).talk(9, 10_000);
    for (window, is_cleared) in [("20000", false), ("6000", true)] {
        let args = [
            "--preset",
            "xopcbot",
            "--set",
            "mode=prune_only",
            "--window",
            window,
            "--set",
            "trigger.reserve=0",
        ];
        let (text, report) = sent(session.as_str(), &args);
        assert_eq!(report["outcome"], "pruned", "{report}");
        assert_eq!(text.contains("[Old tool result content cleared]"), is_cleared, "{window}");
        assert_eq!(text.contains("truncated"), !is_cleared, "{window}");
        let limit = window.parse::<u64>().expect("a number") * 8 / 10;
        let trimmed = report["tokens_after"].as_u64().expect("a number");
        assert!(is_cleared || trimmed <= limit, "{report}");
    }
}

#[test]
fn a_safeguarded_summary_is_checked_asked_for_again_and_then_less_is_kept() {
    let session = Talk::of(40, 20_000);
    let good = with_sections(&SECTIONS);
    let bad = with_sections(&SECTIONS[1..]);
    let missing = "these sections are missing: Goal";
    for (answers, safeguard, kept, asked) in [
        (vec![&good], true, 5, 1),
        (vec![&bad, &good], true, 5, 2),
        (vec![&bad, &bad], true, 3, 2),
        (vec![&bad], false, 5, 1),
    ] {
        let server = Server::new(answers.iter().map(|text| said(text)));
        let mut case = call("xopcbot", session.as_str());
        if safeguard {
            case = case.args(["--set", "summary.safeguard=true"]);
        }
        let is_refused = kept == 3;
        if is_refused {
            case = case.stderr_has(missing);
        }
        let ran = run(asking(&server, case));
        ran.is("compacted");
        assert_eq!(ran.number("kept_records"), kept);
        assert_eq!(
            ran.tried(),
            if is_refused { vec!["policy", "less-kept"] } else { vec!["policy"] }
        );
        let is_the_models = ran.summary().1.contains("## Exact Details\nNone.");
        assert_eq!(!is_the_models, is_refused);
        let requests = server.requests();
        assert_eq!(requests.len(), asked);
        if asked == 2 {
            assert!(requests[1].contains(missing), "the second one is told");
        }
    }
    // The settings can also come from a configuration file of openclaw.
    let server = Server::new([said(&bad), said(&good)]);
    let config = "{agents: {defaults: {compaction: {mode: 'safeguard', keepRecentMessages: 4}}}}";
    let case = call("xopcbot", session.as_str())
        .file("claw.json5", config)
        .args(["--config", "claw.json5"]);
    let ran = run(asking(&server, case));
    assert_eq!(ran.number("kept_records"), 4);
    assert_eq!(server.requests().len(), 2);
}
