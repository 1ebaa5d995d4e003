//! Counts how many bytes of a file are sent to the model and, for each reason, how many are not.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ctx_format::view::{Outside, Presence};
use ctx_format::{Dialect, Object, Record};

/// The number and total size of those parts of a file that share a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, derive_more::AddAssign)]
pub struct Volume {
    /// The number of lines, or of values inside lines.
    pub count: u64,
    /// The total length of the lines or values in bytes, including line endings.
    pub bytes: u64,
}

/// The volume of a file's parts by label, such as `sent` or `never sent`.
#[derive(Clone, Debug, Default)]
pub struct Reach(BTreeMap<Cow<'static, str>, Volume>);

impl Reach {
    /// Counts the bytes of a record.
    pub(super) fn record(&mut self, record: &Record<'_>, dialect: Option<&dyn Dialect>) {
        let bytes = record.bytes.len() as u64;
        let count = u64::from(record.piece.begins());
        let (Some(dialect), Some(object)) = (dialect, record.whole_object()) else {
            return self.add("no message", count, bytes);
        };
        if let Some(Presence::Outside(why)) = record.presence {
            return self.add(of_outside(why, object), count, bytes);
        }
        if record.outline(Some(dialect)).is_none() {
            return self.add("no message", count, bytes);
        }
        let wrapped = dialect.wrapped(object);
        let length = |values: &[&str]| values.iter().map(|raw| raw.len() as u64).sum::<u64>();
        let (sent, copies) = (length(&wrapped.sent), length(&wrapped.copies));
        self.add("sent", count, sent);
        if copies > 0 {
            self.add("second copies", wrapped.copies.len() as u64, copies);
        }
        let outside = self.outside(record, dialect, object);
        let around = bytes.saturating_sub(sent + copies + outside);
        // In a list of messages, a message is surrounded only by its line ending, which is counted
        // as sent.
        if record.presence.is_some() {
            self.add("metadata", count, around);
        } else {
            self.add("sent", 0, around);
        }
    }

    /// Adds the messages in a list that are outside the context, and returns their length in bytes.
    fn outside(&mut self, record: &Record<'_>, dialect: &dyn Dialect, list: &Object<'_>) -> u64 {
        let Some(portion) = record.portion.as_ref() else { return 0 };
        let held = dialect.held(&list.whole());
        let mut all = 0;
        for (number, why) in &*portion.outside {
            let Some(message) = held.get(*number) else { continue };
            let bytes = message.raw.len() as u64;
            let object = Object::parse(&message.raw);
            let what = object.map_or("no message".into(), |object| of_outside(*why, &object));
            self.add(what, 1, bytes);
            all += bytes;
        }
        all
    }

    fn add(&mut self, what: impl Into<Cow<'static, str>>, count: u64, bytes: u64) {
        *self.0.entry(what.into()).or_default() += Volume { count, bytes };
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (what, volume) in &other.0 {
            self.add(what.clone(), volume.count, volume.bytes);
        }
    }

    /// Returns the number and total size of the parts with each label.
    pub fn rows(&self) -> impl Iterator<Item = (&str, Volume)> {
        self.0.iter().map(|(what, volume)| (what.as_ref(), *volume))
    }
}

/// Returns the label for a record, or for a message in a list, that is outside the context.
fn of_outside(why: Outside, object: &Object<'_>) -> Cow<'static, str> {
    match why {
        Outside::NeverSent => {
            let kind = object.text_of("type");
            let kind = kind.map_or_else(String::new, |kind| format!(": {kind}"));
            Cow::Owned(format!("never sent{kind}"))
        }
        Outside::OtherAgent => "of another agent".into(),
        Outside::DeadBranch => "dead branch".into(),
        Outside::BeforeCompaction => "before the compaction".into(),
        Outside::Superseded => "superseded".into(),
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Options, Records};

    use super::{Reach, Volume};

    fn reach(text: &str) -> Vec<(String, Volume)> {
        let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
        let dialect = records.dialect();
        let mut reach = Reach::default();
        while let Some(record) = records.next().expect("from memory") {
            reach.record(&record, dialect);
        }
        let rows = reach.rows().map(|(what, volume)| (what.to_owned(), volume));
        let rows: Vec<_> = rows.collect();
        let all: u64 = rows.iter().map(|(_, volume)| volume.bytes).sum();
        assert_eq!(all, text.len() as u64, "every byte is counted exactly once");
        rows
    }

    fn volume(count: u64, bytes: usize) -> Volume {
        Volume { count, bytes: bytes as u64 }
    }

    #[test]
    fn of_a_list_of_messages_all_is_sent_but_what_is_none() {
        let message = "{\"role\":\"user\",\"content\":\"a\"}\n";
        let rows = reach(&format!("{message}broken\n{message}"));
        assert_eq!(rows[0], ("no message".to_owned(), volume(1, 7)));
        assert_eq!(rows[1], ("sent".to_owned(), volume(2, 2 * message.len())));
    }

    #[test]
    fn of_a_list_what_was_taken_back_is_not_sent() {
        let say =
            |id: &str| format!(r#"{{"id":"{id}","timestamp":"t","type":"user","content":"{id}"}}"#);
        let header = r#"{"sessionId":"s","projectHash":"p"}"#;
        let list = format!(r#"{{"$set":{{"messages":[{},{},{}]}}}}"#, say("a"), say("b"), say("c"));
        let back = r#"{"$rewindTo":"c"}"#;
        let again = say("a");
        let rows = reach(&[header, &list, back, &again, ""].join("\n"));
        let bytes = say("a").len();
        let of = |name: &str| rows.iter().find(|(own, _)| own == name).map(|(_, it)| *it);
        assert_eq!(of("dead branch"), Some(volume(1, bytes)));
        assert_eq!(of("superseded"), Some(volume(1, bytes)));
        assert_eq!(of("sent"), Some(volume(2, 2 * r#""a""#.len())));
    }

    #[test]
    fn of_a_log_each_line_is_somewhere() {
        let message = r#"{"role":"user","content":"a"}"#;
        let copy = r#"{"stdout":"x"}"#;
        let lines = [
            format!(
                r#"{{"uuid":"1","parentUuid":null,"sessionId":"s","type":"user","message":{message}}}"#
            ),
            format!(
                r#"{{"uuid":"2","parentUuid":"1","sessionId":"s","type":"user","toolUseResult":{copy},"message":{message}}}"#
            ),
            format!(
                r#"{{"uuid":"3","parentUuid":"1","sessionId":"s","type":"user","message":{message}}}"#
            ),
            r#"{"type":"file-history-snapshot","messageId":"1"}"#.to_owned(),
            format!(
                r#"{{"uuid":"4","parentUuid":"2","sessionId":"s","type":"user","message":{message}}}"#
            ),
        ];
        let rows = reach(&(lines.join("\n") + "\n"));
        let names: Vec<&str> = rows.iter().map(|(what, _)| what.as_str()).collect();
        assert_eq!(
            names,
            [
                "dead branch",
                "metadata",
                "never sent: file-history-snapshot",
                "second copies",
                "sent"
            ]
        );
        assert_eq!(rows[0].1, volume(1, lines[2].len() + 1));
        assert_eq!(rows[3].1, volume(1, copy.len()));
        assert_eq!(rows[4].1, volume(3, 3 * message.len()));
    }
}
