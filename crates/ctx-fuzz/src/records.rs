//! The record reader returns all bytes of its input, however it divides them into records.

use ctx_format::{Options, Records};

pub(crate) fn run(bytes: &[u8]) {
    let raw = Options { raw: true, ..Options::default() };
    let batch = Options { batch: true, ..Options::default() };
    for options in [raw, batch, Options::default()] {
        read(bytes, &options);
    }
}

fn read(bytes: &[u8], options: &Options) {
    let mut records = Records::open(bytes, options).expect("memory does not fail");
    // The records of a JSON document are its messages, not its lines.
    let is_document = records.document_members_beside().is_some();
    let mut read = Vec::new();
    let mut line = 0;
    while let Some(record) = records.next().expect("memory does not fail") {
        assert!(!record.bytes.is_empty(), "an empty record");
        assert!(record.line >= line, "lines go backwards");
        line = record.line;
        if !is_document {
            assert_eq!(record.offset, read.len() as u64, "the offset of a record");
        }
        let untagged = record.untagged();
        assert!(untagged.len() <= record.bytes.len(), "a tag has a length");
        if record.class.is_bad() {
            assert!(!record.why_bad().is_empty(), "bad without a reason");
        }
        read.extend_from_slice(record.bytes);
    }
    assert!(is_document || read == bytes, "bytes were lost or made up");
}
