//! Counts the messages and the bad lines of a session.

use std::io::{self, Read};

use ctx_transcript::{Options, Records};

use crate::{BadLine, Tally};

/// How many bad lines are named; the others are only counted.
const NAMED: usize = 100;

/// Reads a session to its end; `again` gives the same bytes once more.
pub(crate) fn tally(mut reader: impl Read, again: impl Read + Send + 'static) -> io::Result<Tally> {
    let mut records = Records::open_twice(&mut reader, Box::new(again), &Options::default())?;
    let dialect = records.dialect();
    let mut tally = Tally {
        dialect: dialect.map(|dialect| dialect.name().to_owned()),
        ..Tally::default()
    };
    while let Some(record) = records.next()? {
        if record.class.is_bad() {
            if !record.piece.begins() {
                continue;
            }
            tally.bad_lines += 1;
            if tally.bad.len() < NAMED {
                tally.bad.push(BadLine {
                    line: record.line,
                    offset: record.offset,
                    class: record.class.as_str().to_owned(),
                });
            }
        } else if dialect.is_some() {
            let outline = record.outline(dialect);
            tally.messages += u64::from(outline.is_some_and(|it| it.begins_message()));
        }
    }
    drop(records);
    // A reader of records may stop early, but the caller wants all bytes to be read.
    io::copy(&mut reader, &mut io::sink())?;
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::tally;

    #[test]
    fn messages_and_bad_lines_are_told_apart() {
        let input = b"{\"role\":\"user\",\"content\":\"a\"}\nbroken\n\n{\"role\":\"assistant\",\"content\":\"b\"}\n\0\0\n{\"role\":\"us";
        let tally = tally(&input[..], &input[..]).expect("from memory");
        assert_eq!(tally.dialect.as_deref(), Some("chat"));
        assert_eq!((tally.messages, tally.bad_lines), (2, 2));
        let classes: Vec<_> = tally
            .bad
            .iter()
            .map(|bad| (bad.line, bad.offset, bad.class.as_str()))
            .collect();
        assert_eq!(classes, [(2, 30, "broken"), (5, 73, "nul")]);
    }

    #[test]
    fn only_so_many_bad_lines_are_named() {
        let input = "x\n".repeat(1000);
        let tally = tally(input.as_bytes(), io::empty()).expect("from memory");
        assert_eq!((tally.bad_lines, tally.bad.len()), (1000, 100));
        assert_eq!((tally.dialect, tally.messages), (None, 0));
    }
}
