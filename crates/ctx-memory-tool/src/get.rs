//! `ctx-memory get` prints the text of the search result with the given `ref` (`NAME:LINE`).

use clap::ArgMatches;
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Result, Statuses};
use ctx_tools::store::StoreArgs;

use crate::stored::{SourceLine, Stored};

/// Print the text of a result of `ctx-memory search`
///
/// For a message in a snapshot, prints the whole record; for a memory file, the entry or paragraph;
/// for an offloaded result, the full text. On a terminal, control characters are shown as escapes;
/// in a file or a pipe, the bytes are unchanged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The `ref` of a search result
    #[arg(value_name = "REF", required = true)]
    refs: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self, matches: &ArgMatches, io: &mut Io) -> Outcome {
        let store = self.store.open(&crate::TOOL, matches)?;
        let stored = Stored::of(&store)?;
        let mut statuses = Statuses::default();
        for reference in &self.refs {
            match bytes(reference, &stored) {
                Ok(bytes) => {
                    io.text(&bytes)?;
                    statuses.add(ExitStatus::Done);
                }
                Err(failure) => statuses.failed(&failure, io),
            }
        }
        Ok(statuses.of_all())
    }
}

/// Looks up the name among the store's sources. The name is never opened as a path.
fn bytes(reference: &str, stored: &Stored<'_>) -> Result<Vec<u8>> {
    let Some((name, place)) = SourceLine::parse(reference) else {
        return Err(Failure::new(format_args!("{reference}: not a ref"))
            .hint("copy the `ref` (NAME:LINE) from a result of ctx-memory search"));
    };
    let missing = || {
        Failure::new(format_args!("{reference}: the store has no such ref"))
            .hint("the text may have been removed or changed since the search; search again")
    };
    let source = stored.sources.iter().find(|source| source.name == name);
    let held = source.map_or(Ok(None), |source| stored.held(source, place))?;
    held.map(|held| held.bytes).ok_or_else(missing)
}
