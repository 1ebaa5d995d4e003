//! Passes the records on, each with its bytes and tokens in its tag.

use std::io::Write;
use std::path::Path;

use ctx_format::{Dialect, Record};

use super::{CountPass, Counts, Plan};
use crate::outlet::{Announced, Outlet};
use crate::{BadLines, PassError};

/// Writes each record with its size in its tag.
pub struct AnnotatePass<W> {
    count: CountPass,
    outlet: Outlet<W>,
    encoding: &'static str,
}

impl<W: Write> AnnotatePass<W> {
    /// A pass that writes to `output` and keeps waiting records in `temp`.
    pub fn new(plan: &Plan, dialect: Option<&'static dyn Dialect>, output: W, temp: &Path) -> Self {
        let plan = Plan { threads: 1, ..*plan };
        Self {
            count: CountPass::new(&plan, dialect),
            outlet: Outlet::new(output, Announced::default(), temp),
            encoding: plan.counter.encoding().name(),
        }
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        let tokens = self.count.count(record);
        let untagged = record.untagged().into_owned();
        let length = untagged.len() - record.line_end().len();
        self.outlet.write_with(record, untagged, |came| {
            let mut tag = came.unwrap_or_default();
            tag.line = tag.line.or(Some(record.line));
            tag.bytes = Some(length as u64);
            tag.tokens = Some(tokens);
            tag.encoding = Some(self.encoding.to_owned());
            Some(tag)
        })
    }

    /// Writes the rest; the output comes back.
    pub fn finish(self, bad: &BadLines) -> Result<(W, Counts), PassError> {
        let output = self.outlet.finish(bad.left_out())?;
        Ok((output, self.count.finish(bad)))
    }
}
