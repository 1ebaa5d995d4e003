//! A bar of portions, as wide as there is room for.

use crate::Paint;

/// A part of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The character that fills the portion, one column wide.
    pub fill: char,
    /// The colour, if any.
    pub paint: Option<Paint>,
    /// How much it is.
    pub amount: u64,
}

/// The portions side by side in `columns`, painted by `paint`. What there is gets a column at
/// least, as long as there are enough of them; together they fill the bar.
pub fn bar(
    portions: &[Portion],
    columns: usize,
    paint: impl Fn(Option<Paint>, &str) -> String,
) -> String {
    let widths = widths(portions, columns);
    let drawn = portions.iter().zip(widths);
    let drawn = drawn.filter(|(_, width)| *width > 0);
    drawn
        .map(|(portion, width)| {
            let filled: String = std::iter::repeat_n(portion.fill, width).collect();
            paint(portion.paint, &filled)
        })
        .collect()
}

/// The columns of each portion.
fn widths(portions: &[Portion], columns: usize) -> Vec<usize> {
    let all: u128 = portions.iter().map(|it| u128::from(it.amount)).sum();
    let share = |it: &Portion| {
        let exact = u128::from(it.amount) * columns as u128;
        usize::try_from(exact.checked_div(all).unwrap_or(0)).unwrap_or(columns)
    };
    let least = |it: &Portion| usize::from(it.amount > 0);
    let mut widths: Vec<usize> = portions.iter().map(|it| share(it).max(least(it))).collect();
    // Corrects the sum after rounding and after the least widths: the largest portions give or get
    // the difference.
    loop {
        let sum: usize = widths.iter().sum();
        if all == 0 || sum == columns {
            return widths;
        }
        let largest = widths.iter_mut().max_by_key(|width| **width);
        match largest {
            Some(width) if sum < columns => *width += columns - sum,
            Some(width) if *width > 0 => *width -= 1,
            _ => return widths,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Portion, bar};

    fn drawn(amounts: &[u64], columns: usize) -> String {
        let portions: Vec<Portion> = ('a'..)
            .zip(amounts)
            .map(|(fill, amount)| Portion { fill, paint: None, amount: *amount })
            .collect();
        bar(&portions, columns, |_, text| text.to_owned())
    }

    /// A bar is full, and shows every part, however small.
    #[test]
    fn a_bar_is_as_wide_as_it_is_asked_for() {
        assert_eq!(drawn(&[50, 25, 25], 8), "aaaabbcc");
        assert_eq!(drawn(&[1, 0, 999_999], 8), "accccccc");
        assert_eq!(drawn(&[1, 1, 1], 10), "aaabbbcccc");
        assert_eq!(drawn(&[u64::MAX, u64::MAX], 4), "aabb");
        assert_eq!(drawn(&[0, 0], 4), "");
        // There is no room for all of them.
        assert_eq!(drawn(&[1, 1, 1], 2).len(), 2);
    }
}
