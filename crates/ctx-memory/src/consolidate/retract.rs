//! Finds the statements that are superseded by later statements.
//!
//! - [`Choice::supersedes`] determines whether a decision or rule supersedes an earlier one.
//! - A statement that is similar to a superseded statement, and that was made before the
//!   superseding decision, is superseded as well, even if it was made in another session.
//! - If a later statement repeats a superseded statement, the repetition supersedes the decision
//!   that superseded the statement.
//!
//! The rules are applied until nothing changes, so that a second run finds nothing new.
//!
//! [`Choice::supersedes`]: super::choice::Choice::supersedes

use std::collections::{BTreeSet, HashSet};

use ctx_summary::ledger::patterns::MemoryKind;

use super::statement::{Statement, is_lasting};
use crate::entry::Citation;

/// Sets [`Statement::taken_back`] for each superseded statement that has no mark yet. `old_marks`
/// are the marks that earlier runs wrote into the memory files. A mark that is no longer in the
/// files was removed by a person, so it is not written again.
pub(super) fn retract(all: &mut [Statement], old_marks: &BTreeSet<String>) {
    restore_after_struck(all);
    let was_taken_back: Vec<bool> = all.iter().map(|it| it.taken_back.is_some()).collect();
    let count_marks = |all: &[Statement]| all.iter().filter(|it| gets_mark(it)).count();
    loop {
        let before = count_marks(all);
        Search { all, old_marks }.run();
        if count_marks(all) == before {
            return;
        }
        // The next run will see only the marks. Therefore, statements without a mark are reset and
        // checked again, based on the marks alone.
        for (statement, was_taken_back) in all.iter_mut().zip(&was_taken_back) {
            if !was_taken_back && !gets_mark(statement) {
                statement.taken_back = None;
            }
        }
    }
}

/// Returns true if this run writes a mark for the statement into the memory file.
fn gets_mark(statement: &Statement) -> bool {
    statement.can_be_marked() && statement.taken_back.as_ref().is_some_and(is_lasting)
}

/// Restores each statement that is superseded only by a statement that a person struck out.
fn restore_after_struck(all: &mut [Statement]) {
    let citations = |is_struck: bool| -> HashSet<Citation> {
        all.iter().filter(|it| it.is_struck == is_struck).map(|it| it.citation.clone()).collect()
    };
    let (struck, others) = (citations(true), citations(false));
    for statement in all {
        statement.taken_back.take_if(|by| struck.contains(by) && !others.contains(by));
    }
}

struct Search<'a> {
    all: &'a mut [Statement],
    old_marks: &'a BTreeSet<String>,
}

impl Search<'_> {
    fn run(&mut self) {
        self.retract_superseded();
        let mut new = self.taken_back();
        loop {
            while let Some(at) = new.pop() {
                new.extend(self.retract_similar(at));
            }
            let mut old = self.taken_back().into_iter();
            let Some((at, by)) = old.find_map(|at| self.reversal(&self.all[at])) else { return };
            self.all[at].taken_back = Some(by);
            new.push(at);
        }
    }

    fn taken_back(&self) -> Vec<usize> {
        (0..self.all.len()).filter(|at| self.all[*at].taken_back.is_some()).collect()
    }

    fn can_be_taken_back(&self, statement: &Statement, by: &Citation) -> bool {
        let is_open = statement.taken_back.is_none() && !statement.is_struck;
        is_open && !statement.is_in_master() && !self.old_marks.contains(&statement.mark(by))
    }

    /// Finds the successor of each superseded statement. If a statement has several successors, the
    /// first one counts, because a repetition of the statement after the first successor is a new
    /// decision.
    fn retract_superseded(&mut self) {
        let takes_part = |it: &Statement| !it.is_struck && it.kind != MemoryKind::Fact;
        let mut successors: Vec<&Statement> = self.all.iter().collect();
        successors.retain(|it| takes_part(it) && it.choice.abandons_something());
        let successor = |statement: &Statement| {
            if !takes_part(statement) {
                return None;
            }
            let successors = successors.iter().filter(|by| {
                // An agent's decision supersedes a user's only if it names what it abandons, and it
                // never supersedes a user's preference.
                let may_name = statement.kind != MemoryKind::Preference;
                (by.author >= statement.author || may_name && by.choice.names_abandoned())
                    && by.is_later(statement)
                    && by.choice.supersedes(&statement.choice)
                    && self.can_be_taken_back(statement, &by.citation)
            });
            successors.min_by_key(|by| by.order).map(|by| by.citation.clone())
        };
        let found: Vec<Option<Citation>> = self.all.iter().map(successor).collect();
        for (statement, by) in self.all.iter_mut().zip(found) {
            statement.taken_back = statement.taken_back.take().or(by);
        }
    }

    /// Treats all statements similar to the superseded statement at index `at` as superseded too,
    /// and returns their indexes.
    fn retract_similar(&mut self, at: usize) -> Vec<usize> {
        let old = &self.all[at];
        let Some(by) = old.taken_back.clone() else { return Vec::new() };
        let mut similar: Vec<usize> = (0..self.all.len()).collect();
        similar.retain(|at| {
            let statement = &self.all[*at];
            old.fingerprint.is_similar(&statement.fingerprint)
                && self.can_be_taken_back(statement, &by)
                && self.is_before(statement, &by, old)
        });
        for at in &similar {
            self.all[*at].taken_back = Some(by.clone());
        }
        similar
    }

    /// Returns true if `statement` was made before the statement that `by` cites, which supersedes
    /// `other`.
    fn is_before(&self, statement: &Statement, by: &Citation, other: &Statement) -> bool {
        if let Some(by) = self.all.iter().find(|it| it.citation == *by) {
            return by.is_later(statement);
        }
        if by.session == statement.citation.session {
            return by.line > statement.citation.line;
        }
        if by.session == other.citation.session {
            return !statement.is_later(other);
        }
        // The latest known statement from the session of `by` indicates when the cited statement
        // was made. If no statement from that session is known, the cited statement counts as
        // later.
        let of_session = self.all.iter().filter(|it| it.citation.session == by.session);
        of_session.map(|it| it.order).max().is_none_or(|last| statement.order < last)
    }

    /// If a later statement repeats the superseded statement `old`, returns the index of the
    /// statement that superseded `old`, and the citation of the repetition.
    fn reversal(&self, old: &Statement) -> Option<(usize, Citation)> {
        let by = old.taken_back.as_ref()?;
        let mut repetitions: Vec<&Statement> = self.all.iter().collect();
        repetitions.retain(|it| {
            it.taken_back.is_none() && !it.is_struck && it.fingerprint.is_similar(&old.fingerprint)
        });
        let mut cited = self.all.iter().enumerate().filter(|(_, it)| it.citation == *by);
        cited.find_map(|(at, statement)| {
            let reversed_by = repetitions.iter().find(|it| {
                it.is_later(statement) && self.can_be_taken_back(statement, &it.citation)
            });
            Some((at, reversed_by?.citation.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::retract;
    use crate::consolidate::statement::Statement;
    use crate::consolidate::statement::tests::decisions;

    fn retracted(text: &str, old_marks: &BTreeSet<String>) -> Vec<Statement> {
        let mut all = decisions(text);
        retract(&mut all, old_marks);
        let first: Vec<_> = all.iter().map(|it| it.taken_back.clone()).collect();
        retract(&mut all, old_marks);
        assert!(all.iter().map(|it| it.taken_back.clone()).eq(first), "a second run: {text}");
        all
    }

    /// For each statement, returns the citation of the statement that supersedes it, or an empty
    /// string.
    fn retractions(text: &str) -> Vec<String> {
        let all = retracted(text, &BTreeSet::new()).into_iter();
        all.map(|it| it.taken_back.map_or_else(String::new, |by| by.to_string())).collect()
    }

    const OLD: &str = "- We decided to use SQLite for the cache. (user, a:1, 2026-11-01)\n";
    const NEW: &str = "- Let's use Redis instead of SQLite. (user, b:4, 2026-11-03)\n";

    #[test]
    fn a_later_session_takes_back_whatever_the_order_in_the_file() {
        assert_eq!(retractions(&format!("{OLD}{NEW}")), ["b:4", ""]);
        assert_eq!(retractions(&format!("{NEW}{OLD}")), ["", "b:4"]);
        let earlier = NEW.replace("11-03", "10-30");
        assert_eq!(retractions(&format!("{OLD}{earlier}")), ["", ""]);
    }

    #[test]
    fn earlier_repetitions_are_taken_back_and_a_later_one_is_a_new_decision() {
        let same = "- So we decided to use SQLite for the cache! (user, c:7, 2026-11-02)\n";
        assert_eq!(retractions(&format!("{OLD}{NEW}{same}")), ["b:4", "", "b:4"]);
        let again = same.replace("11-02", "11-09");
        assert_eq!(retractions(&format!("{OLD}{NEW}{again}")), ["b:4", "c:7", ""]);
    }

    #[test]
    fn an_agent_has_to_name_what_it_takes_back_from_the_user() {
        let card = "- I decided to pay with a gift card. (user, a:1, 2026-11-01)\n";
        let says = |text: &str| format!("{card}- {text} (assistant, b:4, 2026-11-03)\n");
        assert_eq!(retractions(&says("You can use the bank card instead.")), ["", ""]);
        assert_eq!(retractions(&says("Let's use the bank instead of the gift card.")), ["b:4", ""]);
    }

    #[test]
    fn marks_count_even_if_their_decision_is_not_in_the_file() {
        let marked = OLD.replace(')', ", taken back in a:9)");
        let same = "- We decided to use SQLite for the cache! (user, c:7, 2026-10-02)\n";
        assert_eq!(retractions(&format!("{marked}{same}")), ["a:9", "a:9"]);
        let later = same.replace("10-02", "11-02");
        assert_eq!(retractions(&format!("{marked}{later}")), ["a:9", ""]);
    }

    #[test]
    fn strikes_and_removed_marks_of_people_are_respected() {
        let struck = NEW.replace("Let's", "~~Let's").replace("SQLite.", "SQLite.~~");
        assert_eq!(retractions(&format!("{OLD}{struck}")), ["", ""]);
        let marked = OLD.replace(')', ", taken back in b:4)");
        assert_eq!(retractions(&format!("{marked}{struck}")), ["", ""]);
        let both = retracted(&format!("{OLD}{NEW}"), &BTreeSet::new());
        let mark = both[0].mark(both[0].taken_back.as_ref().expect("it is taken back"));
        let marks = BTreeSet::from([mark]);
        assert!(retracted(&format!("{OLD}{NEW}"), &marks).iter().all(|it| it.taken_back.is_none()));
        let mine = "- We no longer use Redis for anything.\n";
        let name = "memory/extracted/decisions.md:3";
        assert_eq!(retractions(&format!("{OLD}{NEW}{mine}")), ["b:4", name, ""]);
    }
}
