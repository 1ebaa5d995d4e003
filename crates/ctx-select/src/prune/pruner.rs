//! Reads what pruning has to know of each record: enough to decide, and to say in
//! tokens what comes of it, without seeing the record again.

use std::borrow::Cow;

use ctx_transcript::{Call, Handle, Message, Object, Outline, Part, ShortHash, ToolResult};

use super::files::FileUse;
use super::policy::{Policy, Questions};
use super::reduce::{begins_with_error, reduced};
use super::rule::Rule;
use super::session::{Amount, Answer, Called, Change, Reasoning, Said, Session, compact};
use super::shorter::{Replaceable, is_taken_out, parted};
use super::verdicts::Verdicts;
use crate::called::{Found, Latest, called_on, tool_of};
use crate::count::ByKind;
use crate::measure::result_bytes;
use crate::split::ExchangeFinder;

/// Takes the records of a session and decides at the end.
pub struct Pruner<'p> {
    questions: Questions<'p>,
    session: Session,
    calls: Latest<Called>,
    /// Where a window is asked for: it cuts no exchange.
    exchanges: Option<ExchangeFinder>,
}

impl<'p> Pruner<'p> {
    /// Nothing seen yet.
    pub fn new(questions: Questions<'p>) -> Self {
        let window = questions.policy.window_messages;
        Self {
            questions,
            session: Session::default(),
            calls: Latest::default(),
            exchanges: window.map(|_| ExchangeFinder::default()),
        }
    }

    /// The next record is a message, read from `object`. `fixed` when it must stay as it
    /// is: a selector pins it, or its zone is not the one to be pruned. Returns its
    /// tokens, where the size is asked for.
    pub fn message(
        &mut self,
        outline: &Outline<'_>,
        message: &Message<'_>,
        object: &Object<'_>,
        fixed: bool,
    ) -> u64 {
        self.group(Some(outline));
        let (policy, counter) = (self.questions.policy, &self.questions.counter);
        let record = self.session.records.len();
        if policy.drops(Rule::Reasoning) && !message.reasoning.is_empty() {
            let reasoning = Reasoning::of(message, object, counter);
            self.session.reasoning.insert(record, reasoning);
        }
        let stays = fixed || message.role.is_system();
        // Before the results: in some formats a record answers its own calls.
        for call in message.calls() {
            self.call(record, call, fixed, stays);
        }
        let results = message.results().map(|result| self.result(result, stays));
        let results = results.sum();
        let said = Said::of(outline, message, fixed);
        let tokens = self.tokens(record, message, said, results);
        self.session.add_message(Said {
            tokens: compact(tokens),
            ..said
        });
        tokens
    }

    /// The next record is a line that is no message.
    pub fn line(&mut self) {
        self.group(None);
        self.session.add_line(false);
    }

    /// The next record is a last line in the writing.
    pub fn tail(&mut self) {
        self.group(None);
        self.session.add_line(true);
    }

    /// The verdicts on all records.
    pub fn finish(mut self) -> Verdicts<'p> {
        if let Some(exchanges) = self.exchanges.take() {
            let joined = exchanges.finish();
            for exchange in &mut self.session.exchanges {
                *exchange = compact(joined.first_of((*exchange).into()));
            }
        }
        Verdicts::new(self.session, self.questions)
    }

    /// The exchange of the next record, where somebody asks for it.
    fn group(&mut self, outline: Option<&Outline<'_>>) {
        if let Some(exchanges) = &mut self.exchanges {
            let number = self.session.records.len() as u64 + 1;
            let exchange = outline.and_then(|outline| exchanges.push(number, outline));
            self.session.exchanges.push(compact(exchange.unwrap_or(0)));
        }
    }

    fn call(&mut self, record: usize, call: &Call<'_>, fixed: bool, stays: bool) {
        let (policy, counter) = (self.questions.policy, &self.questions.counter);
        let mut name = String::new();
        let mut file = None;
        if policy.leaves_handles() {
            let object = Object::parse(&call.arguments).ok();
            let used = |object| FileUse::of_object(&call.name, object);
            file = object.as_ref().and_then(used);
            name = called_on(&call.name, &call.arguments, object.as_ref(), file.as_ref());
        }
        let file = file.filter(|_| policy.drops(Rule::Superseded));
        let tool = call.name.clone().into_owned();
        let called = self.session.called(Some(tool), file, &name, fixed);
        self.calls.insert(call.id.as_deref(), called);
        if !stays && let Some(new) = policy.shorter_arguments(&call.arguments, counter) {
            self.session.arguments.last(record).push(new.freed);
        }
    }

    /// A result of the next record; returns its tokens, where the size is asked for.
    fn result(&mut self, result: &ToolResult<'_>, stays: bool) -> u64 {
        let Questions {
            policy,
            counter,
            size,
        } = self.questions;
        let number = self.session.answers.len();
        let mut unknown = |fixed| {
            let tool = result.name.clone().map(Cow::into_owned);
            let name = tool.as_deref().filter(|_| policy.leaves_handles());
            let name = name.map(tool_of).unwrap_or_default();
            self.session.called(tool, None, &name, fixed)
        };
        let called = match self.calls.find(result.id.as_deref()) {
            Found::Call(called) => *called,
            Found::None => unknown(false),
            // It may have been of a tool, or in a place, that protects it.
            Found::Forgotten => unknown(true),
        };
        // Not where it holds anything else, no text can take its place, or it is only a
        // note or a reference to a file: all that is left of a text.
        let text = result.text().filter(|_| result.slot.is_some());
        let text = text.filter(|text| !is_taken_out(text, &policy.references));
        let in_message = || {
            let tokens = || counter.result(result).total();
            Amount::of(if size { tokens() } else { 0 }, result_bytes(result))
        };
        let answer = match text {
            Some(text) => {
                if result.parts.len() > 1 {
                    self.session.several.insert(number, in_message());
                }
                self.text(called, &text, result.is_error, stays)
            }
            None => Answer {
                hash: ShortHash::default(),
                is_text: false,
                failed: false,
                called,
                amount: in_message(),
            },
        };
        self.session.answers.push(answer);
        self.session.amount(number).tokens.into()
    }

    /// The next answer, that holds nothing but `text`.
    fn text(&mut self, called: Called, text: &str, is_error: bool, stays: bool) -> Answer {
        let Questions {
            policy,
            counter,
            size,
        } = self.questions;
        let number = self.session.answers.len();
        let (body, earlier) = parted(text);
        let short = || reduced(policy, body, earlier.is_some());
        let short = (!stays).then(short).flatten();
        let may_change = short.is_some() || (!stays && policy.leaves_notes());
        let tokens = if size || may_change {
            counter.text(text)
        } else {
            0
        };
        let bytes = text.len() as u64;
        let hash = match &earlier {
            Some(earlier) => earlier.hash,
            None if may_change || policy.drops(Rule::Duplicates) => ShortHash::of(text),
            None => ShortHash::default(),
        };
        let original = earlier.as_ref().map_or(bytes, |earlier| earlier.bytes);
        if let Some((rule, short)) = short {
            let name = || self.session.name(called);
            let handle = earlier
                .clone()
                .unwrap_or_else(|| Handle::new(hash, bytes, name(), policy.saved));
            let this = Replaceable { bytes, tokens };
            let reduced = this.by(&short, &handle, &counter).map(|new| Change {
                rule,
                note: None,
                amount: Amount::of(new.tokens, new.text.len() as u64),
            });
            if let Some(reduced) = reduced {
                self.session.reduced.insert(number, reduced);
            }
        }
        if let Some(earlier) = earlier {
            self.session.earlier.insert(number, earlier);
        }
        Answer {
            hash,
            is_text: true,
            failed: is_error || (original < longest_error(policy) && begins_with_error(text)),
            called,
            amount: Amount::of(tokens, bytes),
        }
    }

    /// The tokens of a message, and of its `results`; 0 where nobody asks for them.
    fn tokens(&self, record: usize, message: &Message<'_>, said: Said, results: u64) -> u64 {
        let (policy, counter) = (self.questions.policy, &self.questions.counter);
        if self.questions.size {
            let others = counter.message_of(message, |part| match part {
                Part::Result(_) => ByKind::default(),
                _ => counter.part(part),
            });
            return others.total() + results;
        }
        let reasoning = self.session.reasoning.get(record);
        let may_go = policy.window_messages.is_some()
            || (said.empty && policy.drops(Rule::Empty))
            || reasoning.is_some_and(|reasoning| reasoning.is_all);
        if may_go {
            counter.message(message).total()
        } else {
            0
        }
    }
}

/// What a failed tool says is short; what is trimmed does not count, so that the
/// answer is the same before and after.
fn longest_error(policy: &Policy) -> u64 {
    const BYTES: usize = 1_000;
    let trim = policy.trim.as_ref();
    trim.map_or(BYTES, |trim| trim.max_chars.min(BYTES)) as u64
}

#[cfg(test)]
mod tests {
    use ctx_tokens::Encoding;
    use ctx_transcript::{Dialect, Object, ShortHash, dialect};

    use crate::count::MessageCounter;
    use crate::prune::session::{Answer, Session};
    use crate::prune::{Policy, Pruner, Questions, Rule, Trim};

    /// What is known of a session of one record.
    fn facts(policy: &Policy, size: bool, line: &str) -> Session {
        let object = Object::parse(line).expect("an object");
        let chat: &dyn Dialect = dialect::by_name("chat").expect("chat");
        let outline = chat.outline(&object).expect("a message");
        let message = chat.message(&object).expect("a message");
        let counter = MessageCounter::new(Encoding::O200kBase);
        let questions = Questions {
            policy,
            counter,
            size,
        };
        let mut pruner = Pruner::new(questions);
        pruner.message(&outline, &message, &object, false);
        pruner.session
    }

    /// What is known of a session of one result.
    fn text(policy: &Policy, size: bool, text: &str) -> (Session, Answer) {
        let line = format!(r#"{{"role":"tool","tool_call_id":"c","content":{text:?}}}"#);
        let facts = facts(policy, size, &line);
        let answer = facts.answers[0];
        assert!(answer.is_text);
        (facts, answer)
    }

    #[test]
    fn only_what_is_asked_for_is_counted() {
        let nothing = Policy::default();
        let counted = |policy, size| {
            let (_, text) = text(policy, size, "a b c");
            (text.amount.tokens, text.hash)
        };
        assert_eq!(counted(&nothing, false), (0, ShortHash::default()));
        assert_eq!(counted(&nothing, true), (3, ShortHash::default()));
        let clear = Policy {
            clear: Some("[gone]".to_owned()),
            ..Policy::default()
        };
        assert_eq!(counted(&clear, false), (3, ShortHash::of("a b c")));
        let trim = Policy {
            trim: Some(Trim::default()),
            ..Policy::default()
        };
        let (facts, short) = text(&trim, false, "a b c");
        assert_eq!((short.amount.tokens, facts.reduced.get(0)), (0, None));
        let words = "word ".repeat(3_000);
        let (facts, long) = text(&trim, false, &words);
        let reduced = *facts.reduced.get(0).expect("it is trimmed");
        assert_eq!(
            (reduced.rule, long.hash),
            (Rule::Trim, ShortHash::of(&words))
        );
        assert!(reduced.amount.tokens < long.amount.tokens);
    }

    #[test]
    fn a_text_shortened_before_is_known_by_its_handle() {
        let clear = Policy {
            clear: Some("[gone]".to_owned()),
            ..Policy::default()
        };
        let handle = "⟦ctx:ba7816bf8f01 900 bytes 300 tokens⟧";
        let (facts, trimmed) = text(&clear, false, &format!("a\nb\n{handle}"));
        let earlier = facts.earlier.get(0).expect("it has a handle");
        assert_eq!(earlier.to_string(), handle);
        assert_eq!((trimmed.hash, trimmed.amount.bytes), (earlier.hash, 47));
    }

    #[test]
    fn several_texts_count_one_by_one_in_their_message() {
        let line = r#"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"ab"},{"type":"text","text":"cd"}]}"#;
        let facts = facts(&Policy::default(), true, line);
        let in_message = facts.amount(0);
        assert_eq!((in_message.tokens, in_message.bytes), (2, 4));
        assert!(facts.answers[0].is_text);
        let text = facts.text(0);
        assert_eq!((text.tokens, text.bytes), (3, 5));
        assert_eq!(facts.said(0).expect("a message").tokens, 4 + 2);
    }

    #[test]
    fn tokens_of_a_message_that_may_go_are_counted() {
        let tokens = |policy, line| {
            let facts = facts(&policy, false, line);
            facts.said(0).expect("a message").tokens
        };
        let said = r#"{"role":"assistant","content":"a b"}"#;
        let empty = r#"{"role":"assistant","content":""}"#;
        let drops = || Policy {
            drop: vec![Rule::Empty],
            ..Policy::default()
        };
        assert_eq!((tokens(drops(), said), tokens(drops(), empty)), (0, 4));
        let window = Policy {
            window_messages: Some(1),
            ..Policy::default()
        };
        assert_eq!(tokens(window, said), 6);
    }
}
