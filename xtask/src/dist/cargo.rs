//! Reads package metadata from cargo, and builds the program with all tools.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use super::{output, run};

/// The package that builds the program with all tools.
pub(super) const PACKAGE: &str = "ctx-all";

/// The part of the `cargo metadata` output that is needed here.
#[derive(Deserialize)]
pub(super) struct Metadata {
    packages: Vec<Package>,
    pub(super) target_directory: PathBuf,
}

/// A package, either one of our own or a dependency.
#[derive(Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    pub(super) manifest_path: PathBuf,
    /// The registry from which the package was downloaded, or `None` for our own packages.
    pub(super) source: Option<String>,
}

impl Metadata {
    pub(super) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut cargo = command();
        cargo.args(["metadata", "--format-version=1", "--locked"]).current_dir(root);
        serde_json::from_str(&output(&mut cargo)?).context("cannot parse cargo metadata's output")
    }

    /// Returns the dependencies that are built into the program, or used to generate data in it
    /// (the vocabularies), sorted by name and version.
    pub(super) fn of_others(&self, root: &Path, triple: &str) -> anyhow::Result<Vec<&Package>> {
        let mut cargo = command();
        cargo.args(["tree", "--locked", "--package", PACKAGE, "--target", triple]);
        cargo.args(["--edges=normal,build", "--prefix=none"]).current_dir(root);
        let tree = output(&mut cargo)?;
        // A line in the output looks like `serde v1.0.0 (proc-macro) (*)`.
        let built_in: BTreeSet<(&str, &str)> = tree
            .lines()
            .filter_map(|line| line.split_once(" v"))
            .map(|(name, rest)| (name, rest.split(' ').next().unwrap_or(rest)))
            .collect();
        let is_built_in = |package: &&Package| {
            let Package { name, version, source, .. } = package;
            source.is_some() && built_in.contains(&(name.as_str(), version.as_str()))
        };
        let mut packages: Vec<&Package> = self.packages.iter().filter(is_built_in).collect();
        packages.sort_by_key(|package| (&package.name, &package.version));
        Ok(packages)
    }
}

/// Returns the cargo that started this program, or else the cargo in PATH. The cargo that built
/// this program is not used, because rustup may have selected a different toolchain since then.
pub(super) fn command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the target triple of this machine, as rustc reports it.
pub(super) fn host() -> anyhow::Result<String> {
    let said = output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV does not report the host")?.to_owned())
}

/// Builds the program. Local paths in panic messages are replaced, so that the build is the same on
/// every machine.
pub(super) fn build(root: &Path, target: Option<&str>) -> anyhow::Result<()> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let home = home.context("no home folder was found, and CARGO_HOME is not set")?;
    let (home, root_name) = (home.display(), root.display());
    let flags = [
        format!("--remap-path-prefix={home}=/cargo"),
        format!("--remap-path-prefix={root_name}=/ctx-tools"),
    ];
    let mut cargo = command();
    cargo.args(["build", "--locked", "--profile=dist", "--package", PACKAGE]);
    cargo.args(target.into_iter().flat_map(|target| ["--target", target]));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    cargo.env("CFLAGS", format!("-ffile-prefix-map={home}=/cargo"));
    run(cargo.current_dir(root))
}
