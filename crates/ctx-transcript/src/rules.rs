//! What an API demands of a sequence of messages, as data. Each dialect states its
//! own [`Rules`]; `pairs` alone interprets them, and whoever has to know what pairs
//! with what asks it.

use crate::Role;

/// What an API demands of a sequence of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Where the results of a reply's calls stand.
    pub results: Results,
    /// How a result is known to belong to its call.
    pub pair_by: PairBy,
    /// Adjacent messages of one role are one message.
    pub merges_roles: bool,
    /// System messages stand beside the sequence, so that one between a call and its
    /// result does not part them.
    pub system_apart: bool,
    /// The first message, system ones aside, is the user's.
    pub user_first: bool,
}

/// Where the results of a reply's calls stand.
///
/// A call and a result within one record (the server tools of Anthropic, all calls of
/// the Gemini CLI) are no matter of a sequence: an outline names neither of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// They are messages of their own, behind the reply and before any other
    /// message: OpenAI Chat Completions.
    BehindReply,
    /// They are the first blocks of the user message that follows the reply:
    /// Anthropic Messages.
    NextUserMessage,
    /// They are messages of their own anywhere behind the call: the items of OpenAI
    /// Responses.
    Later,
}

/// How a result is known to belong to its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairBy {
    /// It names the call's id. Of calls with one id the nearest earlier reply's counts.
    Id,
    /// The first result is that of the first call that waits, as in formats that have
    /// no ids.
    Order,
}

impl Rules {
    /// Whether a session may begin with a message of that role.
    pub fn may_begin_with(self, role: Role) -> bool {
        !self.user_first || role == Role::User || role.is_system()
    }
}
