//! Whatever a record contains, a dialect can read it without harm, and its outline agrees with the
//! full message.

use ctx_format::dialect::ALL;
use ctx_format::{Dialect, Options, Records, Role, Validator};

pub(crate) fn run(bytes: &[u8]) {
    for dialect in ALL {
        session(bytes, dialect);
        summary(bytes, dialect);
    }
}

fn session(bytes: &[u8], dialect: &'static dyn Dialect) {
    let options = Options { dialect: Some(dialect), ..Options::default() };
    let mut records = Records::open(bytes, &options).expect("memory does not fail");
    let mut rules = Validator::new(dialect.rules());
    while let Some(record) = records.next().expect("memory does not fail") {
        let (outline, message) = (record.outline(Some(dialect)), record.message(Some(dialect)));
        assert_eq!(outline.is_some(), message.is_some(), "a message or none");
        let (Some(outline), Some(message)) = (outline, message) else { continue };
        rules.push(record.line, &outline);
        let owned = message.clone().into_owned();
        assert_eq!(owned.texts(), message.texts(), "an owned message says the same");
        let object = record.whole_object().expect("a message is an object");
        let _ = dialect.summary_text(object);
    }
    for problem in rules.finish() {
        assert!(!problem.why().is_empty(), "a problem without a reason");
    }
}

/// Checks that a summary record that this program writes is read as the same summary.
fn summary(bytes: &[u8], dialect: &dyn Dialect) {
    let text = String::from_utf8_lossy(bytes);
    // The Copilot CLI ignores a compaction without a summary.
    if text.is_empty() {
        return;
    }
    for role in [Role::User, Role::System] {
        let line = dialect.summary_record(dialect.summary_role(role), &text);
        let object = ctx_format::Object::parse(&line).expect("a summary is an object");
        let read = dialect.summary_text(&object).expect("a summary is known");
        assert_eq!(read.trim(), text.trim(), "a summary says something else");
    }
}
