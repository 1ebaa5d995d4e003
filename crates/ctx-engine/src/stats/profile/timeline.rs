//! The context over the life of a session: its curve, and what reduced it.
//!
//! A session whose file was replaced has several states: the snapshots before each replacement, and
//! the current file. They follow each other on one curve, and what one state took over from the
//! previous one is not repeated.

use chrono::{DateTime, Utc};
use ctx_format::Record;

use super::kind::Kinds;
use super::series::{Point, Series};
use super::walk::{Step, Walk};
use crate::Time;

/// What reduced the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// A compaction.
    Compaction,
    /// A rollback.
    Rollback,
    /// The output of another tool took the place of the file.
    Replacement,
}

impl Cut {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::Rollback => "rollback",
            Self::Replacement => "replacement",
        }
    }
}

/// A reduction of the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its cause.
    pub cut: Cut,
    /// The tool; `None` if the session itself records it.
    pub tool: Option<String>,
    /// The record at which it is on the curve.
    pub at: u64,
    /// The line of the summary, if the session itself records it.
    pub line: Option<u64>,
    /// When it was.
    pub time: Option<DateTime<Utc>>,
    /// The tokens before; `None` if unknown.
    pub before: Option<u64>,
    /// The tokens after.
    pub after: u64,
}

/// More cuts than this are not listed; the newest are.
const MOST_MARKS: usize = 100;

/// How a state of the session came about.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// Its cause.
    pub cut: Cut,
    /// The tool.
    pub tool: String,
    /// When it was.
    pub time: DateTime<Utc>,
    /// So many bytes were written then; `None` where the log does not tell: all of them.
    pub bytes: Option<u64>,
}

/// The curve so far.
#[derive(Default)]
pub(super) struct Timeline {
    series: Series,
    marks: Vec<Mark>,
    at: u64,
    /// How the state that is read came about, until something was added to it.
    pending: Option<Replaced>,
    /// The last record that was taken over.
    taken_over: Option<Point>,
}

impl Timeline {
    /// A state begins.
    pub(super) fn begin(&mut self, replaced: Option<Replaced>) {
        self.pending = replaced;
        self.taken_over = None;
    }

    pub(super) fn push(&mut self, record: &Record<'_>, step: &Step<'_>, walk: &Walk) {
        let time = record.object().and_then(Time::of).map(|time| time.0);
        let mut point = Point {
            at: self.at + 1,
            line: record.line,
            time,
            kinds: walk.context,
            recorded: None,
            anew: false,
        };
        if let Some(replaced) = &self.pending {
            if replaced.bytes.is_none_or(|bytes| record.offset < bytes) {
                self.taken_over = Some(point);
                return;
            }
            self.settle();
            point.at = self.at + 1;
        }
        self.at += 1;
        if step.is_summary {
            point.anew = step.before.is_some();
            let before = step.before.map(|before| before.total());
            self.mark(Mark {
                cut: Cut::Compaction,
                tool: None,
                at: point.at,
                line: Some(record.line),
                time,
                before: before.filter(|tokens| *tokens > 0),
                after: walk.context.total(),
            });
        }
        self.series.push(point);
    }

    /// The API has counted so much of the last request.
    pub(super) fn recorded(&mut self, tokens: u64) {
        let is_told = self.pending.is_none();
        if let Some(point) = self.series.last_mut().filter(|_| is_told) {
            point.recorded = Some(tokens);
        }
    }

    /// The state has been read.
    pub(super) fn end(&mut self) {
        self.settle();
    }

    /// The part that was taken over is the first point of the state.
    fn settle(&mut self) {
        let Some(replaced) = self.pending.take() else {
            return;
        };
        self.at += 1;
        let point = self.taken_over.take().unwrap_or(Point {
            at: self.at,
            line: 0,
            time: None,
            kinds: Kinds::default(),
            recorded: None,
            anew: true,
        });
        let before = self.series.last().map(|point| point.kinds.total());
        self.mark(Mark {
            cut: replaced.cut,
            tool: Some(replaced.tool),
            at: self.at,
            line: None,
            time: Some(replaced.time),
            before,
            after: point.kinds.total(),
        });
        self.series.push(Point { at: self.at, time: Some(replaced.time), anew: true, ..point });
    }

    fn mark(&mut self, mark: Mark) {
        if self.marks.len() == MOST_MARKS {
            self.marks.remove(0);
        }
        self.marks.push(mark);
    }

    /// The points and the marks.
    pub(super) fn finish(self) -> (Vec<Point>, Vec<Mark>) {
        (self.series.finish(), self.marks)
    }
}
