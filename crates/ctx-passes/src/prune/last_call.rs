//! When the model was last called, according to the times in the records of a session.

use ctx_transcript::{Object, Role};

use crate::Time;

/// The times that were found in the records of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastCall {
    reply: Option<Time>,
    any: Option<Time>,
}

impl LastCall {
    /// The next message, and the object that has it.
    pub fn message(&mut self, role: Role, object: &Object<'_>) {
        let time = Time::of(object);
        self.any = time.or(self.any);
        if role == Role::Assistant {
            self.reply = time.or(self.reply);
        }
    }

    /// When the model was called last: the time of its last reply that has one, else
    /// that of the last message that does.
    pub fn time(self) -> Option<Time> {
        self.reply.or(self.any)
    }
}

#[cfg(test)]
mod tests {
    use ctx_transcript::{Object, Role};

    use super::LastCall;
    use crate::Time;

    fn time(text: &str) -> Time {
        text.parse().expect("a time")
    }

    #[test]
    fn the_last_reply_tells() {
        let mut said = LastCall::default();
        let mut message = |role, text| {
            said.message(role, &Object::parse(text).expect("an object"));
            (said.reply, said.any)
        };
        assert_eq!(message(Role::User, r#"{"timestamp":true}"#), (None, None));
        let one = Some(time("1735689600"));
        assert_eq!(message(Role::User, r#"{"ts":1735689600}"#), (None, one));
        let two = Some(time("1735689601"));
        assert_eq!(
            message(Role::Assistant, r#"{"created_at":"2025-01-01T00:00:01Z"}"#),
            (two, two)
        );
        assert_eq!(message(Role::Assistant, "{}"), (two, two));
        assert_eq!(message(Role::Tool, r#"{"ts":1735689600}"#), (two, one));
    }
}
