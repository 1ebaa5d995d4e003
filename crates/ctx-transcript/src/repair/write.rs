//! The repaired records. In a record that is changed only the values change that
//! must: an id, or the list of blocks, whose blocks keep their bytes.

use super::{Edit, MISSING_BEGINNING, NewResult, Repair, RepairDialect, ResultSource};
use crate::record::line_end;
use crate::{Object, Origin};

impl Repair {
    /// What stands in the place of record `at` of `records`, line ends included:
    /// nothing, or one or more records.
    pub fn repaired<B: AsRef<[u8]>>(
        &self,
        records: &[B],
        at: usize,
        how: &dyn RepairDialect,
    ) -> Vec<u8> {
        let bytes = records[at].as_ref();
        let Some(edit) = self.edits.get(&at) else {
            return bytes.to_vec();
        };
        let results = |calls: &[usize]| -> Vec<String> {
            let results = calls.iter().map(|call| self.result(records, *call));
            results.filter_map(|it| how.result(&it?)).collect()
        };
        let mut lines: Vec<Vec<u8>> = Vec::new();
        if edit.begin {
            lines.push(how.said_by_user(MISSING_BEGINNING).into_bytes());
        }
        if !edit.drop {
            lines.push(changed(line(bytes), edit, results(&edit.into), how));
        }
        if !edit.behind.is_empty() {
            let behind = how.records_of(results(&edit.behind));
            lines.extend(behind.into_iter().map(String::into_bytes));
        }
        if lines.is_empty() {
            return Vec::new();
        }
        // A last line without its end keeps that.
        let end = line_end(bytes);
        let between: &[u8] = if end.is_empty() { b"\n" } else { end };
        [lines.join(between).as_slice(), end].concat()
    }

    /// The result that a call gets. Only objects hold calls and results.
    fn result<'a, B: AsRef<[u8]>>(
        &'a self,
        records: &'a [B],
        call: usize,
    ) -> Option<NewResult<'a>> {
        let object = |record: usize| object(line(records[record].as_ref()));
        let call = &self.calls[call];
        let found = match call.found {
            Some(at) => Some(ResultSource {
                record: object(at.record)?,
                place: at.place,
            }),
            None => None,
        };
        Some(NewResult {
            id: &call.id,
            call: object(call.record)?,
            found,
        })
    }
}

/// The record itself, without its line end.
fn changed(bytes: &[u8], edit: &Edit, into: Vec<String>, how: &dyn RepairDialect) -> Vec<u8> {
    let Some(object) = object(bytes) else {
        return bytes.to_vec();
    };
    let text = how.changed(&object, &edit.change, into);
    // What stands before the text is a byte order mark.
    let mark = &bytes[..bytes.len() - object.text().len()];
    [mark, text.as_bytes()].concat()
}

/// A record without its line end.
fn line(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() - line_end(bytes).len()]
}

fn object(bytes: &[u8]) -> Option<Object<'_>> {
    Origin::ALONE.record(bytes).object().cloned()
}
