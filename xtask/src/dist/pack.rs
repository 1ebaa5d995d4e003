//! From folders to packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use chrono::DateTime;

use super::{Places, cargo, output, run, stage};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Who makes the package, as Debian's changelog wants it; also in `crates/ctx-all/Cargo.toml`.
const MAINTAINER: &str = "ctx-tools authors <maintainers@ctx-tools.example>";

/// `ctx-tools-VERSION-TRIPLE.tar.gz`: gzip, since there is no machine that cannot unpack it.
pub(super) fn tarball(places: &Places<'_>, licences: &str) -> anyhow::Result<PathBuf> {
    let name = format!("ctx-tools-{VERSION}-{}", places.triple);
    let stage = places.built.join("stage");
    let program = places.built.join("ctx-tools");
    stage::whole(&stage.join(&name), places.root, &program, licences)?;
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

/// Says how to get what makes Debian packages.
pub(super) fn require_cargo_deb() -> anyhow::Result<()> {
    let found = output(cargo::command().args(["deb", "--version"]));
    if found.is_err() {
        bail!(
            "cargo-deb is not installed: cargo install --locked cargo-deb; --no-deb makes the tarball alone"
        );
    }
    Ok(())
}

/// The Debian package. What goes where is in `crates/ctx-all/Cargo.toml`.
pub(super) fn deb(
    places: &Places<'_>,
    target: Option<&str>,
    licences: &str,
) -> anyhow::Result<PathBuf> {
    let stage = places.built.join("deb");
    stage::recreate(&stage)?;
    stage::links(&stage.join("bin"))?;
    stage::shared(&stage.join("share"), places.root)?;
    // The licences of Debian's packages are in the file copyright, which cargo-deb writes.
    stage::documents(&stage.join(stage::DOC), places.root, licences)?;
    let changes = stage.join(stage::DOC).join("changelog.Debian");
    stage::write(&changes, changelog(places.epoch)?.as_bytes())?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "--no-name", "--recursive"]).arg(&changes);
    run(gzip.arg(stage.join("share/man")))?;
    let mut cargo = cargo::command();
    cargo.args(["deb", "--no-build", "--no-strip", "--profile=dist"]);
    cargo.args(["--package", cargo::PACKAGE, "--output"]).arg(&places.packages);
    if let Some(target) = target {
        cargo.args(["--target", target]);
    }
    cargo.env("SOURCE_DATE_EPOCH", places.epoch.to_string());
    let made = output(cargo.current_dir(places.root))?;
    Ok(PathBuf::from(made.trim()))
}

/// Debian wants a changelog of the package in its own form.
fn changelog(epoch: i64) -> anyhow::Result<String> {
    let time = DateTime::from_timestamp(epoch, 0).context("a time after all times")?;
    let time = time.to_rfc2822();
    Ok(format!(
        "ctx-tools ({VERSION}-1) unstable; urgency=medium\n\n  * Release {VERSION}; /usr/share/doc/ctx-tools/CHANGELOG.md says what is new.\n\n -- {MAINTAINER}  {time}\n"
    ))
}

/// `SHA256SUMS` of all packages, for `sha256sum --check`.
pub(super) fn checksums(places: &Places<'_>) -> anyhow::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(&places.packages)? {
        let name = entry?.file_name();
        let is_package =
            Path::new(&name).extension().is_some_and(|end| end == "gz" || end == "deb");
        names.extend(is_package.then_some(name));
    }
    names.sort();
    let mut sums = Command::new("sha256sum");
    let sums = output(sums.args(names).current_dir(&places.packages))?;
    Ok(fs::write(places.packages.join("SHA256SUMS"), sums)?)
}
