//! Tests with pi sessions.

use std::fmt::Write;

use ctx_format::dialect::Pi;
use ctx_policy::Rule;
use proptest::prelude::*;

use super::{OF_LINES, holds, pruned};

const HEADER: &str =
    "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/\"}\n";

/// Returns a log made of these steps, each given as its kind and whether it goes back to an earlier
/// entry.
fn log(steps: &[(usize, usize)]) -> String {
    let mut text = HEADER.to_owned();
    for (number, (step, back)) in steps.iter().enumerate() {
        let parent = match back {
            0 => number / 2,
            _ => number,
        };
        let parent = match parent {
            0 => "null".to_owned(),
            parent => format!("\"e{parent}\""),
        };
        let kept = number.saturating_sub(*back).max(1);
        let rest = match step {
            0..4 => format!(
                "\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"t{number}\"}}"
            ),
            4 => format!(
                "\"type\":\"message\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"a{number}\"}}],\"stopReason\":\"stop\"}}"
            ),
            5 => format!(
                "\"type\":\"compaction\",\"summary\":\"s{number}\",\"firstKeptEntryId\":\"e{kept}\",\"tokensBefore\":1"
            ),
            6 => format!("\"type\":\"label\",\"targetId\":\"e{kept}\",\"label\":\"x\""),
            7 => "\"type\":\"model_change\",\"provider\":\"p\",\"modelId\":\"m\"".to_owned(),
            _ => format!(
                "\"type\":\"branch_summary\",\"fromId\":\"e{kept}\",\"summary\":\"b{number}\""
            ),
        };
        let id = number + 1;
        writeln!(text, "{{\"id\":\"e{id}\",\"parentId\":{parent},\"timestamp\":\"t\",{rest}}}")
            .expect("to memory");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_context_of_any_tree_stays(
        steps in prop::collection::vec((0..9_usize, 0..6_usize), 1..40),
        drop in prop::sample::subsequence(OF_LINES.to_vec(), 0..=OF_LINES.len()),
    ) {
        holds(&log(&steps), &Pi, &drop, false)?;
    }
}

#[test]
fn what_a_compaction_stands_for_leaves_but_settings_stay() {
    let session = log(&[(7, 1), (0, 1), (4, 1), (0, 1), (5, 1), (0, 1)]);
    let after = pruned(&session, &Pi, &[Rule::BeforeCompaction]).expect("no failure");
    let lines: Vec<&str> = session.lines().collect();
    let first_kept = lines[3].replacen("\"e2\"", "\"e1\"", 1);
    let expected = [lines[0], lines[1], &first_kept, lines[4], lines[5], lines[6]];
    assert_eq!(after.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn version_1_loses_no_line() {
    let session = log(&[(0, 1), (5, 1), (0, 1)]).replacen("\"version\":3,", "", 1);
    let after = pruned(&session, &Pi, &[Rule::BeforeCompaction]).expect("no failure");
    assert_eq!(after, session);
}

/// Lines may be children of later lines, or of each other. Timestamps follow the line numbers.
#[test]
fn lines_in_any_order_take_no_longer() {
    let mut session = HEADER.to_owned();
    let mut entry = |id: usize, parent: &str| {
        writeln!(session, "{{\"id\":\"e{id}\",\"parentId\":{parent},\"timestamp\":\"t\",\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"x\"}}}}").expect("to memory");
    };
    let count = 40_000;
    for id in 1..count {
        entry(id, &format!("\"e{}\"", id + 1));
    }
    entry(count, "\"e1\"");
    entry(count + 1, "null");
    let after = pruned(&session, &Pi, &[Rule::DeadBranches]).expect("no failure");
    assert_eq!(after.lines().count(), 2);
}
