//! Recognizes placeholders for tool results. A placeholder is either a short note with a handle, or
//! a reference to the file to which `ctx-offload` has moved the result.

use ctx_format::{Dialect, Handle, Object, Part, ToolResult};
use ctx_policy::Offload;

use crate::offload::Template;

/// The maximum length of a placeholder, in bytes.
pub const MAX_PLACEHOLDER: usize = 500;

/// The beginning of a handle.
const HANDLE: &str = "⟦ctx:";

/// Splits text that may have been shortened into its body and its handle. If the original,
/// according to the handle, is not longer than the text, the handle is treated as part of the text.
pub fn split_handle(text: &str) -> (&str, Option<Handle>) {
    match Handle::split(text) {
        Some((body, handle)) if handle.bytes > text.len() as u64 => (body, Some(handle)),
        _ => (text, None),
    }
}

/// Returns true if `text` is a placeholder: one short line with a handle, or a reference.
pub(crate) fn is_placeholder(text: &str, references: &[ReferencePattern]) -> bool {
    let (body, handle) = split_handle(text);
    let is_short_line = !body.contains('\n') && body.len() <= MAX_PLACEHOLDER;
    is_short_line && (handle.is_some() || references.iter().any(|it| it.matches(body)))
}

/// Returns patterns for all references that a session may contain: those configured in `offload`,
/// the defaults in `ctx-offload`, and those written by older versions.
pub fn references(offload: &Offload) -> Vec<ReferencePattern> {
    let built_in = ctx_policy::Policy::default().offload;
    let templates = [
        offload.reference.as_str(),
        &offload.unavailable,
        &built_in.reference,
        &built_in.unavailable,
        Template::OLDER,
    ];
    templates.into_iter().filter_map(ReferencePattern::new).collect()
}

/// A pattern for lines that name the file of an offloaded result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencePattern {
    /// The parts of a template before, between and after its placeholders.
    parts: Vec<String>,
}

impl ReferencePattern {
    /// Creates a pattern for a template such as `Tool result ({call}) is at: {path}`. Returns
    /// `None` if the template consists only of placeholders.
    pub fn new(template: &str) -> Option<Self> {
        let mut pieces = template.split('{');
        let mut parts = vec![pieces.next().unwrap_or_default().to_owned()];
        let after = |piece: &str| piece.split_once('}').map_or("", |(_, after)| after).to_owned();
        parts.extend(pieces.map(after));
        let has_text = parts.iter().any(|part| !part.is_empty());
        has_text.then_some(Self { parts })
    }

    /// Returns true if `text` fits the template.
    pub fn matches(&self, text: &str) -> bool {
        let [first, middle @ .., last] = &self.parts[..] else { return self.parts == [text] };
        let begin = text.strip_prefix(first.as_str());
        let rest = begin.and_then(|rest| {
            middle.iter().try_fold(rest, |rest, part| Some(rest.split_once(part.as_str())?.1))
        });
        rest.is_some_and(|rest| rest.ends_with(last.as_str()))
    }
}

/// Counts tool results that differ from what the agent sent, because they have been replaced with a
/// placeholder or shortened.
pub(crate) struct ReplacedResults {
    references: Vec<ReferencePattern>,
}

impl Default for ReplacedResults {
    fn default() -> Self {
        let offload = ctx_policy::Policy::default().offload;
        let templates = [offload.reference.as_str(), Template::OLDER];
        Self { references: templates.into_iter().filter_map(ReferencePattern::new).collect() }
    }
}

impl ReplacedResults {
    /// Returns the number of replaced results in a record.
    pub(crate) fn count(&self, object: &Object<'_>, dialect: &dyn Dialect) -> u64 {
        // Most records contain neither a handle nor a reference, so they are not decoded.
        let may_hold = |text: &str| object.text().contains(text);
        let starts = self.references.iter().map(|it| it.parts[0].as_str());
        if !may_hold(HANDLE) && !starts.into_iter().any(may_hold) {
            return 0;
        }
        let Some(message) = dialect.message(object) else { return 0 };
        let was_replaced = |result: &&ToolResult<'_>| match result.parts.last() {
            Some(Part::Text(text)) => {
                Handle::split(text).is_some() || self.references.iter().any(|it| it.matches(text))
            }
            _ => false,
        };
        message.results().filter(was_replaced).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PLACEHOLDER, ReferencePattern, is_placeholder, references, split_handle};

    #[test]
    fn a_reference_is_known_by_the_text_around_its_slots() {
        let matches = |template: &str, text: &str| {
            ReferencePattern::new(template).expect("there is text").matches(text)
        };
        assert!(matches("at {path} of {tokens}.", "at /a of 9."));
        assert!(matches("no slot", "no slot"));
        assert!(matches("see {path}", "see "));
        let call = "Tool result ({call}, {bytes} bytes) is at: {path}";
        assert!(matches(call, "Tool result (ls, 9 bytes) is at: /a"));
        assert!(!matches(call, "Tool result (ls) is at: /a"));
        assert!(!matches("no slot", "no slot at all"));
        assert!(!matches("at {path}.", "at /a"));
        assert!(!matches("see {path}", "I see /a"));
        assert_eq!(ReferencePattern::new("{path}"), None);
        assert_eq!(ReferencePattern::new(""), None);
    }

    #[test]
    fn references_of_the_policy_and_of_the_tool_are_known() {
        let mut offload = ctx_policy::Policy::default().offload;
        assert_eq!(references(&offload).len(), 5);
        offload.reference = "{path}".to_owned();
        assert_eq!(references(&offload).len(), 4);
    }

    #[test]
    fn a_handle_of_fewer_bytes_than_the_text_has_is_text() {
        let text = |bytes| format!("a\n⟦ctx:ba7816bf8f01 {bytes} bytes 3 tokens⟧");
        let (larger, smaller) = (text(900), text(20));
        assert_eq!(split_handle(&larger).0, "a");
        assert_eq!(split_handle(&larger).1.map(|handle| handle.bytes), Some(900));
        assert_eq!(split_handle(&smaller), (smaller.as_str(), None));
        assert_eq!(split_handle("a"), ("a", None));
    }

    #[test]
    fn a_placeholder_is_one_short_line_with_a_handle_or_a_reference() {
        let references: Vec<_> = ReferencePattern::new("at {path}").into_iter().collect();
        let is = |text: &str| is_placeholder(text, &references);
        let with_handle = |body: &str| format!("{body}\n⟦ctx:ba7816bf8f01 9999 bytes 3 tokens⟧");
        let longest = "x".repeat(MAX_PLACEHOLDER);
        assert!(is("at /a") && is(&with_handle("[gone]")) && is(&with_handle(&longest)));
        assert!(!is("[gone]") && !is(&with_handle(&(longest + "x"))));
        assert!(!is(&with_handle("two\nlines")) && !is("at /a\nand more"));
    }
}
