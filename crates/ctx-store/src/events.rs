//! All of the audit log, an event at a time.

use std::io::{self, BufRead, BufReader, Read};

use crate::error::{Naming, StoreError};
use crate::files::{if_there, open_plain};
use crate::{Event, Store};

/// A longer line is none of ours: it is passed over, however long it is, in bounded memory.
const LONGEST_LINE: u64 = 1 << 20;

impl Store {
    /// Shows each record of the audit log to `see`, in the order in which they were written.
    /// Returns how many lines are no records: torn ones, and those of somebody else.
    pub fn each_event(&self, mut see: impl FnMut(Event)) -> Result<u64, StoreError> {
        let mut unread = 0;
        self.each_log_line(|line| match Event::parse(line) {
            Some(event) => see(event),
            None if line.trim_ascii().is_empty() => {}
            None => unread += 1,
        })?;
        Ok(unread)
    }

    /// Shows each line of the audit log; of one that is too long the beginning.
    pub(crate) fn each_log_line(&self, mut see: impl FnMut(&[u8])) -> Result<(), StoreError> {
        let path = self.audit_log();
        let Some(log) = if_there(open_plain(&path).naming("open", &path))? else {
            return Ok(());
        };
        let mut reader = BufReader::with_capacity(128 * 1024, log);
        let mut line = Vec::new();
        while next_line(&mut reader, &mut line).naming("read", &path)? {
            see(&line);
        }
        Ok(())
    }
}

/// Reads the next line, of one that is too long the beginning.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let read = reader.take(LONGEST_LINE).read_until(b'\n', line)?;
    if read as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
    }
    Ok(read > 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::testing::Bench;

    /// 16: lines that are torn, foreign or endless hinder nothing, and are counted.
    #[test]
    fn what_is_no_record_is_counted_and_passed_over() {
        let bench = Bench::new();
        assert_eq!(bench.store.each_event(|_| panic!("nothing")).ok(), Some(0));
        bench.take("demo", b"1\n");
        let log = bench.store.audit_log();
        let records = fs::read_to_string(&log).expect("the log");
        let endless = "x".repeat(3 << 20);
        let torn = &records[..40];
        fs::write(
            &log,
            format!("[1]\n{endless}\n{records}\n{{\"op\":\"x\"}}\n{records}{torn}"),
        )
        .expect("written");
        let mut seen = Vec::new();
        let unread = bench.store.each_event(|event| seen.push(event.phase));
        assert_eq!(unread.ok(), Some(4));
        assert_eq!(seen, ["intent", "done", "intent", "done"]);
    }
}
