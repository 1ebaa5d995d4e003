//! Members and elements cut out of a JSON text, each with one comma.

use std::ops::Range;

use crate::{Member, Object};

/// The place of a member of an object, or of an element of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    start: usize,
    end: usize,
    /// Just behind the comma that follows; `end` for the last one.
    next: usize,
}

impl From<&Member<'_>> for Item {
    fn from(member: &Member<'_>) -> Self {
        Self {
            start: member.start,
            end: member.end,
            next: member.next,
        }
    }
}

/// The places of elements, raw slices of `object`'s text.
pub(crate) fn elements(object: &Object<'_>, raw: &[&str]) -> Vec<Item> {
    let last = raw.len().saturating_sub(1);
    let item = |(index, raw): (usize, &&str)| {
        let Range { start, end } = object.place_of(raw);
        let behind = &object.text()[end..];
        let comma = behind.find(',').filter(|_| index < last);
        let next = comma.map_or(end, |comma| end + comma + 1);
        Item { start, end, next }
    };
    raw.iter().enumerate().map(item).collect()
}

/// What to cut so that the items for which `gone` holds are gone and commas stand
/// between the others: in order, not overlapping.
pub(crate) fn places(items: &[Item], gone: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    // Up to the last kept item each goes with the comma behind it; those at the
    // end go with the comma before them.
    let kept = (0..items.len()).rposition(|index| !gone(index));
    let (inner, trailing) = items.split_at(kept.map_or(0, |at| at + 1));
    let inner_cuts = inner
        .iter()
        .enumerate()
        .filter(|(index, _)| gone(*index))
        .map(|(_, item)| item.start..item.next);
    let mut cuts: Vec<Range<usize>> = inner_cuts.collect();
    if let (Some(first), Some(last)) = (trailing.first(), trailing.last()) {
        cuts.push(inner.last().map_or(first.start, |item| item.end)..last.end);
    }
    cuts
}
