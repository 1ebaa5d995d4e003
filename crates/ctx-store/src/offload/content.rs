//! The content of a result as a file that an agent can read, and back into the same JSON,
//! byte for byte.

use std::fmt::Write;

/// What the bytes of an offloaded file are: the text of a result, and how the
/// record had written it, or the JSON value as it stood.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Form(u8);

/// A way to write a text as JSON.
struct Spelling {
    /// How the file's name ends.
    suffix: &'static str,
    /// What stands around the string.
    around: (&'static str, &'static str),
    /// Whether all but printable ASCII is escaped.
    ascii: bool,
}

const STRING: (&str, &str) = ("", "");
const PART: (&str, &str) = ("[{\"type\":\"text\",\"text\":", "}]");
const SPACED: (&str, &str) = ("[{\"type\": \"text\", \"text\": ", "}]");

/// How the JSON libraries of most languages write a string, and a list of one
/// text part.
#[rustfmt::skip]
const SPELLINGS: [Spelling; 6] = [
    Spelling { suffix: ".txt", around: STRING, ascii: false },
    Spelling { suffix: ".ascii.txt", around: STRING, ascii: true },
    Spelling { suffix: ".part.txt", around: PART, ascii: false },
    Spelling { suffix: ".part.ascii.txt", around: PART, ascii: true },
    Spelling { suffix: ".spaced.txt", around: SPACED, ascii: false },
    Spelling { suffix: ".spaced.ascii.txt", around: SPACED, ascii: true },
];

impl Form {
    /// The text of a JSON string that escapes only what must be escaped.
    pub const TEXT: Self = Self(0);
    /// The JSON value as it stood: several parts, no text, or a text that was
    /// written in a way of its own.
    pub const JSON: Self = Self(6);

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (Self::TEXT.0..=Self::JSON.0).map(Self)
    }

    /// How the name of such a file ends.
    pub fn suffix(self) -> &'static str {
        self.spelling().map_or(".json", |spelling| spelling.suffix)
    }

    /// `None` for the JSON value itself.
    fn spelling(self) -> Option<&'static Spelling> {
        SPELLINGS.get(usize::from(self.0))
    }
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.suffix())
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
        for form in Form::all() {
            if let Some(text) = form.spelling().and_then(|spelling| spelling.read(json)) {
                return Self { form, text };
            }
        }
        Self {
            form: Form::JSON,
            text: json.to_owned(),
        }
    }

    /// The raw JSON value, as it stood in the record.
    pub fn into_json(self) -> String {
        match self.form.spelling() {
            Some(spelling) => spelling.write(&self.text),
            None => self.text,
        }
    }
}

impl Spelling {
    fn write(&self, text: &str) -> String {
        let string = serde_json::Value::from(text).to_string();
        let string = if self.ascii { ascii(&string) } else { string };
        let (before, after) = self.around;
        format!("{before}{string}{after}")
    }

    /// The text that is written in exactly this way.
    fn read(&self, json: &str) -> Option<String> {
        let (before, after) = self.around;
        let string = json.strip_prefix(before)?.strip_suffix(after)?;
        let text = serde_json::from_str::<String>(string).ok()?;
        (self.write(&text) == json).then_some(text)
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
    use super::{Content, Form, SPELLINGS};
    use proptest::prelude::*;

    #[test]
    fn text_is_stored_as_text_where_it_can_be_written_back() {
        for (json, suffix, text) in [
            (r#""plain""#, ".txt", "plain"),
            (r#""a\n\"b\"\u001b""#, ".txt", "a\n\"b\"\u{1b}"),
            ("\"中\u{7f}\"", ".txt", "中\u{7f}"),
            (
                r#""\u4e2d\ud83d\ude00 \u007f""#,
                ".ascii.txt",
                "中😀 \u{7f}",
            ),
            (r#"[{"type":"text","text":"a\n"}]"#, ".part.txt", "a\n"),
            (
                r#"[{"type": "text", "text": "\u4e2d"}]"#,
                ".spaced.ascii.txt",
                "中",
            ),
        ] {
            let content = Content::of(json);
            let form = content.form.suffix();
            assert_eq!((form, content.text.as_str()), (suffix, text), "{json}");
            assert_eq!(content.into_json(), json);
        }
        for json in [
            r#""\u001B""#,
            r#""a\/b""#,
            r#""\ud800""#,
            r#"[ {"type":"text","text":"x"}]"#,
            r#"[{"type":"text","text":"x"},{"type":"text","text":"y"}]"#,
            r#"[{"type":"text","text":1}]"#,
            "1E2",
            "[]",
        ] {
            let content = Content::of(json);
            assert_eq!(
                (content.form, content.text.as_str()),
                (Form::JSON, json),
                "{json}"
            );
            assert_eq!(content.into_json(), json);
        }
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "\\PC{0,40}|[\\x00-\u{10ffff}]{0,20}", way in 0..SPELLINGS.len()) {
            let json = SPELLINGS[way].write(&text);
            let content = Content::of(&json);
            prop_assert_ne!(content.form, Form::JSON);
            prop_assert_eq!(&content.text, &text);
            prop_assert_eq!(content.into_json(), json);
        }
    }
}
