//! Runs compactions of whole sessions.

use chrono::DateTime;
use ctx_engine::compact::{Content, Environment, Options, Report, compact_stream};
use ctx_engine::message_counter::MessageCounter;
use ctx_engine::{Notes, PassError};
use ctx_policy::Policy;
use ctx_tokens::Encoding;

/// Returns the options for a compaction with this policy, whether or not the session is due.
pub(crate) fn options(policy: Policy) -> Options {
    Options { policy, force: true, ..Options::default() }
}

/// Compacts a session.
pub(crate) fn compact(options: &Options, content: Content) -> Result<(Report, Content), PassError> {
    let counter = MessageCounter::new(Encoding::Chars4);
    let environment = Environment::new(counter, || DateTime::UNIX_EPOCH, std::env::temp_dir());
    compact_stream(options, &environment, content, &mut Notes::default())
}
