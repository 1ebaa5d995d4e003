//! A session that a page is made of: what is read of it, and what the store knows.

use ctx_cli::Failure;
use ctx_passes::Session as Records;
use ctx_passes::offload::{ChangePass, Offloader, Plan as Offloading, Reading, Template};
use ctx_passes::prune::Plan as Pruning;
use ctx_passes::score::{self, MOST_SCORED_BYTES};
use ctx_passes::stats::profile::{Fate, Profile, ProfilePass, pruning};
use ctx_passes::{ErrorKind, Invalid, PassError};
use ctx_select::trigger::Triggers;
use ctx_store::{SessionId, Store};
use ctx_transcript::Options;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::super::status::Status;
use super::history::{Compaction, History, bytes};
use super::source::Source;
use crate::counting::Counting;
use crate::session::ReadArgs;

/// What is shown of a session.
pub(super) struct Subject {
    /// As the user named it.
    pub(super) name: String,
    /// The file that commands may name.
    pub(super) path: Option<PathBuf>,
    /// The snapshot that was read, where a session of the store was named.
    pub(super) snapshot: Option<String>,
    /// The format.
    pub(super) dialect: Option<&'static str>,
    pub(super) status: Status,
    pub(super) profile: Profile,
    /// What the last compaction kept and lost.
    pub(super) fate: Option<Fate>,
    /// How many results could be offloaded, and the tokens that it would free.
    pub(super) offload: Option<(usize, u64)>,
}

/// How sessions are looked at.
#[derive(Clone, Copy)]
pub(in super::super) struct Asked<'a> {
    pub(in super::super) store: &'a Store,
    pub(in super::super) triggers: &'a Triggers,
    /// Whether the model refused the session.
    pub(in super::super) overflow: bool,
    pub(in super::super) counting: &'a Counting,
}

impl Asked<'_> {
    /// Looks at the session that an operand names.
    pub(super) fn subject(self, operand: &Path) -> Result<Subject, Failure> {
        let source = Source::find(operand, self.store)?;
        let status = Status::read(source.open()?, self.triggers, self.overflow, self.counting)?;
        let status = status.knowing(&source.known);
        let history = History::of(self.store, &source.known, || {
            source.open().ok().map(|input| input.reader)
        });
        let mut session = ReadArgs::default().session(source.open()?)?;
        let dialect = session.dialect().map(ctx_transcript::Dialect::name);
        let mut pass = ProfilePass::new(self.counting.counter);
        for state in &history.states {
            // A state that cannot be read is not on the curve.
            if let Some(mut records) = bytes(self.store, &state.entry).and_then(records) {
                let _ = pass.earlier(&mut records, state.replaced.clone());
            }
        }
        let plan = self.pruning(session.dialect());
        let replaced = history.replaced.clone();
        let mut profile = session.read(|records| pass.now(records, replaced, &plan))?;
        history.tell(&mut profile.marks);
        let fate = self.fate(&source, &history, &mut profile);
        Ok(Subject {
            offload: self.offload(&source),
            path: source.path().map(Path::to_owned),
            snapshot: source.snapshot.clone(),
            name: source.name,
            dialect,
            status,
            profile,
            fate,
        })
    }

    fn pruning(self, dialect: Option<&'static dyn ctx_transcript::Dialect>) -> Pruning {
        Pruning {
            policy: pruning(dialect.map(|dialect| dialect as _)),
            pins: Vec::new(),
            zone: None,
            min_gain: 0,
            counter: self.counting.counter,
            tell_changes: false,
            size: false,
            strict: false,
            cache: None,
            temp: std::env::temp_dir(),
        }
    }

    /// What the newest compaction kept and lost, whether the session itself tells of it or the
    /// store does.
    fn fate(self, source: &Source, history: &History, profile: &mut Profile) -> Option<Fate> {
        let own = profile.fate.take();
        let Some(compaction) = &history.compaction else {
            return own;
        };
        let event = &compaction.event;
        let marks = profile.marks.iter().rev();
        let mut told = marks.filter(|mark| mark.line.is_some() && mark.tool.is_none());
        let own_time = told.next().and_then(|mark| mark.time);
        if own.is_some() && own_time.is_some_and(|time| time >= event.time) {
            return own;
        }
        let scored = self.score(source, compaction);
        scored
            .or_else(|| Fate::of_log(event.others.get("survived")?))
            .or(own)
    }

    /// Scores what a compaction made of a session, and not what came later.
    fn score(self, source: &Source, compaction: &Compaction) -> Option<Fate> {
        let before = compaction.before.as_ref()?;
        let bytes_before = before.meta.as_ref().ok()?.bytes;
        if bytes_before.max(compaction.written?) > MOST_SCORED_BYTES {
            return None;
        }
        let after: Box<dyn Read + Send> = match &compaction.next {
            Some(next) => Box::new(bytes(self.store, next)?),
            None => source.open().ok()?.reader,
        };
        let mut after = records(after.take(compaction.written?))?;
        let open = || bytes(self.store, before).and_then(records);
        let ledger = score::read_before(&mut open()?, None, None).ok()?;
        let again = || open().ok_or_else(|| PassError::from(ErrorKind::OtherRecord));
        let score = score::score(&ledger, &mut after, again).ok()?;
        Fate::of_score(&score)
    }

    /// What `ctx-offload` would take out.
    fn offload(self, source: &Source) -> Option<(usize, u64)> {
        let id = SessionId::of_file(source.path()?).ok()?;
        let plan = Offloading {
            // As its flags are unless others are given.
            min_tokens: 2000,
            enough_tokens: None,
            template: Template::DEFAULT.parse().ok()?,
            counter: self.counting.counter,
            dry_run: true,
        };
        let offloader = Offloader::new(self.store, &id, plan).ok()?;
        let mut session = ReadArgs::default().session(source.open().ok()?).ok()?;
        session
            .read(|records| records.refuse_document_of_log("changed"))
            .ok()?;
        let reading = Reading {
            dialect: session.dialect(),
            batch: false,
            protect_last: 0,
        };
        let mut pass = ChangePass::new(reading, offloader, None);
        session.pass(|record| pass.push(record)).ok()?;
        let (offloader, _) = pass
            .finish(session.bad().left_out(), &mut ctx_passes::Notes::new())
            .ok()?;
        Some((offloader.results.len(), offloader.freed))
    }
}

fn records(reader: impl Read + Send + 'static) -> Option<Records> {
    let options = Options {
        temp: Some(std::env::temp_dir()),
        ..Options::default()
    };
    Records::open(Box::new(reader), &options, Invalid::Keep).ok()
}
