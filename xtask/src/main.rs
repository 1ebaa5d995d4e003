//! The program behind `cargo xtask gen [--check]`, `cargo xtask picture` and `cargo xtask dist`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;

/// Tasks of the repository
#[derive(Parser)]
enum Chore {
    /// Write man pages, completions and the generated pages of docs/
    Gen {
        /// Only check, and fail if a file is stale
        #[arg(long)]
        check: bool,
    },
    /// Draw the picture in the README by running the tools from a folder
    Picture {
        /// The folder with the tools, for instance target/release
        bin: PathBuf,
    },
    /// Build a tarball and a Debian package in target/packages
    Dist(xtask::dist::Dist),
}

fn main() -> anyhow::Result<()> {
    let root = xtask::root();
    match Chore::parse() {
        Chore::Gen { check } => generate(&root, check),
        Chore::Picture { bin } => {
            let bin = bin.canonicalize().context("no such folder")?;
            xtask::put(&root, &xtask::picture::drawn(&bin)?).context("cannot write docs/picture/")
        }
        Chore::Dist(dist) => {
            for package in dist.run(&root)? {
                let size = std::fs::metadata(&package)?.len() as f64 / 1e6;
                let line = format!("{} ({size:.1} MB)\n", package.display());
                std::io::stderr().write_all(line.as_bytes())?;
            }
            Ok(())
        }
    }
}

fn generate(root: &Path, check: bool) -> anyhow::Result<()> {
    let files = xtask::generated().context("cannot generate")?;
    if !check {
        return xtask::write(root, &files).context("cannot write man/ and completions/");
    }
    let stale = xtask::stale(root, &files).context("cannot read man/ and completions/")?;
    if stale.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = stale.iter().map(|path| path.display().to_string()).collect();
    bail!("stale: {}; run `{}`", names.join(", "), xtask::REPAIR);
}
