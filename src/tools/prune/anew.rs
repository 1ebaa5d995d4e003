//! `--new`: the pruned session beside the old one, under an id of its own.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ctx_cli::{Failure, Io};
use ctx_passes::prune::{Decision, NewName};
use ctx_store::Growth;
use ctx_transcript::{Dialect, Head};

use super::failure;
use crate::output;
use crate::store::LazyStore;
use crate::target::OutputArgs;

/// The id of the session in a file, where its agent has written one.
pub(super) fn id_of(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let head = File::open(path).and_then(Head::read);
    let head =
        head.map_err(|error| Failure::new(format_args!("cannot read: {error}")).at(&name, None))?;
    head.session.ok_or_else(|| {
        Failure::new("--new, and no line tells the id of an agent's session")
            .at(&name, None)
            .hint("write another file with -o")
    })
}

/// Writes it, and prints its path.
pub(super) fn write(
    decision: &mut Decision<'_>,
    left_out: u64,
    old: (&Path, &str),
    dialect: Option<&dyn Dialect>,
    store: &LazyStore<'_>,
    io: &mut Io,
) -> Result<(), Failure> {
    let (path, id) = old;
    let name = path.display().to_string();
    let fail = |error| failure(error, &name);
    let temporary = |error: io::Error| {
        Failure::new(format_args!("cannot write a temporary file: {error}"))
            .hint("TMPDIR names the folder for it")
    };
    let mut content = tempfile::tempfile().map_err(temporary)?;
    decision.write(left_out, &mut content).map_err(fail)?;
    let new = NewName::of(id, &mut content).map_err(fail)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(new.of_file(&file));
    if beside.exists() {
        return Err(
            Failure::new("is there already: the session was pruned like that before")
                .at(beside.display().to_string(), None)
                .hint("go on with it, or remove it"),
        );
    }
    let output = OutputArgs {
        output: Some(beside.clone()),
    };
    let inputs: [PathBuf; 1] = [path.to_owned()];
    let (_, target) = output.session(&inputs, None, store, Growth::Stops)?;
    let mut written = target.open(io)?;
    if let Some(dialect) = dialect {
        let done = new.write(&mut content, dialect, &mut written);
        done.map_err(fail)?;
    }
    written.flush().map_err(output::failure)?;
    written.finish()?;
    io.write(format!("{}\n", beside.display()).as_bytes())
}
