//! Which statements later ones take back.
//!
//! - A decision or a rule takes back an earlier one that it gives up ([`Stand::takes_back`]).
//! - What says the same as something that was taken back, and was said before that, is taken back
//!   with it, whichever session said it.
//! - What takes something back that is decided for again later is taken back itself by that.
//!
//! This is done until nothing more is found, so that a second run finds nothing.
//!
//! [`Stand::takes_back`]: super::given_up::Stand::takes_back

use std::collections::{BTreeSet, HashSet};

use chrono::NaiveDate;
use ctx_ledger::rules::MemoryKind;

use super::said::{At, Said};

/// Sets [`Said::back`] where it is not set. `marks` are those that stood in the memory files once:
/// where one does not any more, somebody took it out, and it is not put there again.
pub(super) fn take_back(all: &mut [Said], marks: &BTreeSet<String>) {
    drop_marks_of_struck(all);
    let given: Vec<bool> = all.iter().map(|said| said.back.is_some()).collect();
    loop {
        let written = |all: &[Said]| all.iter().filter(|said| is_written(said)).count();
        let before = written(all);
        Finding { all, marks }.run();
        if written(all) == before {
            return;
        }
        // What is not written is found anew by the next run, from what is written then.
        for (said, given) in all.iter_mut().zip(&given) {
            if !given && !is_written(said) {
                said.back = None;
            }
        }
    }
}

/// Whether a statement has a mark that stands in its memory file after this run.
fn is_written(said: &Said) -> bool {
    said.can_be_marked() && said.back.as_ref().is_some_and(At::is_lasting)
}

/// What a struck out statement took back holds again.
fn drop_marks_of_struck(all: &mut [Said]) {
    let places = |struck: bool| -> HashSet<At> {
        let found = all.iter().filter(|said| said.struck == struck);
        found.map(|said| said.at.clone()).collect()
    };
    let (struck, others) = (places(true), places(false));
    for said in all {
        said.back
            .take_if(|by| struck.contains(by) && !others.contains(by));
    }
}

struct Finding<'a> {
    all: &'a mut [Said],
    marks: &'a BTreeSet<String>,
}

impl Finding<'_> {
    fn run(&mut self) {
        self.by_what_they_say();
        let mut new = self.taken_back();
        loop {
            while let Some(at) = new.pop() {
                new.extend(self.with_duplicates(at));
            }
            let Some(at) = self.decided_again() else {
                return;
            };
            new.push(at);
        }
    }

    fn taken_back(&self) -> Vec<usize> {
        let all = 0..self.all.len();
        all.filter(|at| self.all[*at].back.is_some()).collect()
    }

    /// Whether a statement can be taken back by that.
    fn may(&self, said: &Said, by: &At) -> bool {
        let is_open = said.back.is_none() && !said.struck && !said.is_of_master();
        is_open && !self.marks.contains(&said.mark(by))
    }

    /// Of several the first one takes it back: what came then stands behind that.
    fn by_what_they_say(&mut self) {
        let giving_up: Vec<&Said> = (self.all.iter())
            .filter(|said| may_decide(said) && said.stand.gives_up())
            .collect();
        let by = |said: &Said| {
            let takers = giving_up.iter().filter(|by| {
                may_decide(said)
                    // What an agent only suggests takes back nothing that the user said.
                    && (by.voice >= said.voice || by.stand.names_it())
                    && by.is_later(said)
                    && by.stand.takes_back(&said.stand)
                    && self.may(said, &by.at)
            });
            takers.min_by_key(|by| by.order()).map(|by| by.at.clone())
        };
        let found: Vec<Option<At>> = self.all.iter().map(by).collect();
        for (said, by) in self.all.iter_mut().zip(found) {
            said.back = said.back.take().or(by);
        }
    }

    /// Takes back what says the same as one that was taken back, and was said before that.
    fn with_duplicates(&mut self, at: usize) -> Vec<usize> {
        let old = &self.all[at];
        let Some(by) = old.back.clone() else {
            return Vec::new();
        };
        let is_duplicate = |said: &Said| {
            old.words.is_near(&said.words)
                && self.may(said, &by)
                && is_before(said, &by, old, self.all)
        };
        let all = 0..self.all.len();
        let found: Vec<usize> = all.filter(|at| is_duplicate(&self.all[*at])).collect();
        for at in &found {
            self.all[*at].back = Some(by.clone());
        }
        found
    }

    /// Takes back one that took back what somebody decided for again.
    fn decided_again(&mut self) -> Option<usize> {
        let found = self.taken_back().into_iter().find_map(|at| {
            let old = &self.all[at];
            let by = old.back.as_ref()?;
            let again: Vec<&Said> = (self.all.iter())
                .filter(|said| said.back.is_none() && !said.struck)
                .filter(|said| said.words.is_near(&old.words))
                .collect();
            let undone = (0..self.all.len()).filter(|at| self.all[*at].at == *by);
            let mut undone = undone.flat_map(|at| again.iter().map(move |again| (at, again)));
            undone.find_map(|(at, again)| {
                let said = &self.all[at];
                let is_undone = again.is_later(said) && self.may(said, &again.at);
                is_undone.then(|| (at, again.at.clone()))
            })
        });
        let (at, by) = found?;
        self.all[at].back = Some(by);
        Some(at)
    }
}

/// Whether it can take something back, or be taken back.
fn may_decide(said: &Said) -> bool {
    !said.struck && said.kind != MemoryKind::Fact
}

/// Whether a statement was made before what takes `other` back.
fn is_before(said: &Said, by: &At, other: &Said, all: &[Said]) -> bool {
    if let Some(by) = all.iter().find(|it| it.at == *by) {
        return by.is_later(said);
    }
    if by.session == said.at.session {
        return by.line > said.at.line;
    }
    if by.session == other.at.session {
        return !said.is_later(other);
    }
    // It was said in a session of which something else is known, or at a time that nobody knows.
    let last = all.iter().filter(|it| it.at.session == by.session);
    let last = last.map(Said::order).max();
    last.is_none_or(|last: (NaiveDate, usize)| said.order() < last)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ctx_ledger::rules::MemoryKind;

    use super::take_back;
    use crate::consolidate::daily::Days;
    use crate::consolidate::said::{Said, statements};

    fn all(text: &str, marks: &BTreeSet<String>) -> Vec<Said> {
        let name = "memory/extracted/decisions.md";
        let mut all = statements(text, MemoryKind::Decision, name, &Days::default());
        take_back(&mut all, marks);
        let backs: Vec<_> = all.iter().map(|it| it.back.clone()).collect();
        take_back(&mut all, marks);
        assert!(
            all.iter().map(|it| it.back.clone()).eq(backs),
            "again: {text}"
        );
        all
    }

    /// What takes back each statement.
    fn backs(text: &str) -> Vec<String> {
        let back = |said: Said| said.back.map_or_else(String::new, |by| by.to_string());
        all(text, &BTreeSet::new()).into_iter().map(back).collect()
    }

    const OLD: &str = "- We decided to use SQLite for the cache. (user, a:1, 2026-11-01)\n";
    const NEW: &str = "- Let's use Redis instead of SQLite. (user, b:4, 2026-11-03)\n";

    /// 16: a decision of another session is taken back by a later one, whichever stands first.
    #[test]
    fn a_later_session_takes_back() {
        assert_eq!(backs(&format!("{OLD}{NEW}")), ["b:4", ""]);
        assert_eq!(backs(&format!("{NEW}{OLD}")), ["", "b:4"]);
        let earlier = NEW.replace("11-03", "10-30");
        assert_eq!(backs(&format!("{OLD}{earlier}")), ["", ""]);
    }

    /// 16: what says the same and was said before goes with it; what was said behind it is a
    /// decision for it again.
    #[test]
    fn duplicates_go_with_it_and_a_later_one_is_a_decision() {
        let same = "- So we decided to use SQLite for the cache! (user, c:7, 2026-11-02)\n";
        assert_eq!(backs(&format!("{OLD}{NEW}{same}")), ["b:4", "", "b:4"]);
        let again = same.replace("11-02", "11-09");
        assert_eq!(backs(&format!("{OLD}{NEW}{again}")), ["b:4", "c:7", ""]);
    }

    /// 16: what the user said stands against what an agent does not name.
    #[test]
    fn an_agent_has_to_name_what_the_user_said() {
        let card = "- I decided to pay with a gift card. (user, a:1, 2026-11-01)\n";
        let says = |text: &str| format!("{card}- {text} (assistant, b:4, 2026-11-03)\n");
        assert_eq!(backs(&says("You can use the bank card instead.")), ["", ""]);
        assert_eq!(
            backs(&says("Let's use the bank instead of the gift card.")),
            ["b:4", ""]
        );
    }

    /// 16: marks of the extraction count, also where what took it back is not in the file.
    #[test]
    fn marks_that_stand_there_count() {
        let marked = OLD.replace(')', ", taken back in a:9)");
        let same = "- We decided to use SQLite for the cache! (user, c:7, 2026-10-02)\n";
        assert_eq!(backs(&format!("{marked}{same}")), ["a:9", "a:9"]);
        let later = same.replace("10-02", "11-02");
        assert_eq!(backs(&format!("{marked}{later}")), ["a:9", ""]);
    }

    /// 16: what somebody struck out takes nothing back, and nothing is put back that somebody
    /// took out.
    #[test]
    fn the_writer_has_the_last_word() {
        let struck = NEW
            .replace("Let's", "~~Let's")
            .replace("SQLite.", "SQLite.~~");
        assert_eq!(backs(&format!("{OLD}{struck}")), ["", ""]);
        let marked = OLD.replace(')', ", taken back in b:4)");
        assert_eq!(backs(&format!("{marked}{struck}")), ["", ""]);
        let both = all(&format!("{OLD}{NEW}"), &BTreeSet::new());
        let mark = both[0].mark(both[0].back.as_ref().expect("it is taken back"));
        let marks = BTreeSet::from([mark]);
        assert!(
            all(&format!("{OLD}{NEW}"), &marks)
                .iter()
                .all(|it| it.back.is_none())
        );
        let mine = "- We no longer use Redis for anything.\n";
        let name = "memory/extracted/decisions.md:3";
        assert_eq!(backs(&format!("{OLD}{NEW}{mine}")), ["b:4", name, ""]);
    }
}
