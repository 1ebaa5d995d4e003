//! Collects the items of a ledger, each once and with its latest state. A decision may supersede an
//! earlier decision.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use ctx_format::Role;
use ctx_text::{LazyRegex, WordSet, regex};
use regex::Regex;
use strum::{IntoStaticStr, VariantArray};

use crate::ledger::call::REJECTED;
use crate::ledger::patterns::{MemoryKind, Sentence, simplified};
use crate::ledger::{Action, LISTS, Outcome, Target};

/// The maximum number of items of each kind. If there are more items of a kind, half of them are
/// dropped. The oldest finished or superseded items are dropped first, then the oldest of the other
/// items.
const MOST: usize = 5_000;
/// The number of preceding decisions with which a new decision is compared, because it may
/// supersede them.
const LOOKED_BACK: usize = 200;

/// The maximum number of calls without results that are remembered. The results of further calls
/// are ignored.
const MOST_WAITING: usize = 1_000;

/// A call whose result has not been read yet, and the index of the segment that quotes the call.
pub(crate) type Call = (Action, Option<usize>);

/// The items of a session.
#[derive(Debug, Default)]
pub struct Items {
    /// The items, in session order.
    pub list: Vec<Item>,
    places: HashMap<(ItemKind, String), usize>,
    /// The last unrepaired error for each file or command that failed.
    failing: HashMap<String, usize>,
    counts: [usize; ItemKind::ALL.len()],
    /// The number of items dropped, by kind.
    pub(crate) crowded_out: [usize; ItemKind::ALL.len()],
    /// The errors from earlier summaries that are not repaired yet.
    carried_errors: Vec<usize>,
    /// Calls without a result, by their ids. Of several calls without an id, only the last one is
    /// kept.
    waiting: HashMap<Option<String>, Call>,
}

impl Items {
    /// Adds an item that is stated in a message or an earlier summary. If `takes_back` is set, the
    /// item supersedes earlier decisions on the same subject.
    pub(crate) fn say(&mut self, item: Item, takes_back: bool) {
        if takes_back {
            self.supersede(&item);
        }
        let is_error = item.kind == ItemKind::Error && item.state == State::Current;
        let at = self.list.len();
        self.add(item);
        if is_error && self.list.len() > at {
            self.carried_errors.push(at);
        }
    }

    /// Adds an item. If the kind already has an item with the same text, updates that item without
    /// moving it.
    pub(crate) fn add(&mut self, item: Item) {
        if item.text.is_empty() {
            return;
        }
        let key = (item.kind, item.text.clone());
        if let Some(at) = self.places.get(&key) {
            let known = &mut self.list[*at];
            known.state = item.state;
            known.changed = item.changed || item.kind == ItemKind::File && known.changed;
            return;
        }
        self.counts[item.kind as usize] += 1;
        if self.counts[item.kind as usize] > MOST {
            self.crowd_out(item.kind);
        }
        self.places.insert(key, self.list.len());
        self.list.push(item);
    }

    fn supersede(&mut self, later: &Item) {
        let of_later: HashSet<String> = subjects(&later.text).collect();
        let decisions = self.list.iter_mut().rev();
        let decisions = decisions.filter(|item| item.kind == ItemKind::Decision);
        for earlier in decisions.take(LOOKED_BACK) {
            if earlier.state == State::Current
                && earlier.text != later.text
                && subjects(&earlier.text).any(|subject| of_later.contains(&subject))
            {
                earlier.state = State::Superseded;
            }
        }
    }

    /// Replaces the previous list of tasks.
    pub(crate) fn tasks(&mut self, tasks: &[Item], line: u64) {
        for item in &mut self.list {
            let is_task = item.kind == ItemKind::Open && item.changed;
            if is_task && !tasks.iter().any(|task| task.text == item.text) {
                item.state = State::Superseded;
            }
        }
        for task in tasks {
            self.add(Item { line, ..task.clone() });
        }
    }

    /// Records that a call failed. `subject` is the file or command that the call acted on.
    pub(crate) fn failed(&mut self, subject: &str, digest: &str, error: &str, line: u64) {
        let text = format!("{digest}: {error}");
        self.add(Item::new(ItemKind::Error, text.clone(), line));
        let at = self.places.get(&(ItemKind::Error, text)).copied();
        let before = at.and_then(|at| self.failing.insert(subject.to_owned(), at));
        // The same file or command now fails with a different error.
        if let Some(before) = before.filter(|before| Some(*before) != at) {
            self.list[before].state = State::Superseded;
        }
    }

    /// Records that a call succeeded, which repairs the last error with the same `subject`.
    pub(crate) fn succeeded(&mut self, subject: &str) {
        if let Some(at) = self.failing.remove(subject) {
            self.list[at].state = State::Done;
        }
        // In an earlier summary, the failed call and the error are on the same line.
        let items = &mut self.list;
        self.carried_errors.retain(|at| {
            let text = &items[*at].text;
            let rest = text.strip_prefix(subject);
            let repaired =
                rest.is_some_and(|rest| rest.starts_with(": ")) || program(text) == subject;
            if repaired {
                items[*at].state = State::Done;
            }
            !repaired
        });
    }

    /// Records a call. `segment` is the index of the segment that quotes the call.
    pub(crate) fn begin(&mut self, action: Action, segment: Option<usize>, line: u64) {
        if let Some(tasks) = &action.tasks {
            self.tasks(tasks, line);
        }
        if let Target::File { path, is_changed } = &action.target {
            let item = Item::new(ItemKind::File, path.clone(), line);
            self.add(Item { changed: *is_changed, ..item });
        }
        if action.id.is_none() || self.waiting.len() < MOST_WAITING {
            self.waiting.insert(action.id.clone(), (action, segment));
        }
    }

    /// Forgets the segments of waiting calls, because segment indexes have changed.
    pub(crate) fn forget_segments(&mut self) {
        self.waiting.values_mut().for_each(|(_, segment)| *segment = None);
    }

    /// Records the result of a call and returns the call, or `None` if the call is unknown.
    pub(crate) fn end(&mut self, outcome: &Outcome, line: u64) -> Option<Call> {
        let (action, segment) = self.waiting.remove(&outcome.id)?;
        if action.target == Target::Command {
            let item = Item::new(ItemKind::Command, action.digest.clone(), line);
            self.add(Item { changed: outcome.error.is_none(), ..item });
        }
        // An error is recorded for the call's file, or else for the call's digest.
        let subject = match &action.target {
            Target::File { path, .. } => path,
            Target::Command => program(&action.digest),
            Target::Other => &action.digest,
        };
        match &outcome.error {
            Some(error) if error == REJECTED => {}
            Some(error) => self.failed(subject, &action.digest, error, line),
            None => self.succeeded(subject),
        }
        Some((action, segment))
    }

    fn crowd_out(&mut self, kind: ItemKind) {
        let mut half = MOST / 2;
        let before = self.list.len();
        for settled_only in [true, false] {
            self.list.retain(|item| {
                let goes = half > 0
                    && item.kind == kind
                    && (item.state != State::Current || !settled_only);
                half -= usize::from(goes);
                !goes
            });
        }
        self.crowded_out[kind as usize] += before - self.list.len();
        self.counts[kind as usize] -= before - self.list.len();
        self.places = (self.list.iter().enumerate())
            .map(|(at, item)| ((item.kind, item.text.clone()), at))
            .collect();
        // The positions of items have changed, so earlier errors can no longer be marked as
        // repaired. That is rarely needed.
        self.failing.clear();
        self.carried_errors.clear();
    }
}

/// Returns the program in a call such as `Bash: cd a && go test ./a -v`, up to its first option:
/// `go test ./a`. If the program succeeds later, whatever the options are, an error is repaired.
fn program(digest: &str) -> &str {
    let command = digest.rsplit_once("&& ").map_or(digest, |(_, last)| last);
    let is_end = |word: &&str| word.starts_with(['-', '"', '\'', '$', '|', '>', '<', '2']);
    let words = command.split_inclusive(' ').take(PROGRAM).take_while(|word| !is_end(word));
    command[..words.map(str::len).sum()].trim_end()
}

/// The maximum number of words that name a program and what it runs.
const PROGRAM: usize = 4;

static TAKES_BACK: LazyLock<LazyRegex> = LazyLock::new(|| LISTS.hinted("takes back"));

/// A decision, parsed once so that it can be compared with many others.
pub struct Decision {
    has_word: bool,
    takes_back: bool,
    subjects: HashSet<String>,
}

impl Decision {
    /// Parses a decision. `role` is the speaker's role.
    pub fn of(text: &str, role: Role) -> Self {
        Self {
            has_word: Sentence::new(text, role).is_a(MemoryKind::Decision),
            takes_back: takes_back(text),
            subjects: subjects(text).collect(),
        }
    }

    /// Returns true if this decision supersedes `earlier`. This decision must revoke something,
    /// both decisions must contain a word for deciding, and they must have a subject in common.
    pub fn supersedes(&self, earlier: &Self) -> bool {
        self.takes_back
            && self.has_word
            && earlier.has_word
            && !self.subjects.is_disjoint(&earlier.subjects)
    }
}

/// Returns true if a decision explicitly revokes an earlier one.
pub(crate) fn takes_back(decision: &str) -> bool {
    TAKES_BACK.is_match(&simplified(decision))
}

/// Returns the subjects of a decision. In English, these are its longer words, except words for
/// deciding. Chinese has no spaces between words, so any three adjacent characters count as a
/// subject, and so does a run of exactly two characters.
fn subjects(sentence: &str) -> impl Iterator<Item = String> {
    let words = sentence.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
    words.flat_map(|word| {
        // All characters in a run belong to one script, so `用SQLite存` consists of three runs.
        let chars: Vec<char> = word.chars().collect();
        let parts = chars.chunk_by(|a, b| is_wide(*a) == is_wide(*b));
        let subjects = |part: &[char]| {
            let text = String::from_iter(part);
            if is_wide(part[0]) { of_chinese(&text) } else { of_latin(&text).into_iter().collect() }
        };
        parts.flat_map(subjects).collect::<Vec<_>>()
    })
}

fn of_latin(word: &str) -> Option<String> {
    static DECIDING: LazyLock<WordSet> = LazyLock::new(|| LISTS.words("deciding"));
    let word = word.trim_matches('.').to_lowercase();
    (word.chars().count() >= 4 && !DECIDING.contains(&word)).then_some(word)
}

fn of_chinese(run: &str) -> Vec<String> {
    static DECIDING: LazyLock<Regex> =
        LazyLock::new(|| regex(&LISTS.pattern("deciding, in Chinese")));
    let run = simplified(run);
    let mut found = Vec::new();
    for piece in DECIDING.split(&run) {
        let piece: Vec<char> = piece.chars().collect();
        found.extend(piece.windows(piece.len().clamp(2, 3)).map(String::from_iter));
    }
    found
}

/// Returns true if a character belongs to a script that has no spaces between words.
fn is_wide(c: char) -> bool {
    ('\u{2e80}'..='\u{9fff}').contains(&c) || ('\u{f900}'..='\u{faff}').contains(&c)
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ItemKind {
    /// A request in the user's words.
    #[strum(serialize = "asks")]
    Ask,
    /// A rule in the user's words.
    #[strum(serialize = "constraints")]
    Constraint,
    /// A settled question.
    #[strum(serialize = "decisions")]
    Decision,
    /// Something that remains to be done.
    Open,
    /// An error.
    #[strum(serialize = "errors")]
    Error,
    /// A file that was read or changed.
    #[strum(serialize = "files")]
    File,
    /// A command that was run.
    #[strum(serialize = "commands")]
    Command,
}

impl ItemKind {
    /// All kinds, in the order of their sections in a summary.
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The item is still valid, or remains to be done.
    Current,
    /// The task is in progress.
    InProgress,
    /// The open item was finished, or the error was repaired because its call succeeded later.
    Done,
    /// The item was replaced by a later item.
    Superseded,
}

/// A fact from a session that a summary must not lose, such as a request, a decision or an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The kind of the item.
    pub kind: ItemKind,
    /// The text of the item on one line, without secrets.
    pub text: String,
    /// The line number of the item's record in the session, or 0 if it is unknown.
    pub line: u64,
    /// The state of the item.
    pub state: State,
    /// For a file, whether it was changed. For a command, whether it succeeded. For an open item,
    /// whether it belongs to a task list, which the next task list replaces.
    pub changed: bool,
}

impl Item {
    /// Creates an item with the state [`State::Current`].
    pub fn new(kind: ItemKind, text: String, line: u64) -> Self {
        Self { kind, text, line, state: State::Current, changed: false }
    }

    /// Returns true if a summary must still contain the item. Repaired errors are included, because
    /// they may occur again.
    pub fn holds(&self) -> bool {
        match self.kind {
            ItemKind::Error => self.state != State::Superseded,
            _ => matches!(self.state, State::Current | State::InProgress),
        }
    }

    /// Returns true if the item is a finished task in the last task list.
    pub fn is_done_task(&self) -> bool {
        self.kind == ItemKind::Open && self.changed && self.state == State::Done
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::Role;

    use super::{Decision, Item, ItemKind, Items, LOOKED_BACK, MOST, State};

    fn item(kind: ItemKind, text: &str, line: u64) -> Item {
        Item::new(kind, text.to_owned(), line)
    }

    fn texts(items: &Items) -> Vec<&str> {
        items.list.iter().map(|item| item.text.as_str()).collect()
    }

    fn states(items: &Items) -> Vec<State> {
        items.list.iter().map(|item| item.state).collect()
    }

    fn decide(items: &mut Items, text: &str, takes_back: bool) {
        items.say(item(ItemKind::Decision, text, 1), takes_back);
    }

    fn task(text: &str, is_done: bool) -> Item {
        let state = if is_done { State::Done } else { State::Current };
        Item { state, changed: true, ..item(ItemKind::Open, text, 0) }
    }

    #[test]
    fn nothing_and_empty_texts_are_no_items() {
        let mut items = Items::default();
        items.add(item(ItemKind::Ask, "", 1));
        assert!(items.list.is_empty());
        for kind in ItemKind::ALL.iter().copied() {
            assert_eq!(items.crowded_out[kind as usize], 0);
        }
    }

    #[test]
    fn news_of_a_known_item_change_its_state_and_not_its_place() {
        let mut items = Items::default();
        items.add(item(ItemKind::Ask, "做完它", 1));
        items.add(item(ItemKind::Open, "做完它", 2));
        let done = State::Done;
        items.add(Item { state: done, ..item(ItemKind::Ask, "做完它", 9) });
        assert_eq!(texts(&items), ["做完它", "做完它"]);
        assert_eq!(states(&items), [State::Done, State::Current]);
        assert_eq!(items.list[0].line, 1);
    }

    #[test]
    fn a_changed_file_stays_changed_and_a_command_is_as_it_ended_last() {
        let mut items = Items::default();
        for kind in [ItemKind::File, ItemKind::Command] {
            for changed in [true, false] {
                items.add(Item { changed, ..item(kind, "a", 1) });
            }
        }
        let changed: Vec<bool> = items.list.iter().map(|item| item.changed).collect();
        assert_eq!(changed, [true, false]);
    }

    #[test]
    fn a_later_decision_takes_back_those_about_the_same() {
        let mut items = Items::default();
        decide(&mut items, "use sqlite for the cache", false);
        decide(&mut items, "use tabs", false);
        items.add(item(ItemKind::Open, "try sqlite", 1));
        decide(&mut items, "use redis instead of sqlite", true);
        assert_eq!(
            states(&items),
            [State::Superseded, State::Current, State::Current, State::Current]
        );
        // A repeated decision becomes current again and does not supersede itself.
        decide(&mut items, "use redis instead of sqlite", true);
        assert_eq!(states(&items)[3], State::Current);
    }

    #[test]
    fn a_decision_looks_back_only_so_far() {
        for (between, state) in
            [(LOOKED_BACK - 1, State::Superseded), (LOOKED_BACK, State::Current)]
        {
            let mut items = Items::default();
            decide(&mut items, "use sqlite", false);
            for number in 0..between {
                decide(&mut items, &format!("number {number}"), false);
            }
            decide(&mut items, "no longer sqlite", true);
            assert_eq!(states(&items)[0], state, "{between}");
        }
    }

    #[test]
    fn a_new_list_of_tasks_takes_the_place_of_the_old_one() {
        let mut items = Items::default();
        items.add(item(ItemKind::Open, "of no list", 1));
        items.tasks(&[task("one", false), task("two", false), task("three", true)], 2);
        items.tasks(&[task("two", true), task("four", false)], 3);
        assert_eq!(texts(&items), ["of no list", "one", "two", "three", "four"]);
        assert_eq!(
            states(&items),
            [State::Current, State::Superseded, State::Done, State::Superseded, State::Current]
        );
        items.tasks(&[], 4);
        assert_eq!(states(&items)[4], State::Superseded);
    }

    #[test]
    fn of_one_subject_only_the_last_error_holds() {
        let mut items = Items::default();
        items.failed("a.rs", "Read: a.rs", "no such file", 1);
        items.failed("b.rs", "Read: b.rs", "no such file", 2);
        items.failed("a.rs", "Edit: a.rs", "no match", 3);
        items.failed("a.rs", "Edit: a.rs", "no match", 4);
        assert_eq!(states(&items), [State::Superseded, State::Current, State::Current]);
        items.succeeded("a.rs");
        items.succeeded("a.rs");
        assert_eq!(states(&items), [State::Superseded, State::Current, State::Done]);
        // The call fails again.
        items.failed("a.rs", "Edit: a.rs", "no match", 5);
        assert_eq!(states(&items)[2], State::Current);
    }

    #[test]
    fn an_error_of_an_earlier_summary_is_repaired_by_its_beginning() {
        let mut items = Items::default();
        items.say(item(ItemKind::Error, "Bash: make: exit code 2", 1), false);
        items.say(item(ItemKind::Error, "Bash: make all: exit code 1", 2), false);
        items.succeeded("Bash: mak");
        items.succeeded("Bash: make: exit code 2");
        assert_eq!(states(&items), [State::Current, State::Current]);
        items.succeeded("Bash: make");
        assert_eq!(states(&items), [State::Done, State::Current]);
    }

    #[test]
    fn where_there_are_too_many_what_is_settled_leaves_first() {
        let mut items = Items::default();
        items.add(item(ItemKind::Ask, "of another kind", 0));
        for number in 0..MOST {
            // The last hundred items are finished.
            let state = if number >= MOST - 100 { State::Done } else { State::Current };
            items.add(Item { state, ..item(ItemKind::Open, &format!("task {number}"), 1) });
        }
        assert_eq!(items.crowded_out[ItemKind::Open as usize], 0);
        items.add(item(ItemKind::Open, "one more", 2));
        assert_eq!(items.crowded_out[ItemKind::Open as usize], MOST / 2);
        assert_eq!(items.crowded_out[ItemKind::Ask as usize], 0);
        let left = texts(&items);
        assert_eq!(left.len(), 1 + MOST / 2 + 1);
        let oldest = format!("task {}", MOST / 2 - 100);
        let newest = format!("task {}", MOST - 101);
        assert_eq!((left[0], left[1]), ("of another kind", oldest.as_str()));
        assert_eq!(left[left.len() - 2..], [newest.as_str(), "one more"]);
        // The remaining items can still be found.
        let count = left.len();
        items.add(item(ItemKind::Open, &newest, 3));
        assert_eq!(items.list.len(), count);
    }

    fn supersedes(later: &str, earlier: &str) -> bool {
        let [later, earlier] = [later, earlier].map(|text| Decision::of(text, Role::User));
        later.takes_back && !later.subjects.is_disjoint(&earlier.subjects)
    }

    #[test]
    fn a_decision_takes_back_what_is_about_the_same() {
        let earlier = "We decided to use SQLite for the cache.";
        assert!(supersedes("Let's use Redis instead of SQLite.", earlier));
        assert!(!supersedes("Let's use Redis for queues.", earlier));
        assert!(!supersedes("Let's use tabs instead of spaces.", earlier));
    }

    /// Chinese is written without spaces, in simplified or traditional characters.
    #[test]
    fn a_decision_in_chinese_takes_back_what_is_about_the_same() {
        let earlier = "我们决定用SQLite存候补名单。";
        for later in [
            "候补名单改用Postgres。",
            "不再用SQLite了，换成Postgres",
            "還是從 SQLite 換成 Postgres",
        ] {
            assert!(supersedes(later, earlier), "{later}");
        }
        for later in ["我们决定改用英文写文档。", "日志改为每天一个文件"] {
            assert!(!supersedes(later, earlier), "{later}");
        }
    }
}

#[cfg(test)]
mod item_tests {
    use std::collections::HashSet;

    use super::ItemKind;

    #[test]
    fn all_kinds_stand_in_their_order_and_have_words_of_their_own() {
        // Counts by kind are stored in arrays, with the kind as the index.
        for (place, kind) in ItemKind::ALL.iter().copied().enumerate() {
            assert_eq!(kind as usize, place);
        }
        let words: HashSet<&str> = ItemKind::ALL.iter().map(<&str>::from).collect();
        assert_eq!(words.len(), ItemKind::ALL.len());
        assert!(words.iter().all(|word| !word.is_empty() && !word.contains([' ', ','])));
    }
}

#[cfg(test)]
mod calls_tests {
    use super::{Items, MOST_WAITING};
    use crate::ledger::call::{Action, Outcome};
    use crate::ledger::fixtures::{call, leaves};
    use crate::ledger::items::{ItemKind, State};

    #[derive(Default)]
    struct Session {
        items: Items,
        line: u64,
    }

    impl Session {
        fn call(&mut self, id: Option<&str>, tool: &str, arguments: &str) {
            self.line += 1;
            let leaves = leaves(arguments);
            let action = Action::of(&call(id, tool, arguments), arguments, leaves.as_deref());
            self.items.begin(action, None, self.line);
        }

        fn result(&mut self, id: Option<&str>, error: Option<&str>) {
            self.line += 1;
            let outcome = Outcome {
                id: id.map(str::to_owned),
                error: error.map(str::to_owned),
                text: String::new(),
            };
            self.items.end(&outcome, self.line);
        }

        /// Returns the kind, text, line, state and `changed` flag of each item.
        fn items(&self) -> Vec<(ItemKind, &str, u64, State, bool)> {
            let items = self.items.list.iter();
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
        // Another tool acts on the same file.
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
        // Only the first result of a call counts.
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
        // The limit allows one more call.
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
