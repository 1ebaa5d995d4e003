//! A session that was read once already, to know which of its records are in the context.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read};

use crate::view::ViewBuilder;
use crate::{Class, Flaw, Object, Origin, Record, Spool};

/// Where what was read comes from once more.
pub(crate) enum Again {
    /// It waits.
    Spool(Spool),
    /// Something gives the same bytes.
    Source(BufReader<Box<dyn Read + Send>>),
}

/// What was read once, with the presence of its records in the context.
pub(crate) struct SecondReading {
    again: Again,
    /// Each record with its length.
    waiting: VecDeque<(Origin, usize)>,
    /// The bytes of the record that was handed out last.
    bytes: Vec<u8>,
    /// What is wrong with the session, by line.
    pub(crate) flaws: Vec<(u64, Flaw)>,
}

impl SecondReading {
    /// Nothing read yet.
    pub(crate) fn new(again: Again) -> Self {
        Self {
            again,
            waiting: VecDeque::new(),
            bytes: Vec::new(),
            flaws: Vec::new(),
        }
    }

    /// The next record of the first reading.
    pub(crate) fn push(
        &mut self,
        record: &Record<'_>,
        view: &mut dyn ViewBuilder,
    ) -> io::Result<()> {
        if let Again::Spool(spool) = &mut self.again {
            spool.push(record.bytes)?;
        }
        // A line that is too long comes in pieces, and is one record.
        if record.piece.begins() {
            show(view, record);
        }
        let length = record.bytes.len();
        self.waiting.push_back((record.origin(), length));
        Ok(())
    }

    /// Nothing more comes: the view says which records are in the context.
    pub(crate) fn finish(mut self, view: Box<dyn ViewBuilder>) -> Self {
        let mut view = view.finish();
        view.flaws.sort_by_key(|flaw| flaw.record);
        let mut flaws = std::mem::take(&mut view.flaws).into_iter().peekable();
        let mut records = 0;
        for (origin, _) in &mut self.waiting {
            if origin.piece.begins() {
                records += 1;
                let of_record = std::iter::from_fn(|| flaws.next_if(|it| it.record < records));
                self.flaws.extend(of_record.map(|flaw| (origin.line, flaw)));
            }
            origin.presence = Some(view.of(records - 1));
            origin.portion = view.portion(records - 1);
        }
        self
    }

    /// The next record of the second reading.
    pub(crate) fn next(&mut self) -> io::Result<Option<Record<'_>>> {
        let Some((origin, length)) = self.waiting.pop_front() else {
            return Ok(None);
        };
        self.bytes.clear();
        match &mut self.again {
            Again::Spool(spool) => spool.pop_to(length, &mut self.bytes)?,
            Again::Source(source) => {
                let read = source.take(length as u64).read_to_end(&mut self.bytes)?;
                if read < length {
                    let kind = io::ErrorKind::UnexpectedEof;
                    return Err(io::Error::new(kind, "it became shorter while it was read"));
                }
            }
        }
        Ok(Some(origin.record(&self.bytes)))
    }
}

/// Shows a record, all of it or its first piece, to a view.
pub fn show(view: &mut dyn ViewBuilder, record: &Record<'_>) {
    match record.object() {
        Some(object) if record.class == Class::Concatenated => view.push_first_of(object),
        _ if record.class.is_bad() => show_bad(view, record),
        _ => view.push(record.whole_object()),
    }
}

/// A bad line, of which some agents read something.
fn show_bad(view: &mut dyn ViewBuilder, record: &Record<'_>) {
    let text = String::from_utf8_lossy(record.bytes.get(record.skipped..).unwrap_or_default());
    let is_read = matches!(record.class, Class::Broken | Class::Nul | Class::NotUtf8);
    match Object::parse(&text) {
        Ok(object) if is_read && record.class != Class::NotUtf8 => view.push_first_of(&object),
        Ok(object) if is_read && object.rest().trim_ascii().is_empty() => {
            view.push_replaced(&object);
        }
        _ => view.push_bad(),
    }
}
