//! Our two forms of a summary, for dialects that cannot mark a message otherwise.

use std::borrow::Cow;

use crate::dialect::content::role_of;
use crate::{Object, Role, json};

/// The beginning of a summary's first line, in dialects that cannot mark a message otherwise.
pub const SUMMARY_MARK: &str = "[ctx_summary]";

/// The first line of a summary in dialects that cannot mark a message otherwise.
pub(crate) const SUMMARY_LINE: &str = "[ctx_summary] Summary of earlier messages of this session:";

/// The `name` of a message that is a summary, in dialects that have such a member.
pub(crate) const SUMMARY_NAME: &str = "ctx_summary";

/// The text of a summary in either of our two forms: a session of plain texts gets one form, and
/// may later turn out to be a chat.
///
/// The role matters as much as the form. A tool can have any name, and a model can be made to begin
/// with a certain line, so their records are never summaries.
pub(crate) fn summary_text<'a>(object: &Object<'a>) -> Option<Cow<'a, str>> {
    // The raw text is checked first: the content of most messages need not be decoded.
    let content = object.get("content")?;
    let has_line = content.get(1..)?.starts_with(SUMMARY_LINE);
    let is_named = object.text_of("name").is_some_and(|name| name == SUMMARY_NAME);
    let may_be = || match role_of(object) {
        Some(Role::User) => true,
        Some(Role::System | Role::Assistant) => is_named,
        _ => false,
    };
    let is_summary = (has_line || is_named) && may_be();
    let text = is_summary.then(|| json::text(content)).flatten()?;
    Some(match text.strip_prefix(SUMMARY_LINE) {
        // A model's answer may begin like that, too, so the mark is removed only once.
        Some(body) if !is_named => Cow::Owned(body.trim_start_matches('\n').to_owned()),
        _ => text,
    })
}
