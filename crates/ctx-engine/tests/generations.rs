//! Tests several compactions in a row: the API accepts each output.

mod common;

use std::io::Read;

use ctx_engine::Invalid;
use ctx_engine::compact::{Content, Options, Outcome};
use ctx_format::SummaryRole;
use ctx_policy::Policy;
use ctx_testkit::{legal_session, refusal};
use proptest::prelude::*;

fn plan(keep: u64, role: SummaryRole) -> Options {
    let mut policy = Policy::default();
    policy.keep.messages = Some(keep);
    policy.summary.role = role;
    common::options(policy)
}

/// Returns the session after a compaction, and whether it was compacted.
fn compacted(plan: &Options, session: &str) -> (String, bool) {
    let mut input = session.as_bytes();
    let content = Content::of_stream(&mut input, None, Invalid::Keep).expect("a session");
    let (report, content) = common::compact(plan, content).expect("no failure");
    let mut text = String::new();
    let mut file = content.file().expect("a handle");
    file.read_to_string(&mut text).expect("UTF-8");
    (text, report.outcome == Outcome::Compacted)
}

/// Runs the default number of cases, or as many as `CTX_CASES` says.
fn cases() -> ProptestConfig {
    let cases = std::env::var("CTX_CASES").map(|cases| cases.parse().expect("a number"));
    ProptestConfig::with_cases(cases.unwrap_or(64))
}

proptest! {
    #![proptest_config(cases())]

    /// Even if the format is not named, and some texts are valid in several formats, the output of
    /// up to three compactions is always valid.
    #[test]
    fn three_compactions_in_a_row_write_what_the_api_accepts(
        (api, parts) in legal_session(),
        keep in 1u64..8,
        role in prop_oneof![
            Just(SummaryRole::User),
            Just(SummaryRole::Assistant),
            Just(SummaryRole::System),
        ],
    ) {
        let plan = plan(keep, role);
        let mut session = String::new();
        for part in parts {
            session.push_str(&part);
            let (after, _) = compacted(&plan, &session);
            prop_assert_eq!(refusal(api, &after), None, "{:?}: {}", api, after);
            session = after;
        }
    }
}

#[test]
fn the_sessions_are_compacted_at_all() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let (mut done, mut of) = (0, 0);
    for _ in 0..20 {
        let (_, parts) = legal_session().new_tree(&mut runner).expect("a session").current();
        for part in parts {
            of += 1;
            done += usize::from(compacted(&plan(2, SummaryRole::User), &part).1);
        }
    }
    assert!(done * 2 > of, "{done} of {of}");
}
