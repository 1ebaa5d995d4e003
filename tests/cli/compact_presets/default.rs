//! The preset `default`.

use super::talk::Talk;
use super::{call, due, is_due_above, run};

#[test]
fn due_above_a_share_of_the_window_or_within_the_reserve() {
    let talk = |tokens| Talk::of(50, tokens);
    is_due_above_flush("share", 102_400, &[]);
    is_due_above(
        "default",
        44_000,
        "reserve",
        &talk,
        &["--window", "60k", "--set", "trigger.flush_share=1"],
    );
}

/// Checks a limit as for the other presets, except that a session near the limit needs a flush.
fn is_due_above_flush(trigger: &str, limit: u64, args: &[&str]) {
    let flush = limit * 9 / 10;
    for (tokens, outcome) in [
        (flush - 1, "not-due"),
        (flush, "not-due"),
        (flush + 1, "flushed"),
        (limit - 1, "flushed"),
        (limit, "flushed"),
        (limit + 1, "compacted"),
    ] {
        let (found, fired, report) = due("default", &Talk::of(50, tokens), args);
        assert_eq!(report["tokens_before"], tokens, "the fixture");
        assert_eq!(found, outcome, "{tokens}");
        let expected: &[&str] = if outcome == "compacted" { &[trigger] } else { &[] };
        assert_eq!(fired, expected, "{tokens}");
    }
}

#[test]
fn an_overflow_is_due_whatever_the_count() {
    let session = Talk::of(50, 30_000);
    let (outcome, fired, _) = due("default", &session, &["--overflow"]);
    assert_eq!((outcome.as_str(), fired), ("compacted", vec!["overflow".to_owned()]));
}

#[test]
fn the_last_20000_tokens_stay() {
    // Messages of 1,000 tokens: 20 are kept, and the others are summarized.
    for (messages, outcome) in [(19, "nothing-to-do"), (20, "nothing-to-do"), (21, "compacted")] {
        let session = Talk::of(messages, messages * 1_000 + 3);
        let ran = run(call("default", session.as_str()).args(["--set", "target.min_gain=false"]));
        ran.is(outcome);
        if outcome == "compacted" {
            assert_eq!(ran.number("kept_records"), 20);
            assert_eq!(ran.summary().0, "user");
        }
    }
}

#[test]
fn the_last_turn_stays_whole() {
    let session = Talk::new().turns(4, 2_000).user(500);
    let session = (0..30).fold(session, |talk, _| talk.reply(1_000));
    let ran = run(call("default", session.as_str()));
    ran.is("compacted");
    assert_eq!(ran.number("kept_records"), 31);
}

#[test]
fn pruning_waits_for_4000_tokens() {
    // One result is long. Pruning leaves 6,000 of its characters and a handle, whose length varies.
    let session = |words: u64| Talk::new().result("ls", words).turns(30, 1_500);
    let pruned = |words: u64, least: Option<&str>, code: i32| {
        let case =
            call("default", session(words).as_str()).args(["--set", "mode=prune_only", "-n"]);
        let case =
            least.into_iter().fold(case, |case, least| case.env("CTX_PRUNE_MIN_GAIN", least));
        run(case.code(code))
    };
    let freed = |words: u64| pruned(words, Some("0"), 0).number("freed_tokens");
    let about = 7_000 + 4_000 - freed(7_000);
    let mut seen = Vec::new();
    for words in about - 12..about + 13 {
        let freed = freed(words);
        let is_enough = freed >= 4_000;
        let ran = pruned(words, None, i32::from(!is_enough));
        ran.is(if is_enough { "compacted" } else { "no-gain" });
        seen.push(freed);
    }
    let near = |range: std::ops::Range<u64>| seen.iter().any(|freed| range.contains(freed));
    assert!(near(3_995..4_000) && near(4_000..4_005), "{seen:?}");
    // The limit is exact to the token.
    let freed = freed(about);
    pruned(about, Some(&freed.to_string()), 0).is("compacted");
    pruned(about, Some(&(freed + 1).to_string()), 1).is("no-gain");
}

#[test]
fn the_target_is_half_of_the_window_and_the_ladder_leads_there() {
    for (kept, tried) in [(40_000, &["policy"][..]), (70_000, &["policy", "pruned", "budget"])] {
        // The last turn is small. The one before it is too large to be kept with it.
        let session = Talk::new().turns(40, 1_000).user(10).reply(kept).user(10).reply(10);
        let ran = run(call("default", session.as_str()).env("CTX_KEEP_MESSAGES", "3"));
        ran.is("compacted");
        assert_eq!(ran.tried(), tried, "{kept}");
        assert!(ran.number("tokens_after") <= 64_000);
    }
}
