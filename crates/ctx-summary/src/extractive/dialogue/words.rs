//! The words of statements, and how much each is worth: the more, the fewer say it.

use std::collections::HashSet;

use super::super::terms::{Numbers, Weights, is_wide, says_something};

/// The worth of a word by how often it was said before.
const AGAIN: [f64; 3] = [1.0, 0.4, 0.2];

/// The words of each statement.
pub(super) struct Words {
    of: Vec<Vec<u32>>,
    weights: Weights,
}

impl Words {
    /// `is_open`: which statements may be chosen.
    pub(super) fn of<'t>(texts: impl Iterator<Item = (&'t str, bool)>) -> Self {
        let mut numbers = Numbers::default();
        let (mut of, mut counts, mut all) = (Vec::new(), Vec::<u32>::new(), 0_u32);
        for (text, is_open) in texts {
            let own = numbers.of_text(|found| for_each(text, found));
            counts.resize(numbers.count(), 0);
            all += u32::from(is_open);
            for number in own.iter().filter(|_| is_open) {
                counts[*number as usize] += 1;
            }
            of.push(own);
        }
        let rare = |count: &u32| {
            (1.0 + f64::from(all) / f64::from((*count).max(1))).ln() / f64::from(all + 2).ln()
        };
        Self { weights: Weights::new(counts.iter().map(rare).collect(), AGAIN), of }
    }

    /// How many different words a statement has.
    pub(super) fn count(&self, statement: usize) -> usize {
        self.of[statement].len()
    }

    /// The worth of a statement's words that are neither said yet nor in `others`, which it joins.
    pub(super) fn news(&self, statement: usize, others: &mut HashSet<u32>) -> f64 {
        let mut news = 0.0;
        for word in &self.of[statement] {
            if others.insert(*word) {
                news += self.weights.worth(*word);
            }
        }
        news
    }

    /// How many words of a statement others have.
    pub(super) fn shared(&self, statement: usize, others: &[usize]) -> usize {
        let others: HashSet<u32> =
            others.iter().flat_map(|of| self.of[*of].iter().copied()).collect();
        let words = self.of[statement].iter();
        words.filter(|word| others.contains(word)).count()
    }

    /// The statement is chosen.
    pub(super) fn tell(&mut self, statement: usize) {
        self.weights.tell(&self.of[statement]);
    }
}

/// Calls `found` for each word. Two Chinese characters side by side are one.
fn for_each(text: &str, found: &mut dyn FnMut(&str)) {
    let mut word = String::new();
    let mut wide = None;
    let mut end = |word: &mut String| {
        if says_something(word) {
            found(word);
        }
        word.clear();
    };
    for c in text.chars().flat_map(char::to_lowercase) {
        if is_wide(c) {
            end(&mut word);
            if let Some(before) = wide.replace(c) {
                end(&mut String::from_iter([before, c]));
            }
            continue;
        }
        wide = None;
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            end(&mut word);
        }
    }
    end(&mut word);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Words, for_each};

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each(text, &mut |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn words_are_words_and_pairs_of_characters() {
        assert_eq!(words("I went to Oslo, 2019!"), ["went", "oslo", "2019"]);
        assert_eq!(words("我搬到Oslo了"), ["我搬", "搬到", "oslo"]);
        assert_eq!(words(""), [""; 0]);
    }

    #[test]
    fn what_was_told_is_worth_less_and_what_is_rare_more() {
        let texts = ["tea tonight", "tea again", "tea later", "salmon later"];
        let mut words = Words::of(texts.into_iter().map(|text| (text, true)));
        let news = |words: &Words, at| words.news(at, &mut HashSet::new());
        assert!(news(&words, 0) > news(&words, 2));
        let before = news(&words, 0);
        words.tell(1);
        assert!(news(&words, 0) < before);
        // A repetition within the same chain counts once.
        let mut others = HashSet::new();
        words.news(3, &mut others);
        assert!(words.news(2, &mut others) < news(&words, 2));
        assert_eq!((words.shared(0, &[1, 2]), words.count(0)), (1, 2));
    }
}
