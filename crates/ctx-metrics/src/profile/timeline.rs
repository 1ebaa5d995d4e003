//! The size of the context over the life of a session, as a curve on which reductions are marked.
//!
//! A session whose file was replaced has several states: the snapshots before each replacement, and
//! the current file. One curve covers all states. Records that a state took over from the previous
//! state do not appear on the curve twice.

use chrono::{DateTime, Utc};
use ctx_engine::Time;
use ctx_format::Record;
use strum::IntoStaticStr;

use super::kind::TokensByKind;
use super::{Step, Walk};

/// What reduced the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Cut {
    /// A compaction replaced old messages with a summary.
    Compaction,
    /// A rollback restored an earlier state.
    Rollback,
    /// Another tool replaced the file with its output.
    Replacement,
}

/// A point at which the context was reduced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What reduced the context.
    pub cut: Cut,
    /// The tool that reduced the context, or `None` if the reduction is recorded in the session
    /// itself.
    pub tool: Option<String>,
    /// Where on the curve the context was reduced; see [`Point::at`].
    pub at: u64,
    /// The line of the summary, if the reduction is recorded in the session itself.
    pub line: Option<u64>,
    /// The time of the reduction.
    pub time: Option<DateTime<Utc>>,
    /// The context's tokens before the reduction, or `None` if unknown.
    pub before: Option<u64>,
    /// The context's tokens after the reduction.
    pub after: u64,
}

/// The maximum number of reductions to list. Older reductions are left out.
const MOST_MARKS: usize = 100;

/// A file replacement that led to a new state of the session.
#[derive(Clone, Debug)]
pub struct Replaced {
    /// Why the file was replaced.
    pub cut: Cut,
    /// The tool that replaced the file.
    pub tool: String,
    /// The time of the replacement.
    pub time: DateTime<Utc>,
    /// The number of bytes written by the replacement. `None` if the audit log does not contain the
    /// number; the whole file then counts as written by the replacement.
    pub bytes: Option<u64>,
}

/// The curve up to the current record, and the reductions so far.
#[derive(Default)]
pub(super) struct Timeline {
    series: Series,
    marks: Vec<Mark>,
    at: u64,
    /// The replacement that led to the current state, or `None` after the first new record of the
    /// state.
    pending: Option<Replaced>,
    /// The point of the last record that the current state took over from the previous state.
    taken_over: Option<Point>,
}

impl Timeline {
    /// Begins a new state of the session.
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
            ..Point::default()
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

    /// Stores the API's token count for the last request.
    pub(super) fn recorded(&mut self, tokens: u64) {
        let is_told = self.pending.is_none();
        if let Some(point) = self.series.points.last_mut().filter(|_| is_told) {
            point.recorded = Some(tokens);
        }
    }

    /// Adds the first point of a new state: the context taken over from the previous state. Does
    /// nothing if the point has already been added.
    pub(super) fn settle(&mut self) {
        let Some(replaced) = self.pending.take() else { return };
        self.at += 1;
        let point = self.taken_over.take().unwrap_or_default();
        let before = self.series.points.last().map(|point| point.kinds.total());
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

    /// Returns the points on the curve, and the reductions.
    pub(super) fn finish(self) -> (Vec<Point>, Vec<Mark>) {
        (self.series.points, self.marks)
    }
}

/// The maximum number of points on a curve. A screen cannot show more points.
pub const MOST_POINTS: usize = 600;

/// Points at restarts of the context are never merged, unless there are more restarts than this.
const MOST_KEPT: usize = 100;

/// The size of the context after a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// The record's 1-based position on the curve.
    pub at: u64,
    /// The line number of the record in the session.
    pub line: u64,
    /// The record's time, if it has one.
    pub time: Option<DateTime<Utc>>,
    /// The tokens in the context, by kind.
    pub kinds: TokensByKind,
    /// The API's token count for the request that this record answers, if recorded.
    pub recorded: Option<u64>,
    /// Whether the context starts over with this record.
    pub anew: bool,
}

/// The points on a curve, in order. If there are too many points, neighbouring points are merged.
#[derive(Debug, Default)]
struct Series {
    points: Vec<Point>,
    /// The number of consecutive records that share a point.
    stride: u64,
}

impl Series {
    fn push(&mut self, point: Point) {
        add(&mut self.points, point, self.stride.max(1), |last| !(last.anew || point.anew));
        // Double the stride and merge the existing points.
        while self.points.len() > MOST_POINTS {
            self.stride = self.stride.max(1) * 2;
            let may_lose = self.points.iter().filter(|point| point.anew).count() > MOST_KEPT;
            let mut thinned: Vec<Point> = Vec::with_capacity(MOST_POINTS + 1);
            for (number, &point) in self.points.iter().enumerate() {
                // The point before a restart shows how large the context was.
                let is_before = self.points.get(number + 1).is_some_and(|next| next.anew);
                add(&mut thinned, point, self.stride, |last| {
                    may_lose || !(last.anew || point.anew || is_before)
                });
            }
            self.points = thinned;
        }
    }
}

/// Adds a point to a curve. If the last point is in the same stride and `may_go` accepts it, the
/// new point replaces it. The first point is always kept, because it shows where the curve starts.
fn add(points: &mut Vec<Point>, point: Point, stride: u64, may_go: impl Fn(&Point) -> bool) {
    let is_second = points.len() == 1;
    match points.last_mut() {
        Some(last)
            if last.at.div_ceil(stride) == point.at.div_ceil(stride)
                && !is_second
                && may_go(last) =>
        {
            let (recorded, anew) = (point.recorded.or(last.recorded), point.anew || last.anew);
            *last = Point { recorded, anew, ..point };
        }
        _ => points.push(point),
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::{ContentKind, TokensByKind};
    use super::{MOST_POINTS, Point, Series};

    fn point(at: u64, tokens: u64, anew: bool) -> Point {
        let mut kinds = TokensByKind::default();
        kinds.add(ContentKind::User, tokens);
        Point {
            at,
            line: at,
            time: None,
            kinds,
            recorded: at.is_multiple_of(7).then_some(at),
            anew,
        }
    }

    fn series(count: u64, is_anew: impl Fn(u64) -> bool) -> Vec<Point> {
        let mut series = Series::default();
        for at in 1..=count {
            series.push(point(at, at, is_anew(at)));
        }
        series.points
    }

    /// Each point of a short session is kept, and a long session never has too many points. The
    /// points are in order, and the last one is the current context.
    #[test]
    fn a_long_session_has_as_many_points_as_can_be_told_apart() {
        assert_eq!(series(600, |_| false).len(), 600);
        for count in [601, 5_000, 100_003] {
            let points = series(count, |_| false);
            assert!((200..=MOST_POINTS).contains(&points.len()), "{count}");
            assert!(points.windows(2).all(|two| two[0].at < two[1].at));
            // When points are merged, a recorded token count is kept at a nearby point.
            let recorded = points.iter().filter_map(|it| Some((it.at, it.recorded?)));
            assert!(recorded.clone().count() > 80);
            assert!(recorded.clone().all(|(at, of)| at - of < 1024));
            assert_eq!((points[0].at, points[points.len() - 1].at), (1, count));
        }
    }

    /// Where the context starts over, the points before and after are both kept.
    #[test]
    fn falls_are_not_thinned_out() {
        let points = series(20_000, |at| at % 3_333 == 0);
        assert!(points.len() <= MOST_POINTS);
        for at in (3_333..20_000).step_by(3_333) {
            assert!(points.iter().any(|point| point.at == at && point.anew));
            assert!(points.iter().any(|point| point.at == at - 1), "{at}");
        }
        // If the context starts over too often, these points cannot all be kept.
        assert!(series(5_000, |_| true).len() <= MOST_POINTS);
    }
}
