//! The tag of a record: the member `_ctx`, which passes a tool's decision about the record to the
//! next tool.

use crate::record::edit::cut_members;
use crate::{Class, Edits, Object, Record};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_with::{DeserializeFromStr, skip_serializing_none};
use std::borrow::Cow;
use std::io::{self, Write};
use strum::{EnumString, IntoStaticStr};
use thiserror::Error;

/// The decision that `ctx-split` made about a record.
#[derive(DeserializeFromStr, Serialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Zone {
    /// System and developer messages
    #[default]
    System,
    /// Records to summarize
    Old,
    /// Records to keep as they are
    Keep,
}

/// The members of `_ctx`. Members that this version does not know are kept.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tag {
    /// The zone of the record.
    pub zone: Option<Zone>,
    /// For a batch record, the zone of each of its messages, in order.
    pub zones: Option<Vec<Zone>>,
    /// The number of the line in the source, starting at 1.
    pub line: Option<u64>,
    /// The exchange that the record belongs to, identified by the 1-based number of the exchange's
    /// first record.
    pub group: Option<u64>,
    /// The selector or rule that pins the record.
    pub pin: Option<String>,
    /// The length of the record in bytes, not counting the tag and the line ending.
    pub bytes: Option<u64>,
    /// The number of tokens in the record when it was tagged. Tools that need a count take their
    /// own, because the record may have been edited since.
    pub tokens: Option<u64>,
    /// The encoding with which `tokens` was counted.
    pub encoding: Option<String>,
    /// The total number of records in the stream. Only the last record that can have a tag has the
    /// member `end`.
    pub end: Option<u64>,
    /// Members that this version does not know, each as the raw JSON text `"key":value`.
    #[serde(skip)]
    pub others: Vec<String>,
}

impl Tag {
    /// The key of the tag.
    pub const KEY: &'static str = "_ctx";

    /// Parses the value of `_ctx`. Members that cannot be read are kept as unknown members. If the
    /// value is not an object, the tag is empty.
    pub(crate) fn parse(raw: &str) -> Self {
        let mut tag = Self::default();
        let Ok(object) = Object::parse(raw) else { return tag };
        for member in object.members() {
            if !tag.take(&member.key, member.value) {
                tag.others.push(raw[member.place.clone()].to_owned());
            }
        }
        tag
    }

    /// Sets the member `key`. Returns false if this version does not know the member, or cannot
    /// read its value.
    fn take(&mut self, key: &str, value: &str) -> bool {
        match key {
            "zone" => set(&mut self.zone, value),
            "zones" => set(&mut self.zones, value),
            "line" => set(&mut self.line, value),
            "group" => set(&mut self.group, value),
            "pin" => set(&mut self.pin, value),
            "bytes" => set(&mut self.bytes, value),
            "tokens" => set(&mut self.tokens, value),
            "encoding" => set(&mut self.encoding, value),
            "end" => set(&mut self.end, value),
            _ => false,
        }
    }

    /// Writes the tag as the JSON value of `_ctx`: `{"zone":"old",…}`.
    pub(crate) fn write(&self) -> String {
        let mut text = serde_json::to_string(self).expect("words and numbers can be written");
        text.pop();
        for raw in &self.others {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(raw);
        }
        text.push('}');
        text
    }
}

/// Parses `value` and sets `member` to it. Returns false if the value has the wrong type.
fn set<T: DeserializeOwned>(member: &mut Option<T>, value: &str) -> bool {
    serde_json::from_str(value).map(|read| *member = Some(read)).is_ok()
}

/// The position for a tag in an untagged record: directly after the `{`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splice {
    at: usize,
    /// Whether the tag needs a comma after it, because other members follow.
    comma: bool,
}

impl Splice {
    /// The position for a tag in `object`, whose text begins `skipped` bytes after the start of the
    /// record.
    pub(crate) fn of(object: &Object<'_>, skipped: usize) -> Self {
        let comma = object.members().iter().any(|member| member.key != Tag::KEY);
        Self { at: skipped + object.inside(), comma }
    }

    /// Writes the record `untagged` to `out`, with `tag` inserted.
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

/// Removes every member `_ctx`, wherever it is, and the comma next to it. This reverses the effect
/// of [`Splice::write`].
pub(crate) fn untagged<'a>(bytes: &'a [u8], skipped: usize, object: &Object<'a>) -> Cow<'a, [u8]> {
    let mut edits = Edits::default();
    edits.cut(cut_members(object, object, |member| member.key == Tag::KEY));
    if edits.is_empty() { Cow::Borrowed(bytes) } else { Cow::Owned(edits.apply(bytes, skipped)) }
}

/// Reads the zones from a stream, and compares the number of records with `end`, the number
/// announced by the writer. Without the announced number, the incomplete output of a crashed
/// program would look complete.
#[derive(Debug, Default)]
pub struct ZoneReader {
    /// The zone of the last object that was read; `None` before the first object.
    last: Option<Zone>,
    /// The number of records read so far.
    pub records: u64,
    /// Whether any of the records read so far has a zone, which means that `ctx-split` wrote the
    /// stream.
    pub zoned: bool,
    end: Option<u64>,
}

/// The error for a stream that ended before its writer had finished.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum EarlyEnd {
    /// No record has the member `end`, which marks the last record of a complete stream.
    #[error("upstream ended early (records received: {records}, none marked as the last)")]
    NoEnd {
        /// The number of records that were read.
        records: u64,
    },
    /// The number of records differs from the number announced in the member `end`.
    #[error("upstream ended early (records received: {records}, announced: {announced})")]
    OtherCount {
        /// The number of records that were read.
        records: u64,
        /// The number in the member `end`.
        announced: u64,
    },
}

impl ZoneReader {
    /// Returns the zone of the next record. A record that cannot have a tag is in the same zone as
    /// the record before it, or in `system` if it comes first. An object without a zone, or a tail
    /// (an incomplete last line), is in `keep`.
    pub fn read(&mut self, record: &Record<'_>) -> Zone {
        self.records += u64::from(record.piece.begins());
        if record.class == Class::Tail {
            return Zone::Keep;
        }
        if record.object().is_none() {
            return self.last.unwrap_or(Zone::System);
        }
        let tag = record.tag().unwrap_or_default();
        self.zoned |= tag.zone.is_some() || tag.zones.is_some();
        self.end = tag.end.or(self.end);
        let zone = tag.zone.unwrap_or(Zone::Keep);
        self.last = Some(zone);
        zone
    }

    /// Checks that the stream, which has been read to its end, is complete.
    pub fn finish(&self) -> Result<(), EarlyEnd> {
        let records = self.records;
        let announced = self.end.ok_or(EarlyEnd::NoEnd { records })?;
        let is_whole = announced == records;
        is_whole.then_some(()).ok_or(EarlyEnd::OtherCount { records, announced })
    }
}

#[cfg(test)]
mod tests {
    use super::{Tag, Zone};

    #[test]
    fn members_stand_in_a_fixed_order() {
        let tag = Tag {
            zone: Some(Zone::Old),
            line: Some(7),
            bytes: Some(412),
            tokens: Some(118),
            encoding: Some("o200k_base".to_owned()),
            pin: Some("re:\"x\"".to_owned()),
            ..Tag::default()
        };
        let text = r#"{"zone":"old","line":7,"pin":"re:\"x\"","bytes":412,"tokens":118,"encoding":"o200k_base"}"#;
        assert_eq!(tag.write(), text);
        assert_eq!(Tag::parse(text), tag);
    }

    #[test]
    fn unknown_members_pass_through() {
        let text = r#"{"mine" : [1, 2],"zone":"keep","line":"x","zone":"sideways"}"#;
        let tag = Tag::parse(text);
        assert_eq!(tag.zone, Some(Zone::Keep));
        assert_eq!(tag.write(), r#"{"zone":"keep","mine" : [1, 2],"line":"x","zone":"sideways"}"#);
    }

    #[test]
    fn a_zone_is_a_word() {
        for text in [r#"{"zone":{"old":null}}"#, r#"{"zones":["keep",{"old":null}]}"#] {
            let tag = Tag::parse(text);
            assert_eq!((tag.zone, tag.zones.as_ref()), (None, None));
            assert_eq!(tag.write(), text);
        }
        let escaped = Tag::parse(r#"{"zone":"\u006fld"}"#);
        assert_eq!(escaped.zone, Some(Zone::Old));
    }

    #[test]
    fn what_is_no_object_is_an_empty_tag() {
        assert_eq!(Tag::parse("5"), Tag::default());
        assert_eq!(Tag::default().write(), "{}");
    }
}

#[cfg(test)]
mod splice_tests {
    use crate::{Origin, Record, Tag, Zone};
    use proptest::prelude::*;

    fn record(bytes: &[u8]) -> Record<'_> {
        Origin::ALONE.record(bytes)
    }

    fn tagged(bytes: &[u8]) -> Vec<u8> {
        let tag = Tag { zone: Some(Zone::Old), ..Tag::default() };
        let record = record(bytes);
        let mut out = Vec::new();
        match record.splice() {
            Some(splice) => splice.write(&record.untagged(), &tag, &mut out).expect("to memory"),
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
            (b"{\"a\":1}{\"b\":2}\n", b"{\"_ctx\":{\"zone\":\"old\"},\"a\":1}{\"b\":2}\n"),
            (b"\xef\xbb\xbf{\"a\":1}\n", b"\xef\xbb\xbf{\"_ctx\":{\"zone\":\"old\"},\"a\":1}\n"),
            (b"[1]\n", b"[1]\n"),
        ];
        for (bytes, expected) in cases {
            let found = tagged(bytes);
            assert_eq!(found.escape_ascii().to_string(), expected.escape_ascii().to_string());
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
            assert_eq!(String::from_utf8_lossy(&record(text.as_bytes()).untagged()), expected);
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

#[cfg(test)]
mod zones_tests {
    use super::{EarlyEnd, ZoneReader};
    use crate::Zone::{self, Keep, Old, System};
    use crate::{Options, Records};

    fn read(input: &str) -> (Vec<Zone>, Result<(), EarlyEnd>) {
        let options = Options { raw: true, ..Options::default() };
        let mut records = Records::open(input.as_bytes(), &options).expect("from memory");
        let (mut reader, mut zones) = (ZoneReader::default(), Vec::new());
        while let Some(record) = records.next().expect("from memory") {
            zones.push(reader.read(&record));
        }
        (zones, reader.finish())
    }

    #[test]
    fn lines_without_a_tag_follow_the_record_before() {
        let input = "\n{\"_ctx\":{\"zone\":\"old\"}}\nbroken\n{\"new\":1}\n\n{\"_ctx\":{\"zone\":\"old\",\"end\":7}}\n{\"half";
        assert_eq!(read(input), (vec![System, Old, Old, Keep, Keep, Old, Keep], Ok(())));
    }

    #[test]
    fn a_short_stream_is_seen() {
        assert_eq!(read("").1, Err(EarlyEnd::NoEnd { records: 0 }));
        assert_eq!(read("{\"_ctx\":{\"zone\":\"old\"}}\n").1, Err(EarlyEnd::NoEnd { records: 1 }));
        let other = EarlyEnd::OtherCount { records: 1, announced: 2 };
        assert_eq!(read("{\"_ctx\":{\"end\":2}}\n").1, Err(other));
    }
}
