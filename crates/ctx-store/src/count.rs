//! What the lines of a session hold.

use std::io::{self, Read};

use crate::Tally;

/// Reads a session to its end.
pub(crate) fn tally(mut reader: impl Read) -> io::Result<Tally> {
    io::copy(&mut reader, &mut io::sink())?;
    Ok(Tally::default())
}
