//! Members and elements cut out of a JSON text, each with one comma.

use std::ops::Range;

/// What to cut out of `text` so that the items that are `gone` are gone and commas stand
/// between the others: in order, not overlapping. The items are the members of an object
/// or the elements of an array, all of them, in order: their places, and whether each is
/// gone.
pub(crate) fn places(
    text: &str,
    items: impl Iterator<Item = (Range<usize>, bool)>,
) -> Vec<Range<usize>> {
    let (mut cuts, mut trailing) = (Vec::new(), Vec::new());
    let mut kept_end = None;
    for (place, gone) in items {
        if gone {
            trailing.push(place);
            continue;
        }
        // What stands before a kept item goes with the comma behind it.
        cuts.extend(trailing.drain(..).map(|cut| {
            let comma = text[cut.end..].find(',');
            cut.start..cut.end + comma.map_or(0, |at| at + 1)
        }));
        kept_end = Some(place.end);
    }
    // What stands at the end goes with the comma before it.
    if let (Some(first), Some(last)) = (trailing.first(), trailing.last()) {
        cuts.push(kept_end.unwrap_or(first.start)..last.end);
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::places;

    fn left(gone: &[usize]) -> String {
        let text = "[ 0 , 1,2 , 3]";
        let items = "0123".chars().enumerate().map(|(index, digit)| {
            let start = text.find(digit).expect("a digit of the text");
            (start..start + 1, gone.contains(&index))
        });
        let mut left = text.to_owned();
        for cut in places(text, items).into_iter().rev() {
            left.replace_range(cut, "");
        }
        left
    }

    #[test]
    fn each_goes_with_one_comma() {
        assert_eq!(left(&[]), "[ 0 , 1,2 , 3]");
        assert_eq!(left(&[0]), "[  1,2 , 3]");
        assert_eq!(left(&[1, 2]), "[ 0 ,  3]");
        assert_eq!(left(&[0, 3]), "[  1,2]");
        assert_eq!(left(&[2, 3]), "[ 0 , 1]");
        assert_eq!(left(&[0, 1, 2, 3]), "[ ]");
    }
}
