//! Batch records: `{"messages":[…]}`, one conversation a line.

use crate::{Object, json};

/// The messages inside a batch record, raw, with what stands around them.
#[derive(Clone, Debug)]
pub struct Conversation<'a> {
    /// The list of messages, raw, brackets included.
    pub list: &'a str,
    /// Where the list begins in the object's text.
    pub start: usize,
    /// The messages.
    pub messages: Vec<Object<'a>>,
}

impl<'a> Conversation<'a> {
    /// The conversation in `object`; `None` when it holds no list `messages`, or
    /// an element of it is no object.
    pub fn of(object: &Object<'a>) -> Option<Self> {
        let list = object.get("messages")?;
        let messages: Option<Vec<_>> = json::elements(list)?
            .into_iter()
            .map(|raw| Object::parse(raw).ok())
            .collect();
        Some(Self {
            list,
            start: object.place_of(list).start,
            messages: messages?,
        })
    }

    /// The offsets of a message of this conversation in [`Self::list`].
    pub fn place(&self, index: usize) -> std::ops::Range<usize> {
        json::place_in(self.list, self.messages[index].text())
    }
}

#[cfg(test)]
mod tests {
    use super::Conversation;
    use crate::Object;

    #[test]
    fn messages_have_their_places() {
        let text = r#"{"id":1,"messages":[ {"role":"user"} , {"role":"x"}],"n":2}"#;
        let object = Object::parse(text).expect("an object");
        let conversation = Conversation::of(&object).expect("a conversation");
        assert_eq!(conversation.messages.len(), 2);
        assert_eq!(&conversation.list[conversation.place(1)], r#"{"role":"x"}"#);
        assert!(text[conversation.start..].starts_with("[ {"));
    }

    #[test]
    fn other_objects_are_no_conversation() {
        for text in [
            "{}",
            r#"{"messages":{}}"#,
            r#"{"messages":[1]}"#,
            r#"{"messages":null}"#,
        ] {
            let object = Object::parse(text).expect("an object");
            assert!(Conversation::of(&object).is_none(), "{text}");
        }
    }
}
