//! JSON that is there already, written into other JSON.

use std::borrow::Cow;

use ctx_transcript::Object;

/// JSON on one line: a line end within it can only stand between values.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    let json = json.trim();
    if json.contains(['\n', '\r']) {
        Cow::Owned(json.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(json)
    }
}

/// The object that `text` is, as it is written there; `None` when it is something else.
pub(crate) fn object(text: &str) -> Option<Cow<'_, str>> {
    let object = Object::parse(text).ok()?;
    object.rest().trim().is_empty().then(|| one_line(text))
}

/// The type of the part that `raw` is.
pub(crate) fn kind(raw: &str) -> String {
    let object = Object::parse(raw).ok();
    let kind = object.and_then(|object| object.text_of("type"));
    kind.map_or_else(String::new, Cow::into_owned)
}
