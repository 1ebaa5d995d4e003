//! The mended records. In a record that is changed only the values change that
//! must: an id, or the list of blocks, whose blocks keep their bytes.

use super::{Edit, MISSING_BEGINNING, Mend, NewResult, PlannedResult, Repair, ResultSource};
use crate::record::line_end;
use crate::{Line, Object, Piece, Record};

impl Repair {
    /// What stands in the place of record `at` of `records`, line ends included:
    /// nothing, or one or more records.
    pub fn mended<B: AsRef<[u8]>>(&self, records: &[B], at: usize, mend: &dyn Mend) -> Vec<u8> {
        let bytes = records[at].as_ref();
        let Some(edit) = self.edits.get(&at) else {
            return bytes.to_vec();
        };
        Writer { records, mend }.edited(bytes, edit)
    }
}

struct Writer<'a, B> {
    records: &'a [B],
    mend: &'a dyn Mend,
}

impl<'a, B: AsRef<[u8]>> Writer<'a, B> {
    fn edited(&self, bytes: &'a [u8], edit: &'a Edit) -> Vec<u8> {
        let end = line_end(bytes);
        let mut lines: Vec<Vec<u8>> = Vec::new();
        if edit.begin {
            lines.push(self.mend.said_by_user(MISSING_BEGINNING).into_bytes());
        }
        if !edit.drop {
            lines.push(self.changed(&bytes[..bytes.len() - end.len()], edit));
        }
        if !edit.behind.is_empty() {
            let behind = self.mend.records_of(&self.answers(&edit.behind));
            lines.extend(behind.into_iter().map(String::into_bytes));
        }
        if lines.is_empty() {
            return Vec::new();
        }
        // A last line without its end keeps that.
        let between: &[u8] = if end.is_empty() { b"\n" } else { end };
        let mut out = lines.join(between);
        out.extend_from_slice(end);
        out
    }

    /// The record itself, without its line end.
    fn changed(&self, bytes: &'a [u8], edit: &'a Edit) -> Vec<u8> {
        let Some(object) = object(bytes) else {
            return bytes.to_vec();
        };
        let into = self.answers(&edit.into);
        let text = self.mend.changed(&object, &edit.change, &into);
        // What stands before the text is a byte order mark.
        let mark = &bytes[..bytes.len() - object.text().len()];
        [mark, text.as_bytes()].concat()
    }

    fn answers(&self, planned: &'a [PlannedResult]) -> Vec<NewResult<'a>> {
        planned.iter().filter_map(|it| self.answer(it)).collect()
    }

    /// Only objects hold calls and results.
    fn answer(&self, planned: &'a PlannedResult) -> Option<NewResult<'a>> {
        let found = match planned.found {
            Some(at) => Some(ResultSource {
                record: object(self.line(at.record))?,
                place: at.place,
            }),
            None => None,
        };
        Some(NewResult {
            id: &planned.id,
            call: object(self.line(planned.call))?,
            found,
        })
    }

    /// The record of that number, without its line end.
    fn line(&self, record: usize) -> &'a [u8] {
        let bytes = self.records[record].as_ref();
        &bytes[..bytes.len() - line_end(bytes).len()]
    }
}

fn object(bytes: &[u8]) -> Option<Object<'_>> {
    let line = Line {
        bytes,
        number: 1,
        offset: 0,
        piece: Piece::Whole,
    };
    Record::classify(line).object().cloned()
}
