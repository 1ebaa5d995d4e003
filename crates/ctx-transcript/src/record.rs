//! One record: a line of a session file, classified, its bytes untouched.

use std::borrow::Cow;

use crate::view::Presence;
use crate::{Dialect, Line, Message, Object, Outline, Piece, Splice, Tag, splice};

/// What a line is. Only [`Class::Object`] and [`Class::Concatenated`] can carry
/// a tag; everything but an object and a blank line counts as a bad line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// One JSON object.
    Object,
    /// Nothing, or blanks.
    Blank,
    /// JSON, but no object.
    NotObject,
    /// An object and more behind it on the same line: `{…}{…}`.
    Concatenated,
    /// Not JSON.
    Broken,
    /// Not UTF-8.
    NotUtf8,
    /// NUL bytes, as a crash leaves them in a file.
    Nul,
    /// Longer than [`crate::MAX_LINE`]: not looked at.
    TooLong,
    /// A last line without its end that does not parse: still being written.
    Tail,
}

impl Class {
    /// Whether the line is reported as bad. A tail is not: its writer is not done.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Object | Self::Blank | Self::Tail)
    }

    /// The word for it in reports and in a snapshot's metadata.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Blank => "blank",
            Self::NotObject => "not-an-object",
            Self::Concatenated => "concatenated",
            Self::Broken => "broken",
            Self::NotUtf8 => "not-utf8",
            Self::Nul => "nul",
            Self::TooLong => "too-long",
            Self::Tail => "tail",
        }
    }
}

/// What is known of a record beside its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Its line in the source, from 1.
    pub line: u64,
    /// Its offset in the source.
    pub offset: u64,
    /// Whether it is all of a line.
    pub piece: Piece,
    /// Whether it is in the context; `None` in a linear session.
    pub presence: Option<Presence>,
}

impl Origin {
    /// The record with these bytes: its own again, or those that take their place.
    pub fn record(self, bytes: &[u8]) -> Record<'_> {
        let mut record = Record::classify(Line {
            bytes,
            number: self.line,
            offset: self.offset,
            piece: self.piece,
        });
        record.presence = self.presence;
        record
    }
}

/// A record and where it stands.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// All its bytes, line end included; or a piece of a line that is too long.
    pub bytes: &'a [u8],
    /// Its line in the source, from 1.
    pub line: u64,
    /// Its offset in the source.
    pub offset: u64,
    /// What it is.
    pub class: Class,
    /// Whether `bytes` is all of it; else more pieces follow or came before.
    pub piece: Piece,
    /// Whether it is in the context; `None` in a linear session, where each
    /// message is a record and is sent.
    pub presence: Option<Presence>,
    object: Option<Object<'a>>,
    /// Where the object's text begins in `bytes`: behind a byte order mark.
    pub(crate) skipped: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<'a> Record<'a> {
    /// Looks at a line.
    pub fn classify(line: Line<'a>) -> Self {
        let mut record = Self {
            bytes: line.bytes,
            line: line.number,
            offset: line.offset,
            class: Class::TooLong,
            piece: line.piece,
            presence: None,
            object: None,
            skipped: 0,
        };
        if line.piece != Piece::Whole {
            return record;
        }
        if line.number == 1 && line.bytes.starts_with(BYTE_ORDER_MARK) {
            record.skipped = BYTE_ORDER_MARK.len();
        }
        let (class, object) = look_at(&line.bytes[record.skipped..]);
        let unfinished = !line.bytes.ends_with(b"\n");
        record.class = match class {
            Class::Broken | Class::NotUtf8 | Class::Nul if unfinished => Class::Tail,
            Class::Concatenated if unfinished && !rest_is_json(object.as_ref()) => Class::Tail,
            class => class,
        };
        record.object = object.filter(|_| record.class != Class::Tail);
        record
    }

    /// What is known of it beside its bytes.
    pub fn origin(&self) -> Origin {
        Origin {
            line: self.line,
            offset: self.offset,
            piece: self.piece,
            presence: self.presence,
        }
    }

    /// Its outline in `dialect`; of a format we do not know each object is a line.
    /// `None` when the record is no message, or not in the context.
    pub fn outline(&self, dialect: Option<&dyn Dialect>) -> Option<Outline<'a>> {
        let object = self.whole_object()?;
        let Some(dialect) = dialect else {
            return Some(Outline::of_line());
        };
        let fragment = match self.presence {
            None => None,
            Some(Presence::Inside(fragment)) => Some(fragment),
            Some(Presence::Outside(_)) => return None,
        };
        let mut outline = dialect.outline(object)?;
        outline.fragment = fragment;
        Some(outline)
    }

    /// Its message, or the fragment of one that it holds. `None` as in [`Self::outline`],
    /// or when the format is not known.
    pub fn message(&self, dialect: Option<&dyn Dialect>) -> Option<Message<'a>> {
        let object = self.whole_object()?;
        let continues = match self.presence {
            None => false,
            Some(Presence::Inside(fragment)) => !fragment.begins,
            Some(Presence::Outside(_)) => return None,
        };
        let mut message = dialect?.message(object)?;
        message.continues = continues;
        Some(message)
    }

    /// Whether the session's view says that the record is not in the context.
    pub fn is_outside(&self) -> bool {
        matches!(self.presence, Some(Presence::Outside(_)))
    }

    /// Its object; the first one of several.
    pub fn object(&self) -> Option<&Object<'a>> {
        self.object.as_ref()
    }

    /// Its object when it is one whole object: only such a record can be a message.
    pub fn whole_object(&self) -> Option<&Object<'a>> {
        self.object().filter(|_| self.class == Class::Object)
    }

    /// Its tag, when it carries one.
    pub fn tag(&self) -> Option<Tag> {
        self.object()?.get(Tag::KEY).map(Tag::parse)
    }

    /// Its bytes without any tag: the bytes of the source when a tag was spliced in.
    pub fn untagged(&self) -> Cow<'a, [u8]> {
        match self.object() {
            Some(object) => splice::untagged(self.bytes, self.skipped, object),
            None => Cow::Borrowed(self.bytes),
        }
    }

    /// Where a tag goes in [`Self::untagged`]; `None` when the record can carry none.
    pub fn splice(&self) -> Option<Splice> {
        self.object().map(|object| Splice::of(object, self.skipped))
    }

    /// The line end: empty, `\n` or `\r\n`.
    pub fn line_end(&self) -> &'a [u8] {
        line_end(self.bytes)
    }

    /// What is wrong with a broken record, for a message; never its content.
    pub fn why_bad(&self) -> String {
        match self.class {
            Class::Broken => {
                let text = std::str::from_utf8(&self.bytes[self.skipped..]).unwrap_or_default();
                match serde_json::from_str::<&serde_json::value::RawValue>(text) {
                    Err(error) => format!("not JSON: {error}"),
                    Ok(_) => "not JSON".to_owned(),
                }
            }
            Class::NotObject => "JSON, but not an object".to_owned(),
            Class::Concatenated => "more than one object on the line".to_owned(),
            Class::NotUtf8 => "not UTF-8".to_owned(),
            Class::Nul => "NUL bytes".to_owned(),
            Class::TooLong => format!("longer than {} MiB", crate::MAX_LINE >> 20),
            Class::Tail => "a last line that is not complete".to_owned(),
            Class::Object | Class::Blank => "nothing".to_owned(),
        }
    }
}

/// The line end of a line: empty, `\n` or `\r\n`.
pub(crate) fn line_end(line: &[u8]) -> &[u8] {
    let length = if line.ends_with(b"\r\n") {
        2
    } else {
        usize::from(line.ends_with(b"\n"))
    };
    &line[line.len() - length..]
}

fn look_at(bytes: &[u8]) -> (Class, Option<Object<'_>>) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return (
            if has_nul(bytes) {
                Class::Nul
            } else {
                Class::NotUtf8
            },
            None,
        );
    };
    let first = text.bytes().find(|b| !b.is_ascii_whitespace());
    match first {
        None => (Class::Blank, None),
        Some(b'{') => match Object::parse(text) {
            Ok(object) if is_blank(object.rest()) => (Class::Object, Some(object)),
            Ok(object) if object.rest().trim_start().starts_with('{') => {
                (Class::Concatenated, Some(object))
            }
            _ => (broken(bytes), None),
        },
        Some(_) if serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok() => {
            (Class::NotObject, None)
        }
        Some(_) => (broken(bytes), None),
    }
}

fn broken(bytes: &[u8]) -> Class {
    if has_nul(bytes) {
        Class::Nul
    } else {
        Class::Broken
    }
}

fn has_nul(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_some()
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_whitespace())
}

/// Whether the objects behind the first one are complete.
fn rest_is_json(object: Option<&Object<'_>>) -> bool {
    object.is_some_and(|object| {
        serde_json::Deserializer::from_str(object.rest())
            .into_iter::<&serde_json::value::RawValue>()
            .all(|value| value.is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::{Class, Record};
    use crate::{Line, Piece};

    fn class_of(bytes: &[u8]) -> Class {
        let line = Line {
            bytes,
            number: 1,
            offset: 0,
            piece: Piece::Whole,
        };
        Record::classify(line).class
    }

    #[test]
    fn every_class_is_found() {
        let cases: [(&[u8], Class); 22] = [
            (b"{\"a\":1}\n", Class::Object),
            (b"{\"a\":1}\r\n", Class::Object),
            (b"\xef\xbb\xbf {\"a\":1}\n", Class::Object),
            (b"{}", Class::Object),
            (b"\n", Class::Blank),
            (b" \t\r\n", Class::Blank),
            (b"\xef\xbb\xbf\n", Class::Blank),
            (b"[1]\n", Class::NotObject),
            (b"7", Class::NotObject),
            (b"\"x\"\n", Class::NotObject),
            (b"{}{}\n", Class::Concatenated),
            (b"{\"a\":1} {\"b\n", Class::Concatenated),
            (b"{}{}", Class::Concatenated),
            (b"{}{", Class::Tail),
            (b"{} x\n", Class::Broken),
            (b"{\"a\":\"..{\"type\":1}\n", Class::Broken),
            (b"hello\n", Class::Broken),
            (b"{\"a\":1", Class::Tail),
            (b"{\"a\":\"\xff\"}\n", Class::NotUtf8),
            (b"{\"a\":\"\xe4\xb8", Class::Tail),
            (b"\0\0\0\0\n", Class::Nul),
            (b"\0\0{\"a\":1}\n", Class::Nul),
        ];
        for (bytes, class) in cases {
            assert_eq!(class_of(bytes), class, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_mark_counts_only_on_the_first_line() {
        let line = Line {
            bytes: b"\xef\xbb\xbf{}\n",
            number: 2,
            offset: 9,
            piece: Piece::Whole,
        };
        assert_eq!(Record::classify(line).class, Class::Broken);
    }
}
