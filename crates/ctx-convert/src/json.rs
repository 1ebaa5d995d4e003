//! Writing JSON out of texts, and out of JSON that is there already.

use std::borrow::Cow;

use ctx_transcript::Object;

/// An object that is being written.
pub(crate) struct Json(String);

impl Json {
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// With a member that is JSON already.
    pub(crate) fn raw(mut self, key: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(key));
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    /// With a member that is a text.
    pub(crate) fn text(self, key: &str, text: &str) -> Self {
        self.raw(key, &quoted(text))
    }

    /// With a member that is a text, if there is one.
    pub(crate) fn some_text(self, key: &str, text: Option<&str>) -> Self {
        match text.filter(|text| !text.is_empty()) {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    /// With a member that is a list, unless that is empty.
    pub(crate) fn some_list(self, key: &str, elements: &[String]) -> Self {
        if elements.is_empty() {
            self
        } else {
            self.raw(key, &list(elements))
        }
    }

    /// With a member that is true, if it is.
    pub(crate) fn is(self, key: &str, yes: bool) -> Self {
        if yes { self.raw(key, "true") } else { self }
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A list of JSON values.
pub(crate) fn list(elements: &[String]) -> String {
    format!("[{}]", elements.join(","))
}

/// `text` as a JSON string with its quotes.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

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
