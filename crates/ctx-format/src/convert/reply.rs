//! Converts a message, and the records with the results of its calls, to turns of the new session.

use crate::convert::report::LossKind;
use crate::convert::target::Notes;
use crate::convert::turn::{
    Answer, Family, Key, Origins, Piece, Results, Summary, Turn, TurnMessage, pieces,
};
use crate::dialect::content::kind_of_raw;
use crate::dialect::items;
use crate::legality::content::Names;
use crate::{Dialect, HeldMessage, Object, Part, Role, Slot, ToolResult};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

/// Creates turns for the new session from a message in the source.
pub(crate) struct Maker<'m, 'n> {
    pub(crate) family: Family,
    /// Whether the target is in the same family, so that parts keep their JSON.
    pub(crate) stays: bool,
    pub(crate) ids: &'m mut Ids,
    pub(crate) notes: &'m mut Notes<'n>,
}

impl<'a> Maker<'_, '_> {
    /// Creates the turns for a message. `said` holds the fragments of the message. `answering`
    /// holds the records with results for the message's calls. The flag with each record tells
    /// whether the record's content other than results is also written here.
    pub(crate) fn turns(
        &mut self,
        said: &[Vec<HeldMessage<'a>>],
        answering: &[(&Vec<HeldMessage<'a>>, bool)],
    ) -> Vec<Turn<'a>> {
        let records = || said.iter().enumerate();
        let fragments =
            || records().flat_map(|(origin, held)| held.iter().map(move |held| (origin, held)));
        let Some((_, first)) = fragments().next() else { return Vec::new() };
        let origins: Origins = (0..said.len()).collect();
        let role = first.message.role;
        let no_calls = answering.is_empty() && fragments().count() == 1;
        if let Some(text) = first.summary.clone().filter(|_| no_calls) {
            return vec![Turn::Summary(Summary { role, text, origins })];
        }
        if role != Role::Assistant {
            return self.other(role, first, origins);
        }
        let placed = fragments().flat_map(|(origin, held)| {
            let pieces = pieces(held, self.family, self.stays).into_iter();
            pieces.map(move |piece| (origin, piece))
        });
        let mut placed: Vec<(usize, Piece<'a>)> = placed.collect();
        let all = placed.iter_mut().map(|(_, piece)| piece);
        let mut calls = self.ids.name_calls(all, self.family);
        let items = fragments().filter_map(|(_, held)| self.items(held));
        let whole = TurnMessage {
            role,
            name: first.message.name.clone(),
            pieces: Vec::new(),
            items: items.collect(),
            model: origins.iter().find_map(|it| self.notes.entries.get(*it)?.model.clone()),
            origins,
        };
        let mut turns = self.reply(&whole, placed, &mut calls);
        let mut results = self.results(said.len(), answering, &mut calls);
        let may_stay = self.notes.is_whole || self.notes.is_last && results.beside.is_empty();
        for call in calls.waiting {
            let slot = call.slot.clone();
            if self.keeps_blocks() && self.ids.across.contains(&call.key) {
                continue;
            }
            if may_stay && (!call.is_of_server || self.keeps_blocks()) {
                self.notes.count_at(LossKind::OpenCall, "", slot.as_ref());
            } else if let Some(answer) = self.missing(&mut turns, call) {
                self.notes.count_at(LossKind::MissingResult, "", slot.as_ref());
                results.answers.push(answer);
            }
        }
        join(&mut turns, results);
        turns
    }

    /// Creates the result of a call that has none. If no text can be the result of such a call,
    /// removes the call instead.
    fn missing(&mut self, turns: &mut [Turn<'a>], call: WaitingCall) -> Option<Answer<'a>> {
        let mut answer = Answer::missing(call.id, call.name);
        let Some(Turn::Message(said)) = turns.first_mut() else { return Some(answer) };
        let calls = said.pieces.iter().enumerate();
        let mut calls = calls.filter(|(_, it)| it.call_id() == Some(&answer.id));
        let Some((at, raw)) = calls.find_map(|(at, it)| Some((at, it.block?))) else {
            return Some(answer);
        };
        if self.family == Family::Items {
            let item = Object::parse(raw).ok();
            let item = item.and_then(|call| items::missing_result(&call, &answer.id));
            answer.block = item.map(Cow::Owned);
        }
        if !call.is_of_server && (self.family != Family::Items || answer.block.is_some()) {
            return Some(answer);
        }
        said.pieces.remove(at);
        said.items.retain(|item| item != raw);
        None
    }

    /// Creates the turns for a message that is not a reply. If the message contains results, all of
    /// its content becomes a single results turn.
    fn other(&mut self, role: Role, held: &HeldMessage<'a>, origins: Origins) -> Vec<Turn<'a>> {
        if role == Role::Other && self.family == Family::Chat {
            self.notes.count(LossKind::Role, "");
        }
        let mut all = pieces(held, self.family, self.stays);
        let is_whole = self.notes.is_whole;
        for piece in all.iter_mut().filter(|_| !is_whole) {
            // Only the model can make calls.
            if let Part::Call(call) = &piece.part {
                self.notes.count_at(LossKind::AsText, "", call.slot.as_ref());
                let text = format!("{}({})", call.name, call.arguments);
                *piece = Piece::bare(Part::Text(text.into()));
            }
        }
        if !all.iter().any(|piece| matches!(piece.part, Part::Result(_))) {
            return vec![Turn::Message(TurnMessage {
                role,
                name: held.message.name.clone(),
                pieces: all,
                items: self.items(held).into_iter().collect(),
                model: None,
                origins,
            })];
        }
        let mut results = Results { origins: origins.to_vec(), ..Results::default() };
        for piece in all {
            self.add(piece, 0, &mut Calls::default(), true, &mut results);
        }
        vec![Turn::Results(results)]
    }

    /// Returns true if results inside a reply keep their JSON and position.
    fn keeps_blocks(&self) -> bool {
        self.stays && self.family == Family::Blocks
    }

    /// Creates the turns for a reply. Results inside the reply become separate turns, placed after
    /// the content that precedes them. A turn with results answers all calls so far.
    fn reply(
        &mut self,
        whole: &TurnMessage<'a>,
        placed: Vec<(usize, Piece<'a>)>,
        calls: &mut Calls,
    ) -> Vec<Turn<'a>> {
        let said = |pieces: Vec<Piece<'a>>| Turn::Message(TurnMessage { pieces, ..whole.clone() });
        let (mut turns, mut pieces) = (Vec::new(), Vec::new());
        let mut results = Results::default();
        // The calls so far, some of which may still wait for a result.
        let mut open: HashSet<String> = HashSet::new();
        for (origin, piece) in placed {
            let has_results = !results.origins.is_empty();
            match &piece.part {
                Part::Result(result) if self.keeps_blocks() => {
                    let is_across = self.ids.across.contains(&Key::of_result(result));
                    let stays = calls.take(result).is_some() || self.notes.is_whole || is_across;
                    pieces.extend(stays.then_some(piece));
                    continue;
                }
                Part::Result(_) => results.origins.push(origin),
                // The Gemini CLI stores results, with their media, at the end of a reply.
                Part::Text(_) | Part::Media(_) | Part::Opaque(_)
                    if has_results && self.family == Family::Gemini => {}
                part => {
                    let may_end = !results.answers.is_empty() && !self.notes.is_whole;
                    if may_end && !calls.waiting.iter().any(|call| open.contains(&call.id)) {
                        open.clear();
                        turns.push(said(std::mem::take(&mut pieces)));
                        turns.push(Turn::Results(std::mem::take(&mut results)));
                    }
                    if let Part::Call(call) = part {
                        open.extend(call.id.as_deref().map(str::to_owned));
                    }
                    pieces.push(piece);
                    continue;
                }
            }
            self.add(piece, origin, calls, true, &mut results);
        }
        if turns.is_empty() || !pieces.is_empty() {
            turns.push(said(pieces));
        }
        join(&mut turns, results);
        turns
    }

    /// Collects the results from the records that follow the reply. `from` is the index, within the
    /// unit, of the first record with results.
    fn results(
        &mut self,
        from: usize,
        answering: &[(&Vec<HeldMessage<'a>>, bool)],
        calls: &mut Calls,
    ) -> Results<'a> {
        let mut results = Results::default();
        for (place, (held, is_home)) in answering.iter().enumerate() {
            results.origins.push(from + place);
            for held in *held {
                for piece in pieces(held, self.family, self.stays) {
                    self.add(piece, from + place, calls, *is_home, &mut results);
                }
            }
        }
        results
    }

    /// Adds a result, or a piece of other content, from a record with results.
    fn add(
        &mut self,
        piece: Piece<'a>,
        origin: usize,
        calls: &mut Calls,
        is_home: bool,
        results: &mut Results<'a>,
    ) {
        let Piece { part, block } = piece;
        let Part::Result(result) = part else {
            if is_home {
                results.add_beside([Piece { part, block }], origin);
            }
            return;
        };
        let call = calls.take(&result);
        if call.is_none() {
            if !is_home {
                return;
            }
            if calls.answered.contains(&Key::of_result(&result)) {
                // A second result for a call cannot be written, except to a lowered session.
                if self.notes.is_whole {
                    return results.add_beside(result.parts.into_iter().map(Piece::bare), origin);
                }
                return self.notes.count_at(LossKind::SecondResult, "", result.slot.as_ref());
            }
            self.notes.count_at(LossKind::LoneResult, "", result.slot.as_ref());
            if !self.notes.is_whole {
                // The parts become parts of a user message.
                let parts = result.parts.into_iter().map(|part| match part {
                    Part::Opaque(raw) => Part::Text(raw),
                    part => part,
                });
                return results.add_beside(parts.map(Piece::bare), origin);
            }
        }
        let own_id = result.id.clone().unwrap_or_default().into_owned();
        let (id, name) = call.unwrap_or((own_id, String::new()));
        let own_name = result.name.as_deref().filter(|name| !name.is_empty());
        let name = own_name.map_or(name, |name| self.ids.tool(name));
        results.answers.push(Answer {
            // The source's JSON lacks an id that was generated here; only an item gets it later.
            block: block
                .filter(|_| self.family == Family::Items || result.id.as_deref() == Some(&id))
                .map(Cow::Borrowed),
            id,
            name,
            result,
            origin,
        });
    }

    /// Returns the JSON of the item that a message was read from, if the source consists of
    /// Responses items.
    fn items(&self, held: &HeldMessage<'a>) -> Option<Cow<'a, str>> {
        (self.family == Family::Items && held.summary.is_none()).then(|| held.raw.clone())
    }
}

/// Adds `results` to the last turn if that turn holds results; otherwise appends them to `turns` as
/// a new turn.
fn join<'a>(turns: &mut Vec<Turn<'a>>, results: Results<'a>) {
    let is_empty = results.answers.is_empty() && results.beside.is_empty();
    match turns.last_mut() {
        Some(Turn::Results(last)) => {
            last.answers.extend(results.answers);
            last.beside.extend(results.beside);
            last.beside_origin = last.beside_origin.or(results.beside_origin);
            last.origins.extend(results.origins);
        }
        // Even if no result is written, the records with the results count as sources of the
        // message.
        Some(Turn::Message(last)) if is_empty => {
            last.origins = last.origins.iter().copied().chain(results.origins).collect();
        }
        _ => turns.push(Turn::Results(results)),
    }
}

/// Gives the calls of the new session ids and names that its API accepts.
pub(crate) struct Ids {
    /// The number of ids made for calls that had none.
    made: u64,
    /// The names that the API accepts; `None` if ids and names must stay as they are.
    names: Option<Names>,
    /// The ids so far that no other call may have, each with the next number to append to it.
    used: HashMap<String, u64>,
    /// Whether an id may occur twice in a session, though never in one reply.
    may_repeat: bool,
    /// The calls of server tools whose results are in a later reply.
    across: HashSet<Key>,
}

/// The calls of a reply that are still waiting for a result.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: VecDeque<WaitingCall>,
    /// The calls that already have a result.
    answered: HashSet<Key>,
}

/// A call that is still waiting for a result, with its new id and tool name.
#[derive(Debug)]
struct WaitingCall {
    key: Key,
    id: String,
    name: String,
    slot: Option<Slot>,
    /// Whether only the server can write the result, which is in the same reply.
    is_of_server: bool,
}

impl Ids {
    /// Creates ids for a session in the dialect `to`. If `stay` is true, existing ids and names
    /// stay as they are.
    pub(crate) fn of(to: &dyn Dialect, stay: bool, across: HashSet<Key>) -> Self {
        let names = (!stay).then(|| to.names());
        Self { made: 0, names, used: HashMap::new(), may_repeat: !to.rules().unique_ids, across }
    }

    /// Returns an id that the API accepts for the call with the id `own`.
    fn legal(&mut self, own: &str) -> String {
        let Some(names) = self.names else { return own.to_owned() };
        let first = names.calls.legal(own);
        let Some(from) = self.used.insert(first.clone(), 2) else { return first };
        let mut ids = (from..).map(|n| (n, names.calls.legal(&format!("{own}-{n}"))));
        let found = ids.find(|(_, id)| !self.used.contains_key(id));
        let (number, id) = found.expect("there are more numbers than calls");
        self.used.extend([(first, number + 1), (id.clone(), 2)]);
        id
    }

    /// Returns a name that the API accepts for the tool `own`.
    fn tool(&self, own: &str) -> String {
        self.names.map_or(own.to_owned(), |names| names.tools.legal(own))
    }

    /// Gives a legal id and tool name to each call in `pieces`, and returns the calls.
    pub(super) fn name_calls<'p, 'a: 'p>(
        &mut self,
        pieces: impl Iterator<Item = &'p mut Piece<'a>>,
        family: Family,
    ) -> Calls {
        let mut calls = Calls::default();
        if self.may_repeat {
            self.used.clear();
        }
        for piece in pieces {
            let Part::Call(call) = &mut piece.part else { continue };
            let key = Key::of_call(call);
            let mut own = call.id.as_deref().unwrap_or_default().to_owned();
            if own.is_empty() {
                self.made += 1;
                own = format!("call_ctx_{}", self.made);
            }
            let is_server_call = |raw| kind_of_raw(raw).ends_with("_tool_use");
            let is_of_server = self.names.is_some() && piece.block.is_some_and(is_server_call);
            let id = if is_of_server { own.clone() } else { self.legal(&own) };
            let name = self.tool(&call.name);
            if call.id.as_deref() != Some(&id) || call.name != name {
                (call.id, call.name) = (Some(id.clone().into()), name.clone().into());
                // The source's JSON has another id or name; only an item gets the new one later.
                piece.block = piece.block.filter(|_| family == Family::Items);
            }
            let slot = call.slot.clone();
            calls.waiting.push_back(WaitingCall { key, id, name, slot, is_of_server });
        }
        calls
    }
}

impl Calls {
    /// Returns the id and the tool name of the call that `result` answers, and removes the call
    /// from the waiting calls.
    pub(super) fn take(&mut self, result: &ToolResult<'_>) -> Option<(String, String)> {
        let key = Key::of_result(result);
        let fits = |call: &WaitingCall| call.key.is_answered_by(&key);
        let is_named = |call: &WaitingCall| result.name.as_deref() == Some(&*call.name);
        let mut place = self.waiting.iter().position(fits)?;
        // Among the calls that fit, the first with the result's name is its call.
        if result.name.is_some() && !is_named(&self.waiting[place]) {
            let mut named = self.waiting.iter().skip(place);
            place += named.position(|call| fits(call) && is_named(call)).unwrap_or_default();
        }
        let WaitingCall { id, name, key, .. } = self.waiting.remove(place)?;
        self.answered.insert(key);
        Some((id, name))
    }
}
