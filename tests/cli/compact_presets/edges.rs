//! Behaviour that all presets share: sessions with too little or too much content, and policies
//! that are turned off.

use ctx_testkit::Server;

use super::talk::Talk;
use super::{ALL, asking, call, run, said};

#[test]
fn where_nothing_is_old_nothing_is_done_and_that_is_well() {
    for preset in ALL {
        for session in ["", "\n\n{\"role\":\"system\",\"content\":\"be brief\"}\n"] {
            for args in [&[][..], &["--if-due"], &["--force"]] {
                let ran = run(call(preset, session).args(args.iter().copied()));
                let expected = if args == ["--if-due"] { "not-due" } else { "nothing-to-do" };
                ran.is(expected);
                assert_eq!(ran.report["success"], true, "{preset}");
                assert_eq!(ran.number("freed_tokens"), 0, "{preset}");
                assert_eq!(ran.live, session, "{preset}");
            }
        }
    }
}

#[test]
fn system_messages_are_never_summed_up_however_many() {
    for preset in ALL {
        let session = (0..200).fold(Talk::new(), |talk, _| talk.system(600));
        let ran = run(call(preset, session.as_str()).args(["--force"]).code(one_where_due(preset)));
        assert_eq!(ran.live, session.as_str(), "{preset}");
    }
}

/// If a context exceeds its target and nothing can be removed, that is not a success.
fn one_where_due(preset: &str) -> i32 {
    // A session with fewer than 10 messages, without system messages, needs no compaction.
    i32::from(!matches!(preset, "xopcbot" | "openclaw"))
}

#[test]
fn one_message_that_is_too_large_is_told_by_the_summary_where_it_has_to() {
    for preset in ALL {
        let session = Talk::new().system(14).user(110_000);
        let ran = run(call(preset, session.as_str()).stderr_has(""));
        if one_where_due(preset) == 0 {
            ran.is("nothing-to-do");
            assert_eq!(ran.live, session.as_str(), "{preset}");
        } else {
            ran.is("compacted");
            assert!(ran.live.contains("ctx_summary") || ran.live.len() < session.as_str().len());
        }
    }
}

#[test]
fn a_policy_that_is_off_does_nothing() {
    let session = Talk::of(100, 110_000);
    for preset in ALL {
        for args in [&[][..], &["--force"], &["--overflow"], &["-n"]] {
            let case = call(preset, session.as_str())
                .env("CTX_ENABLED", "false")
                .args(args.iter().copied());
            let ran = run(case);
            ran.is("disabled");
            assert_eq!(ran.live, session.as_str());
        }
    }
}

#[test]
fn an_overflow_that_the_model_reported_is_due_in_every_preset() {
    for preset in ALL {
        let session = Talk::new().talk(30, 30_003);
        run(call(preset, session.as_str()).args(["--if-due"])).is("not-due");
        // The model refused the session although all of it fits into the recent part that pomelobot
        // keeps.
        let case = call(preset, session.as_str());
        let ran = run(case.args(["--if-due", "--overflow"]));
        assert_eq!(ran.report["triggers"], serde_json::json!(["overflow"]), "{preset}");
        ran.is("compacted");
    }
}

#[test]
fn no_preset_needs_a_server() {
    for preset in ALL {
        let session = Talk::new().system(10).talk(100, 110_000);
        let ran = run(call(preset, session.as_str()));
        ran.is("compacted");
        assert!(ran.live.starts_with(session.as_str().lines().next().expect("a line")));
        let kept = ran.number("first_kept_index");
        let kept: Vec<&str> =
            session.as_str().lines().skip(usize::try_from(kept).expect("small")).collect();
        assert!(ran.live.ends_with(&format!("{}\n", kept.join("\n"))), "{preset}");
        assert!(ran.store_has("events.jsonl") && ran.store_has("demo-"), "{preset}");
    }
}

/// "At most 500 tokens" is a limit for the model; a target lets it write a fifth more.
#[test]
fn a_model_may_write_as_much_as_its_policy_says() {
    for (preset, most) in [("sanbot", 500), ("synapse", 9_600)] {
        let answer = "## Current Status\nAll is well.\n## 任务目标\nAll is well.";
        let server = Server::new((0..9).map(|_| said(answer)));
        let session = Talk::of(90, 30_000);
        let case = call(preset, session.as_str()).args(["--force", "-q"]);
        let ran = run(asking(&server, case).args(["--llm-window", "200000"]));
        ran.is("compacted");
        let requests = server.requests().concat();
        let limit = format!("\"max_tokens\":{most},");
        assert!(requests.contains(&limit), "{preset}: {requests}");
    }
}
