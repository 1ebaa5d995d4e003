//! turns: counts turns of the user, and tokens by characters.

use ctx_testkit::{Act, Server};

use super::talk::Talk;
use super::{asking, call, is_due_above, run, said};

fn wide(messages: u64, tokens: u64) -> Talk {
    Talk::wide().talk(messages, tokens)
}

#[test]
fn due_above_three_quarters_of_64000_tokens() {
    is_due_above("turns", 48_000, "share", &|tokens| wide(50, tokens), &[]);
}

#[test]
fn the_last_6_turns_stay_and_with_no_older_ones_nothing_is_done() {
    for (turns, outcome) in [(5, "nothing-to-do"), (6, "nothing-to-do"), (7, "compacted")] {
        let session = Talk::wide().system(10).turns(turns, 1_000);
        let ran = run(call("turns", session.as_str()));
        ran.is(outcome);
        assert_eq!(ran.number("tokens_before"), session.tokens(), "the fixture");
        if outcome == "compacted" {
            assert_eq!(ran.number("kept_records"), 12);
            let (role, text) = ran.summary();
            assert_eq!(role, "assistant");
            assert!(text.starts_with("[COMPACTED_CONTEXT]"), "{text}");
        }
    }
}

/// The result may have 32,000 tokens. If it has more, the tool tries less: first a summary of half
/// the length.
#[test]
fn the_target_is_half_of_the_window() {
    let session = |kept: u64| Talk::wide().turns(6, 4_000).user(kept).reply(50).turns(5, 4_000);
    let probe = run(call("turns", session(8_000).as_str()));
    let tokens = probe.number("tokens_after");
    assert_eq!(probe.tried(), ["policy"]);
    let (pruned, shared) = (["policy", "pruned"], ["policy", "pruned", "budget"]);
    for (left, expected, kept) in [
        (31_999, &pruned[..1], 12),
        (32_000, &pruned[..1], 12),
        (32_001, &pruned[..], 12),
        // As many of the six turns are kept as fit.
        (34_000, &shared[..], 10),
    ] {
        let ran = run(call("turns", session(8_000 + left - tokens).as_str()));
        ran.is("compacted");
        assert_eq!(ran.report["attempts"][0]["tokens"], left, "the fixture");
        assert_eq!(ran.tried(), expected, "{left}");
        assert_eq!(ran.number("kept_records"), kept);
    }
}

#[test]
fn reasoning_goes_before_turns_do() {
    let session =
        Talk::wide().turns(4, 4_000).turns(3, 4_000).user(500).thinks(500, 25_000).turns(2, 1_000);
    let ran = run(call("turns", session.as_str()));
    ran.is("compacted");
    assert_eq!(ran.tried(), ["policy", "pruned"]);
    assert!(!ran.live.contains("reasoning_content"));
    assert_eq!(ran.number("kept_records"), 12);
    // A last turn that fits is kept.
    let session =
        Talk::wide().turns(4, 4_000).turns(3, 4_000).user(500).thinks(500, 9_000).turns(2, 1_000);
    let ran = run(call("turns", session.as_str()));
    assert_eq!(ran.tried(), ["policy"]);
    assert!(ran.live.contains("reasoning_content"));
}

#[test]
fn a_request_above_the_target_is_told_by_the_summary() {
    let session = Talk::wide().turns(7, 1_000).user(40_000).reply(50);
    let ran = run(call("turns", session.as_str()).stderr_has("does not fit into the budget"));
    ran.is("compacted");
    assert_eq!(ran.tried(), ["policy", "pruned", "budget"]);
    assert!(ran.number("tokens_after") <= 32_000);
}

#[test]
fn an_overflow_is_due_whatever_the_count() {
    let session = Talk::wide().turns(8, 500);
    run(call("turns", session.as_str()).args(["--if-due"])).is("not-due");
    let ran = run(call("turns", session.as_str()).args(["--if-due", "--overflow"]));
    ran.is("compacted");
    assert_eq!(ran.report["triggers"], serde_json::json!(["overflow"]));
}

#[test]
fn its_environment_works() {
    let session = |tokens| wide(40, tokens);
    for (name, value, limit) in
        [("CONTEXT_WINDOW_TOKENS", "10000", 7_500), ("COMPACT_TRIGGER", "0.25", 16_000)]
    {
        for (tokens, outcome) in [(limit, "not-due"), (limit + 1, "compacted")] {
            let case = call("turns", session(tokens).as_str()).args(["--if-due", "-n"]);
            run(case.env(name, value)).is(outcome);
        }
    }
    let case = call("turns", session(30_000).as_str()).env("COMPACT_TARGET", "0.125");
    assert_eq!(run(case.args(["-n"])).number("target_tokens"), 8_000);
    let case = call("turns", session(30_000).as_str()).env("KEEP_LAST_TURNS", "3");
    assert_eq!(run(case).number("kept_records"), 6);
    // Another encoding counts exactly.
    let case =
        call("turns", Talk::of(40, 30_000).as_str()).args(["--encoding", "o200k_base", "-n"]);
    assert_eq!(run(case).number("tokens_before"), 30_000);
}

#[test]
fn a_summary_that_fails_or_is_too_long_leads_to_the_fallbacks() {
    let session = Talk::wide().turns(20, 2_400);
    let server = Server::new((0..4).map(|_| Act::Cut));
    let case = asking(&server, call("turns", session.as_str())).stderr_has("connection failed");
    run(case).is("compacted");

    let long = format!("## Done\n{}", "word ".repeat(17_000));
    let server = Server::new([said(&long)]);
    let case = call("turns", session.as_str()).args(["--summary-tokens", "25000"]);
    let ran = run(asking(&server, case).args(["--llm-window", "200000"]));
    ran.is("compacted");
    assert_eq!(ran.tried(), ["policy", "pruned"]);
    assert!(ran.number("tokens_after") <= 32_000);
    assert!(!ran.live.contains("word word"));
}

/// The model's summary exceeds the target; the model is not asked again.
#[test]
fn above_the_target_a_model_is_asked_once() {
    let session = Talk::wide().system(3_000).turns(8, 500);
    let server = Server::new([said("## Goal\nAll.")]);
    let case = call("turns", session.as_str())
        .args(["--keep-turns", "1", "--target-tokens", "1000"])
        .args(["--llm-window", "200000"])
        .stderr_has("above the target of 1000");
    let ran = run(asking(&server, case));
    ran.is("over-target");
    assert!(ran.summary().1.contains("## Goal\nAll."), "{:?}", ran.summary());
    assert_eq!(server.requests().len(), 1);
}
