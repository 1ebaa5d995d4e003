//! A result's content as a file that an agent can read, and back: the same JSON,
//! byte for byte.

use std::fmt::Write;

/// What the bytes of an offloaded file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// The text of a JSON string that escapes only what must be escaped.
    Text,
    /// The text of a JSON string that escapes all but printable ASCII.
    AsciiText,
    /// The JSON value as it stood: a list of parts, or a string written in
    /// another way.
    Json,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Text, Self::AsciiText, Self::Json];

    /// The end of such a file's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Text => ".txt",
            Self::AsciiText => ".ascii.txt",
            Self::Json => ".json",
        }
    }
}

/// The content of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// What `text` is.
    pub form: Form,
    /// The text, or the raw JSON.
    pub text: String,
}

impl Content {
    /// Of the raw JSON value that stands in a record.
    pub fn of(json: &str) -> Self {
        if let Ok(text) = serde_json::from_str::<String>(json) {
            for form in [Form::Text, Form::AsciiText] {
                if written(&text, form) == json {
                    return Self { form, text };
                }
            }
        }
        Self {
            form: Form::Json,
            text: json.to_owned(),
        }
    }

    /// The raw JSON value, as it stood in the record.
    pub fn into_json(self) -> String {
        match self.form {
            Form::Json => self.text,
            form => written(&self.text, form),
        }
    }
}

fn written(text: &str, form: Form) -> String {
    let json = serde_json::Value::from(text).to_string();
    if form == Form::AsciiText {
        ascii(&json)
    } else {
        json
    }
}

/// JSON with escapes in the place of all that is not printable ASCII.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, ' '..='~') {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Content, Form};
    use proptest::prelude::*;

    #[test]
    fn text_is_stored_as_text_where_it_can_be_written_back() {
        for (json, form, text) in [
            (r#""plain""#, Form::Text, "plain"),
            (r#""a\n\"b\"\u001b""#, Form::Text, "a\n\"b\"\u{1b}"),
            ("\"中\u{7f}\"", Form::Text, "中\u{7f}"),
            (
                r#""\u4e2d\ud83d\ude00 \u007f""#,
                Form::AsciiText,
                "中😀 \u{7f}",
            ),
            (r#""\u001B""#, Form::Json, r#""\u001B""#),
            (r#""a\/b""#, Form::Json, r#""a\/b""#),
            (r#""\ud800""#, Form::Json, r#""\ud800""#),
            (
                r#"[ {"type":"text","text":"x"}]"#,
                Form::Json,
                r#"[ {"type":"text","text":"x"}]"#,
            ),
            ("1E2", Form::Json, "1E2"),
        ] {
            let content = Content::of(json);
            assert_eq!(
                (content.form, content.text.as_str()),
                (form, text),
                "{json}"
            );
            assert_eq!(content.into_json(), json);
        }
    }

    proptest! {
        #[test]
        fn every_string_comes_back(text in "\\PC{0,40}|[\\x00-\\u{10ffff}]{0,20}", ascii: bool) {
            let mut json = serde_json::Value::from(text.as_str()).to_string();
            if ascii {
                json = super::ascii(&json);
            }
            let content = Content::of(&json);
            prop_assert_ne!(content.form, Form::Json);
            prop_assert_eq!(&content.text, &text);
            prop_assert_eq!(content.into_json(), json);
        }
    }
}
