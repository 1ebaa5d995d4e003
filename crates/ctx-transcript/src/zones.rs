//! The reader's side of a tagged stream: which zone a record is in, and whether
//! the stream came whole.

use thiserror::Error;

use crate::{Class, Record, Zone};

/// Reads zones, and counts records against the `end` that the writer announced:
/// a dead upstream looks like a short file.
#[derive(Debug, Default)]
pub struct ZoneReader {
    /// The zone of the record before; `None` where no tag came yet.
    last: Option<Zone>,
    records: u64,
    zoned: bool,
    end: Option<u64>,
}

/// The stream is not all that its writer had to say.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum EarlyEnd {
    /// No record says how many there are.
    #[error("upstream ended early: {records} records came, and none is marked as the last")]
    NoEnd {
        /// How many came.
        records: u64,
    },
    /// The last record announces another count.
    #[error("upstream ended early: {records} records came, {announced} were announced")]
    OtherCount {
        /// How many came.
        records: u64,
        /// How many were announced.
        announced: u64,
    },
}

impl ZoneReader {
    /// The zone of the next record. One that carries no tag is in the zone of the
    /// record before it, the first one in `system`; an object that came in
    /// without a zone is kept, and so is a tail.
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

    /// Whether any record so far had a zone: else nothing was split.
    pub fn zoned(&self) -> bool {
        self.zoned
    }

    /// How many records came.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// At the end of the input: whether all of the stream came.
    pub fn finish(&self) -> Result<(), EarlyEnd> {
        let records = self.records;
        match self.end {
            None => Err(EarlyEnd::NoEnd { records }),
            Some(announced) if announced != records => {
                Err(EarlyEnd::OtherCount { records, announced })
            }
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{EarlyEnd, ZoneReader};
    use crate::Zone::{self, Keep, Old, System};
    use crate::{Options, Records};

    fn read(input: &str) -> (Vec<Zone>, Result<(), EarlyEnd>) {
        let options = Options {
            raw: true,
            ..Options::default()
        };
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
        assert_eq!(
            read(input),
            (vec![System, Old, Old, Keep, Keep, Old, Keep], Ok(()))
        );
    }

    #[test]
    fn a_short_stream_is_seen() {
        assert_eq!(read("").1, Err(EarlyEnd::NoEnd { records: 0 }));
        assert_eq!(
            read("{\"_ctx\":{\"zone\":\"old\"}}\n").1,
            Err(EarlyEnd::NoEnd { records: 1 })
        );
        let other = EarlyEnd::OtherCount {
            records: 1,
            announced: 2,
        };
        assert_eq!(read("{\"_ctx\":{\"end\":2}}\n").1, Err(other));
    }
}
