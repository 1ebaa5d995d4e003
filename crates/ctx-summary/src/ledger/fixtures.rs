//! Messages for the tests of this crate.

use ctx_format::{Call, Message, Part, Role, ToolResult, Zone};

use crate::ledger::{Arguments, Leaf, Ledger};

/// Returns the leaf values of a call's arguments, if they are JSON.
pub(crate) fn leaves(arguments: &str) -> Option<Vec<Leaf>> {
    Some(Arguments::parse(arguments)?.leaves)
}

/// Returns a message with a single text part.
pub(crate) fn says(role: Role, text: &str) -> Message<'_> {
    Message::new(role, vec![Part::Text(text.into())])
}

/// Returns a call. The call has the id `c` unless the test passes a different id.
pub(crate) fn call<'m>(id: Option<&'m str>, name: &'m str, arguments: &'m str) -> Call<'m> {
    Call { id: id.map(Into::into), name: name.into(), arguments: arguments.into(), slot: None }
}

/// Returns an assistant message with one call.
pub(crate) fn calls<'m>(name: &'m str, arguments: &'m str) -> Message<'m> {
    let call = call(Some("c"), name, arguments);
    Message::new(Role::Assistant, vec![Part::Call(call)])
}

/// Returns a result for the call in the message from [`calls`].
pub(crate) fn result(text: &str) -> ToolResult<'_> {
    ToolResult {
        id: Some("c".into()),
        parts: vec![Part::Text(text.into())],
        ..ToolResult::default()
    }
}

/// Returns a message with a result from [`result`].
pub(crate) fn answers(text: &str) -> Message<'_> {
    Message::new(Role::Tool, vec![Part::Result(result(text))])
}

/// Returns the ledger of a session in which a user and an assistant take turns.
pub(crate) fn dialogue(texts: &[&str]) -> Ledger {
    let mut ledger = Ledger::default();
    for (line, text) in (1..).zip(texts) {
        let role = [Role::Assistant, Role::User][usize::from(line % 2 == 1)];
        ledger.push(line, &says(role, text), Zone::Old);
    }
    ledger
}
