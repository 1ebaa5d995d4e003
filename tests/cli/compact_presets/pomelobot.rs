//! pomelobot: two thresholds, a budget for the history, 60 % of it for the recent part.

use ctx_testkit::Server;

use super::talk::Talk;
use super::{asking, call, due, run, said};

#[test]
fn flushed_from_nine_tenths_and_compacted_from_the_whole() {
    for (tokens, outcome) in
        [(71_999, "not-due"), (72_000, "flushed"), (79_999, "flushed"), (80_000, "compacted")]
    {
        let session = Talk::of(40, tokens);
        let (found, fired, report) = due("pomelobot", &session, &[]);
        assert_eq!(report["tokens_before"], tokens, "the fixture");
        assert_eq!(found, outcome, "{tokens}");
        assert_eq!(fired.is_empty(), outcome != "compacted", "{fired:?}");
    }
}

#[test]
fn a_flush_saves_to_the_memory_and_leaves_the_history() {
    let before = "{\"role\":\"user\",\"content\":\"We decided to use SQLite.\"}\n";
    let session = format!("{before}{}", Talk::of(40, 76_000).as_str());
    let ran = run(call("pomelobot", &session).args(["--if-due"]));
    ran.is("flushed");
    assert_eq!(ran.live, session);
    assert!(ran.store_has("extracted/decisions.md"));
    assert!(!ran.store_has("demo-"), "no snapshot is needed");
}

/// A flush saves items from all messages, including those that are kept. Above the limit it comes
/// before the summary.
#[test]
fn a_flush_saves_the_recent_part_and_comes_before_a_compaction() {
    let late = "{\"role\":\"user\",\"content\":\"We decided to use SQLite.\"}\n";
    for (tokens, outcome) in [(76_000, "flushed"), (101_123, "compacted")] {
        let session = format!("{}{late}", Talk::of(40, tokens).as_str());
        let ran = run(call("pomelobot", &session).args(["--if-due"]));
        ran.is(outcome);
        let decisions = ran.stored("extracted/decisions.md");
        assert!(decisions.contains("SQLite"), "{decisions}");
    }
}

#[test]
fn the_budget_is_a_share_of_the_window_and_what_the_reserve_leaves() {
    for (window, budget) in
        [(39_999, 19_999), (40_000, 20_000), (40_001, 20_000), (128_000, 64_000)]
    {
        let session = Talk::of(10, 9_000);
        let window = window.to_string();
        let (_, _, report) = due("pomelobot", &session, &["--window", &window]);
        assert_eq!(report["target_tokens"], budget, "{window}");
    }
}

#[test]
fn the_recent_part_has_sixty_percent_of_what_is_available() {
    // The kept part has (64,000 - system - 500) × 0.6 tokens, where the system message includes its
    // overhead and priming.
    let session = Talk::new().system(1_000).talk(800, 90_003);
    let ran = run(call("pomelobot", session.as_str()));
    ran.is("compacted");
    let each = (90_003 - 1_003) / 800;
    let room = (64_000 - 1_000 - 500) * 6 / 10;
    let kept = ran.number("kept_records") * each;
    assert!(kept <= room + each && kept > room - 2 * each, "{kept} of {room}");
    assert!(ran.number("tokens_after") <= 64_000);
    let (role, text) = ran.summary();
    assert_eq!(role, "user");
    assert!(text.starts_with("[对话历史摘要]"), "{text}");
}

#[test]
fn within_its_budget_nothing_changes() {
    let session = Talk::of(40, 37_000);
    let ran = run(call("pomelobot", session.as_str()));
    ran.is("nothing-to-do");
    assert_eq!(ran.live, session.as_str());
}

#[test]
fn the_user_says_what_to_stress() {
    let server = Server::new([said("## Done\nAll is well.")]);
    let case = call("pomelobot", Talk::of(100, 90_000).as_str())
        .args(["--instructions", "keep the names of the tables"]);
    run(asking(&server, case.args(["--llm-window", "200000"]))).is("compacted");
    assert!(server.requests().concat().contains("keep the names of the tables"));
}

#[test]
fn each_mode_does_what_it_says() {
    // The session has a long result that is kept and one that is summarized.
    let long = "x".repeat(40_000);
    let session = Talk::new()
        .call("ls", &long, 5_000)
        .talk(100, 90_000)
        .call("ls", &long, 5_000)
        .reply(10)
        .reply(10)
        .reply(10)
        .reply(10);
    for (mode, sums_up, prunes) in [
        ("summary_only", true, false),
        ("summary_plus_prune", true, true),
        ("prune_only", false, true),
    ] {
        let ran = run(call("pomelobot", session.as_str()).args(["--set", &format!("mode={mode}")]));
        ran.is("compacted");
        assert_eq!(ran.live.contains("ctx_summary"), sums_up, "{mode}");
        assert_eq!(ran.live.contains("chars truncated"), prunes, "{mode}");
    }
}
