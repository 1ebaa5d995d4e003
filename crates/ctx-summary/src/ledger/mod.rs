//! The ledger lists what a summary of a session must not lose. Rules find this content in the
//! session, and a score says how much of it a compaction kept.
//!
//! The modules form layers. The lowest layer splits and scans text: [`sentence`], `statement`,
//! `output`, `json`, `identifier`, `term` and `scan`. [`patterns`], `intent`, `harness`,
//! `own_words`, `rule` and `subject` judge statements, and [`call`] judges tool calls. A [`Reading`]
//! is the result of reading one message. The [`Ledger`] collects readings into typed [`Item`]s and
//! an [`Index`] of segments and identifiers. [`form`] writes items into a summary so that they can
//! be read back when the summary is summarized. [`score`] looks for a ledger's content in the
//! session after a compaction.

pub mod call;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod form;
mod harness;
pub(crate) mod identifier;
mod index;
mod intent;
mod items;
mod json;
mod output;
mod own_words;
pub mod patterns;
mod reading;
mod relevance;
mod rule;
mod scan;
pub mod score;
mod segment;
pub mod sentence;
mod shrink;
mod statement;
mod subject;
mod term;

pub use call as runtime;
pub use harness::{OpenCalls, Writer, is_observation, pieces, users_words, without_reminders};
pub use index::{Identifier, Index};
pub use items::{Decision, Item, ItemKind, State};
pub use output::is_frame;
pub use own_words::own_words;
pub use reading::{Id, Mark, Reading};
pub use rule::RuleKind;
pub use segment::{Origin, Segment, SegmentKind};

pub(crate) use call::{Action, Outcome, Target, Verdict};
pub(crate) use form::{Label, labelled};
pub(crate) use identifier::Shape;
pub(crate) use index::HANDLE;
pub(crate) use intent::asks_for;
pub(crate) use json::{Arguments, Leaf};
pub(crate) use output::without_place;
pub(crate) use reading::{Event, Mention, Quote, Source};
pub(crate) use rule::{is_label, label_of, lifts, without_label};
pub(crate) use scan::Scan;
pub(crate) use segment::{Origins, segments};
pub(crate) use sentence::{ends, sentences, without_marker};
pub(crate) use subject::Subject;

use std::collections::HashSet;
use std::sync::OnceLock;

use ctx_format::{Message, Zone};
use ctx_text::Lists;

use items::Items;
pub(crate) use items::takes_back;

static LISTS: Lists = Lists::new(include_str!("lists.txt"));

/// Collects the items, segments and identifiers from a session.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The index of the session's identifiers and segments.
    pub index: Index,
    /// The items of the session, such as requests, decisions, errors and files.
    pub items: Items,
    /// The number of items of each kind that did not fit into earlier summaries.
    left_out: Vec<(ItemKind, usize)>,
    requests: u32,
    /// True after a slash command, whose template the next message may contain.
    after_command: bool,
    /// For each rule, the index of its segment and whether the rule still holds.
    pub(crate) holding: OnceLock<Vec<(usize, bool)>>,
    /// The indexes of the segments that a later statement refutes.
    pub(crate) refuted: OnceLock<HashSet<usize>>,
    /// If the session is a dialogue, the names of its speakers.
    pub(crate) speakers: OnceLock<Option<Vec<String>>>,
    /// The number of redacted secrets.
    pub redacted: usize,
}

impl Ledger {
    /// Reads the next message, on line `line` of the session, and adds its content to the ledger.
    pub fn push(&mut self, line: u64, message: &Message<'_>, zone: Zone) {
        self.absorb(line, Reading::of(message, zone));
    }

    /// Adds the reading of the next message or earlier summary, on line `line` of the session.
    pub fn absorb(&mut self, line: u64, mut reading: Reading) {
        self.redacted += reading.secrets;
        let is_template = std::mem::replace(&mut self.after_command, reading.is_command)
            && reading.hand_on_template();
        if reading.source != Source::Stays {
            self.holding = OnceLock::new();
            self.refuted = OnceLock::new();
            self.speakers = OnceLock::new();
        }
        let mut numbers = Vec::new();
        match reading.source {
            Source::System => self.index.absorb_given(&reading),
            Source::Message { is_request } => {
                self.requests += u32::from(is_request);
                numbers = self.index.absorb(line, &reading, self.requests == 1);
                self.index.cover(&reading);
                if is_template {
                    let segments = &self.index.segments;
                    let is_rule = |at: &usize| segments[*at].kind == SegmentKind::ProjectRule;
                    let others = numbers.iter().copied().filter(|at| !is_rule(at));
                    self.index.hide(&others.collect::<Vec<_>>());
                }
            }
            // An earlier summary may have no line of its own, so its line number is 0.
            Source::Earlier => numbers = self.index.absorb(0, &reading, false),
            Source::Stays => self.index.cover(&reading),
        }
        for event in reading.events {
            self.event(line, event, &numbers);
        }
        if self.index.is_full() {
            self.index.shrink();
            // The segment indexes recorded for waiting calls are no longer valid.
            self.items.forget_segments();
        }
    }

    /// Adds an event from a message to the ledger. `numbers` holds the indexes of the message's
    /// segments.
    fn event(&mut self, line: u64, event: Event, numbers: &[usize]) {
        match event {
            Event::Item(mut item, takes_back) => {
                // An earlier summary has no line number, but its items have their own line numbers.
                if line > 0 {
                    item.line = line;
                }
                self.items.say(item, takes_back);
            }
            Event::Call(action, quote) => {
                let segment = quote.map(|quote| numbers[quote]);
                self.items.begin(action, segment, line);
            }
            Event::Result(outcome, quotes) => {
                let Some((action, segment)) = self.items.end(&outcome, line) else { return };
                // The result only confirms the task list, which the summary contains anyway.
                if action.tasks.is_some() && outcome.error.is_none() {
                    self.index.hide(&numbers[quotes]);
                } else if let Some(segment) = segment {
                    let is_file = matches!(action.target, Target::File { .. });
                    let is_short = numbers[quotes.clone()].len() <= 1;
                    let is_told = action.target == Target::Command || !is_file && is_short;
                    if is_told || outcome.error.is_some() {
                        self.index.conclude(segment, &outcome, &numbers[quotes.clone()]);
                    }
                    self.index.answer(segment, &numbers[quotes], is_file);
                }
            }
            Event::LeftOut(counts) => self.left_out.extend(counts),
        }
    }

    /// Reads an earlier summary and adds it to the ledger.
    pub fn push_earlier(&mut self, text: &str) {
        self.absorb(0, Reading::of_earlier(text));
    }

    /// Adds to `counts` the number of items that earlier summaries left out or that exceeded the
    /// ledger's limits.
    pub fn add_left_out(&self, counts: &mut [(ItemKind, usize)]) {
        for (kind, count) in counts {
            let before = self.left_out.iter().filter(|(of, _)| of == kind);
            *count += before.map(|(_, count)| count).sum::<usize>();
            *count += self.items.crowded_out[*kind as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Message, Role, Zone};

    use super::{ItemKind, Ledger, Reading, State};
    use crate::ledger::fixtures::{answers, calls, says};

    fn ledger(messages: &[Message<'_>]) -> Ledger {
        let mut ledger = Ledger::default();
        for (line, message) in (1..).zip(messages) {
            ledger.push(line, message, Zone::Old);
        }
        ledger
    }

    fn found(ledger: &Ledger, kind: ItemKind) -> Vec<(&str, u64, State)> {
        let items = ledger.items.list.iter().filter(|item| item.kind == kind);
        items.map(|item| (item.text.as_str(), item.line, item.state)).collect()
    }

    #[test]
    fn the_template_of_a_command_is_not_the_users() {
        let template = format!("# Review\n{}\nAlways tag each finding.", "Look well. ".repeat(100));
        let command = "<command-message>r</command-message>\n<command-name>/r</command-name>";
        for (first, expected) in [(command, 0), ("Please begin.", 1)] {
            let ledger = ledger(&[says(Role::User, first), says(Role::User, &template)]);
            assert_eq!(found(&ledger, ItemKind::Constraint).len(), expected, "{first}");
            let open = ledger.index.segments.iter().filter(|it| !it.is_covered);
            let rules = open.filter(|it| it.kind == super::SegmentKind::ProjectRule).count();
            assert_eq!(rules, 1 - expected, "{first}");
        }
    }

    #[test]
    fn demands_in_files_of_rules_are_known() {
        let text = "# Rules\n- NEVER commit unless the user asks\n- The files are in src.";
        for (file, expected) in [("AGENTS.md", 1), ("notes.md", 0)] {
            let arguments = format!(r#"{{"file_path":"/w/{file}"}}"#);
            let call = calls("Read", &arguments);
            let ledger = ledger(&[says(Role::User, "Look."), call, answers(text)]);
            let segments = ledger.index.segments.iter();
            let rules = segments.filter(|it| it.kind == super::SegmentKind::ProjectRule).count();
            assert_eq!(rules, expected, "{file}");
        }
    }

    #[test]
    fn a_session_without_words_holds_nothing() {
        let ledger =
            ledger(&[Message::new(Role::User, vec![]), says(Role::Assistant, ""), answers("\n\n")]);
        assert!(ledger.items.list.is_empty() && ledger.index.identifiers().is_empty());
        assert_eq!((ledger.index.arena.len(), ledger.redacted), (0, 0));
        let mut counts = [(ItemKind::Ask, 0), (ItemKind::File, 2)];
        ledger.add_left_out(&mut counts);
        assert_eq!(counts, [(ItemKind::Ask, 0), (ItemKind::File, 2)]);
    }

    #[test]
    fn items_have_the_lines_of_their_records() {
        let ledger = ledger(&[
            says(Role::User, "Please fix the login of user_0017."),
            calls("Read", r#"{"path":"src/login.rs"}"#),
            answers("Error: no such file"),
            calls("Read", r#"{"path":"src/login.rs"}"#),
            answers("fn login() {}"),
        ]);
        let asks = found(&ledger, ItemKind::Ask);
        assert_eq!(asks.len(), 1);
        assert_eq!(asks[0].1, 1);
        assert_eq!(found(&ledger, ItemKind::File), [("src/login.rs", 2, State::Current)]);
        let errors = found(&ledger, ItemKind::Error);
        assert_eq!((errors[0].1, errors[0].2), (3, State::Done));
        let user = ledger.index.identifiers().into_iter().find(|id| id.text == "user_0017");
        assert_eq!(user.map(|user| user.line), Some(1));
    }

    #[test]
    fn a_list_of_tasks_is_items_and_nothing_of_it_is_quoted() {
        let list = r#"{"todos":[{"content":"fix user_0017","status":"completed"},{"content":"test src/login.rs","status":"in_progress"}]}"#;
        let ledger = ledger(&[
            calls("TodoWrite", list),
            answers("Todos have been modified, go on with src/login.rs."),
            calls("Read", r#"{"path":"src/login.rs"}"#),
        ]);
        assert_eq!(
            found(&ledger, ItemKind::Open),
            [("fix user_0017", 1, State::Done), ("test src/login.rs", 1, State::InProgress)]
        );
        let told = ledger.index.segments.iter();
        let told: Vec<u64> = told.filter(|it| !it.is_covered).map(|told| told.line).collect();
        assert_eq!(told, [3]);
    }

    #[test]
    fn a_message_that_is_kept_gives_no_items() {
        let mut ledger = Ledger::default();
        ledger.push(1, &says(Role::User, "Please fix user_0017."), Zone::Keep);
        assert!(ledger.items.list.is_empty() && ledger.index.segments.is_empty());
        // The identifier is known and covered.
        assert!(ledger.index.knows("user_0017"));
        assert!(ledger.index.coverage[0] > 0);
    }

    #[test]
    fn an_earlier_summary_is_read_back() {
        let mut ledger = Ledger::default();
        ledger.push_earlier(
            "## Asks\n- 修好登录 ⟦12⟧\n## Errors\n- Bash: make: exit code 2\n⟦left out: 2 asks, 1 files⟧",
        );
        assert_eq!(found(&ledger, ItemKind::Ask), [("修好登录", 12, State::Current)]);
        // Items that an earlier summary left out are counted again in the next summary.
        ledger.push_earlier("## Asks\n- more\n⟦left out: 3 asks⟧");
        let mut counts = [(ItemKind::Ask, 1), (ItemKind::File, 0), (ItemKind::Open, 0)];
        ledger.add_left_out(&mut counts);
        assert_eq!(counts, [(ItemKind::Ask, 6), (ItemKind::File, 1), (ItemKind::Open, 0)]);
        // A successful call repairs an error that the summary reports.
        ledger.push(20, &calls("Bash", r#"{"command":"make"}"#), Zone::Old);
        ledger.push(21, &answers("done"), Zone::Old);
        assert_eq!(found(&ledger, ItemKind::Error)[0].2, State::Done);
    }

    #[test]
    fn what_stays_is_told_and_no_news() {
        let mut ledger = ledger(&[says(Role::User, "the order W8123 was shipped")]);
        let before = ledger.index.identifiers().len();
        ledger.absorb(0, Reading::of_stay(&says(Role::User, "the order W8123 and W9999")));
        assert_eq!(ledger.index.identifiers().len(), before);
        assert!(ledger.index.coverage[0] > 0);
    }

    #[test]
    fn secrets_are_counted_over_all_messages() {
        let secret = ["sk-proj-", "aB3dE5gH7jK9mN1pQ2rS4tU6"].concat();
        let text = format!("the key is {secret}");
        let ledger = ledger(&[says(Role::User, &text), says(Role::Assistant, &text)]);
        assert_eq!(ledger.redacted, 2);
        assert!(!format!("{ledger:?}").contains(&secret));
    }
}
