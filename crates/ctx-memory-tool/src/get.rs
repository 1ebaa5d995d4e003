//! `ctx-memory get` prints the text at a position `NAME:LINE`, which is the `ref` of a search
//! result.

use clap::ArgMatches;
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Result, Statuses};
use ctx_tools::store::StoreArgs;

use crate::stored::SourceLine;
use crate::stored::Stored;
use crate::write_text;

/// Print the text of a result of `ctx-memory search`
///
/// For a message in a snapshot, prints the bytes of its record; for a memory file, the entry or the
/// paragraph; for an offloaded result, all of its text. On a terminal, control characters are shown
/// as escapes; a file or a pipe gets the bytes unchanged.
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
                    write_text(&bytes, io)?;
                    statuses.add(ExitStatus::Done);
                }
                Err(failure) => statuses.failed(&failure, io),
            }
        }
        Ok(statuses.of_all())
    }
}

/// Looks up the name among the sources of the store. The name is never opened as a path.
fn bytes(reference: &str, stored: &Stored<'_>) -> Result<Vec<u8>> {
    let Some((name, place)) = SourceLine::parse(reference) else {
        return Err(Failure::new(format_args!("{reference}: not a ref"))
            .hint("copy the `ref` of a result of ctx-memory search, NAME:LINE"));
    };
    let missing = || {
        Failure::new(format_args!("{reference}: the store has no such ref"))
            .hint("its text may have been removed or changed, so search again")
    };
    let source = stored.sources.iter().find(|source| source.name == name);
    let held = source.map_or(Ok(None), |source| stored.held(source, place))?;
    held.map(|held| held.bytes).ok_or_else(missing)
}
