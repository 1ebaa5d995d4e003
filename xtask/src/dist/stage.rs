//! Prepares a package's folder and makes the package from it. Users unpack packages into
//! `~/.local`, `/usr/local` or `/usr`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use chrono::DateTime;
use ctx_tools::entry::ENTRY;

use super::{Places, cargo, output, run};

/// The path of the program in a package. The tools are links to the program.
const PROGRAM: &str = "lib/ctx-tools/ctx-tools";

/// The folder for documentation in a package.
const DOC: &str = "share/doc/ctx-tools";

/// Creates an empty folder, after deleting any existing folder with this name.
fn recreate(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}

/// Creates a link to the program for each tool, and for `ctx`.
fn links(bin: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(bin)?;
    for tool in crate::tools().into_iter().chain([&ENTRY]) {
        symlink(Path::new("..").join(PROGRAM), bin.join(tool.name))?;
    }
    Ok(())
}

/// The files that do not depend on the machine, each with its path in the package's `share` folder.
/// `man` and the shells expect these paths.
const SHARED: &str = include_str!("shared.txt");

fn shared(share: &Path, root: &Path) -> anyhow::Result<()> {
    for (from, to) in SHARED.lines().filter_map(|line| line.split_once(' ')) {
        put(&root.join(from), &share.join(to))?;
    }
    for tool in crate::tools().into_iter().chain([&ENTRY]) {
        let page = format!("{}.1", tool.name);
        put(&root.join("man").join(&page), &share.join("man/man1").join(&page))?;
    }
    Ok(())
}

/// Copies the documentation, and writes the file with the licences.
fn documents(doc: &Path, root: &Path, licences: &str) -> anyhow::Result<()> {
    for name in ["README.md", "CHANGELOG.md", "SECURITY.md", "docs", "examples"] {
        put(&root.join(name), &doc.join(name))?;
    }
    write(&doc.join("THIRD-PARTY-LICENSES.txt"), licences.as_bytes())
}

/// Copies a file, or a folder with everything in it. The file modes are set later by tar and
/// cargo-deb.
fn put(from: &Path, to: &Path) -> anyhow::Result<()> {
    if from.is_dir() {
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            put(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    fs::create_dir_all(to.parent().context("no folder")?)?;
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

fn write(to: &Path, content: &[u8]) -> anyhow::Result<()> {
    fs::write(to, content).with_context(|| to.display().to_string())
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The maintainer, in the format of Debian changelogs. The same text must be in
/// `crates/ctx-all/Cargo.toml`.
const MAINTAINER: &str = "ctx-tools authors <maintainers@ctx-tools.example>";

/// Makes `ctx-tools-VERSION-TRIPLE.tar.gz`. The tarball is compressed with gzip, which every
/// machine can unpack.
pub(super) fn tarball(places: &Places<'_>, licences: &str) -> anyhow::Result<PathBuf> {
    let name = format!("ctx-tools-{VERSION}-{}", places.triple);
    let stage = places.built.join("stage");
    let prefix = stage.join(&name);
    recreate(&prefix)?;
    put(&places.built.join("ctx-tools"), &prefix.join(PROGRAM))?;
    links(&prefix.join("bin"))?;
    shared(&prefix.join("share"), places.root)?;
    let doc = prefix.join(DOC);
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        put(&places.root.join(name), &doc.join(name))?;
    }
    documents(&doc, places.root, licences)?;
    fs::create_dir_all(&places.packages)?;
    let tar = places.packages.join(format!("{name}.tar"));
    run(Command::new("tar")
        .args(["--create", "--sort=name", "--format=ustar", "--numeric-owner"])
        .args(["--owner=0", "--group=0", "--mode=u+rwX,go+rX,go-w"])
        .arg(format!("--mtime=@{}", places.epoch))
        .arg("--file")
        .arg(&tar)
        .arg("--directory")
        .arg(&stage)
        .arg(&name))?;
    run(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(&tar))?;
    Ok(places.packages.join(format!("{name}.tar.gz")))
}

/// Makes the Debian package. `crates/ctx-all/Cargo.toml` lists its files.
pub(super) fn deb(
    places: &Places<'_>,
    target: Option<&str>,
    licences: &str,
) -> anyhow::Result<PathBuf> {
    let stage = places.built.join("deb");
    recreate(&stage)?;
    links(&stage.join("bin"))?;
    shared(&stage.join("share"), places.root)?;
    // Our own licences are not copied, because cargo-deb writes them into the file `copyright`.
    documents(&stage.join(DOC), places.root, licences)?;
    let changes = stage.join(DOC).join("changelog.Debian");
    write(&changes, changelog(places.epoch)?.as_bytes())?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "--no-name", "--recursive"]).arg(&changes);
    run(gzip.arg(stage.join("share/man")))?;
    let mut cargo = cargo::command();
    cargo.args(["deb", "--no-build", "--no-strip", "--profile=dist"]);
    cargo.args(["--package", cargo::PACKAGE, "--output"]).arg(&places.packages);
    cargo.args(target.into_iter().flat_map(|target| ["--target", target]));
    cargo.env("SOURCE_DATE_EPOCH", places.epoch.to_string());
    Ok(PathBuf::from(output(cargo.current_dir(places.root))?.trim()))
}

/// Returns the package's changelog in Debian's format.
fn changelog(epoch: i64) -> anyhow::Result<String> {
    let time = DateTime::from_timestamp(epoch, 0).context("the time is out of range")?;
    let time = time.to_rfc2822();
    Ok(format!(
        "ctx-tools ({VERSION}-1) unstable; urgency=medium\n\n  * Release {VERSION}; /usr/share/doc/ctx-tools/CHANGELOG.md lists the changes.\n\n -- {MAINTAINER}  {time}\n"
    ))
}

/// Writes the checksums of all packages into `SHA256SUMS`, for `sha256sum --check`.
pub(super) fn checksums(places: &Places<'_>) -> anyhow::Result<()> {
    let list = "sha256sum $(ls | grep -E '\\.(gz|deb)$') > SHA256SUMS";
    run(Command::new("sh").args(["-c", list]).env("LC_ALL", "C").current_dir(&places.packages))
}
