//! Gathers facts about each record, so that decisions can be made and their effects computed
//! without reading the records again.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ctx_format::files::FileUse;
use ctx_format::{Call, Handle, Message, Object, Outline, Part, ShortHash, ToolResult};
use ctx_policy::Rule;

use super::facts::{
    CallFacts, Facts, Image, Reasoning, RecordFacts, Replacement, ResultFacts, TextSize,
};
use super::rules::dropping_rule;
use super::shorten::{begins_with_error, shorten, shorten_arguments};
use super::{Options, Verdicts};
use crate::calls::{FoundCall, Latest, called_on, tool_of};
use crate::message_counter::{ByKind, MessageCounter, result_bytes, saturating_u32};
use crate::placeholder::{is_placeholder, split_handle};
use crate::zones::ExchangeFinder;

/// Takes the records of a session, and decides what to prune at the end.
pub struct Pruner<'p> {
    options: &'p Options,
    counter: MessageCounter,
    count_all: bool,
    pub(super) facts: Facts,
    calls: Latest<CallFacts>,
    /// For each text, the index of the first result with that text. The key is a hash that is
    /// faster to compute than the hash in handles.
    first_with: HashMap<u64, usize>,
    /// The original lengths, in bytes, of the texts shortened by an earlier run.
    originals: HashSet<u64>,
    /// If there is a window, finds exchanges, because a window never splits an exchange.
    exchanges: Option<ExchangeFinder>,
}

impl<'p> Pruner<'p> {
    /// Creates a pruner. If `count_all` is set, the tokens of all messages are counted, so that the
    /// size of the session is known at the end. Without `count_all`, only messages that may change
    /// are counted.
    pub fn new(options: &'p Options, counter: MessageCounter, count_all: bool) -> Self {
        Self {
            options,
            counter,
            count_all,
            facts: Facts::default(),
            calls: Latest::default(),
            first_with: HashMap::new(),
            originals: HashSet::new(),
            exchanges: options.window_messages.map(|_| ExchangeFinder::default()),
        }
    }

    /// Gathers the facts about a message that was read from `object`. If `is_fixed` is set, the
    /// message must stay unchanged. Returns the message's token count if all messages are counted.
    pub fn message(
        &mut self,
        outline: &Outline<'_>,
        message: &Message<'_>,
        object: &Object<'_>,
        is_fixed: bool,
    ) -> u64 {
        self.add_exchange(Some(outline));
        let index = self.facts.records.len();
        if self.options.drops(Rule::Reasoning) && !message.reasoning.is_empty() {
            let reasoning = Reasoning::of(message, object, &self.counter);
            self.facts.reasoning.insert(index, reasoning);
        }
        let stays = is_fixed || message.role.is_system();
        if self.options.drops(Rule::Images) && !stays {
            let images = Image::all_of(message, object, self.options.saved, &self.counter);
            if !images.is_empty() {
                self.facts.images.insert(index, images);
            }
        }
        // In some formats, a record can have both a call and its result.
        for call in message.calls() {
            self.add_call(index, call, is_fixed, stays);
        }
        let mut results = 0;
        for result in message.results() {
            results += self.add_result(result, stays);
        }
        let record = RecordFacts::of_message(outline, message, is_fixed);
        let tokens = self.tokens(index, message, &record, results);
        self.facts.add_record(RecordFacts { tokens: saturating_u32(tokens), ..record });
        tokens
    }

    /// Handles a record that is not a message, such as an incomplete last line.
    pub fn line(&mut self, is_tail: bool) {
        self.add_exchange(None);
        self.facts.add_record(RecordFacts { is_tail, ..RecordFacts::default() });
    }

    /// Decides what happens to each record.
    pub fn finish(mut self) -> Verdicts<'p> {
        if let Some(exchanges) = self.exchanges.take() {
            let joined = exchanges.finish();
            for exchange in &mut self.facts.exchanges {
                *exchange = saturating_u32(joined.first_of((*exchange).into()));
            }
        }
        Verdicts::new(self.facts, self.options, self.counter, self.count_all)
    }

    fn add_exchange(&mut self, outline: Option<&Outline<'_>>) {
        if let Some(exchanges) = &mut self.exchanges {
            let number = self.facts.records.len() as u64 + 1;
            let exchange = outline.and_then(|outline| exchanges.push(number, outline));
            self.facts.exchanges.push(saturating_u32(exchange.unwrap_or(0)));
        }
    }

    fn add_call(&mut self, record: usize, call: &Call<'_>, is_fixed: bool, stays: bool) {
        let mut name = String::new();
        let mut file = None;
        if self.options.leaves_handles() {
            let object = Object::parse(&call.arguments).ok();
            file = object.as_ref().and_then(|object| FileUse::of_object(&call.name, object));
            name = called_on(&call.name, &call.arguments, object.as_ref(), file.as_ref());
        }
        if !self.options.drops(Rule::Superseded) {
            file = None;
        }
        let tool = call.name.clone().into_owned();
        let facts = self.facts.add_call(Some(tool), file, &name, is_fixed);
        self.calls.insert(call.id.as_deref(), facts);
        if !stays
            && let Some(max_chars) = self.options.argument_chars
            && let Some(new) =
                shorten_arguments(&call.arguments, max_chars, self.options.saved, &self.counter)
        {
            self.facts.arguments.entry(record).or_default().push(new.freed);
        }
    }

    /// Gathers the facts about a tool result. Returns the token count of the result if all messages
    /// are counted.
    fn add_result(&mut self, result: &ToolResult<'_>, stays: bool) -> u64 {
        let index = self.facts.results.len();
        let call = match self.calls.find(result.id.as_deref()) {
            FoundCall::Call(call) => *call,
            FoundCall::None => self.unknown_call(result, false),
            // The call has been forgotten and may have been pinned, so its result stays.
            FoundCall::Forgotten => self.unknown_call(result, true),
        };
        // A result stays if it contains anything other than text, if its text cannot be replaced,
        // or if it has already been replaced.
        let text = result.text().filter(|text| {
            result.slot.is_some() && !is_placeholder(text, &self.options.references)
        });
        let size_in_message = |pruner: &Self| {
            let tokens = if pruner.count_all { pruner.counter.result(result).total() } else { 0 };
            TextSize::new(tokens, result_bytes(result))
        };
        let facts = match text {
            Some(text) => {
                if result.parts.len() > 1 {
                    self.facts.sizes_in_message.insert(index, size_in_message(self));
                }
                self.add_text(call, &text, result.is_error, stays)
            }
            None => ResultFacts { call, size: size_in_message(self), ..ResultFacts::default() },
        };
        self.facts.results.push(facts);
        self.facts.size_in_message(index).tokens.into()
    }

    fn unknown_call(&mut self, result: &ToolResult<'_>, is_fixed: bool) -> CallFacts {
        let tool = result.name.clone().map(Cow::into_owned);
        let name = tool.as_ref().filter(|_| self.options.leaves_handles());
        let name = name.map(|tool| tool_of(tool)).unwrap_or_default();
        self.facts.add_call(tool, None, &name, is_fixed)
    }

    /// Returns the facts about a result that consists only of text. If the text can be shortened,
    /// the shortened version is stored as well.
    fn add_text(
        &mut self,
        call: CallFacts,
        text: &str,
        is_error: bool,
        stays: bool,
    ) -> ResultFacts {
        let (options, counter) = (self.options, self.counter);
        let index = self.facts.results.len();
        let (body, earlier) = split_handle(text);
        let shorter = if stays { None } else { shorten(options, body, earlier.is_some()) };
        let may_change = shorter.is_some() || (!stays && options.leaves_notes());
        let tokens = if self.count_all || may_change { counter.text(text) } else { 0 };
        let bytes = text.len() as u64;
        let size = TextSize::new(tokens, bytes);
        let is_named =
            shorter.is_some() || !stays && (options.clear.is_some() || self.facts.reads_file(call));
        let known = earlier.as_ref().map(|earlier| earlier.hash);
        let hash = known.or_else(|| self.hash(text, is_named));
        let original_bytes = earlier.as_ref().map_or(bytes, |earlier| earlier.bytes);
        if let Some((rule, shorter)) = shorter {
            let hash = hash.unwrap_or_default();
            let new_handle = || Handle::new(hash, bytes, self.facts.call_name(call), options.saved);
            let handle = earlier.clone().unwrap_or_else(new_handle);
            if let Some((_, size)) = size.replaced_by(&shorter, &handle, &counter) {
                let replacement = Replacement { rule, reason: None, size };
                self.facts.shortened.insert(index, replacement);
            }
        }
        if let Some(earlier) = earlier {
            self.originals.insert(earlier.bytes);
            self.facts.handles.insert(index, earlier);
        }
        let has_failed =
            is_error || (original_bytes < longest_error(options) && begins_with_error(text));
        ResultFacts { hash, is_text: true, has_failed, call, size }
    }

    /// Returns the hash of the next result's text if a handle may contain the hash or if an earlier
    /// result has the same text. The hash is then also stored for the earlier result. Most texts
    /// need no hash.
    fn hash(&mut self, text: &str, is_named: bool) -> Option<ShortHash> {
        if !self.options.drops(Rule::Duplicates) {
            return is_named.then(|| ShortHash::of(text));
        }
        let next = self.facts.results.len();
        let first = *self.first_with.entry(ctx_text::hash(text)).or_insert(next);
        let is_repeated = first < next || self.originals.contains(&(text.len() as u64));
        let hash = (is_named || is_repeated).then(|| ShortHash::of(text));
        if let Some(first) = self.facts.results.get_mut(first) {
            first.hash = hash;
        }
        hash
    }

    /// Returns a message's token count, given that its results have `results` tokens, or 0 if the
    /// count is not needed.
    fn tokens(
        &self,
        index: usize,
        message: &Message<'_>,
        record: &RecordFacts,
        results: u64,
    ) -> u64 {
        if self.count_all {
            let others = self.counter.message_of(message, |part| match part {
                Part::Result(_) => ByKind::default(),
                _ => self.counter.part(part),
            });
            return others.total() + results;
        }
        let reasoning = self.facts.reasoning.get(&index);
        let may_go = self.options.window_messages.is_some()
            || dropping_rule(record, reasoning, self.options).is_some();
        if may_go { self.counter.message(message).total() } else { 0 }
    }
}

/// The maximum length of an error message. A trimmed text is always longer than that, so trimming
/// cannot turn a long text into an error message.
fn longest_error(options: &Options) -> u64 {
    const MAX_BYTES: usize = 1_000;
    let trim = options.trim.as_ref();
    trim.map_or(MAX_BYTES, |trim| trim.max_chars.min(MAX_BYTES)) as u64
}
