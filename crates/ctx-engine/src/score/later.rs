//! Values needed later, if the whole session that BEFORE begins is known.

use std::hash::{DefaultHasher, Hash, Hasher};

use ctx_format::{Message, Part};
use ctx_summary::ledger::score::{Future, Needed};

use super::each_message;
use crate::{ErrorKind, PassError, Session};

/// Gathers what the old session, the new one and the continuation say.
#[derive(Default)]
pub struct Later {
    future: Future,
    /// Digests of the messages of the old session, in their order.
    begins: Vec<u64>,
}

impl Later {
    pub(super) fn after(&mut self, message: &Message<'_>) {
        self.future.push_after(message);
    }

    pub(super) fn before(&mut self, message: &Message<'_>) {
        self.future.push_before(message);
        self.begins.push(digest(message));
    }

    /// Reads the whole session; it must begin with the messages of the old one.
    pub fn read_full(&mut self, session: &mut Session) -> Result<(), PassError> {
        let mut begins = self.begins.iter();
        each_message(session, |found| {
            match begins.next() {
                None => self.future.push_later(&found.message),
                Some(expected) if *expected == digest(&found.message) => {}
                Some(_) => return Err(ErrorKind::OtherBeginning.at(found.record.line)),
            }
            Ok(())
        })?;
        match begins.next() {
            None => Ok(()),
            Some(_) => Err(ErrorKind::OtherBeginning.into()),
        }
    }

    /// The needed values; `budget` is the size of a window that might replace the new session.
    pub fn finish(self, budget: Option<u64>) -> Needed {
        self.future.finish(budget)
    }
}

/// How much of what was needed later was still there, by one measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name for people.
    pub name: &'static str,
    /// Its key for programs.
    pub key: &'static str,
    /// The number of needed values.
    pub needed: u64,
    /// How many of them are kept.
    pub kept: u64,
}

/// The measures of what was needed later.
pub fn measures(needed: Needed) -> [Measure; 3] {
    let of = |name, key, needed, kept| Measure { name, key, needed, kept };
    [
        of("A_must", "a_must", needed.total, needed.kept),
        of("A_ctx", "a_ctx", needed.total, needed.in_context),
        of("A_ctxfar", "a_ctxfar", needed.far, needed.far_in_context),
    ]
}

/// A digest of the text of a message, independent of how its JSON is written.
fn digest(message: &Message<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.role.hash(&mut hasher);
    hash_parts(&message.parts, &mut hasher);
    hasher.finish()
}

fn hash_parts(parts: &[Part<'_>], hasher: &mut DefaultHasher) {
    for part in parts {
        match part {
            Part::Text(text) => text.hash(hasher),
            Part::Call(call) => call.name.hash(hasher),
            Part::Result(result) => hash_parts(&result.parts, hasher),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Dialect, Object, dialect};

    use super::digest;

    fn of(name: &str, record: &str) -> u64 {
        let object = Object::parse(record).expect("an object");
        let dialect = dialect::by_name(name).expect("a dialect");
        digest(&Dialect::message(dialect, &object).expect("a message"))
    }

    #[test]
    fn a_message_is_the_same_however_its_json_is_written() {
        let one = of("chat", r#"{"role":"user","content":"a/b"}"#);
        let same = r#"{ "content":[{"type":"text","text":"a\/b"}], "role":"user", "ts":1}"#;
        assert_eq!(of("chat", same), one);
        assert_ne!(of("chat", r#"{"role":"user","content":"a/c"}"#), one);
        assert_ne!(of("chat", r#"{"role":"assistant","content":"a/b"}"#), one);
    }

    #[test]
    fn results_and_the_names_of_calls_count() {
        let call = |name: &str, arguments: &str| {
            let call = format!(
                r#"{{"id":"c","type":"function","function":{{"name":"{name}","arguments":"{arguments}"}}}}"#
            );
            of("chat", &format!(r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}}"#))
        };
        assert_eq!(call("ls", ""), call("ls", "x"));
        assert_ne!(call("ls", ""), call("cat", ""));
        let result = |text: &str| {
            of("chat", &format!(r#"{{"role":"tool","tool_call_id":"c","content":"{text}"}}"#))
        };
        assert_ne!(result("a"), result("b"));
    }
}
