//! `ctx-memory search`: what answers a query best.

use std::time::Duration;

use clap::ArgMatches;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use ctx_cli::{ExitStatus, Failure, Io, Outcome};
use ctx_search::{Changes, Filter, Kind, ROLES, SearchError, SearchIndex, State};
use ctx_store::{SessionId, Store};
use ctx_tools::store::{StoreArgs, failure, session_id, time_of};

use crate::again::Again;
use crate::hit;
use crate::stored::Stored;

/// How long a run waits for another one that builds the first index.
const PATIENCE: Duration = Duration::from_secs(60);

/// Search the store for words, the best results first
///
/// Searches memory files (by entry or paragraph), summaries of sessions, messages in snapshots, and
/// offloaded results. Prints one object per line: `ref` (for `ctx-memory get`), `path` and `line`,
/// `session`, `kind`, `role`, `time`, `holds`, `score` and `snippet`; equal scores are ordered
/// newest first. docs/json.md lists all keys.
///
/// Results with the literal query come first, and the earliest such message before all: a name, a
/// path or a line of code leads to its origin. Case counts if the query has capitals. Then come
/// results with any of the words (BM25, in any case); rare words count more. Names are found whole
/// and by their parts (src/tools/check.rs, parseHeader, `max_line`), a hash also by its first 7, 8
/// or 12 digits, Chinese, Japanese and Korean by pairs of characters, in traditional or simplified
/// form. There are no operators.
///
/// The index is in the store, in index/search. Each run first reads what is new. A damaged index is
/// rebuilt.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Words to look for
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Search one session only
    ///
    /// Its summary, snapshots and offloaded results, and entries of memory files that name it.
    #[arg(short, long, value_name = "ID", value_parser = session_id, help_heading = "Filters")]
    session: Option<SessionId>,
    /// Search only this kind (can be repeated)
    #[arg(
        long,
        value_name = "KIND",
        value_parser = PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)).map(kind_of),
        help_heading = "Filters"
    )]
    kind: Vec<Kind>,
    /// Search only messages of this role (can be repeated)
    ///
    /// Results have the role tool.
    #[arg(
        long,
        value_name = "ROLE",
        value_parser = PossibleValuesParser::new(ROLES).map(role_of),
        help_heading = "Filters"
    )]
    role: Vec<&'static str>,
    /// Search only what is newer: 2026-11-15, "1 week ago"
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    since: Option<String>,
    /// Search only what is older
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    before: Option<String>,
    /// Print at most N results
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self, matches: &ArgMatches, io: &mut Io) -> Outcome {
        let store = self.store.open(&crate::TOOL, matches)?;
        let filter = self.filter(&store)?;
        let stored = Stored::of(&store)?;
        if stored.sources.is_empty() && stored.failed.is_empty() {
            io.note("the store holds nothing that could be searched");
            return Ok(ExitStatus::No);
        }
        let (index, failed) = open(&store, &stored, io)?;
        let query = self.query.join(" ");
        let mut again = Again::new(&stored);
        let hits = index.search(&query, &filter, self.limit, |hit| again.text(hit));
        let hits = hits.map_err(|error| search_failure(&error, &store))?;
        for hit in &hits {
            io.write(hit::line(hit, &query, &stored, &mut again).as_bytes())?;
        }
        for failure in stored.failed.iter().chain(&failed) {
            io.report(failure);
        }
        Ok(match (stored.failed.len() + failed.len(), hits.len()) {
            (0, 0) => ExitStatus::No,
            (0, _) => ExitStatus::Done,
            _ => ExitStatus::Partial,
        })
    }

    fn filter(&self, store: &Store) -> Result<Filter, Failure> {
        let start = |flag, text: &Option<String>| {
            let when = text.as_ref().map(|text| time_of(flag, text, store));
            let when = when.transpose()?;
            Ok::<_, Failure>(when.map(|when| when.start.timestamp_millis()))
        };
        Ok(Filter {
            session: self.session.as_ref().map(ToString::to_string),
            kinds: self.kind.clone(),
            roles: self.role.clone(),
            since: start("since", &self.since)?,
            before: start("before", &self.before)?,
        })
    }
}

/// Opens the index, and brings it up to date; gives also what could not be read.
fn open(
    store: &Store,
    stored: &Stored<'_>,
    io: &mut Io,
) -> Result<(SearchIndex, Vec<Failure>), Failure> {
    let unusable = |error| search_failure(&error, store);
    store.prepare().map_err(failure)?;
    let mut index = SearchIndex::open(&store.search_index(), PATIENCE).map_err(unusable)?;
    if index.state() == State::Damaged {
        io.warn("the search index was damaged or of another version; it is rebuilt");
    }
    if index.is_locked_by_another() {
        io.warn("another run updates the search index; what is new may be missing");
    }
    let read = |source: &_, take: &mut dyn FnMut(_)| stored.read(source, take);
    let changes = index.update(&stored.sources, read).map_err(unusable)?;
    let Changes { read, forgotten, .. } = changes;
    io.note(format_args!("indexed {read} files and snapshots, forgot {forgotten}"));
    let failed = changes.failed.into_iter();
    let failed = failed.map(|(_, failure)| failure.status(ExitStatus::Partial));
    Ok((index, failed.collect()))
}

/// A failure of the index as the user sees it.
fn search_failure(error: &SearchError, store: &Store) -> Failure {
    let failure = Failure::new(error);
    match error {
        SearchError::Busy => failure.status(ExitStatus::Busy).hint("try again"),
        SearchError::Io { .. } => failure.hint("look at the disk and at who may write there"),
        SearchError::Engine(_) => {
            failure.hint(format!("remove {}, and it is rebuilt", store.search_index().display()))
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // For `map`.
fn kind_of(word: String) -> Kind {
    let mut all = Kind::ALL.into_iter();
    let kind = all.find(|kind| kind.as_str() == word);
    kind.expect("one of the possible values")
}

#[allow(clippy::needless_pass_by_value)] // For `map`.
fn role_of(word: String) -> &'static str {
    let role = ROLES.into_iter().find(|role| *role == word);
    role.expect("one of the possible values")
}
