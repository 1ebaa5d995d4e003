//! Calls and how they ended: files, commands, errors.

use std::collections::HashMap;

use crate::ledger::call::{Action, Outcome, Target};
use crate::ledger::item::{Item, ItemKind};
use crate::ledger::items::Items;

/// Calls that wait for their results; more than that wait for nothing.
const MOST_WAITING: usize = 1_000;

/// Follows calls to their results.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// By their ids; of those without an id the last one.
    waiting: HashMap<Option<String>, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    action: Action,
    /// The segment that tells it.
    segment: Option<usize>,
    /// Whether it wrote down a list of tasks.
    is_list: bool,
}

/// An open call.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The segment that tells it.
    pub(crate) segment: Option<usize>,
    /// Whether it is about a file.
    pub(crate) is_file: bool,
    /// Whether its result only confirms receipt, so that the list of tasks is shown instead.
    pub(crate) is_list: bool,
}

impl Calls {
    /// A call is made, and this segment tells it.
    pub(crate) fn begin(
        &mut self,
        mut action: Action,
        segment: Option<usize>,
        line: u64,
        items: &mut Items,
    ) {
        let tasks = action.tasks.take();
        let is_list = tasks.is_some();
        if let Some(tasks) = tasks {
            items.tasks(tasks, line);
        }
        if let Target::File { path, is_changed } = &action.target {
            let mut item = Item::new(ItemKind::File, path.clone(), line);
            item.changed = *is_changed;
            items.add(item);
        }
        if action.id.is_none() || self.waiting.len() < MOST_WAITING {
            let id = action.id.clone();
            let waiting = Waiting { action, segment, is_list };
            self.waiting.insert(id, waiting);
        }
    }

    /// The numbers of segments are others now.
    pub(crate) fn forget_segments(&mut self) {
        for waiting in self.waiting.values_mut() {
            waiting.segment = None;
        }
    }

    /// Ends a call; `None` if it is unknown.
    pub(crate) fn end(
        &mut self,
        outcome: Outcome,
        line: u64,
        items: &mut Items,
    ) -> Option<Answered> {
        let Waiting { action, segment, is_list } = self.waiting.remove(&outcome.id)?;
        if action.target == Target::Command {
            let mut item = Item::new(ItemKind::Command, action.digest.clone(), line);
            item.changed = outcome.error.is_none();
            items.add(item);
        }
        // The subject of an error.
        let subject = match &action.target {
            Target::File { path, .. } => path,
            Target::Command | Target::Other => &action.digest,
        };
        let is_list = is_list && outcome.error.is_none();
        match outcome.error {
            Some(error) => items.failed(subject, &action.digest, &error, line),
            None => items.succeeded(subject),
        }
        Some(Answered { segment, is_file: matches!(action.target, Target::File { .. }), is_list })
    }
}

#[cfg(test)]
mod tests {
    use super::{Calls, MOST_WAITING};
    use crate::ledger::call::{Action, Outcome};
    use crate::ledger::fixtures::{call, leaves};
    use crate::ledger::item::{ItemKind, State};
    use crate::ledger::items::Items;

    #[derive(Default)]
    struct Session {
        calls: Calls,
        items: Items,
        line: u64,
    }

    impl Session {
        fn call(&mut self, id: Option<&str>, tool: &str, arguments: &str) {
            self.line += 1;
            let leaves = leaves(arguments);
            let action = Action::of(&call(id, tool, arguments), arguments, leaves.as_deref());
            self.calls.begin(action, None, self.line, &mut self.items);
        }

        fn result(&mut self, id: Option<&str>, error: Option<&str>) {
            self.line += 1;
            let outcome = Outcome { id: id.map(str::to_owned), error: error.map(str::to_owned) };
            self.calls.end(outcome, self.line, &mut self.items);
        }

        /// Kind, text, line, state and `changed` of each item.
        fn items(&self) -> Vec<(ItemKind, &str, u64, State, bool)> {
            let items = self.items.all().iter();
            items
                .map(|item| (item.kind, item.text.as_str(), item.line, item.state, item.changed))
                .collect()
        }
    }

    const MAKE: &str = r#"{"command":"make"}"#;
    const FILE: &str = r#"{"path":"a.rs"}"#;

    #[test]
    fn a_command_is_an_item_once_it_ended() {
        let mut session = Session::default();
        session.call(Some("1"), "Bash", MAKE);
        assert_eq!(session.items(), []);
        session.result(Some("1"), None);
        assert_eq!(session.items(), [(ItemKind::Command, "Bash: make", 2, State::Current, true)]);
    }

    #[test]
    fn a_file_is_an_item_at_once() {
        let mut session = Session::default();
        session.call(Some("1"), "Read", FILE);
        session.call(Some("2"), "Write", FILE);
        session.call(Some("3"), "Read", FILE);
        assert_eq!(session.items(), [(ItemKind::File, "a.rs", 1, State::Current, true)]);
    }

    #[test]
    fn an_error_is_repaired_when_the_same_goes_well() {
        let mut session = Session::default();
        session.call(Some("1"), "Write", FILE);
        session.result(Some("1"), Some("no space"));
        // Another tool on the same file.
        session.call(Some("2"), "Read", FILE);
        assert_eq!(session.items()[1].3, State::Current);
        session.result(Some("2"), None);
        let (kind, text, line, state, _) = session.items()[1];
        assert_eq!((kind, text, line), (ItemKind::Error, "Write: a.rs: no space", 2));
        assert_eq!(state, State::Done);
    }

    #[test]
    fn a_failed_command_says_so_and_other_commands_do_not_repair_it() {
        let mut session = Session::default();
        session.call(Some("1"), "Bash", MAKE);
        session.result(Some("1"), Some("exit code 2"));
        session.call(Some("2"), "Bash", r#"{"command":"make test"}"#);
        session.result(Some("2"), None);
        assert_eq!(
            session.items(),
            [
                (ItemKind::Command, "Bash: make", 2, State::Current, false),
                (ItemKind::Error, "Bash: make: exit code 2", 2, State::Current, false),
                (ItemKind::Command, "Bash: make test", 4, State::Current, true),
            ]
        );
    }

    #[test]
    fn a_result_without_its_call_says_nothing() {
        let mut session = Session::default();
        session.result(Some("1"), Some("lost"));
        session.result(None, Some("lost"));
        session.call(Some("1"), "Bash", MAKE);
        session.result(Some("2"), Some("of another"));
        assert_eq!(session.items(), []);
        // Each call is answered once.
        session.result(Some("1"), None);
        session.result(Some("1"), Some("again"));
        assert_eq!(session.items().len(), 1);
    }

    #[test]
    fn without_ids_a_result_belongs_to_the_last_call() {
        let mut session = Session::default();
        session.call(None, "Bash", r#"{"command":"one"}"#);
        session.call(None, "Bash", r#"{"command":"two"}"#);
        session.result(None, None);
        session.result(None, None);
        assert_eq!(session.items(), [(ItemKind::Command, "Bash: two", 3, State::Current, true)]);
    }

    #[test]
    fn calls_beyond_the_most_wait_for_nothing() {
        let mut session = Session::default();
        for number in 0..=MOST_WAITING {
            session.call(Some(&number.to_string()), "Bash", MAKE);
        }
        session.result(Some(&MOST_WAITING.to_string()), None);
        assert_eq!(session.items(), []);
        session.result(Some("0"), None);
        assert_eq!(session.items().len(), 1);
        // There is room for one more.
        session.call(Some("late"), "Bash", r#"{"command":"late"}"#);
        session.result(Some("late"), None);
        assert_eq!(session.items().len(), 2);
    }

    #[test]
    fn a_list_of_tasks_is_open_items() {
        let mut session = Session::default();
        let list =
            r#"{"todos":[{"content":"甲","status":"done"},{"content":"乙","status":"open"}]}"#;
        session.call(Some("1"), "TodoWrite", list);
        assert_eq!(
            session.items(),
            [
                (ItemKind::Open, "甲", 1, State::Done, true),
                (ItemKind::Open, "乙", 1, State::Current, true),
            ]
        );
    }
}
