//! Plans for compactions of whole sessions.

use chrono::DateTime;
use ctx_passes::compact::Plan;
use ctx_passes::summarize::recognizer;
use ctx_policy::Policy;
use ctx_select::count::MessageCounter;
use ctx_tokens::Encoding;

/// A compaction by this policy, due or not.
pub(crate) fn plan(policy: Policy) -> Plan {
    Plan {
        triggers: policy.trigger,
        overflow: false,
        only_if_due: false,
        force: true,
        dry_run: false,
        score: None,
        counter: MessageCounter::new(Encoding::Chars4),
        target: None,
        budget: None,
        strict_target: false,
        floor: ctx_select::split::Keep::default(),
        summary_tokens: None,
        model_window: None,
        pins: Vec::new(),
        last_call: None,
        calibrate: true,
        calibrated: None,
        limit: None,
        behind: None,
        window: None,
        model: None,
        headings: Vec::new(),
        recognizer: recognizer(None),
        saved: ctx_transcript::Saved::Yes,
        now: || DateTime::UNIX_EPOCH,
        temp: std::env::temp_dir(),
        policy,
    }
}
