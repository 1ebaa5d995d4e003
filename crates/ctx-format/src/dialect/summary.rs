//! Two marks for messages that contain our summaries, used by dialects without a record type for
//! summaries.

use std::borrow::Cow;

use crate::dialect::content::role_of;
use crate::{Object, Role, json};

/// The beginning of a summary in a dialect that cannot mark a message in any other way.
pub const SUMMARY_MARK: &str = "[ctx_summary]";

/// The first line of a summary in a dialect that cannot mark a message in any other way.
pub(crate) const SUMMARY_LINE: &str = "[ctx_summary] Summary of earlier messages of this session:";

/// The `name` of messages that contain a summary, in dialects whose messages have a `name`.
pub(crate) const SUMMARY_NAME: &str = "ctx_summary";

/// Returns the text of a summary that is marked by its `name` or by its first line. Both the `name`
/// and the first line are recognized in every dialect, because a plain session marks summaries by
/// their first line, and may later turn out to be in the dialect `chat`.
///
/// A marked message is a summary only if its role allows this. A tool can have any name, and a
/// model can be tricked into writing that first line, so tool results and unnamed replies are never
/// summaries.
pub(crate) fn summary_text<'a>(object: &Object<'a>) -> Option<Cow<'a, str>> {
    // The raw text is checked first, so that the content of most messages need not be decoded.
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
        // The summary itself may also begin with this line, so only the first occurrence is
        // removed.
        Some(body) if !is_named => Cow::Owned(body.trim_start_matches('\n').to_owned()),
        _ => text,
    })
}
