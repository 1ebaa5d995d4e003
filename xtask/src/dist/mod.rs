//! Implements `cargo xtask dist`, which makes the packages for a release: a tarball and a Debian
//! package.
//!
//! The packages do not depend on the machine that builds them: they contain no local paths or
//! owners, all file times are `$SOURCE_DATE_EPOCH` or the time of the last commit, and files are
//! sorted by name.

mod cargo;
mod stage;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use cargo::{Metadata, Package};

/// The options of `cargo xtask dist`.
#[derive(clap::Args, Clone, Debug)]
pub struct Dist {
    /// Build for this target triple [default: the triple of this machine]
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,
    /// Make only the tarball, which does not need cargo-deb
    #[arg(long)]
    pub no_deb: bool,
}

/// The folders used to make packages, and the timestamp.
struct Places<'r> {
    root: &'r Path,
    triple: &'r str,
    /// The folder with cargo's output.
    built: PathBuf,
    /// The folder for the packages.
    packages: PathBuf,
    /// The timestamp for all files in the packages, in seconds since 1970.
    epoch: i64,
}

impl Dist {
    /// Builds the tools, makes the packages, and returns their paths.
    pub fn run(&self, root: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let host = cargo::host()?;
        let triple = self.target.as_deref().unwrap_or(&host);
        // A static program runs on every distribution, so the tarball is enough.
        let deb = !self.no_deb && !triple.ends_with("-musl");
        if deb {
            output(cargo::command().args(["deb", "--version"])).ok().context(
                "cargo-deb is not installed: cargo install --locked cargo-deb; --no-deb makes only the tarball",
            )?;
        }
        let metadata = Metadata::read(root)?;
        let mut built = metadata.target_directory.clone();
        built.extend(self.target.as_deref());
        let places = Places {
            root,
            triple,
            built: built.join("dist"),
            packages: metadata.target_directory.join("packages"),
            epoch: epoch(root)?,
        };
        cargo::build(root, self.target.as_deref())?;
        let licences = licence_texts(&metadata.of_others(root, triple)?);
        let mut packages = vec![stage::tarball(&places, &licences)?];
        if deb {
            packages.push(stage::deb(&places, self.target.as_deref(), &licences)?);
        }
        stage::checksums(&places)?;
        Ok(packages)
    }
}

/// Returns the timestamp for all packed files: `$SOURCE_DATE_EPOCH`, or else the time of the last
/// commit.
fn epoch(root: &Path) -> anyhow::Result<i64> {
    if let Ok(epoch) = std::env::var("SOURCE_DATE_EPOCH") {
        return epoch.parse().context("SOURCE_DATE_EPOCH is not a number");
    }
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(root);
    let epoch = output(&mut git).context("this is not a git repository; set SOURCE_DATE_EPOCH")?;
    Ok(epoch.trim().parse()?)
}

/// Runs a command and shows its output.
fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| shown(command))?;
    if !status.success() {
        bail!("{} failed: {status}", shown(command));
    }
    Ok(())
}

/// Runs a command and returns its output on stdout.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| shown(command))?;
    if !output.status.success() {
        bail!("{} failed: {}", shown(command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

const HEAD: &str = include_str!("licences.txt");

/// Returns text that lists the licences of all packages.
fn licence_texts(packages: &[&Package]) -> String {
    let mut page = HEAD.to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages {
        let Package { name, version, .. } = package;
        let licence = package.license.as_deref().unwrap_or("see its text below");
        let _ = writeln!(page, "{name} {version}: {licence}");
        for text in licence_files(package.manifest_path.parent().unwrap_or(Path::new("."))) {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    // The licence texts are sorted by the number of packages that contain them, largest first.
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by_key(|(_, of)| (std::cmp::Reverse(of.len()), of.clone()));
    for (text, of) in texts {
        let _ = write!(page, "\n{}\n{}\n\n{text}\n", "-".repeat(78), of.join(", "));
    }
    page
}

/// Returns the texts of a package's licence files.
fn licence_files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let is_licence = |path: &&std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_uppercase();
        ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|begin| name.starts_with(begin))
    };
    let texts = paths.iter().filter(is_licence).filter_map(|path| fs::read_to_string(path).ok());
    // Copies of the same licence text may differ in their line endings.
    texts.map(|text| text.replace("\r\n", "\n").trim().to_owned()).collect()
}
