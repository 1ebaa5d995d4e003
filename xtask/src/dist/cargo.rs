//! What cargo knows, and the build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use super::{output, run};

/// The package whose program is all tools.
pub(super) const PACKAGE: &str = "ctx-all";

/// The part of `cargo metadata` that is needed here.
#[derive(Deserialize)]
pub(super) struct Metadata {
    pub(super) packages: Vec<Package>,
    pub(super) target_directory: PathBuf,
    resolve: Resolve,
}

/// A package, ours or another's.
#[derive(Deserialize)]
pub(super) struct Package {
    id: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    pub(super) manifest_path: PathBuf,
    /// Where it was downloaded from; ours were not.
    pub(super) source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<BTreeMap<String, Option<String>>>,
}

impl Metadata {
    pub(super) fn read(root: &Path, triple: &str) -> anyhow::Result<Self> {
        let mut cargo = command();
        cargo.args(["metadata", "--format-version=1", "--locked"]);
        cargo.args(["--filter-platform", triple]).current_dir(root);
        serde_json::from_str(&output(&mut cargo)?).context("cannot read what cargo metadata prints")
    }

    /// What is built into the program, or makes what is built in (the vocabularies): all but what
    /// tests alone need. By name and version.
    pub(super) fn built_in(&self) -> Vec<&Package> {
        let nodes: BTreeMap<&str, &Node> =
            self.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let is_root = |package: &&Package| package.name == PACKAGE;
        let root = self.packages.iter().find(is_root);
        let mut waiting: Vec<&str> = root.map(|root| root.id.as_str()).into_iter().collect();
        let mut seen: BTreeSet<&str> = waiting.iter().copied().collect();
        while let Some(node) = waiting.pop().and_then(|id| nodes.get(id)) {
            for dependency in &node.deps {
                let mut kinds = dependency.dep_kinds.iter();
                let is_built = kinds.any(|kind| kind["kind"].as_deref() != Some("dev"));
                if is_built && seen.insert(&dependency.pkg) {
                    waiting.push(&dependency.pkg);
                }
            }
        }
        let packages = self.packages.iter();
        let mut packages: Vec<&Package> =
            packages.filter(|package| seen.contains(package.id.as_str())).collect();
        packages.sort_by_key(|package| (&package.name, &package.version));
        packages
    }
}

/// The cargo that runs this, else the one in PATH. Not the program that built this one: called
/// past rustup, it would let each package choose its own compiler.
pub(super) fn command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The platform of this machine, as rustc calls it.
pub(super) fn host() -> anyhow::Result<String> {
    let said = output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Builds the program. Paths of this machine, which panic messages contain, are replaced, so that
/// another machine builds the same bytes.
pub(super) fn build(root: &Path, target: Option<&str>) -> anyhow::Result<()> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let home = home.context("there is no home folder, and CARGO_HOME is not set")?;
    let (home, root_name) = (home.display(), root.display());
    let flags = [
        format!("--remap-path-prefix={home}=/cargo"),
        format!("--remap-path-prefix={root_name}=/ctx-tools"),
    ];
    let mut cargo = command();
    cargo.args(["build", "--locked", "--profile=dist", "--package", PACKAGE]);
    if let Some(target) = target {
        cargo.args(["--target", target]);
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    cargo.env("CFLAGS", format!("-ffile-prefix-map={home}=/cargo"));
    run(cargo.current_dir(root))
}
