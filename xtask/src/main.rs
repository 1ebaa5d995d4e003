//! `cargo run -p xtask -- gen [--check]`

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Parser;

/// Chores of the repository
#[derive(Parser)]
enum Chore {
    /// Write man pages, completions and the generated pages of docs/
    Gen {
        /// Write nothing; fail if a file is stale
        #[arg(long)]
        check: bool,
    },
    /// Draw the picture of the README with the tools in a folder
    Picture {
        /// The folder, for instance target/release
        bin: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    let root = xtask::root();
    let check = match Chore::parse() {
        Chore::Gen { check } => check,
        Chore::Picture { bin } => {
            let bin = bin.canonicalize().context("no such folder")?;
            let files = xtask::picture::drawn(&bin)?;
            return xtask::put(&root, &files).context("cannot write docs/picture/");
        }
    };
    let files = xtask::generated().context("cannot generate")?;
    if !check {
        return xtask::write(&root, &files).context("cannot write man/ and completions/");
    }
    let stale = xtask::stale(&root, &files).context("cannot read man/ and completions/")?;
    if stale.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = stale
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    bail!("stale: {}; run `{}`", names.join(", "), xtask::REPAIR);
}
