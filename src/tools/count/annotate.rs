//! `--annotate`: the records pass, each with its bytes and tokens in its tag.

use std::path::PathBuf;

use ctx_cli::{ExitStatus, Failure, Io, Outcome};
use ctx_transcript::{Piece, Record, Splice, Spool, Tag};

use super::counted::Counted;
use super::{Args, Plan};
use crate::output::Output;
use crate::session::Invalid;

pub(super) fn run(args: &Args, plan: &Plan, io: &mut Io) -> Outcome {
    let counter = &plan.counting.counter;
    let mut session = args.read.open(&plan.inputs.paths()[0])?;
    let dialect = session.dialect();
    let mut seen = Counted::begin(&session.name);
    let mut output = args.output.open(io)?;
    let mut writer = Writer::new();
    session.each(|record| {
        let tokens = seen.record(record, dialect, args.read.batch, counter);
        writer.record(record, tokens, counter.encoding().name(), &mut output)
    })?;
    let bad = session.bad();
    let dropped = if args.read.invalid == Invalid::Drop {
        bad.count
    } else {
        0
    };
    writer.finish(dropped, &mut output)?;
    output.finish()?;
    seen.bad = bad.clone();
    seen.report(args.read.invalid, io);
    Ok(ExitStatus::Done)
}

/// Writes tagged records. The last one that can carry a tag says how many records
/// there are, so it waits, with what follows it, until the next one or the end.
struct Writer {
    written: u64,
    /// Whether a tag came in, and the last `end` that did.
    tagged: bool,
    announced: Option<u64>,
    waiting: Option<Waiting>,
    /// What stands behind the waiting record and can carry no tag.
    behind: Spool,
    behind_length: usize,
}

struct Waiting {
    untagged: Vec<u8>,
    splice: Splice,
    tag: Tag,
}

impl Writer {
    fn new() -> Self {
        Self {
            written: 0,
            tagged: false,
            announced: None,
            waiting: None,
            behind: Spool::new(std::env::temp_dir()),
            behind_length: 0,
        }
    }

    fn record(
        &mut self,
        record: &Record<'_>,
        tokens: u64,
        encoding: &str,
        output: &mut Output<'_>,
    ) -> Result<(), Failure> {
        self.written += u64::from(matches!(record.piece, Piece::Whole | Piece::First));
        let Some(splice) = record.splice() else {
            return self.untaggable(record.bytes, output);
        };
        self.flush(None, output)?;
        let came = record.tag();
        self.tagged |= came.is_some();
        let mut tag = came.unwrap_or_default();
        self.announced = tag.end.take().or(self.announced);
        let untagged = record.untagged().into_owned();
        tag.line = tag.line.or(Some(record.line));
        tag.bytes = Some((untagged.len() - record.line_end().len()) as u64);
        tag.tokens = Some(tokens);
        tag.encoding = Some(encoding.to_owned());
        self.waiting = Some(Waiting {
            untagged,
            splice,
            tag,
        });
        Ok(())
    }

    fn untaggable(&mut self, bytes: &[u8], output: &mut Output<'_>) -> Result<(), Failure> {
        if self.waiting.is_none() {
            return output.write(bytes);
        }
        self.behind_length += bytes.len();
        self.behind
            .push(bytes)
            .map_err(|error| cannot_spool(&error))
    }

    /// Writes what waits.
    fn flush(&mut self, end: Option<u64>, output: &mut Output<'_>) -> Result<(), Failure> {
        let Some(mut waiting) = self.waiting.take() else {
            return Ok(());
        };
        waiting.tag.end = end;
        let length = std::mem::take(&mut self.behind_length);
        output.with(|out| {
            waiting.splice.write(&waiting.untagged, &waiting.tag, out)?;
            self.behind.pop_to(length, out)
        })
    }

    /// A stream that came with tags keeps its end, or the lack of it: if the tool
    /// before died, the one after must see that.
    fn finish(mut self, dropped: u64, output: &mut Output<'_>) -> Result<(), Failure> {
        let whole = !self.tagged || self.announced == Some(self.written + dropped);
        let end = whole.then_some(self.written);
        self.flush(end, output)
    }
}

fn cannot_spool(error: &std::io::Error) -> Failure {
    let dir: PathBuf = std::env::temp_dir();
    Failure::new(format_args!("cannot write a temporary file: {error}"))
        .at(dir.display().to_string(), None)
        .hint("TMPDIR names another folder")
}
