//! A record: a line of a session file with its class and its unchanged bytes.

use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;
pub(crate) mod edit;
pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod message;
pub(crate) mod object;
pub(crate) mod presence;
pub(crate) mod scan;
pub(crate) mod spool;
pub(crate) mod tag;
pub(crate) mod unescape;

use self::presence::{Fragment, Portion, Presence};
use crate::{Edits, Object, Splice, Tag};

/// A line of a session or a piece of a line, along with its position.
#[derive(Clone, Debug, derive_more::Deref, derive_more::DerefMut)]
pub struct Record<'a> {
    /// The bytes of the whole line, including its line ending. If the line is too long, the bytes
    /// of one of its pieces.
    pub bytes: &'a [u8],
    /// The class of the line.
    pub class: Class,
    /// All data of the record except its bytes and anything parsed from them.
    #[deref]
    #[deref_mut]
    pub origin: Origin,
    object: Option<Object<'a>>,
    /// The byte offset of the object in `bytes`, which is not 0 if the object follows a byte order
    /// mark.
    pub(crate) skipped: usize,
}

pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Origin {
    /// The origin of a record that is a whole line and the only record in its source.
    pub const ALONE: Self = Self {
        line: 1,
        offset: 0,
        piece: Piece::Whole,
        presence: None,
        portion: None,
        model: None,
    };

    /// Creates a record with this origin from `bytes`, which are either the source's own bytes or
    /// replace them.
    pub fn record(self, bytes: &[u8]) -> Record<'_> {
        let mut record =
            Record { bytes, class: Class::TooLong, origin: self, object: None, skipped: 0 };
        if record.piece != Piece::Whole {
            return record;
        }
        if record.line == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
            record.skipped = BYTE_ORDER_MARK.len();
        }
        (record.class, record.object) = look_at(&bytes[record.skipped..]);
        if !bytes.ends_with(b"\n") && record.is_unfinished() {
            (record.class, record.object) = (Class::Tail, None);
        }
        if let (Some(object), Some(portion)) = (&mut record.object, &record.origin.portion) {
            object.portion = Some(portion.clone());
        }
        record
    }
}

impl<'a> Record<'a> {
    /// Returns the record's object and the part of a message that it holds; `None` if the record
    /// cannot be a message or is not in the context.
    pub(crate) fn in_context(&self) -> Option<(&Object<'a>, Option<Fragment>)> {
        let fragment = match self.presence {
            None => None,
            Some(Presence::Inside(fragment)) => Some(fragment),
            Some(Presence::Outside(_)) => return None,
        };
        Some((self.whole_object()?, fragment))
    }

    /// Returns true if, according to the session's view, the record is not in the context.
    pub fn is_outside(&self) -> bool {
        matches!(self.presence, Some(Presence::Outside(_)))
    }

    /// The object in the record, or the first object if there are several.
    pub fn object(&self) -> Option<&Object<'a>> {
        self.object.as_ref()
    }

    /// The object, if the record can be a message; `None` if the line has several objects, unless
    /// the agent reads the first of them.
    pub fn whole_object(&self) -> Option<&Object<'a>> {
        let is_read = matches!(self.presence, Some(Presence::Inside(_)));
        self.object().filter(|_| self.class == Class::Object || is_read)
    }

    /// The tag that a tool wrote into the record, if any.
    pub fn tag(&self) -> Option<Tag> {
        self.object()?.get(Tag::KEY).map(Tag::parse)
    }

    /// The bytes of the record without any tag. These are the source's bytes even if a tool has
    /// inserted a tag.
    pub fn untagged(&self) -> Cow<'a, [u8]> {
        let whole = Cow::Borrowed(self.bytes);
        self.object().map_or(whole, |object| tag::untagged(self.bytes, self.skipped, object))
    }

    /// The byte order mark before the record, or an empty slice.
    pub fn byte_order_mark(&self) -> &'a [u8] {
        &self.bytes[..self.skipped]
    }

    /// Returns the bytes of the record with the edits applied, including the line ending but no
    /// tag.
    ///
    /// The record keeps its class, because edits replace JSON with JSON.
    pub fn edited(&self, edits: &Edits) -> Vec<u8> {
        if edits.is_empty() {
            return self.untagged().into_owned();
        }
        let bytes = edits.apply(self.bytes, self.skipped);
        let edited = self.origin.clone().record(&bytes);
        debug_assert_eq!(edited.class, self.class, "an edit keeps the class of a record");
        edited.untagged().into_owned()
    }

    /// Returns the position for a tag in [`Self::untagged`]; `None` if the record cannot have a
    /// tag.
    pub fn splice(&self) -> Option<Splice> {
        self.object().map(|object| Splice::of(object, self.skipped))
    }

    /// The line ending of the record, which is empty, `\n` or `\r\n`.
    pub fn line_end(&self) -> &'a [u8] {
        line_end(self.bytes)
    }

    /// Describes what is wrong with a bad record, without quoting its content.
    pub fn why_bad(&self) -> String {
        let why = match self.class {
            Class::Broken => {
                let text = std::str::from_utf8(&self.bytes[self.skipped..]).unwrap_or_default();
                match serde_json::from_str::<&RawValue>(text.trim_end_matches(['\r', '\n'])) {
                    Err(error) if error.is_eof() => "not JSON: the line is cut",
                    Err(error) => {
                        return format!("not JSON: {error}").replace(" line 1 column", " column");
                    }
                    Ok(_) => "not JSON",
                }
            }
            Class::NotObject => "JSON, but not an object",
            Class::Concatenated => "more than one object on the line",
            Class::NotUtf8 => "not UTF-8",
            Class::Nul => "NUL bytes",
            Class::TooLong => return format!("longer than {} MiB", MAX_LINE >> 20),
            Class::Tail => "an incomplete last line",
            Class::Object | Class::Blank => "nothing",
        };
        why.to_owned()
    }

    /// Returns true if the record, a last line without a line ending, seems to be incomplete.
    fn is_unfinished(&self) -> bool {
        match (self.class, self.object()) {
            (Class::Broken | Class::NotUtf8, _) => true,
            (Class::Concatenated, Some(object)) => {
                let rest = serde_json::Deserializer::from_str(object.rest());
                !rest.into_iter::<&RawValue>().all(|value| value.is_ok())
            }
            _ => false,
        }
    }
}

/// Returns the line ending of `line`, which is empty, `\n` or `\r\n`.
pub(crate) fn line_end(line: &[u8]) -> &[u8] {
    let length = if line.ends_with(b"\r\n") { 2 } else { usize::from(line.ends_with(b"\n")) };
    &line[line.len() - length..]
}

fn look_at(bytes: &[u8]) -> (Class, Option<Object<'_>>) {
    let bad = |class| (memchr::memchr(0, bytes).map_or(class, |_| Class::Nul), None);
    let Ok(text) = simdutf8::basic::from_utf8(bytes) else { return bad(Class::NotUtf8) };
    match text.trim_ascii_start().bytes().next() {
        None => (Class::Blank, None),
        Some(b'{') => match Object::parse(text) {
            Ok(object) if object.rest().trim_ascii().is_empty() => (Class::Object, Some(object)),
            Ok(object) if object.rest().trim_start().starts_with('{') => {
                (Class::Concatenated, Some(object))
            }
            _ => bad(Class::Broken),
        },
        Some(_) if serde_json::from_str::<&RawValue>(text).is_ok() => (Class::NotObject, None),
        Some(_) => bad(Class::Broken),
    }
}

/// The class of a line, which tells whether and how the line can be read. Only lines of the classes
/// [`Class::Object`] and [`Class::Concatenated`] can have a tag. All lines count as bad, except
/// objects, blank lines and tails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Class {
    /// The line is a JSON object.
    Object,
    /// The line is empty or contains only whitespace.
    Blank,
    /// The line is JSON, but not an object.
    #[strum(serialize = "not-an-object")]
    NotObject,
    /// The line has an object followed by another one, which may be incomplete: `{…}{…}`.
    Concatenated,
    /// The line is not JSON.
    Broken,
    /// The line is not UTF-8.
    NotUtf8,
    /// The line contains NUL bytes, which a crash can leave in a file.
    Nul,
    /// The line is longer than [`MAX_LINE`], so it is not parsed.
    TooLong,
    /// The line is the last one, has no line ending, and cannot be parsed; it is probably
    /// unfinished.
    Tail,
}

impl Class {
    /// Returns true if lines of this class are reported as bad. A tail does not count as bad,
    /// because it is probably still being written.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Object | Self::Blank | Self::Tail)
    }
}

/// The maximum length of a line in bytes. A longer line is returned in pieces and never parsed.
pub const MAX_LINE: usize = 64 << 20;

/// Whether a record is a whole line or a piece of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The whole line.
    Whole,
    /// The beginning of a line longer than [`MAX_LINE`].
    First,
    /// A middle piece of a line longer than [`MAX_LINE`].
    Middle,
    /// The end of a line longer than [`MAX_LINE`]; may be empty.
    Last,
}

impl Piece {
    /// Returns true for a whole line or the first piece of one.
    pub fn begins(self) -> bool {
        matches!(self, Self::Whole | Self::First)
    }

    /// Returns true for a whole line or the last piece of one.
    pub fn ends(self) -> bool {
        matches!(self, Self::Whole | Self::Last)
    }
}

/// The origin of a record: all its data except its bytes and anything parsed from them.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The number of the line in the source, starting at 1.
    pub line: u64,
    /// The byte offset of the record in the source.
    pub offset: u64,
    /// Whether the record is a whole line or a piece of one.
    pub piece: Piece,
    /// Whether the record is in the context; `None` in a linear session, where every record is a
    /// message that is sent.
    pub presence: Option<Presence>,
    /// The part of the record that is in the context; `None` if the whole record is in the context.
    pub portion: Option<Portion>,
    /// The model that will continue the session, if the caller or the document names one.
    pub model: Option<Arc<str>>,
}

#[cfg(test)]
mod tests {
    use crate::{Class, Origin};

    fn class_of(bytes: &[u8]) -> Class {
        Origin::ALONE.record(bytes).class
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
        let origin = Origin { line: 2, offset: 9, ..Origin::ALONE };
        let record = origin.record(b"\xef\xbb\xbf{}\n");
        assert_eq!(record.class, Class::Broken);
    }
}
