//! Tags spliced into a record and cut out of it: every other byte stays.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::{Edits, Object, Tag, cut};

/// Where a tag goes in the bytes of an untagged record: right behind `{`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splice {
    at: usize,
    /// Whether members follow, so that the tag needs a comma.
    comma: bool,
}

impl Splice {
    /// Of an object whose text begins `skipped` bytes into the record.
    pub(crate) fn of(object: &Object<'_>, skipped: usize) -> Self {
        let comma = object.members().iter().any(|member| member.key != Tag::KEY);
        Self {
            at: skipped + object.inside(),
            comma,
        }
    }

    /// Writes the untagged record with `tag` in its place.
    pub fn write(
        self,
        untagged: &[u8],
        tag: &Tag,
        out: &mut (impl Write + ?Sized),
    ) -> io::Result<()> {
        let comma = if self.comma { "," } else { "" };
        out.write_all(&untagged[..self.at])?;
        write!(out, "\"{}\":{}{comma}", Tag::KEY, tag.write())?;
        out.write_all(&untagged[self.at..])
    }
}

/// The record without its `_ctx` members, each with one comma: the inverse of
/// [`Splice::write`], wherever between the other members they stand.
pub(crate) fn untagged<'a>(bytes: &'a [u8], skipped: usize, object: &Object<'a>) -> Cow<'a, [u8]> {
    let members = object.members().iter();
    let items = members.map(|member| (member.place.clone(), member.key == Tag::KEY));
    let mut edits = Edits::new();
    for place in cut::places(object.text(), items) {
        edits.cut(place);
    }
    if edits.is_empty() {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(edits.apply(bytes, skipped))
}

#[cfg(test)]
mod tests {
    use crate::{Origin, Record, Tag, Zone};
    use proptest::prelude::*;

    fn record(bytes: &[u8]) -> Record<'_> {
        Origin::ALONE.record(bytes)
    }

    fn tagged(bytes: &[u8]) -> Vec<u8> {
        let tag = Tag {
            zone: Some(Zone::Old),
            ..Tag::default()
        };
        let record = record(bytes);
        let mut out = Vec::new();
        match record.splice() {
            Some(splice) => splice
                .write(&record.untagged(), &tag, &mut out)
                .expect("to memory"),
            None => out.extend_from_slice(bytes),
        }
        out
    }

    #[test]
    fn the_tag_stands_right_behind_the_brace() {
        let cases: [(&[u8], &[u8]); 7] = [
            (b"{\"a\":1}\n", b"{\"_ctx\":{\"zone\":\"old\"},\"a\":1}\n"),
            (b"{}", b"{\"_ctx\":{\"zone\":\"old\"}}"),
            (b"  { }\r\n", b"  {\"_ctx\":{\"zone\":\"old\"} }\r\n"),
            (b"{ \"a\" : 1}", b"{\"_ctx\":{\"zone\":\"old\"}, \"a\" : 1}"),
            (
                b"{\"a\":1}{\"b\":2}\n",
                b"{\"_ctx\":{\"zone\":\"old\"},\"a\":1}{\"b\":2}\n",
            ),
            (
                b"\xef\xbb\xbf{\"a\":1}\n",
                b"\xef\xbb\xbf{\"_ctx\":{\"zone\":\"old\"},\"a\":1}\n",
            ),
            (b"[1]\n", b"[1]\n"),
        ];
        for (bytes, expected) in cases {
            let found = tagged(bytes);
            assert_eq!(
                found.escape_ascii().to_string(),
                expected.escape_ascii().to_string()
            );
            assert_eq!(record(&found).untagged().as_ref(), bytes);
        }
    }

    #[test]
    fn a_tag_is_removed_wherever_it_stands() {
        let cases = [
            (r#"{"a":1,"_ctx":{}}"#, r#"{"a":1}"#),
            (r#"{"a":1, "_ctx": 5 ,"b":2}"#, r#"{"a":1, "b":2}"#),
            (r#"{"_ctx":{},"_ctx":1}"#, "{}"),
            (r#"{"_ctx":1,"a":1,"_ctx":2,"_ctx":3}"#, r#"{"a":1}"#),
            (r#"{"\u005fctx":1,"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":{"_ctx":1}}"#, r#"{"a":{"_ctx":1}}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(
                String::from_utf8_lossy(&record(text.as_bytes()).untagged()),
                expected
            );
        }
    }

    proptest! {
        #[test]
        fn splice_and_cut_are_inverse(text in r#"[ ]{0,2}\{( ?"[a-c_]{0,3}" ?: ?(1e400|"x\\\\"|\[\]|\{"_ctx":1\}) ?(, ?"k":0 ?){0,2})?\} ?(\{\})?\r?\n?"#) {
            let found = tagged(text.as_bytes());
            prop_assert_eq!(record(&found).untagged().into_owned(), text.into_bytes());
        }
    }
}
