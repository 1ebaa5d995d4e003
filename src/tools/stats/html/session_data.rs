//! Collects the data that the page shows about a session, from the session itself and from the
//! store.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use ctx_cli::{Failure, Input, Result, input_name, is_stdin};
use ctx_engine::offload::{ChangePass, Reading, Template};
use ctx_engine::prune::{self, Plan as Pruning};
use ctx_engine::score::{self, MOST_SCORED_BYTES};
use ctx_engine::{ErrorKind, Invalid, PassError, Session as Records};
use ctx_format::Options;
use ctx_metrics::profile::{CompactionScore, Cut, Mark, Profile, ProfilePass, Replaced};
use ctx_policy::SignedReasoning;
use ctx_store::{Entry, Event, Meta, SessionId, SnapshotBytes, Store, hash};

use super::super::status::{Status, StatusRequest, StoredHistory};
use crate::offload::{MIN_TOKENS, Offloader, Plan as Offloading};
use crate::output::no_temporary;
use crate::session::ReadArgs;
use crate::store::failure;

/// The data that the page shows about a session.
pub(super) struct SessionData {
    /// The name of the session, as given by the user.
    pub(super) name: String,
    /// The path for the commands on the page, or `None` if the session was not read from a file.
    pub(super) path: Option<PathBuf>,
    /// The snapshot that was read, if the operand was a session in the store.
    pub(super) snapshot: Option<String>,
    /// The name of the dialect, if the format is known.
    pub(super) dialect: Option<&'static str>,
    pub(super) status: Status,
    pub(super) profile: Profile,
    /// What the last compaction kept and lost.
    pub(super) score: Option<CompactionScore>,
    /// The number of results that could be offloaded, and the number of tokens that this would
    /// free.
    pub(super) offload: Option<(usize, u64)>,
}

impl SessionData {
    /// Reads the session that an operand refers to.
    pub(super) fn read(operand: &Path, request: StatusRequest<'_>) -> Result<Self> {
        let source = Source::find(operand, request.store)?;
        let status = Status::read(source.open()?, request)?.knowing(&source.known);
        let now = || source.open().ok().map(|input| input.reader);
        let history = History::of(request.store, &source.known, now);
        let mut session = ReadArgs::default().session(source.open()?)?;
        let dialect = session.dialect();
        let mut pass = ProfilePass::new(request.counting.counter);
        for (entry, replaced) in &history.states {
            // States that cannot be read are left out of the curve.
            if let Some(mut records) = bytes(request.store, entry).and_then(records) {
                let _ = pass.earlier(&mut records, replaced.clone());
            }
        }
        let plan = Pruning {
            options: prune::Options::lossless(dialect.map(|dialect| dialect as _)),
            pins: Vec::new(),
            zone: None,
            min_gain: 0,
            counter: request.counting.counter,
            report_changes: false,
            strict: false,
            cache: None,
            signed_reasoning: SignedReasoning::Keep,
            temp: std::env::temp_dir(),
        };
        let replaced = history.replaced.clone();
        let mut profile = session.read(|records| pass.now(records, replaced, &plan))?;
        history.annotate(&mut profile.marks);
        Ok(Self {
            score: newest_score(request.store, &source, &history, &mut profile),
            offload: offload(request, &source),
            path: source.path().map(Path::to_owned),
            snapshot: source.snapshot,
            name: source.name,
            dialect: dialect.map(ctx_format::Dialect::name),
            status,
            profile,
        })
    }
}

/// Returns what the newest compaction kept and lost, computed from the session itself or from the
/// store.
fn newest_score(
    store: &Store,
    source: &Source,
    history: &History,
    profile: &mut Profile,
) -> Option<CompactionScore> {
    let own = profile.score.take();
    let Some(compaction) = &history.compaction else { return own };
    let event = &compaction.event;
    let marks = profile.marks.iter().rev();
    let mut times = marks.filter(|mark| mark.line.is_some() && mark.tool.is_none());
    let own_time = times.next().and_then(|mark| mark.time);
    if own.is_some() && own_time.is_some_and(|time| time >= event.time) {
        return own;
    }
    let scored = score(store, source, compaction);
    scored.or_else(|| CompactionScore::of_log(event.others.get("survived")?)).or(own)
}

/// Scores the result of a compaction, ignoring messages that were added later.
fn score(store: &Store, source: &Source, compaction: &Compaction) -> Option<CompactionScore> {
    let before = compaction.before.as_ref()?;
    let bytes_before = before.meta.as_ref().ok()?.bytes;
    if bytes_before.max(compaction.written?) > MOST_SCORED_BYTES {
        return None;
    }
    let after: Box<dyn Read + Send> = match &compaction.next {
        Some(next) => Box::new(bytes(store, next)?),
        None => source.open().ok()?.reader,
    };
    let mut after = records(after.take(compaction.written?))?;
    let open = || bytes(store, before).and_then(records);
    let ledger = score::read_before(&mut open()?, None, None).ok()?;
    let again = || open().ok_or_else(|| PassError::from(ErrorKind::OtherRecord));
    let scored = score::score(&ledger, &mut after, again).ok()?;
    CompactionScore::of_score(&scored)
}

/// Returns the number of results that `ctx-offload` would move out, and the number of tokens that
/// this would free.
fn offload(request: StatusRequest<'_>, source: &Source) -> Option<(usize, u64)> {
    let id = SessionId::of_file(source.path()?).ok()?;
    let plan = Offloading {
        // The plan uses the default values of `ctx-offload`'s flags.
        min_tokens: MIN_TOKENS,
        enough_tokens: None,
        template: Template::DEFAULT.parse().ok()?,
        counter: request.counting.counter,
        dry_run: true,
    };
    let mut offloader = Offloader::new(request.store, &id, plan).ok()?;
    let mut session = ReadArgs::default().session(source.open().ok()?).ok()?;
    session.read(|records| records.refuse_document("changed", false)).ok()?;
    let reading = Reading { dialect: session.dialect(), ..Reading::default() };
    let mut pass = ChangePass::new(reading, &mut offloader, None);
    session.pass(|record| pass.push(record)).ok()?;
    pass.finish(session.bad().left_out(), &mut ctx_engine::Notes::default()).ok()?;
    Some((offloader.results.len(), offloader.freed))
}

fn records(reader: impl Read + Send + 'static) -> Option<Records> {
    let options = Options { temp: Some(std::env::temp_dir()), ..Options::default() };
    Records::open(Box::new(reader), &options, Invalid::Keep).ok()
}

/// A session, on disk or in a snapshot, that can be opened several times.
#[derive(Default)]
struct Source {
    /// The name of the session, as given by the user.
    pub(super) name: String,
    /// The id of the snapshot that the session is read from, if any.
    pub(super) snapshot: Option<String>,
    /// The snapshots and events of the session in the store.
    pub(super) known: StoredHistory,
    /// The session file that the user named.
    file: PathBuf,
    /// For stdin or a snapshot, a temporary copy that is read instead of the file.
    copy: Option<File>,
}

impl Source {
    /// Finds the session that an operand refers to. A file takes precedence over a session in the
    /// store.
    fn find(operand: &Path, store: &Store) -> Result<Self> {
        let (name, file) = (input_name(operand), operand.to_owned());
        let mut source = Self { name, file, ..Self::default() };
        if is_stdin(operand) {
            source.copy = Some(copy(Input::open(operand)?.reader, &source.name)?);
        } else if let Some((id, entry)) = named(operand, store)? {
            let (bytes, meta) = store.open_verified(&entry).map_err(failure)?;
            source.copy = Some(copy(bytes, &source.name)?);
            source.snapshot = Some(entry.id.to_string());
            let catalog = store.catalog(Some(&id)).map_err(failure)?;
            source.known = StoredHistory::of(catalog.entries, id, store)?;
            // Ignore later events, which are not about the snapshot's content.
            source.known.events.retain(|event| event.time < meta.created);
        } else {
            Input::open(operand)?;
            source.known = StoredHistory::of_file(operand, store)?;
        }
        Ok(source)
    }

    /// Returns the path of the session, if it is read from a file.
    fn path(&self) -> Option<&Path> {
        self.copy.is_none().then_some(self.file.as_path())
    }

    /// Opens the session at its beginning.
    fn open(&self) -> Result<Input> {
        let Some(copy) = &self.copy else { return Input::open(&self.file) };
        let open = || -> io::Result<File> {
            let mut copy = copy.try_clone()?;
            copy.rewind()?;
            Ok(copy)
        };
        let reader = Box::new(open().map_err(|error| no_temporary(&error))?);
        Ok(Input { name: self.name.clone(), reader })
    }
}

/// Returns the stored session whose id is the operand, and its newest snapshot. Returns `None` if
/// there is no such session, or if a file has this name.
fn named(operand: &Path, store: &Store) -> Result<Option<(SessionId, Entry)>> {
    let id = operand.to_str().and_then(|name| name.parse::<SessionId>().ok());
    let Some(id) = id.filter(|_| !operand.exists()) else { return Ok(None) };
    if !store.sessions().map_err(failure)?.contains(&id) {
        return Ok(None);
    }
    let entry = store.find_snapshot(Some(&id), "latest").map_err(failure)?;
    Ok(Some((id, entry)))
}

fn copy(mut reader: impl Read, name: &str) -> Result<File> {
    let mut file = tempfile::tempfile().map_err(|error| no_temporary(&error))?;
    io::copy(&mut reader, &mut file).map_err(|error| Failure::unread(error).at(name, None))?;
    Ok(file)
}

/// The maximum number of replacements to show. Older replacements are left out.
const MOST_STATES: usize = 12;

/// A compaction, and the states of the session before and after it.
struct Compaction {
    pub(super) event: Event,
    /// The snapshot of the session before the compaction, if it exists.
    pub(super) before: Option<Entry>,
    /// The size of the session in bytes after the compaction.
    pub(super) written: Option<u64>,
    /// The next saved state, which begins with the compaction's output, or `None` if the output is
    /// in the current session.
    pub(super) next: Option<Entry>,
}

/// The earlier states of a session.
#[derive(Default)]
struct History {
    /// The snapshots of the replaced states, oldest first. Each state except the first is stored
    /// with the replacement that led to it.
    states: Vec<(Entry, Option<Replaced>)>,
    /// The replacement that led to the current session.
    pub(super) replaced: Option<Replaced>,
    /// Compactions that were appended to an agent's own file, each with the number of lines before
    /// it.
    appended: Vec<(Event, u64)>,
    /// The newest compaction.
    pub(super) compaction: Option<Compaction>,
}

impl History {
    /// Adds the figures from the audit log to the marks for appended compactions.
    fn annotate(&self, marks: &mut [Mark]) {
        for (event, lines) in &self.appended {
            let mut own = marks.iter_mut().filter(|mark| mark.tool.is_none());
            if let Some(mark) = own.find(|mark| mark.line.is_some_and(|line| line > *lines)) {
                mark.tool = Some(event.tool.clone());
                mark.before = event.tokens_before.or(mark.before);
                mark.after = event.tokens_after.unwrap_or(mark.after);
            }
        }
    }

    /// Finds the earlier states of a session. `open` opens the current session.
    fn of<R: Read>(store: &Store, known: &StoredHistory, open: impl Fn() -> Option<R>) -> Self {
        let mut history = Self::default();
        let replacements = known.events.iter().filter(|event| cut(event).is_some());
        let newest: Vec<&Event> = replacements.take(MOST_STATES).collect();
        let replacements: Vec<(&Event, Option<&Entry>)> =
            newest.into_iter().rev().map(|event| (event, snapshot(known, event))).collect();
        for (number, (event, entry)) in replacements.iter().enumerate() {
            let next = replacements.get(number + 1);
            if event.op == "compact" {
                history.compaction = Some(Compaction {
                    event: (*event).clone(),
                    // The output of the compaction is available only if the next state is
                    // available.
                    before: entry.filter(|_| next.is_none_or(|next| next.1.is_some())).cloned(),
                    written: written(event, entry.and_then(|entry| entry.meta.as_ref().ok())),
                    next: next.and_then(|(_, next)| next.cloned()),
                });
            }
            let Some(entry) = entry else {
                // If a state's snapshot is missing, the curve can begin only after that state.
                history.states.clear();
                history.replaced = replaced(event, None);
                continue;
            };
            let meta = entry.meta.as_ref().ok();
            let is_appended = meta.is_some_and(|meta| match next {
                Some((_, next)) => next
                    .and_then(|next| bytes(store, next))
                    .is_some_and(|next| begins_with(next, meta)),
                None => open().is_some_and(|now| begins_with(now, meta)),
            });
            // If lines were only appended, skip this state, because the next state contains it.
            if is_appended {
                let lines = meta.map_or(0, |meta| meta.lines);
                history.appended.push(((*event).clone(), lines));
                continue;
            }
            history.states.push(((*entry).clone(), history.replaced.take()));
            history.replaced = replaced(event, meta);
        }
        history
    }
}

/// Returns how a replacement reduced the context, or `None` if the event is not a replacement.
fn cut(event: &Event) -> Option<Cut> {
    if event.phase != "done" || event.snapshots.len() != 1 {
        return None;
    }
    match event.op.as_str() {
        "compact" => Some(Cut::Compaction),
        "rollback" => Some(Cut::Rollback),
        "output" => Some(Cut::Replacement),
        _ => None,
    }
}

fn replaced(event: &Event, meta: Option<&Meta>) -> Option<Replaced> {
    Some(Replaced {
        cut: cut(event)?,
        tool: event.tool.clone(),
        time: event.time,
        bytes: written(event, meta),
    })
}

/// Returns the size of the session in bytes after a replacement.
fn written(event: &Event, meta: Option<&Meta>) -> Option<u64> {
    let planned = meta.and_then(|meta| meta.replaced_by.as_ref());
    event.bytes.or(planned.map(|planned| planned.bytes))
}

fn snapshot<'k>(known: &'k StoredHistory, event: &Event) -> Option<&'k Entry> {
    let id = event.snapshots.first()?;
    let mut entries = known.entries.iter();
    entries.find(|entry| entry.id.to_string() == *id && entry.meta.is_ok())
}

/// Returns the bytes of a snapshot, if it is undamaged.
fn bytes(store: &Store, entry: &Entry) -> Option<SnapshotBytes> {
    store.open_verified(entry).ok().map(|(bytes, _)| bytes)
}

/// Returns true if `state` begins with all the bytes of the snapshot that `meta` describes, so
/// lines were only appended.
fn begins_with(state: impl Read, meta: &Meta) -> bool {
    let found: io::Result<String> = hash(&mut state.take(meta.bytes));
    found.is_ok_and(|found| found == meta.sha256)
}
