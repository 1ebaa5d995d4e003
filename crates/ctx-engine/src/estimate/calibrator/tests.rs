//! Tests what the calibrator learns from requests, and what it estimates before and between them.

use ctx_tokens::{Encoding, model};

use super::{Calibrator, Estimate, Request};

const CLAUDE: Option<&str> = Some("claude-opus-4-5");

fn learn(calibrator: &mut Calibrator, counted: u64, prompt: u64) {
    calibrator.learn(&Request { counted, prompt, model: CLAUDE, as_sent: true });
}

/// Returns what is learned from a session with a system prompt of 20,000 tokens and a model that
/// counts 5 tokens for 4 of ours.
fn session(requests: u64) -> Calibrator {
    let mut calibrator = Calibrator::new(Encoding::O200kBase);
    for number in 0..requests {
        let counted = number * 1_000;
        learn(&mut calibrator, counted, 20_000 + counted * 5 / 4 + number * 50);
    }
    calibrator
}

#[test]
fn nothing_is_known_without_a_request() {
    let none = session(0);
    assert_eq!((none.estimate(1_000), none.base()), (None, None));
    let of = |encoding, name| Estimate::uncalibrated(1_000, encoding, model(name));
    let range = |low, tokens, high| Estimate { low, tokens, high };
    assert_eq!(of(Encoding::O200kBase, "gpt-5"), range(1_000, 1_000, 1_000));
    for (encoding, name) in [
        (Encoding::Chars4, "gpt-5"),
        (Encoding::O200kBase, "claude-opus-4-5"),
        (Encoding::O200kBase, "unknown"),
    ] {
        assert_eq!(of(encoding, name), range(1_000, 1_200, 1_600), "{name}");
    }
}

#[test]
fn one_request_tells_what_is_beside_the_messages() {
    let estimate = session(1).estimate(2_000).expect("told");
    assert!(estimate.holds(22_500), "{estimate:?}");
    assert!(!estimate.holds(2_000) && !estimate.holds(25_000));
}

#[test]
fn many_requests_tell_the_factor() {
    let learned = session(80);
    assert!((learned.fit.factor - 1.25).abs() < 0.02, "{}", learned.fit.factor);
    assert_eq!(learned.model.as_deref(), CLAUDE);
    let base = learned.base().expect("told");
    assert!((20_000..26_000).contains(&base), "{base}");
    let truth = 20_000 + 80 * 1_250 + 80 * 50;
    let estimate = learned.estimate(80_000).expect("told");
    assert!(estimate.holds(truth) && estimate.high < truth + 600, "{estimate:?}");
    assert!(estimate.low <= estimate.tokens && estimate.tokens <= estimate.high);
}

#[test]
fn behind_a_compaction_the_base_stays() {
    let mut learned = session(80);
    learned.compacted();
    let estimate = learned.estimate(3_000).expect("told");
    assert!(estimate.holds(24_000) && estimate.high < 35_000, "{estimate:?}");
    learn(&mut learned, 3_000, 26_000);
    let estimate = learned.estimate(3_000).expect("told");
    assert!(estimate.holds(26_000) && estimate.high < 27_000, "{estimate:?}");
}

#[test]
fn another_model_is_learned_anew() {
    let mut learned = session(80);
    learned.learn(&Request {
        counted: 80_000,
        prompt: 90_000,
        model: Some("gpt-5"),
        as_sent: true,
    });
    assert_eq!(learned.model.as_deref(), Some("gpt-5"));
    assert!((learned.fit.factor - 1.0).abs() < f64::EPSILON);
    let estimate = learned.estimate(80_000).expect("told");
    assert!(estimate.holds(90_040) && estimate.high < 91_000);
}

#[test]
fn numbers_that_cannot_be_are_survived() {
    let mut calibrator = session(3);
    for (counted, prompt) in [(u64::MAX, 1), (0, u64::MAX), (5, 5), (u64::MAX, u64::MAX)] {
        learn(&mut calibrator, counted, prompt);
        let estimate = calibrator.estimate(0).expect("told");
        assert!(estimate.low <= estimate.high, "{estimate:?}");
    }
}

/// A tool such as `ctx-prune` has corrected the usage of the last reply.
#[test]
fn a_prompt_that_has_fallen_is_in_doubt_until_the_next_one() {
    let mut learned = session(80);
    let (factor, calm) = (learned.fit.factor, learned.estimate(80_000));
    let calm = calm.expect("told").high - calm.expect("told").low;
    learn(&mut learned, 30_000, 60_000);
    let doubtful = learned.estimate(30_000).expect("told");
    assert!(doubtful.holds(66_000) && doubtful.holds(54_000));
    assert!(!doubtful.holds(122_000), "{doubtful:?}");
    // Neither the smaller prompt nor the next request says anything about the factor.
    learn(&mut learned, 31_000, 66_000);
    assert!((learned.fit.factor - factor).abs() < f64::EPSILON);
    let estimate = learned.estimate(32_000).expect("told");
    assert!(estimate.holds(67_300), "{estimate:?}");
    assert!(estimate.high - estimate.low <= calm, "{estimate:?}");
}

#[test]
fn what_pruning_left_tells_nothing_of_the_factor() {
    let mut learned = session(80);
    let factor = learned.fit.factor;
    for number in 80..160 {
        learned.learn(&Request {
            counted: 80_000 + number,
            prompt: 122_000 + (number - 80) * 3_000,
            model: CLAUDE,
            as_sent: false,
        });
    }
    assert!((learned.fit.factor - factor).abs() < f64::EPSILON);
    let estimate = learned.estimate(81_160).expect("told");
    assert!(estimate.high - estimate.low < 1_000, "{estimate:?}");
}

#[test]
fn what_is_taken_out_of_the_last_request_is_reckoned_by_the_factor() {
    assert_eq!(session(0).without(10), None);
    let learned = session(80);
    let prompt = 20_000 + 79 * 1_250 + 79 * 50;
    assert_eq!(learned.without(0), Some(prompt));
    let rest = learned.without(40_000).expect("told");
    assert!((71_500..73_500).contains(&rest), "{rest}");
    // The result is at least our count of the remaining messages, and at most the old prompt.
    let mut wrong = session(0);
    learn(&mut wrong, 50_000, 51_000);
    assert_eq!(wrong.without(49_000), Some(1_000));
    assert_eq!(wrong.without(u64::MAX), Some(0));
    learn(&mut wrong, 60_000, 5_000);
    assert_eq!(wrong.without(10), Some(5_000));
}
