//! Soft trim: the beginning and the end of a long text, and between them how much
//! is missing and the lines of it that look like errors.

use super::errors::{errors_in, first_chars};
use crate::prune::policy::Trim;
use crate::share::Share;

/// What a trimmed text may have beside head, tail, the cut and rescued lines: the line
/// that tells of these, and numbers of any length.
const NOTES: usize = 127;

impl Trim {
    /// Trims a text of more characters than the limit. `again` when it was trimmed
    /// before: then only if it is longer than any trimmed text would be, so that
    /// trimming twice is trimming once.
    pub(in crate::prune) fn apply(&self, text: &str, again: bool) -> Option<String> {
        let limit = if again {
            self.max_chars.max(self.longest())
        } else {
            self.max_chars
        };
        // A character has at most four bytes.
        if text.len() <= limit {
            return None;
        }
        let chars = text.chars().count();
        if chars <= limit {
            return None;
        }
        let (head, tail) = (self.head(), self.tail().min(chars - self.head()));
        let middle = chars - head - tail;
        let start = first_chars(text, head).len();
        let end = start + first_chars(&text[start..], middle).len();
        let errors = errors_in(&text[start..end], self.rescue_lines, self.rescue_chars());
        let cut = self.cut.replace("{chars}", &middle.to_string());
        let mut trimmed = format!("{}\n{cut}\n", &text[..start]);
        if !errors.is_empty() {
            let lines = match errors.len() {
                1 => "a line of them looks like an error".to_owned(),
                count => format!("{count} lines of them look like errors"),
            };
            let errors = errors.join("\n");
            let rescued = format!("... ({lines}) ...\n{errors}\n...\n");
            trimmed.push_str(&rescued);
        }
        trimmed.push_str(&text[end..]);
        Some(trimmed)
    }

    fn head(&self) -> usize {
        share(self.max_chars, self.head_share)
    }

    fn tail(&self) -> usize {
        share(self.max_chars, self.tail_share).min(self.max_chars - self.head())
    }

    /// Half of what the limit leaves free.
    fn rescue_chars(&self) -> usize {
        (self.max_chars - self.head() - self.tail()) / 2
    }

    fn longest(&self) -> usize {
        self.head() + self.tail() + self.rescue_chars() + self.cut.len() + NOTES
    }
}

/// A share is not more than the whole.
fn share(limit: usize, share: Share) -> usize {
    usize::try_from(share.of(limit as u64)).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{Share, Trim};

    const TEN: Trim = Trim {
        max_chars: 10,
        head_share: Share::of_percent(30),
        tail_share: Share::of_percent(30),
        rescue_lines: 10,
        cut: Cow::Borrowed("... ({chars} chars truncated) ..."),
    };

    #[test]
    fn at_the_limit_nothing_happens() {
        assert_eq!(TEN.apply("", false), None);
        assert_eq!(TEN.apply("012345678", false), None);
        assert_eq!(TEN.apply("0123456789", false), None);
        assert_eq!(TEN.apply("日本語日本語日本語日", false), None);
    }

    #[test]
    fn above_it_head_and_tail_stay() {
        assert_eq!(
            TEN.apply("0123456789a", false).as_deref(),
            Some("012\n... (5 chars truncated) ...\n89a")
        );
        assert_eq!(
            TEN.apply("日本語日本語日本語日本", false).as_deref(),
            Some("日本語\n... (5 chars truncated) ...\n語日本")
        );
    }

    #[test]
    fn the_cut_is_told_as_wanted() {
        let told = |cut: &'static str| {
            let cut = Cow::Borrowed(cut);
            Trim { cut, ..TEN }.apply("0123456789a", false)
        };
        assert_eq!(told("[…]").as_deref(), Some("012\n[…]\n89a"));
        assert_eq!(
            told("<{chars}/{chars}>").as_deref(),
            Some("012\n<5/5>\n89a")
        );
    }

    #[test]
    fn shares_of_little_and_of_all() {
        let shares = |head, tail| {
            let trim = Trim {
                head_share: Share::of_percent(head),
                tail_share: Share::of_percent(tail),
                ..TEN
            };
            trim.apply("0123456789ab", false).expect("too long")
        };
        assert_eq!(shares(1, 9), "\n... (12 chars truncated) ...\n");
        assert_eq!(shares(100, 1), "0123456789\n... (2 chars truncated) ...\n");
        assert_eq!(shares(70, 70), "0123456\n... (2 chars truncated) ...\n9ab");
    }

    #[test]
    fn errors_are_rescued_from_the_middle_only() {
        let trim = Trim {
            max_chars: 100,
            ..TEN
        };
        let text = format!(
            "error: one{}\nerror: two\n{}\nfatal: x\n{}error: three",
            "a".repeat(40),
            "b".repeat(40),
            "c".repeat(40)
        );
        let expected = "error: oneaaaaaaaaaaaaaaaaaaaa\n... (104 chars truncated) ...\n... (2 lines of them look like errors) ...\nerror: two\nfatal: x\n...\nccccccccccccccccccerror: three";
        assert_eq!(trim.apply(&text, false).as_deref(), Some(expected));
        let none = Trim {
            rescue_lines: 0,
            ..trim.clone()
        };
        assert!(!none.apply(&text, false).expect("too long").contains("two"));
    }

    #[test]
    fn a_trimmed_text_is_not_trimmed_again() {
        for size in [11, 100, 5_000, 100_000] {
            let text = "an error\n".repeat(size);
            let once = TEN.apply(&text, false).expect("too long");
            assert_eq!(TEN.apply(&once, true), None);
        }
    }
}
