//! The text of a new line, member by member.

use crate::json;

/// A list of JSON values.
pub fn list(values: &[String]) -> String {
    format!("[{}]", values.join(","))
}

/// An object that is being written.
#[derive(Clone, Debug)]
pub struct LineText(String);

impl Default for LineText {
    fn default() -> Self {
        Self::new()
    }
}

impl LineText {
    /// Without members.
    pub fn new() -> Self {
        Self("{".to_owned())
    }

    /// With one more member, whose value is JSON already.
    #[must_use]
    pub fn json(mut self, key: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0 += &json::quoted(key);
        self.0.push(':');
        self.0 += json;
        self
    }

    /// With one more member, whose value is a text.
    #[must_use]
    pub fn text(self, key: &str, text: &str) -> Self {
        self.json(key, &json::quoted(text))
    }

    /// With one more member, a list of JSON values.
    #[must_use]
    pub fn list(self, key: &str, values: &[String]) -> Self {
        self.json(key, &list(values))
    }

    /// With one more member, whose value is a text that may be missing or empty.
    #[must_use]
    pub fn some_text(self, key: &str, text: Option<&str>) -> Self {
        match text.filter(|text| !text.is_empty()) {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    /// With one more member, a list of JSON values, unless that is empty.
    #[must_use]
    pub fn some_list(self, key: &str, values: &[String]) -> Self {
        if values.is_empty() {
            self
        } else {
            self.list(key, values)
        }
    }

    /// With one more member that is true, if it is.
    #[must_use]
    pub fn is(self, key: &str, yes: bool) -> Self {
        if yes { self.json(key, "true") } else { self }
    }

    /// The whole line.
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::LineText;

    #[test]
    fn members_are_written_in_their_order() {
        let inner = LineText::new().end();
        let line = LineText::new()
            .text("a", "\"\n")
            .json("b", &inner)
            .list("c", &["1".to_owned(), "2".to_owned()])
            .is("d", true)
            .some_text("e", Some("f"));
        let line = line.is("no", false).some_list("no", &[]);
        let line = line.some_text("no", None).some_text("no", Some(""));
        let expected = r#"{"a":"\"\n","b":{},"c":[1,2],"d":true,"e":"f"}"#;
        assert_eq!(line.end(), expected);
    }
}
