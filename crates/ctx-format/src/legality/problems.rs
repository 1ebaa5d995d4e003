//! Finds violations of an API's rules in a sequence of messages.
//!
//! Even real sessions can have problems: an interrupted turn, for example, leaves a call without a
//! result. A tool that removes or changes records therefore compares the problems in its output
//! with those in its input, because it must not add new problems.

use super::rules::{Answer, OpenCall, Pairs, Results, Rules};
use crate::{Content, Outline, Role};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Display;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

/// The API rule that a problem violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Rule {
    /// A call has no result at a position that the API accepts.
    UnansweredCall,
    /// A result has no call that it could answer from its position.
    OrphanResult,
    /// Two calls in the same reply have the same id.
    RepeatedCallId,
    /// The first message is not from the user.
    UserFirst,
    /// A message has no content.
    EmptyMessage,
    /// A text block is empty or consists of whitespace.
    EmptyText,
    /// A text block in a result is empty or consists of whitespace.
    EmptyResultText,
    /// A list of calls is empty or null.
    EmptyCalls,
    /// There are too many calls in a reply.
    TooManyCalls,
    /// A part is one that only servers compatible with OpenAI's accept.
    UnofficialPart,
    /// An escape stands for half a character.
    LoneSurrogate,
    /// The id of a call or a result is too long or has a character that the API rejects.
    BadCallId,
    /// The name of a tool is too long or has a character that the API rejects.
    BadToolName,
    /// The name of a tool is missing or empty.
    EmptyToolName,
    /// The input of a call is not an object.
    BadInput,
    /// An image has a type that the API rejects, or another type than its data.
    BadImage,
    /// A block is in a message of the wrong role, or of the wrong type or place there.
    MisplacedBlock,
    /// There are too many marks for the end of a cached prefix.
    CacheMarks,
    /// A call that the API answers itself has no result in the reply.
    ServerCall,
    /// A result that the API added itself has no call in the reply.
    ServerResult,
    /// The result of a failed call has other content than texts.
    BadErrorResult,
    /// The result of a failed call has no text.
    EmptyErrorResult,
    /// Reasoning has no signature.
    UnsignedReasoning,
    /// A block has a member that the API rejects.
    ExtraMember,
    /// A system message within the conversation is not between a user message and a reply.
    MisplacedSystem,
    /// The id of an item does not look like the API's ids for items of this type.
    BadItemId,
    /// Two calls that the API answers itself have the same id.
    RepeatedServerId,
    /// Two items have the same id.
    RepeatedItemId,
    /// A result is of another type than its call needs.
    WrongResultType,
    /// No reply follows a reasoning item.
    LoneReasoning,
    /// A system message is not at the beginning.
    LateSystem,
    /// A user message follows a tool message.
    UserAfterTool,
    /// Two messages from the user, or two replies, follow each other.
    RepeatedRole,
    /// A reply with calls lacks the reasoning that other replies have.
    MissingReasoning,
}

impl Rule {
    /// Returns the rule with this name.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Returns true if a message violates the rule by its content, whatever the order of messages.
    pub fn is_of_content(self) -> bool {
        self > Self::UserFirst
    }
}

/// A violation of an API rule at a specific place in a session. Two problems are equal if their
/// lines, rules and ids are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Problem {
    /// The line number of the record in the source, starting at 1, or 0 if the record is not from
    /// the source.
    pub line: u64,
    /// The violated rule.
    pub rule: Rule,
    /// The id of the call or the result, or an empty string if the problem concerns neither.
    pub id: String,
}

impl Problem {
    /// Describes the problem in a few words.
    pub fn why(&self) -> String {
        let id = if self.id.is_empty() { "\"\"" } else { &self.id };
        let message = rule(self.rule.into()).map_or("", |rule| &rule.message);
        message.replace("{id}", id)
    }
}

/// Finds violations of an API's rules in a sequence of messages. Messages are added one at a time,
/// in file order.
///
/// An agent may send its messages in a different order; for example, a compaction at the end of the
/// file is sent first. A message therefore waits until all messages that precede it in the context
/// have been added.
#[derive(Clone, Default)]
pub struct Validator {
    /// The position, within the context, of the message to check next.
    next: u64,
    /// The waiting messages by their position in the context, each as a list of records with their
    /// line numbers.
    waiting: BTreeMap<u64, Vec<(u64, Outline<'static>)>>,
    rules: Rules,
    /// The model, if it is known.
    pub model: Option<String>,
    last_role: Option<Role>,
    /// Whether a reply has its reasoning.
    has_reasoning: bool,
    /// The lines of replies with calls but without reasoning.
    unreasoned: Vec<u64>,
    /// What is a problem only for some models, in a session of an unknown model.
    remarks: Vec<Problem>,
    /// The calls and results seen so far. A call is identified by the line number of its message.
    pairs: Pairs<u64>,
    begun: bool,
    /// The lines of the blocks that mark the end of a cached prefix.
    cache_marks: Vec<u64>,
    /// The open calls to server tools, with their lines.
    server_calls: Vec<(u64, String)>,
    /// The calls that the code of open calls makes, as their lines and the ids of the open calls.
    callers: Vec<(u64, String)>,
    /// Whether a system message may follow the last message.
    system_may_follow: bool,
    /// The lines of the system messages after the last message.
    systems: Vec<u64>,
    /// The line of the reasoning that the next item must continue.
    reasoning: Option<u64>,
    /// The ids of all items so far.
    item_ids: HashSet<String, RandomState>,
    /// The ids of calls that the model does not accept, which their results must give up, too.
    bad_ids: HashSet<String, RandomState>,
    /// The ids of the calls in the reply or, if ids must be unique, in the session so far.
    ids: HashSet<String, RandomState>,
    /// The type of result that the last call with each id needs, if the API compares the types.
    result_types: HashMap<String, &'static str, RandomState>,
    problems: Vec<Problem>,
}

impl Validator {
    /// Creates a validator for `rules`.
    pub fn new(rules: Rules) -> Self {
        Self { rules, pairs: Pairs::new(rules), ..Self::default() }
    }

    /// Adds the next message in the file, which begins on line `line` of the source.
    pub fn push(&mut self, line: u64, outline: &Outline<'_>) {
        let message = outline.fragment.map_or(0, |fragment| fragment.message);
        if message > self.next {
            let records = self.waiting.entry(message).or_default();
            records.push((line, outline.clone().into_owned()));
            return;
        }
        self.take(line, outline);
        while let Some(records) = self.waiting.remove(&self.next) {
            for (line, outline) in records {
                self.take(line, &outline);
            }
        }
    }

    /// Checks the next message in context order.
    fn take(&mut self, line: u64, outline: &Outline<'_>) {
        if let Some(fragment) = outline.fragment.filter(|fragment| fragment.ends) {
            self.next = self.next.max(fragment.message + 1);
        }
        if self.begun
            && outline.content.as_ref().is_some_and(|content| content.summary == Some(true))
        {
            self.add_demanded(line, Rule::MisplacedBlock, "");
        }
        if !self.begun && !outline.role.is_system() {
            self.begun = true;
            if !self.rules.may_begin_with(outline) {
                self.add(line, Rule::UserFirst, "");
            }
        }
        if let Some(Content { model: Some(model), .. }) = outline.content.as_deref() {
            self.model.get_or_insert_with(|| model.clone());
        }
        self.check_roles(line, outline.role);
        self.check_system(line, outline);
        let step = self.pairs.push(outline, |_| line);
        self.problems.extend(step.unanswered.iter().map(unanswered));
        let result_type = outline.content.as_ref().and_then(|content| content.result_type);
        for (id, call) in outline.results.iter().zip(step.answers) {
            if self.bad_ids.contains(&**id) {
                self.add(line, Rule::BadCallId, id);
            }
            if call == Answer::None {
                self.add(line, Rule::OrphanResult, id);
            } else if self.result_types.get(&**id).copied().or(result_type) != result_type {
                self.add_demanded(line, Rule::WrongResultType, id);
            }
        }
        if let Some(result_type) = result_type {
            let calls = outline.calls.iter().map(|id| (id.to_string(), result_type));
            self.result_types.extend(calls);
        }
        self.check_ids(line, outline);
        // The API answers its own calls after the results of the calls that their code makes. A
        // message of the user ends the reply, whose open calls can no longer get a result.
        if outline.role == Role::User && outline.has_content {
            for (line, id) in std::mem::take(&mut self.server_calls) {
                self.add_demanded(line, Rule::ServerCall, &id);
            }
            for (line, id) in std::mem::take(&mut self.callers) {
                self.add(line, Rule::ServerCall, &id);
            }
        }
        let reasoning = self.reasoning.take().filter(|_| outline.role != Role::Assistant);
        if let Some(line) = reasoning {
            self.add_demanded(line, Rule::LoneReasoning, "");
        }
        if let Some(content) = &outline.content {
            self.check_content(line, content);
        }
    }

    /// Checks that no two calls have the same id: calls in one reply or, if the API requires that,
    /// in the whole session.
    fn check_ids(&mut self, line: u64, outline: &Outline<'_>) {
        if !self.rules.keeps_ids(outline) {
            self.ids.clear();
        }
        // Ollama's calls have no ids, and are answered in order.
        for id in outline.calls.iter().filter(|id| !id.is_empty()) {
            if !self.ids.insert(id.to_string()) {
                self.add(line, Rule::RepeatedCallId, id);
            }
        }
        for id in outline.content.iter().flat_map(|content| &content.server_calls) {
            if !self.ids.insert(id.clone()) {
                self.add_demanded(line, Rule::RepeatedServerId, id);
            }
        }
    }

    fn check_roles(&mut self, line: u64, role: Role) {
        // System messages at the beginning may be apart from the sequence.
        let has_begun = self.begun || !self.rules.system_apart && self.last_role.is_some();
        let broken = match (self.last_role.replace(role), role) {
            (_, role) if role.is_system() => has_begun.then_some(Rule::LateSystem),
            (Some(Role::Tool), Role::User) => Some(Rule::UserAfterTool),
            (Some(last), role) if last == role && role != Role::Tool => Some(Rule::RepeatedRole),
            _ => None,
        };
        if let Some(broken) = broken {
            self.add_demanded(line, broken, "");
        }
    }

    /// Checks that each system message, except those at the beginning, follows a user message or
    /// the result of a server tool, and that a reply follows it.
    fn check_system(&mut self, line: u64, outline: &Outline<'_>) {
        if outline.role.is_system() {
            if self.system_may_follow {
                self.systems.push(line);
            } else if self.begun {
                self.add_demanded(line, Rule::MisplacedSystem, "");
            }
            return;
        }
        for system in std::mem::take(&mut self.systems) {
            if outline.role != Role::Assistant {
                self.add_demanded(system, Rule::MisplacedSystem, "");
            }
        }
        self.system_may_follow = outline.role == Role::User
            || outline.content.as_ref().is_some_and(|content| content.ends_with_result);
    }

    fn check_content(&mut self, line: u64, content: &Content) {
        for (fault, id) in &content.faults {
            self.add_demanded(line, *fault, id);
        }
        self.has_reasoning |= content.has_reasoning == Some(true);
        self.unreasoned.extend((content.has_reasoning == Some(false)).then_some(line));
        self.reasoning = content.is_reasoning.then_some(line);
        if let Some(id) = &content.item_id
            && !self.item_ids.insert(id.clone())
        {
            self.add_demanded(line, Rule::RepeatedItemId, id);
        }
        self.cache_marks.extend(std::iter::repeat_n(line, content.cache_marks));
        let open = content.server_calls[content.answered..].iter();
        self.server_calls.extend(open.map(|id| (line, id.clone())));
        self.callers.extend(content.callers.iter().map(|id| (line, id.clone())));
        for id in &content.server_results {
            match self.server_calls.iter().position(|(_, call)| call == id) {
                Some(at) => drop(self.server_calls.swap_remove(at)),
                None => self.add(line, Rule::ServerResult, id),
            }
            self.callers.retain(|(_, call)| call != id);
        }
    }

    /// Returns the problems of the whole sequence, sorted by line. A call without a result at the
    /// end of the session counts as a problem here.
    pub fn finish(self) -> Vec<Problem> {
        let (mut problems, open, _) = self.finish_with_open();
        problems.extend(open);
        problems.sort();
        problems
    }

    /// Like [`Self::finish`], but returns a second list with the problems of calls that may still
    /// get a result. If the agent is still running, calls in the last exchange may still get a
    /// result. A third list has what is a problem only for some models.
    pub fn finish_with_open(mut self) -> (Vec<Problem>, Vec<Problem>, Vec<Problem>) {
        // If messages are still waiting, an earlier message was removed or cannot be read.
        for (line, outline) in std::mem::take(&mut self.waiting).into_values().flatten() {
            self.take(line, &outline);
        }
        for line in std::mem::take(&mut self.unreasoned) {
            if self.has_reasoning {
                self.add_demanded(line, Rule::MissingReasoning, "");
            }
        }
        // The model may be known by now.
        for Problem { line, rule, id } in std::mem::take(&mut self.remarks) {
            self.add_demanded(line, rule, &id);
        }
        // The last marks are the useful ones.
        let excess =
            self.cache_marks.len().saturating_sub(self.rules.cache_marks.unwrap_or(usize::MAX));
        let mut lines: Vec<u64> = self.cache_marks[..excess].to_vec();
        lines.dedup();
        for line in lines {
            self.add(line, Rule::CacheMarks, "");
        }
        let (open, closed) = self.pairs.finish();
        self.problems.extend(closed.iter().map(unanswered));
        self.problems.sort();
        (self.problems, open.iter().map(unanswered).collect(), self.remarks)
    }

    /// Adds a violation of a rule that not every dialect or model has.
    fn add_demanded(&mut self, line: u64, broken: Rule, id: &str) {
        let rule = rule(broken.into());
        match rule.and_then(|it| it.is_problem_in(self.rules.dialect, self.model.as_deref())) {
            Some(true) => {
                // In the other formats, the results themselves have this fault.
                if broken == Rule::BadCallId && self.rules.results == Results::BehindReply {
                    self.bad_ids.insert(id.to_owned());
                }
                self.add(line, broken, id);
            }
            Some(false) => self.remarks.push(Problem { line, rule: broken, id: id.to_owned() }),
            None => {}
        }
    }

    fn add(&mut self, line: u64, rule: Rule, id: &str) {
        self.problems.push(Problem { line, rule, id: id.to_owned() });
    }
}

fn unanswered(waiting: &OpenCall<u64>) -> Problem {
    Problem { line: waiting.call, rule: Rule::UnansweredCall, id: waiting.id.to_string() }
}

/// A rule that a session can violate, with a description for reports.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct NamedRule {
    /// The name of the rule, as it appears in reports.
    pub name: &'static str,
    /// A short description of a violation of this rule.
    pub what: &'static str,
    /// The message about a violation in a session, if it violates a [`Rule`]. `{id}` stands for the
    /// id of the call, the result or the item.
    #[serde(default, borrow = "'static")]
    pub message: Cow<'static, str>,
    /// Whether a violation of the rule can count as a problem, rather than merely being reported.
    pub may_be_problem: bool,
    /// The APIs and agents that demand that the rule is kept.
    pub demands: Vec<Demand>,
}

/// The demand of an API or an agent's loader that a rule is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Demand {
    /// The dialects whose API or agent makes the demand.
    pub by: Vec<&'static str>,
    /// The form of the violation, if the demand concerns only this form.
    pub case: &'static str,
    /// When the demand began, if this is known.
    pub since: &'static str,
    /// The beginnings of the names of the models of which the rule is demanded, if not of all.
    pub models: Vec<&'static str>,
    /// What the API or the agent does if the rule is violated.
    #[serde(borrow = "'static")]
    pub does: Cow<'static, str>,
    /// What a violation is for `ctx-check`: `problem`, `warning`, `remark` or `no`, possibly with a
    /// reason.
    pub check: &'static str,
    /// What `ctx-check --repair` does.
    pub repair: &'static str,
    /// How the tools keep the rule in what they write.
    pub writes: &'static str,
    /// Where the demand is documented or was reported.
    pub source: &'static str,
}

impl NamedRule {
    /// Returns true if a violation of the rule is a problem in a session of this dialect and model.
    /// Returns false if it may be one because the model is unknown, and `None` if it is none.
    pub fn is_problem_in(&self, dialect: &str, model: Option<&str>) -> Option<bool> {
        let is_of = |it: &&Demand| it.by.contains(&dialect);
        let demands = self.demands.iter().filter(|it| it.check.starts_with("problem"));
        let verdict = |it: &Demand| match model {
            _ if it.models.is_empty() => Some(true),
            Some(model) => it.is_of(model).then_some(true),
            None => (it.check != "problem").then_some(false),
        };
        demands.filter(is_of).filter_map(verdict).max()
    }
}

impl Demand {
    /// Returns true if a word in the name of the model begins like a model of the demand. A vendor
    /// or a region may precede the name.
    fn is_of(&self, model: &str) -> bool {
        let name = model.to_ascii_lowercase().replace('.', "-");
        let begins = |at: usize| !name[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        self.models.iter().any(|of| name.match_indices(&**of).any(|(at, _)| begins(at)))
    }
}

/// All rules, in alphabetical order.
pub static RULES: LazyLock<Vec<NamedRule>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("rules.json")).expect("rules.json is valid")
});

/// Returns the rule with the given name; `None` if no rule has this name.
pub fn rule(name: &str) -> Option<&'static NamedRule> {
    RULES.iter().find(|rule| rule.name == name)
}

/// Writes a number with its noun. The noun is plural unless the number is 1, as in `1 line`, `2
/// entries`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        return format!("{number} {noun}");
    }
    let (stem, ending) = noun.strip_suffix('y').map_or((noun, "s"), |stem| (stem, "ies"));
    format!("{number} {stem}{ending}")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Rule, Validator};
    use crate::dialect::{Anthropic, Chat, Dialect};
    use crate::view::Fragment;
    use crate::{Object, Outline, Role};

    fn problems(dialect: &dyn Dialect, records: &[&str]) -> Vec<(u64, Rule, String)> {
        let mut validator = Validator::new(dialect.rules());
        for (line, text) in (1..).zip(records) {
            let object = Object::parse(text).expect("an object");
            validator.push(line, &dialect.outline(&object).expect("a message"));
        }
        let found = validator.finish();
        found.into_iter().map(|o| (o.line, o.rule, o.id)).collect()
    }

    fn calls(ids: &[&str]) -> String {
        let calls: Vec<_> = ids
            .iter()
            .map(|id| {
                format!(
                    r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":""}}}}"#
                )
            })
            .collect();
        format!(r#"{{"role":"assistant","tool_calls":[{}]}}"#, calls.join(","))
    }

    fn tool(id: &str) -> String {
        format!(r#"{{"role":"tool","tool_call_id":"{id}","content":""}}"#)
    }

    const USER: &str = r#"{"role":"user","content":"u"}"#;

    #[test]
    fn the_time_is_linear_in_the_calls_of_a_message() {
        let ids: Vec<String> = (0..100_000).map(|number| format!("call_{number}")).collect();
        let reply = Outline {
            role: Role::Assistant,
            calls: ids.iter().map(|id| id.as_str().into()).collect(),
            ..Outline::of_line()
        };
        let results = Outline {
            role: Role::Tool,
            results: ids.iter().rev().map(|id| id.as_str().into()).collect(),
            has_content: false,
            ..Outline::of_line()
        };
        let start = Instant::now();
        let mut validator = Validator::new(Chat.rules());
        validator.push(1, &reply);
        validator.push(2, &results);
        assert_eq!(validator.finish(), []);
        // A quadratic search through this many calls would take minutes.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }

    #[test]
    fn chat_wants_each_call_answered_at_once() {
        let (ab, a, b) = (calls(&["a", "b"]), tool("a"), tool("b"));
        assert_eq!(problems(&Chat, &[USER, &ab, &b, &a, USER]), []);
        assert_eq!(
            problems(&Chat, &[USER, &ab, &b, USER, &a]),
            [(2, Rule::UnansweredCall, "a".into()), (5, Rule::OrphanResult, "a".into())]
        );
        assert_eq!(problems(&Chat, &[&a]), [(1, Rule::OrphanResult, "a".into())]);
        assert_eq!(problems(&Chat, &[&ab, &a]), [(1, Rule::UnansweredCall, "b".into())]);
    }

    #[test]
    fn ids_may_come_again_in_the_next_reply_but_not_in_one() {
        let (call, result) = (calls(&["call_0"]), tool("call_0"));
        assert_eq!(problems(&Chat, &[&call, &result, &call, &result]), []);
        assert_eq!(
            problems(&Chat, &[&call, &result, &result]),
            [(3, Rule::OrphanResult, "call_0".into())]
        );
        let twice = calls(&["x", "x"]);
        let x = tool("x");
        assert_eq!(problems(&Chat, &[&twice, &x, &x]), [(1, Rule::RepeatedCallId, "x".into())]);
    }

    #[test]
    fn the_deprecated_function_call_pairs_by_place() {
        let call =
            r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#;
        let result = r#"{"role":"function","name":"f","content":"1"}"#;
        assert_eq!(problems(&Chat, &[call, result]), []);
        assert_eq!(problems(&Chat, &[result]), [(1, Rule::OrphanResult, String::new())]);
    }

    const USE: &str =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#;
    const RESULT: &str = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}"#;

    #[test]
    fn anthropic_wants_results_first_in_the_next_user_message() {
        assert_eq!(problems(&Anthropic, &[USER, USE, RESULT, USER]), []);
        assert_eq!(
            problems(&Anthropic, &[USER, USE, USER, RESULT]),
            [(2, Rule::UnansweredCall, "t".into()), (4, Rule::OrphanResult, "t".into())]
        );
        assert_eq!(problems(&Anthropic, &[USE, RESULT]), [(1, Rule::UserFirst, String::new())]);
        assert_eq!(problems(&Anthropic, &[USER, USE]), [(2, Rule::UnansweredCall, "t".into())]);
    }

    /// The number of problems, and the ids of calls that may still get a result.
    fn with_open(dialect: &dyn Dialect, records: &[&str]) -> (usize, Vec<String>) {
        let mut validator = Validator::new(dialect.rules());
        for (line, text) in (1..).zip(records) {
            let object = Object::parse(text).expect("an object");
            validator.push(line, &dialect.outline(&object).expect("a message"));
        }
        let (problems, open, _) = validator.finish_with_open();
        (problems.len(), open.into_iter().map(|o| o.id).collect())
    }

    #[test]
    fn calls_at_the_end_wait_until_something_else_follows() {
        let (ab, b) = (calls(&["a", "b"]), tool("b"));
        let a_waits = (0, vec!["a".to_owned()]);
        assert_eq!(with_open(&Chat, &[USER, &ab, &b]), a_waits);
        assert_eq!(with_open(&Chat, &[USER, &ab, &b, USER]), (1, vec![]));
        assert_eq!(with_open(&Chat, &[USER, &ab, &b, &b]).0, 1);
        let t_waits = (0, vec!["t".to_owned()]);
        assert_eq!(with_open(&Anthropic, &[USER, USE]), t_waits);
        assert_eq!(with_open(&Anthropic, &[USER, USE, USER]), (1, vec![]));
        assert_eq!(with_open(&Anthropic, &[USER, USE, RESULT]), (0, vec![]));
    }

    #[test]
    fn adjacent_messages_of_one_role_are_one() {
        let other = USE.replace("\"t\"", "\"s\"");
        let other_result = RESULT.replace("\"t\"", "\"s\"");
        assert_eq!(problems(&Anthropic, &[USER, USE, &other, RESULT, &other_result]), []);
    }

    /// The message that is sent first may be the last message in the file.
    #[test]
    fn messages_are_looked_at_in_the_order_in_which_they_are_sent() {
        let of = |order: [u64; 3]| {
            let mut validator = Validator::new(Chat.rules());
            for (line, (message, text)) in
                (1..).zip(order.into_iter().zip([USER, &calls(&["a"]), USER]))
            {
                let object = Object::parse(text).expect("an object");
                let outline = Outline {
                    fragment: Some(Fragment { message, begins: true, ends: true }),
                    ..Chat.outline(&object).expect("a message")
                };
                validator.push(line, &outline);
            }
            let (problems, open, _) = validator.finish_with_open();
            (problems.len(), open.len())
        };
        assert_eq!(of([0, 1, 2]), (1, 0));
        assert_eq!(of([1, 2, 0]), (0, 1));
        // Removed messages leave gaps in the numbering.
        assert_eq!(of([5, 7, 4]), (0, 1));
    }
}

#[cfg(test)]
mod table_tests {
    use super::{Demand, RULES, counted, rule};
    use crate::{Rule, UnreadRule};

    #[test]
    fn each_rule_is_listed_once_and_found_by_its_name() {
        assert!(RULES.is_sorted_by(|a, b| a.name < b.name));
        for demand in RULES.iter().flat_map(|rule| &rule.demands) {
            let Demand { by, does, check, source, .. } = demand;
            assert!(!by.is_empty() && ![&**does, check, source].contains(&""), "{demand:?}");
        }
        let of_pairs =
            [Rule::UnansweredCall, Rule::OrphanResult, Rule::RepeatedCallId, Rule::UserFirst];
        let unread = [UnreadRule::Role, UnreadRule::Item, UnreadRule::Part];
        let names = of_pairs.map(<&str>::from).into_iter();
        for name in names.chain(unread.map(<&str>::from)) {
            assert!(rule(name).is_some_and(|rule| rule.may_be_problem), "{name}");
        }
        assert!(rule("no-such-rule").is_none());
    }

    #[test]
    fn any_number_but_one_is_a_plural() {
        assert_eq!(counted(0_u64, "line"), "0 lines");
        assert_eq!(counted(1_usize, "line"), "1 line");
        assert_eq!(counted(2_u64, "entry"), "2 entries");
        assert_eq!(counted(1_u64, "entry"), "1 entry");
    }
}
