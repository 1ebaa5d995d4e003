//! Limits the memory that an index takes up. Whenever the index is full, only the more useful half
//! of its segments is kept.

use ctx_text::hash;

use crate::ledger::index::Entry;
use crate::ledger::{Id, Index, Segment};

/// The maximum number of bytes in all segments together, and the maximum number of identifiers.
pub(crate) const MOST_BYTES: usize = 16 << 20;
pub(crate) const MOST_IDENTIFIERS: usize = 1 << 18;
/// The maximum number of segments. The number is limited because a segment's fields take more
/// memory than its text if the text is short.
const MOST_SEGMENTS: usize = 1 << 18;
/// The worth of a statement, in addition to the worth of the names in it.
const SAID: f64 = 4.0;

impl Index {
    /// Returns true if the index exceeds a limit, so that [`Self::shrink`] must be called.
    pub(crate) fn is_full(&self) -> bool {
        self.arena.len() > MOST_BYTES
            || self.known.len() > MOST_IDENTIFIERS
            || self.segments.len() > MOST_SEGMENTS
    }

    /// Keeps the segments that are worth the most for their length, up to half of the bytes, and
    /// the identifiers in these segments.
    pub(crate) fn shrink(&mut self) {
        let chances = self.chances();
        let worth = |segment: &Segment| -> f64 {
            let marks = self.marks(segment).iter();
            let worth: f64 =
                marks.map(|mark| chances[mark.id as usize] * f64::from(1 + mark.words)).sum();
            let length = self.text(segment).len() as f64;
            // A statement is worth more than any name in a result.
            let said = if segment.kind.is_said() { SAID } else { 0.0 };
            (worth + said) / length
        };
        let mut order: Vec<(f64, usize)> = (self.segments.iter().map(worth)).zip(0..).collect();
        order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let mut left = MOST_BYTES.min(self.arena.len()) / 2;
        let mut keep = vec![false; self.segments.len()];
        let count = self.segments.len();
        let most = if count > MOST_SEGMENTS { MOST_SEGMENTS / 2 } else { count };
        for (_, number) in order.into_iter().take(most) {
            let length = self.text(&self.segments[number]).len();
            if length > left {
                break;
            }
            left -= length;
            keep[number] = true;
        }
        self.keep_segments(&keep);
        self.keep_identifiers();
    }

    /// Moves the kept segments to the front. Copying the segments would need half as much memory
    /// again.
    fn keep_segments(&mut self, keep: &[bool]) {
        let mut arena = std::mem::take(&mut self.arena).into_bytes();
        let (mut bytes, mut marks) = (0, 0);
        let mut numbers = vec![None; self.segments.len()];
        let (mut old, mut new) = (0, 0_usize);
        self.segments.retain_mut(|segment| {
            old += 1;
            if !keep[old - 1] {
                return false;
            }
            numbers[old - 1] = u32::try_from(new).ok();
            new += 1;
            segment.head = segment.head.and_then(|head| Some(numbers[head]? as usize));
            arena.copy_within(segment.text.clone(), bytes);
            segment.text = bytes..bytes + segment.text.len();
            bytes = segment.text.end;
            self.marks.copy_within(segment.marks.clone(), marks);
            segment.marks = marks..marks + segment.marks.len();
            marks = segment.marks.end;
            true
        });
        arena.truncate(bytes);
        self.question = None;
        self.marks.truncate(marks);
        self.arena = String::from_utf8(arena).expect("whole texts were moved");
        self.seen.clear();
        let hashes = self.segments.iter().map(|segment| hash(&self.arena[segment.text.clone()]));
        self.seen.extend(hashes.zip(0..));
    }

    /// Keeps the identifiers that occur in the remaining segments or in system messages.
    fn keep_identifiers(&mut self) {
        let mut used: Vec<bool> = self.known.iter().map(|known| known.is_given).collect();
        for mark in &self.marks {
            used[mark.id as usize] = true;
        }
        let known = std::mem::take(&mut self.known);
        let names = std::mem::take(&mut self.names);
        let coverage = std::mem::take(&mut self.coverage);
        self.ids.clear();
        let mut new_ids = vec![Id::MAX; known.len()];
        for (old, known) in known.iter().enumerate().filter(|(old, _)| used[*old]) {
            let name = &names[known.name()];
            let start = self.names.len();
            let moved = Entry { start, ..*known };
            self.names.push_str(name);
            self.coverage.push(coverage[old]);
            new_ids[old] = self.insert(hash(name), moved);
        }
        for mark in &mut self.marks {
            mark.id = new_ids[mark.id as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Call, Message, Part, Role, Zone};

    use super::MOST_SEGMENTS;
    use crate::ledger::Reading;
    use crate::ledger::index::Index;
    use crate::ledger::segment::Origin;
    use crate::ledger::segment::Segment;
    use crate::ledger::segment::SegmentKind;

    fn answer(text: &str) -> Message<'_> {
        Message::new(Role::Tool, vec![Part::Text(text.into())])
    }

    fn call(arguments: &str) -> Part<'_> {
        Part::Call(Call { id: None, name: "look".into(), arguments: arguments.into(), slot: None })
    }

    /// Without a limit on segments, a million short words take ten times as much memory as their
    /// text.
    #[test]
    fn short_segments_are_bounded_by_their_number() {
        let mut index = Index::default();
        for line in 0..=MOST_SEGMENTS {
            assert!(!index.is_full(), "{line} segments");
            let start = index.arena.len();
            index.arena.push_str("hi 12");
            index.segments.push(Segment {
                kind: SegmentKind::Line,
                head: None,
                is_covered: false,
                is_earlier: false,
                rule: None,
                outcome: None,
                turn: 0,
                line: line as u64,
                origin: Origin::User,
                text: start..index.arena.len(),
                marks: 0..0,
            });
        }
        assert!(index.is_full());
        index.shrink();
        assert_eq!(index.segments.len(), MOST_SEGMENTS / 2);
        assert!(!index.is_full());
    }

    #[test]
    fn the_better_half_stays() {
        let mut index = Index::default();
        for number in 0..2_000 {
            let text = if number % 50 == 0 {
                format!("the order ORD{number:05} was shipped to the customer")
            } else {
                format!("line {number:05} of a file that was listed in full")
            };
            let arguments = format!(r#"{{"order":"ORD{number:05}"}}"#);
            let mut message = answer(&text);
            if number % 50 == 0 {
                message.parts.push(call(&arguments));
            }
            index.absorb(number, &Reading::of(&message, Zone::Old), false);
        }
        let (bytes, segments) = (index.arena.len(), index.segments.len());
        index.shrink();
        assert!(index.arena.len() <= bytes / 2);
        assert!(index.segments.len() < segments);
        let kept: Vec<&str> = index.segments.iter().map(|s| index.text(s)).collect();
        for number in (0..2_000).step_by(50) {
            let order = format!("ORD{number:05}");
            assert!(kept.iter().any(|text| text.contains(&order)), "{order}");
        }
        assert!(index.segments.is_sorted_by_key(|segment| segment.line));
        // After shrinking, the index accepts further messages.
        let back = answer("the order ORD00000 is back");
        index.absorb(2_001, &Reading::of(&back, Zone::Old), false);
        assert_eq!(index.chances().len(), index.coverage.len());
        let lines = index.identifiers();
        let line = |name| lines.iter().find(|id| id.text == name).map(|id| id.line);
        assert_eq!(line("ORD00050"), Some(50));
        assert_eq!(line("ORD00000"), Some(2_001));
    }
}
