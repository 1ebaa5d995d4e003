//! Detects the dialect of a session.

use super::{ALL, Anthropic, Chat, Dialect, InvalidReasoning, Sealed, Sniff};
use crate::legality::content::Mend;
use crate::{Foreign, Message, Object, Outline, Rules, Unread};

/// How many records to examine for signs of a format that is recognized but not supported.
const FOREIGN_IN: usize = 64;

/// Detects the dialect of a session from its records.
#[derive(Default)]
pub(crate) struct Detector {
    sure: Sniff,
    dialect: Option<&'static dyn Dialect>,
    /// Whether the records seen so far also fit another dialect.
    has_rival: bool,
    seen: usize,
    foreign: Option<Foreign>,
}

impl Detector {
    /// Examines another record. Returns true once the format is certain.
    pub(crate) fn look_at(&mut self, object: &Object<'_>) -> bool {
        for dialect in ALL {
            let sure = dialect.sniff(object);
            if sure > self.sure {
                (self.sure, self.dialect, self.has_rival) = (sure, Some(dialect), false);
            } else if sure == Sniff::Maybe && self.sure == Sniff::Maybe {
                let first = self.dialect.map(Dialect::name);
                self.has_rival |= first != Some(dialect.name());
            }
        }
        if self.seen < FOREIGN_IN {
            let is_first = self.foreign.is_none() && self.is_open();
            let foreign = Foreign::by_certain_sign(object).or(self.foreign);
            self.foreign = if is_first { Foreign::by_sign(object) } else { foreign };
        }
        self.seen += 1;
        self.sure == Sniff::Yes || self.foreign.is_some_and(|foreign| foreign.is_certain)
    }

    /// The unsupported format that was recognized in the first records; `None` if no such format
    /// was recognized, or if the dialect is more certain than the format.
    pub(crate) fn foreign(&self) -> Option<Foreign> {
        self.foreign.filter(|foreign| foreign.is_certain || self.is_open())
    }

    /// Returns true if messages have been found, but none of them determines the dialect.
    pub(crate) fn is_open(&self) -> bool {
        self.sure == Sniff::Maybe
    }

    /// The dialect of the session; `None` if the format is not supported, or if no record could be
    /// a message in any dialect.
    pub(crate) fn decide(&self) -> Option<&'static dyn Dialect> {
        let is_plain = self.is_open() && self.has_rival;
        let plain = is_plain.then_some::<&dyn Dialect>(&Plain);
        plain.or(self.dialect).filter(|_| self.foreign().is_none())
    }
}

/// Returns another dialect, if any, in which `message` has calls or results. A call and its result
/// could be separated, because `own`, the session's dialect, does not recognize them.
pub fn stranger(own: &dyn Dialect, message: &Object<'_>) -> Option<&'static dyn Dialect> {
    let has_exchange = |dialect: &dyn Dialect| {
        let outline = dialect.exchange(message);
        outline.is_some_and(|it| !(it.calls.is_empty() && it.results.is_empty()))
    };
    if own.is_certain() && has_exchange(own) {
        return None;
    }
    ALL.into_iter().find(|other| {
        let is_other = !own.is_certain() || other.name() != own.name();
        is_other && has_exchange(*other)
    })
}

/// A plain session, which could be in either the `chat` or the `anthropic` dialect. When writing to
/// a plain session, our tools use only content that is legal in both dialects. A plain session is
/// read as `chat`, so the name of this dialect is `chat`.
pub struct Plain;

impl Plain {
    /// Returns the dialect in which to read a record. Normally, no record in a plain session is
    /// specific to one dialect, but a reader may encounter such a record if it has not seen the
    /// whole session.
    fn reader(object: &Object<'_>) -> &'static dyn Dialect {
        if Anthropic.sniff(object) == Sniff::Yes { &Anthropic } else { &Chat }
    }
}

impl Dialect for Plain {
    fn name(&self) -> &'static str {
        Chat.name()
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        Chat.sniff(object).min(Anthropic.sniff(object))
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        Self::reader(object).outline(object)
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        Self::reader(object).message(object)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        Self::reader(object).unread(object)
    }

    fn invalid_reasoning(&self) -> InvalidReasoning {
        InvalidReasoning::Rejected
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        Self::reader(object).sealed(object)
    }

    fn vendor_summary(&self, object: &Object<'_>) -> Option<String> {
        Self::reader(object).vendor_summary(object)
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        Self::reader(object).mend(object, mend);
    }

    fn rules(&self) -> Rules {
        Chat.rules()
    }

    fn output_rules(&self) -> Rules {
        Rules { user_first: Anthropic.rules().user_first, ..self.rules() }
    }

    fn is_certain(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{Detector, stranger};
    use crate::Object;
    use crate::dialect::{Anthropic, Chat, Dialect, Plain};

    const PLAIN: &str = r#"{"role":"user","content":"hi"}"#;
    const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    const BLOCK: &str =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#;
    const TOOL: &str = r#"{"role":"tool","tool_call_id":"x","content":"y"}"#;

    fn detect(records: &[&str]) -> Option<(&'static str, bool)> {
        let mut detector = Detector::default();
        for text in records {
            detector.look_at(&Object::parse(text).expect("an object"));
        }
        let dialect = detector.decide();
        dialect.map(|dialect| (dialect.name(), dialect.is_certain()))
    }

    #[test]
    fn the_first_certain_record_decides() {
        assert_eq!(detect(&[PLAIN, CALL]), Some(("chat", true)));
        assert_eq!(detect(&[PLAIN, BLOCK, CALL]), Some(("anthropic", true)));
        assert_eq!(detect(&[TOOL]), Some(("chat", true)));
        let image =
            r#"{"role":"user","content":[{"type":"image","source":{"type":"url","url":"u"}}]}"#;
        assert_eq!(detect(&[PLAIN, image]), Some(("anthropic", true)));
        assert_eq!(
            detect(&[r#"{"type":"user","uuid":"u","message":{"role":"user"}}"#, r#"{"role":7}"#]),
            None
        );
        assert_eq!(detect(&[]), None);
    }

    /// Plain text messages are legal in several dialects, so they do not determine the dialect.
    #[test]
    fn texts_alone_decide_nothing() {
        assert_eq!(detect(&[PLAIN]), Some(("chat", false)));
        // The marks on our own summaries do not determine the dialect either, because an earlier
        // run may have written them into a plain session.
        let named = r#"{"role":"user","name":"ctx_summary","content":"x"}"#;
        let lined = Plain.summary_record(crate::Role::User, "x");
        assert_eq!(detect(&[named, &lined]), Some(("chat", false)));
    }

    #[test]
    fn an_exchange_that_the_dialect_does_not_see_is_a_strangers() {
        let name = |own: &dyn Dialect, text| {
            let object = Object::parse(text).expect("an object");
            stranger(own, &object).map(Dialect::name)
        };
        assert_eq!(name(&Chat, BLOCK), Some("anthropic"));
        assert_eq!(name(&Anthropic, CALL), Some("chat"));
        assert_eq!(name(&Anthropic, TOOL), Some("chat"));
        assert_eq!(name(&Plain, BLOCK), Some("anthropic"));
        assert_eq!(name(&Plain, CALL), Some("chat"));
        for own in [&Chat as &dyn Dialect, &Anthropic, &Plain] {
            assert_eq!(name(own, PLAIN), None);
        }
        assert_eq!(name(&Chat, CALL), None);
        assert_eq!(name(&Anthropic, BLOCK), None);
    }
}

#[cfg(test)]
mod plain_tests {
    use super::Plain;
    use crate::dialect::{Anthropic, Chat, Dialect, Sniff};
    use crate::{Object, Role};

    /// The Anthropic API rejects messages that have a `name`.
    #[test]
    fn a_summary_is_one_that_every_format_accepts() {
        for role in [Role::User, Role::Assistant, Role::System] {
            let role = Plain.summary_role(role);
            let text = Plain.summary_record(role, "it began");
            let record = Object::parse(&text).expect("an object");
            let keys: Vec<_> = record.members().iter().map(|it| it.key.clone()).collect();
            assert_eq!(keys, ["role", "content"]);
            assert_eq!(record.get("role"), Some("\"user\""));
            assert_eq!(Chat.sniff(&record), Sniff::Maybe);
            assert_eq!(Anthropic.sniff(&record), Sniff::Maybe);
        }
    }

    #[test]
    fn a_record_that_is_certain_is_read_by_who_knows_it() {
        let block = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}"#;
        let tool = r#"{"role":"tool","tool_call_id":"c","content":"x"}"#;
        for (text, id) in [(block, "t"), (tool, "c")] {
            let object = Object::parse(text).expect("an object");
            assert_eq!(Plain.outline(&object).expect("a message").results, [id]);
            let message = Plain.message(&object).expect("a message");
            assert_eq!(message.results().count(), 1);
        }
    }
}
