//! What pruning has to know of a message: enough to decide, and to say in tokens
//! what comes of it, without seeing the message again.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use ctx_transcript::{Call, Handle, Message, Object, Part, Role, ShortHash, ToolResult};

use super::errors::{first_chars, looks_like_error};
use super::files::FileUse;
use super::noise::without_escapes;
use super::policy::Policy;
use super::replace::{Replaceable, ShorterArguments, is_taken_out, parted};
use super::sparse::compact;
use super::verdict::Rule;
use crate::count::MessageCounter;
use crate::measure::result_bytes;

/// What is asked of every message.
#[derive(Clone, Copy)]
pub struct Questions<'p> {
    /// The rules that are to be decided.
    pub policy: &'p Policy,
    /// What counts the tokens.
    pub counter: MessageCounter,
    /// Whether the size of the whole session is asked for: then all is counted, else
    /// only what may change.
    pub size: bool,
}

/// One message.
#[derive(Clone, Debug)]
pub struct MessageFacts {
    /// Its calls, in their order.
    pub(super) calls: Vec<CallFacts>,
    /// Its results, in their order.
    pub(super) results: Vec<ResultFacts>,
    /// Its reasoning; only where the policy asks for it.
    pub(super) reasoning: Reasoning,
    /// The tokens of that.
    pub(super) reasoning_tokens: u64,
    /// Whether it is a reply that says nothing and calls nothing.
    pub(super) empty: bool,
    /// Whether it must stay as it is.
    pub(super) fixed: bool,
    /// Its tokens; 0 where nobody asks for them.
    pub(super) tokens: u64,
}

/// A call's id, which is only compared: hashed, since there may be as many as records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CallId(u64);

/// Whether a message holds reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reasoning {
    /// None.
    No,
    /// Beside other content.
    Some,
    /// And nothing else: without it the message is empty.
    Only,
}

/// A tool call.
#[derive(Clone, Debug)]
pub(super) struct CallFacts {
    pub(super) id: CallId,
    pub(super) tool: String,
    /// The file it reads or writes.
    pub(super) file: Option<FileUse>,
    /// What shortening its arguments comes to.
    pub(super) shorter: Option<ShorterArguments>,
}

/// A tool result.
#[derive(Clone, Debug)]
pub(super) struct ResultFacts {
    /// The call it answers.
    pub(super) id: CallId,
    /// The tool, where the record says so.
    pub(super) tool: Option<String>,
    /// Its text; `None` when it holds anything else, no text can take its place, or it is
    /// only a note or a reference to a file: all that is left of a text.
    pub(super) text: Option<TextFacts>,
    /// What it counts in its message: several texts not quite as they count as one.
    /// No tokens where nobody asks for them.
    pub(super) amount: Amount,
}

/// Tokens and bytes of a result's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) tokens: u32,
    pub(super) bytes: u32,
}

/// The text of a result.
#[derive(Clone, Debug)]
pub(super) struct TextFacts {
    pub(super) bytes: u64,
    /// Its tokens; 0 where nobody asks for them.
    pub(super) tokens: u64,
    /// Of the original, if this was shortened before; only where a note may refer to
    /// it or duplicates are looked for.
    pub(super) hash: ShortHash,
    /// The handle of the original, if this was shortened before.
    pub(super) earlier: Option<Handle>,
    /// Whether the tool seems to have failed.
    pub(super) failed: bool,
    /// What trimming and taking out noise comes to, where that makes it smaller.
    pub(super) reduced: Option<Reduced>,
}

/// A text trimmed, or without noise, and with its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reduced {
    pub(super) rule: Rule,
    pub(super) amount: Amount,
}

impl MessageFacts {
    /// Its tokens, where the size was asked for.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Of a message and the object it was read from. `fixed` when it must stay as it is:
    /// a selector pins it, or its zone is not the one to be pruned.
    pub fn of(
        message: &Message<'_>,
        object: &Object<'_>,
        fixed: bool,
        questions: &Questions<'_>,
    ) -> Self {
        let policy = questions.policy;
        let stays = fixed || message.role.is_system();
        let results: Vec<ResultFacts> = message
            .results()
            .map(|result| ResultFacts::of(result, stays, questions))
            .collect();
        let (reasoning, reasoning_tokens) = if policy.drops(Rule::Reasoning) {
            Reasoning::of(message, object, &questions.counter)
        } else {
            (Reasoning::No, 0)
        };
        let empty = message.role == Role::Assistant && message.parts.iter().all(is_blank);
        let may_go = policy.window_messages.is_some()
            || (empty && policy.drops(Rule::Empty))
            || reasoning == Reasoning::Only;
        let tokens = if questions.size {
            tokens_beside_results(message, &questions.counter)
                + results
                    .iter()
                    .map(|result| u64::from(result.amount.tokens))
                    .sum::<u64>()
        } else if may_go {
            questions.counter.message(message).total()
        } else {
            0
        };
        Self {
            calls: message
                .calls()
                .map(|call| CallFacts::of(call, stays, questions))
                .collect(),
            results,
            reasoning,
            reasoning_tokens,
            empty,
            fixed,
            tokens,
        }
    }
}

fn tokens_beside_results(message: &Message<'_>, counter: &MessageCounter) -> u64 {
    let others = message.parts.iter();
    let others = others.filter(|part| !matches!(part, Part::Result(_)));
    let others: u64 = others.map(|part| counter.part(part).total()).sum();
    counter.frame(message).total() + others
}

fn is_blank(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) if text.trim().is_empty())
}

impl Reasoning {
    /// Of a message, with its tokens.
    fn of(message: &Message<'_>, object: &Object<'_>, counter: &MessageCounter) -> (Self, u64) {
        if message.reasoning.is_empty() {
            return (Self::No, 0);
        }
        let is_cut = |part: &&Part<'_>| message.is_cut_as_reasoning(part, object);
        let (cut, left): (Vec<_>, Vec<_>) = message.parts.iter().partition(is_cut);
        let tokens = cut.into_iter().map(|part| counter.part(part).total()).sum();
        if left.into_iter().all(is_blank) {
            (Self::Only, tokens)
        } else {
            (Self::Some, tokens)
        }
    }
}

impl CallId {
    /// Formats without ids have one for all calls: a result answers the latest.
    fn of(id: Option<&str>) -> Self {
        let mut hasher = DefaultHasher::new();
        id.unwrap_or_default().hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl CallFacts {
    fn of(call: &Call<'_>, stays: bool, questions: &Questions<'_>) -> Self {
        let Questions {
            policy, counter, ..
        } = questions;
        let shorter = || policy.shorter_arguments(&call.arguments, counter);
        Self {
            id: CallId::of(call.id.as_deref()),
            tool: call.name.clone().into_owned(),
            file: FileUse::of(&call.name, &call.arguments),
            shorter: if stays { None } else { shorter() },
        }
    }
}

impl ResultFacts {
    fn of(result: &ToolResult<'_>, stays: bool, questions: &Questions<'_>) -> Self {
        let text = result.text().filter(|_| result.slot.is_some());
        let text = text.filter(|text| !is_taken_out(text, &questions.policy.references));
        let text = text.map(|text| TextFacts::of(&text, result.is_error, stays, questions));
        let tokens = match (&text, result.parts.as_slice()) {
            _ if !questions.size => 0,
            (Some(text), [Part::Text(_)]) => text.tokens,
            _ => questions.counter.result(result).total(),
        };
        Self {
            id: CallId::of(result.id.as_deref()),
            tool: result.name.clone().map(Cow::into_owned),
            text,
            amount: Amount::of(tokens, result_bytes(result)),
        }
    }
}

impl Amount {
    fn of(tokens: u64, bytes: u64) -> Self {
        Self {
            tokens: compact(tokens),
            bytes: compact(bytes),
        }
    }
}

impl TextFacts {
    fn of(text: &str, is_error: bool, stays: bool, questions: &Questions<'_>) -> Self {
        let Questions {
            policy,
            counter,
            size,
        } = questions;
        let (body, earlier) = parted(text);
        let bytes = text.len() as u64;
        let noted = !stays && policy.leaves_notes();
        let short = || policy.reduced(body, earlier.is_some());
        let short = if stays { None } else { short() };
        let counted = *size || noted || short.is_some();
        let tokens = if counted { counter.text(text) } else { 0 };
        let hashed = policy.drops(Rule::Duplicates) || noted || short.is_some();
        let hash = match earlier {
            Some(handle) => handle.hash,
            None if hashed => ShortHash::of(text),
            None => ShortHash::default(),
        };
        let this = Replaceable {
            bytes,
            tokens,
            handle: earlier.unwrap_or(Handle {
                hash,
                bytes,
                tokens,
            }),
        };
        let reduced = short.and_then(|(rule, short)| {
            let new = this.by(&short, counter)?;
            Some(Reduced {
                rule,
                amount: Amount::of(new.tokens, new.text.len() as u64),
            })
        });
        Self {
            bytes,
            tokens,
            hash,
            earlier,
            failed: is_error
                || (this.handle.bytes < longest_error(policy) && begins_with_error(text)),
            reduced,
        }
    }
}

/// What a failed tool says is short; what is trimmed does not count, so that the
/// answer is the same before and after.
fn longest_error(policy: &Policy) -> u64 {
    policy
        .trim
        .as_ref()
        .map_or(1_000, |trim| trim.max_chars.min(1_000) as u64)
}

fn begins_with_error(text: &str) -> bool {
    let text = without_escapes(text);
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.is_some_and(|line| looks_like_error(first_chars(line, 200)))
}

#[cfg(test)]
mod tests {
    use ctx_tokens::Encoding;
    use ctx_transcript::{Dialect, Object, ShortHash, dialect};

    use super::{MessageFacts, Questions, TextFacts};
    use crate::count::MessageCounter;
    use crate::prune::{Policy, Rule, Trim};

    fn facts(policy: &Policy, size: bool, line: &str) -> MessageFacts {
        let object = Object::parse(line).expect("an object");
        let chat: &dyn Dialect = dialect::by_name("chat").expect("chat");
        let message = chat.message(&object).expect("a message");
        let counter = MessageCounter::new(Encoding::O200kBase);
        let questions = Questions {
            policy,
            counter,
            size,
        };
        MessageFacts::of(&message, &object, false, &questions)
    }

    fn text(policy: &Policy, size: bool, text: &str) -> TextFacts {
        let line = format!(r#"{{"role":"tool","tool_call_id":"c","content":{text:?}}}"#);
        let facts = facts(policy, size, &line);
        let result = facts.results.into_iter().next().expect("a result");
        result.text.expect("a text")
    }

    #[test]
    fn only_what_is_asked_for_is_counted() {
        let nothing = Policy::default();
        let none = text(&nothing, false, "a b c");
        assert_eq!((none.tokens, none.hash), (0, ShortHash::default()));
        let size = text(&nothing, true, "a b c");
        assert_eq!((size.tokens, size.hash), (3, ShortHash::default()));
        let clear = Policy {
            clear: Some("[gone]".to_owned()),
            ..Policy::default()
        };
        let clear = text(&clear, false, "a b c");
        assert_eq!((clear.tokens, clear.hash), (3, ShortHash::of("a b c")));
        let trim = Policy {
            trim: Some(Trim::default()),
            ..Policy::default()
        };
        let short = text(&trim, false, "a b c");
        assert_eq!((short.tokens, short.reduced), (0, None));
        let words = "word ".repeat(3_000);
        let long = text(&trim, false, &words);
        let reduced = long.reduced.expect("it is long");
        assert_eq!(
            (reduced.rule, long.hash),
            (Rule::Trim, ShortHash::of(&words))
        );
        assert!(u64::from(reduced.amount.tokens) < long.tokens);
    }

    #[test]
    fn a_text_shortened_before_is_known_by_its_handle() {
        let clear = Policy {
            clear: Some("[gone]".to_owned()),
            ..Policy::default()
        };
        let handle = "⟦ctx:ba7816bf8f01 900 bytes 300 tokens⟧";
        let trimmed = text(&clear, false, &format!("a\nb\n{handle}"));
        let earlier = trimmed.earlier.expect("a handle");
        assert_eq!(earlier.to_string(), handle);
        assert_eq!((trimmed.hash, trimmed.bytes), (earlier.hash, 47));
    }

    #[test]
    fn several_texts_count_one_by_one_in_their_message() {
        let line = r#"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"ab"},{"type":"text","text":"cd"}]}"#;
        let facts = facts(&Policy::default(), true, line);
        let result = &facts.results[0];
        assert_eq!((result.amount.tokens, result.amount.bytes), (2, 4));
        let text = result.text.as_ref().expect("a text");
        assert_eq!((text.tokens, text.bytes), (3, 5));
        assert_eq!(facts.tokens, 4 + 2);
    }

    #[test]
    fn tokens_of_a_message_that_may_go_are_counted() {
        let tokens = |policy, line| facts(&policy, false, line).tokens;
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
