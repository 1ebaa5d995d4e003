//! The points of a curve: as many as can be distinguished, however long the session is.

use chrono::{DateTime, Utc};

use super::kind::Kinds;

/// No curve has more points than this; a screen does not show more.
pub const MOST_POINTS: usize = 600;

/// At most this many points at which the context starts over are always kept.
const MOST_KEPT: usize = 100;

/// The context after a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Which record of the curve it is, from 1.
    pub at: u64,
    /// Its line in its session.
    pub line: u64,
    /// Its time, if recorded.
    pub time: Option<DateTime<Utc>>,
    /// The tokens.
    pub kinds: Kinds,
    /// The API's count of the request that was answered here, if recorded.
    pub recorded: Option<u64>,
    /// Whether the context starts over with it.
    pub anew: bool,
}

impl Point {
    /// A point that replaces an earlier one.
    fn standing_for(self, before: &Self) -> Self {
        Self { recorded: self.recorded.or(before.recorded), anew: self.anew || before.anew, ..self }
    }
}

/// Points in their order. When there are too many, of two neighbours the later one stays.
#[derive(Debug, Default)]
pub(super) struct Series {
    points: Vec<Point>,
    /// So many records are a point.
    stride: u64,
}

impl Series {
    pub(super) fn push(&mut self, point: Point) {
        let stride = self.stride.max(1);
        // The first one shows where all begins.
        let is_second = self.points.len() == 1;
        match self.points.last_mut() {
            // The last one is of the same stride, and the later one stands for both.
            Some(last)
                if last.at.div_ceil(stride) == point.at.div_ceil(stride)
                    && !(last.anew || point.anew || is_second) =>
            {
                *last = point.standing_for(last);
            }
            _ => self.points.push(point),
        }
        if self.points.len() > MOST_POINTS {
            self.thin();
        }
    }

    /// Halves what is there.
    fn thin(&mut self) {
        while self.points.len() > MOST_POINTS {
            let stride = self.stride.max(1) * 2;
            self.stride = stride;
            let kept = self.points.iter().filter(|point| point.anew).count();
            let may_lose = kept > MOST_KEPT;
            let mut thinned: Vec<Point> = Vec::with_capacity(MOST_POINTS + 1);
            for (number, &point) in self.points.iter().enumerate() {
                // The point before a restart shows how far the context fell.
                let is_before = self.points.get(number + 1).is_some_and(|next| next.anew);
                let is_second = thinned.len() == 1;
                match thinned.last_mut() {
                    Some(last)
                        if last.at.div_ceil(stride) == point.at.div_ceil(stride)
                            && !is_second
                            && (may_lose || !(last.anew || point.anew || is_before)) =>
                    {
                        *last = point.standing_for(last);
                    }
                    _ => thinned.push(point),
                }
            }
            self.points = thinned;
        }
    }

    pub(super) fn last(&self) -> Option<&Point> {
        self.points.last()
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut Point> {
        self.points.last_mut()
    }

    pub(super) fn finish(self) -> Vec<Point> {
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::{Kind, Kinds};
    use super::{MOST_POINTS, Point, Series};

    fn point(at: u64, tokens: u64, anew: bool) -> Point {
        let mut kinds = Kinds::default();
        kinds.add(Kind::User, tokens);
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
        series.finish()
    }

    /// A short session keeps each point; a long one never has too many. They are in order, and the
    /// last one is the current context.
    #[test]
    fn a_long_session_has_as_many_points_as_can_be_told_apart() {
        assert_eq!(series(600, |_| false).len(), 600);
        for count in [601, 5_000, 100_003] {
            let points = series(count, |_| false);
            assert!((200..=MOST_POINTS).contains(&points.len()), "{count}");
            assert!(points.windows(2).all(|two| two[0].at < two[1].at));
            // A recorded number stays with a nearby point.
            let recorded = points.iter().filter_map(|it| Some((it.at, it.recorded?)));
            assert!(recorded.clone().count() > 80);
            assert!(recorded.clone().all(|(at, of)| at - of < 1024));
            assert_eq!((points[0].at, points[points.len() - 1].at), (1, count));
        }
    }

    /// Where the context starts over, both ends of the fall stay.
    #[test]
    fn falls_are_not_thinned_out() {
        let points = series(20_000, |at| at % 3_333 == 0);
        assert!(points.len() <= MOST_POINTS);
        for at in (3_333..20_000).step_by(3_333) {
            assert!(points.iter().any(|point| point.at == at && point.anew));
            assert!(points.iter().any(|point| point.at == at - 1), "{at}");
        }
        // Too many falls cannot all stay.
        assert!(series(5_000, |_| true).len() <= MOST_POINTS);
    }
}
