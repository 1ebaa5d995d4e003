//! `ctx-memory search` prints the best results for a query, one JSON object per line. In a memory
//! file, each paragraph is a separate result.

use std::num::NonZeroUsize;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat};
use clap::ArgMatches;
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Paint, Result, json_line, json_object, printable};
use ctx_search::{
    Changes, Filter, Hit, Holds, ROLES, SearchError, SearchIndex, SourceKind, snippet,
};
use ctx_store::{SessionId, Store, When};
use ctx_tools::store::{StoreArgs, failure, time_of};

use crate::hit_reader::HitReader;
use crate::searchable_text::entry_of;
use crate::stored::{SourceLine, Stored};
use crate::{known_session, one_of};

/// How long to wait while another run is building the first index.
const PATIENCE: Duration = Duration::from_secs(60);

/// Search the store, and print the best results first
///
/// Searches memory files (by entry or paragraph), summaries of sessions, messages in snapshots, and
/// offloaded results. On a terminal, prints two lines for each result: its ref (for `ctx-memory
/// get`), kind, role and time, and the passage. In a pipe or a file, prints one JSON object per
/// line; docs/json.md lists all keys. --text and --json select one of these forms. Among results
/// with equal scores, the newest comes first.
///
/// Results that contain the query verbatim come first, and the earliest message among them is at
/// the top, so that a search for a name, a path or a line of code leads to its origin. Verbatim
/// matches are case-sensitive only if the query contains capitals. Next come results that contain
/// any of the words, ignoring case (ranked by BM25); rare words count more. Names can be found as a
/// whole or by their parts (src/tools/check.rs, parseHeader, `max_line`). A hash can also be found
/// by its first 7, 8 or 12 digits. Chinese, Japanese and Korean words are found by pairs of
/// characters; traditional and simplified characters count as equal. Queries have no operators.
///
/// The index is kept in the store, in index/search. Each run first adds the new content of the
/// store to the index. A damaged index is rebuilt.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Words to search for
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Search only this session
    ///
    /// Includes its summary, snapshots and offloaded results, and those entries in memory files
    /// that name it.
    #[arg(short, long, value_name = "ID", help_heading = "Filters")]
    session: Option<SessionId>,
    /// Search only content of this kind (can be repeated)
    #[arg(
        long,
        value_name = "KIND",
        value_parser = one_of(SourceKind::ALL),
        help_heading = "Filters"
    )]
    kind: Vec<SourceKind>,
    /// Search only messages with this role (can be repeated)
    ///
    /// Tool results have the role `tool`.
    #[arg(long, value_name = "ROLE", value_parser = one_of(&ROLES), help_heading = "Filters")]
    role: Vec<&'static str>,
    /// Search only content newer than TIME, such as 2026-11-15 or "1 week ago"
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    since: Option<String>,
    /// Search only content older than TIME
    #[arg(long, value_name = "TIME", help_heading = "Filters")]
    before: Option<String>,
    /// Print at most N results
    #[arg(long, value_name = "N", default_value = "10")]
    limit: NonZeroUsize,
    /// Print two lines of text for each result, as on a terminal
    #[arg(long)]
    text: bool,
    /// Print one JSON object per result, as in a pipe
    #[arg(long, conflicts_with = "text")]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self, matches: &ArgMatches, io: &mut Io) -> Outcome {
        let store = self.store.open(&crate::TOOL, matches)?;
        // Entries of memory files may name a session of which nothing else is left.
        let session = known_session(&store, self.session.as_ref());
        let filter = self.filter(session.as_ref().unwrap_or(&self.session).as_ref(), &store)?;
        let mut stored = Stored::of(&store)?;
        if stored.sources.is_empty() && stored.failed.is_empty() {
            io.warn("the store contains nothing to search");
            return Ok(ExitStatus::No);
        }
        let index = open(&store, &mut stored, io)?;
        let query = self.query.join(" ");
        let mut texts = HitReader::new(&stored);
        let hits = index.search(&query, &filter, self.limit.get(), |hit| texts.text(hit));
        let hits = hits.map_err(|error| search_failure(&error, &store))?;
        let is_text = self.text || (!self.json && io.columns().is_some());
        for hit in &hits {
            let found = if is_text {
                passage(hit, &query, &mut texts, io)
            } else {
                line(hit, &query, &stored, &mut texts)
            };
            io.print(found)?;
        }
        let is_part = |hit: &Hit| hit.holds == Holds::Words;
        if !hits.is_empty() && !query.contains(' ') && hits.iter().all(is_part) {
            io.warn(format_args!("no text contains {query:?}; these contain a part of it"));
        }
        if hits.is_empty() {
            session?;
            io.warn(format_args!("nothing matches {query:?}"));
        }
        for failure in &stored.failed {
            io.report(failure);
        }
        Ok(match (stored.failed.len(), hits.len()) {
            (0, 0) => ExitStatus::No,
            (0, _) => ExitStatus::Done,
            _ => ExitStatus::Partial,
        })
    }

    fn filter(&self, session: Option<&SessionId>, store: &Store) -> Result<Filter> {
        let start = |when: When| when.start.timestamp_millis();
        Ok(Filter {
            session: session.map(ToString::to_string),
            kinds: self.kind.clone(),
            roles: self.role.clone(),
            since: time_of("since", self.since.as_deref(), store)?.map(start),
            before: time_of("before", self.before.as_deref(), store)?.map(start),
        })
    }
}

/// Opens the index and updates it.
fn open(store: &Store, stored: &mut Stored<'_>, io: &mut Io) -> Result<SearchIndex> {
    let unusable = |error| search_failure(&error, store);
    store.prepare().and_then(|()| store.refuse_links(&store.search_index())).map_err(failure)?;
    let mut index = SearchIndex::open(&store.search_index(), PATIENCE).map_err(unusable)?;
    if index.was_damaged {
        io.warn("the search index is damaged or from another version; rebuilding it");
    }
    if index.is_locked_by_another() {
        io.warn("another run is updating the search index; new content may be missing");
    }
    let read = |source: &_, take: &mut dyn FnMut(_)| stored.read(source, take);
    let Changes { read, forgotten, failed } =
        index.update(&stored.sources, read).map_err(unusable)?;
    io.note(format_args!("indexed {read} files and snapshots, removed {forgotten} from the index"));
    let failed = failed.into_iter().map(|(_, failure)| failure.status(ExitStatus::Partial));
    stored.failed.extend(failed);
    Ok(index)
}

/// Converts an index error into a message for the user.
fn search_failure(error: &SearchError, store: &Store) -> Failure {
    let failure = Failure::new(error);
    match error {
        SearchError::Busy => failure.status(ExitStatus::Busy).hint("try again"),
        SearchError::Io { .. } => failure.hint("check the disk space and the permissions"),
        SearchError::Engine(_) => {
            failure.hint(format!("remove {} to rebuild the index", store.search_index().display()))
        }
    }
}

/// The maximum number of characters in a snippet.
const SHOWN: usize = 240;

/// Formats a result as text: where the passage is, and the passage.
fn passage(hit: &Hit, query: &str, texts: &mut HitReader<'_>, io: &Io) -> String {
    let place = format!("{}:{}", hit.source.name, SourceLine::from_number(hit.line));
    let time = DateTime::from_timestamp_millis(hit.time);
    let time = time.map(|time| time.format("%Y-%m-%d %H:%M").to_string());
    let kind: &str = hit.source.kind.into();
    let about: Vec<&str> = [Some(kind), hit.role, time.as_deref()].into_iter().flatten().collect();
    let text = texts.text(hit).map(|text| snippet(&text, query, SHOWN));
    let text = text.as_deref().unwrap_or("(the text can no longer be read)");
    let place = io.paint(Paint::Bold, &printable(&place));
    format!("{place}  {}\n  {}\n", about.join(", "), printable(text))
}

/// Formats a result as a line of JSON. The snippet is null if the text can no longer be read.
pub(crate) fn line(
    hit: &Hit,
    query: &str,
    stored: &Stored<'_>,
    texts: &mut HitReader<'_>,
) -> String {
    let source = &hit.source;
    let place = SourceLine::from_number(hit.line);
    let text = texts.text(hit);
    let time = DateTime::from_timestamp_millis(hit.time);
    let entry = text.as_deref().and_then(entry_of);
    let of_entry = entry.map(|entry| entry.citation.session);
    json_line(&json_object! {
        r#ref: format!("{}:{place}", source.name),
        kind: source.kind,
        session: source.session.as_deref().or(of_entry.as_deref()),
        path: stored.path(source).to_string_lossy().into_owned(),
        line: place.line,
        role: hit.role,
        time: time.map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true)),
        holds: hit.holds,
        score: hit.score,
        snippet: text.as_deref().map(|text| snippet(text, query, SHOWN)),
    })
}
