//! When the model was last called, according to the times in the records of a session.

use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Utc};
use ctx_transcript::{Object, Role};

/// A moment, as records and users write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub DateTime<Utc>);

impl FromStr for Time {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let with_zone = || text.parse::<DateTime<Utc>>().ok();
        let without = || {
            text.parse::<NaiveDateTime>()
                .ok()
                .map(|time| time.and_utc())
        };
        let number = || text.parse::<f64>().ok().and_then(since_epoch);
        with_zone()
            .or_else(without)
            .or_else(number)
            .map(Self)
            .ok_or("expected a time such as 2025-01-31T12:00:00Z, or seconds since 1970")
    }
}

/// Seconds, or milliseconds if as seconds it would be thousands of years from now.
#[allow(clippy::cast_possible_truncation)] // Such a time is none, and saturates.
fn since_epoch(number: f64) -> Option<DateTime<Utc>> {
    const MILLISECONDS_FROM: f64 = 1e11;
    let milliseconds = if number >= MILLISECONDS_FROM {
        number
    } else {
        number * 1e3
    };
    DateTime::from_timestamp_millis(milliseconds as i64)
}

/// The times that were found in the records of a session.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastCall {
    reply: Option<Time>,
    any: Option<Time>,
}

impl LastCall {
    /// The next message, and the object that has it.
    pub fn message(&mut self, role: Role, object: &Object<'_>) {
        const KEYS: [&str; 6] = [
            "timestamp",
            "created_at",
            "createdAt",
            "created",
            "time",
            "ts",
        ];
        let time = KEYS.into_iter().find_map(|key| {
            let text = object.text_of(key);
            text.as_deref().or(object.get(key))?.parse::<Time>().ok()
        });
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

    use super::{LastCall, Time};

    fn time(text: &str) -> Time {
        text.parse().expect("a time")
    }

    #[test]
    fn times_are_read_in_several_forms() {
        for text in [
            "2025-01-01T01:00:00+01:00",
            "2025-01-01T00:00:00",
            "2025-01-01T00:00:00.000Z",
            "1735689600",
            "1735689600.0",
            "1735689600000",
        ] {
            assert_eq!(time(text), time("2025-01-01T00:00:00Z"), "{text}");
        }
        for bad in ["", "yesterday", "NaNs", "null"] {
            assert!(bad.parse::<Time>().is_err(), "{bad}");
        }
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
