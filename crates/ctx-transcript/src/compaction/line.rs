//! The text of a new line, member by member.

use crate::json;

/// An object that is being written.
#[derive(Clone, Debug)]
pub(crate) struct LineText(String);

impl LineText {
    /// Without members.
    pub(crate) fn new() -> Self {
        Self("{".to_owned())
    }

    /// With one more member, whose value is JSON already.
    #[must_use]
    pub(crate) fn json(mut self, key: &str, json: &str) -> Self {
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
    pub(crate) fn text(self, key: &str, text: &str) -> Self {
        self.json(key, &json::quoted(text))
    }

    /// With one more member, a list of JSON values.
    #[must_use]
    pub(crate) fn list(self, key: &str, values: &[String]) -> Self {
        self.json(key, &format!("[{}]", values.join(",")))
    }

    /// The whole line.
    pub(crate) fn end(mut self) -> String {
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
            .list("c", &["1".to_owned(), "2".to_owned()]);
        assert_eq!(line.end(), r#"{"a":"\"\n","b":{},"c":[1,2]}"#);
    }
}
