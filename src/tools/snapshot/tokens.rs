//! `--count`: how many tokens a snapshot has, as ctx-count counts them.

use std::fs::File;
use std::io::{self, Seek};

use ctx_select::count::MessageCounter;
use ctx_select::tally::Tally;
use ctx_store::Tokens;
use ctx_transcript::{Options, Records};

/// Counts the messages in `file`; `None` where its dialect is not known.
pub(super) fn count(mut file: &File, counter: &MessageCounter) -> io::Result<Option<Tokens>> {
    file.rewind()?;
    let mut records = Records::open(file, &Options::default())?;
    let dialect = records.dialect();
    if dialect.is_none() {
        return Ok(None);
    }
    let mut tally = Tally::default();
    while let Some(record) = records.next()? {
        let Some(message) = record.message(dialect) else {
            continue;
        };
        if tally.conversations() == 0 {
            tally.begin();
        }
        tally.message(counter, &message);
    }
    Ok(Some(Tokens {
        count: tally.tokens().total(),
        encoding: counter.encoding().name().to_owned(),
    }))
}
