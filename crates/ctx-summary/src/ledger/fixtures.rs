//! Messages for the tests of this crate.

use ctx_format::{Call, Denial, Message, Part, Role, ToolResult};

use crate::ledger::json::{Arguments, Leaf};

/// The leaves of a call's arguments, if the arguments are JSON.
pub(crate) fn leaves(arguments: &str) -> Option<Vec<Leaf>> {
    Some(Arguments::parse(arguments)?.leaves)
}

/// A message with one text.
pub(crate) fn says(role: Role, text: &str) -> Message<'_> {
    Message::new(role, vec![Part::Text(text.into())])
}

/// A call, with the id `c` unless the test sets another.
pub(crate) fn call<'m>(id: Option<&'m str>, name: &'m str, arguments: &'m str) -> Call<'m> {
    Call { id: id.map(Into::into), name: name.into(), arguments: arguments.into(), slot: None }
}

/// A reply that makes one call.
pub(crate) fn calls<'m>(name: &'m str, arguments: &'m str) -> Message<'m> {
    let call = call(Some("c"), name, arguments);
    Message::new(Role::Assistant, vec![Part::Call(call)])
}

/// The result of the call that [`calls`] makes.
pub(crate) fn result(text: &str) -> ToolResult<'_> {
    ToolResult {
        id: Some("c".into()),
        name: None,
        is_error: false,
        denial: Denial::None,
        parts: vec![Part::Text(text.into())],
        slot: None,
    }
}

/// A message with the result that [`result`] makes.
pub(crate) fn answers(text: &str) -> Message<'_> {
    Message::new(Role::Tool, vec![Part::Result(result(text))])
}
