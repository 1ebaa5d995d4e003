//! `ctx-memory get`: what a result refers to.

use clap::ArgMatches;
use ctx_cli::{ExitStatus, Failure, Io, Outcome, printable};
use ctx_tools::store::StoreArgs;

use crate::place::Place;
use crate::stored::Stored;

/// Print what a result of `ctx-memory search` refers to
///
/// For a message in a snapshot: the bytes of its record. For a memory file: the entry or the
/// paragraph. For an offloaded result: all of its text. On a terminal, control characters are shown
/// as escapes; a file or a pipe gets the bytes unchanged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The `ref` of a result
    #[arg(value_name = "REF", required = true)]
    refs: Vec<String>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self, matches: &ArgMatches, io: &mut Io) -> Outcome {
        let store = self.store.open(&crate::TOOL, matches)?;
        let stored = Stored::of(&store)?;
        let mut statuses = Vec::new();
        for reference in &self.refs {
            match bytes(reference, &stored) {
                Ok(bytes) => {
                    print(&bytes, io)?;
                    statuses.push(ExitStatus::Done);
                }
                Err(failure) => {
                    io.report(&failure);
                    statuses.push(failure.exit_status());
                }
            }
        }
        Ok(ExitStatus::of_several(&statuses))
    }
}

/// Looks the name up among the sources of the store. The name is never opened as a path.
fn bytes(reference: &str, stored: &Stored<'_>) -> Result<Vec<u8>, Failure> {
    let Some((name, place)) = Place::parse(reference) else {
        return Err(Failure::new(format_args!("{reference}: not a ref"))
            .hint("copy the `ref` of a result of ctx-memory search, NAME:LINE"));
    };
    let missing = || Failure::new(format_args!("{reference}: there is nothing of that name"));
    let hint = "it may have been removed or changed; search again";
    let source = stored.source(name).ok_or_else(|| missing().hint(hint))?;
    let held = stored.held(source, place)?;
    held.map(|held| held.bytes).ok_or_else(|| missing().hint(hint))
}

fn print(bytes: &[u8], io: &mut Io) -> Result<(), Failure> {
    if io.columns().is_none() {
        return io.write(bytes);
    }
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(|line| printable(line) + "\n");
    io.write(lines.collect::<String>().as_bytes())
}
