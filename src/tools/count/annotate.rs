//! `--annotate`: the records pass, each with its bytes and tokens in its tag.

use ctx_cli::{ExitStatus, Failure, Io, Outcome};
use ctx_transcript::{Piece, Record};

use super::counted::Counted;
use super::{Args, Plan};
use crate::tagged::TaggedWriter;

pub(super) fn run(args: &Args, plan: &Plan, io: &mut Io) -> Outcome {
    let counter = &plan.counting.counter;
    let mut session = args.read.open(&plan.inputs.paths()[0])?;
    session.tell_of_document(io);
    let dialect = session.dialect();
    let mut seen = Counted::begin(&session.name);
    let mut annotator = Annotator {
        writer: TaggedWriter::new(args.output.open(io)?),
        encoding: counter.encoding().name(),
        written: 0,
        tagged: false,
        announced: None,
    };
    session.each(|record| {
        let tokens = seen.record(record, dialect, args.read.batch, counter);
        annotator.record(record, tokens)
    })?;
    annotator.finish(session.bad().left_out())?;
    seen.bad = session.bad().clone();
    seen.report(io);
    Ok(ExitStatus::Done)
}

struct Annotator<'a> {
    writer: TaggedWriter<'a>,
    encoding: &'static str,
    written: u64,
    /// Whether a tag came in, and the last `end` that did.
    tagged: bool,
    announced: Option<u64>,
}

impl Annotator<'_> {
    fn record(&mut self, record: &Record<'_>, tokens: u64) -> Result<(), Failure> {
        self.written += u64::from(matches!(record.piece, Piece::Whole | Piece::First));
        let untagged = record.untagged().into_owned();
        let Some(splice) = record.splice() else {
            return self.writer.write(untagged, None);
        };
        let came = record.tag();
        self.tagged |= came.is_some();
        let mut tag = came.unwrap_or_default();
        self.announced = tag.end.or(self.announced);
        tag.line = tag.line.or(Some(record.line));
        tag.bytes = Some((untagged.len() - record.line_end().len()) as u64);
        tag.tokens = Some(tokens);
        tag.encoding = Some(self.encoding.to_owned());
        self.writer.write(untagged, Some((splice, tag)))
    }

    /// A stream that came with tags keeps its end, or the lack of it: if the tool
    /// before died, the one after must see that.
    fn finish(self, dropped: u64) -> Result<(), Failure> {
        let whole = !self.tagged || self.announced == Some(self.written + dropped);
        self.writer.finish(whole.then_some(self.written))
    }
}
