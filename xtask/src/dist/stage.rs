//! The folders of a package: what is unpacked into `~/.local`, `/usr/local` or `/usr`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anyhow::Context;

/// Where the one program lies; the tools are links to it.
pub(super) const PROGRAM: &str = "lib/ctx-tools/ctx-tools";

/// Where documents go.
pub(super) const DOC: &str = "share/doc/ctx-tools";

/// Creates `prefix` with the whole content of a package.
pub(super) fn whole(
    prefix: &Path,
    root: &Path,
    program: &Path,
    licences: &str,
) -> anyhow::Result<()> {
    recreate(prefix)?;
    put(program, &prefix.join(PROGRAM), 0o755)?;
    links(&prefix.join("bin"))?;
    shared(&prefix.join("share"), root)?;
    let doc = prefix.join(DOC);
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        put(&root.join(name), &doc.join(name), 0o644)?;
    }
    documents(&doc, root, licences)
}

/// An empty folder.
pub(super) fn recreate(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}

/// The link of each tool.
pub(super) fn links(bin: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(bin)?;
    for tool in crate::tools() {
        symlink(Path::new("..").join(PROGRAM), bin.join(tool.name))?;
    }
    Ok(())
}

/// What does not depend on the machine, under the names that man and the shells look for.
pub(super) fn shared(share: &Path, root: &Path) -> anyhow::Result<()> {
    let completions = root.join("completions");
    put_all(&completions.join("bash"), &share.join("bash-completion/completions"))?;
    put_all(&completions.join("zsh"), &share.join("zsh/site-functions"))?;
    put_all(&completions.join("fish"), &share.join("fish/vendor_completions.d"))?;
    for tool in crate::tools() {
        let page = format!("{}.1", tool.name);
        put(&root.join("man").join(&page), &share.join("man/man1").join(&page), 0o644)?;
    }
    put(&root.join("man/ctx.7"), &share.join("man/man7/ctx.7"), 0o644)?;
    for folder in ["presets", "prompts"] {
        put_all(&root.join(folder), &share.join("ctx-tools").join(folder))?;
    }
    Ok(())
}

/// What is there to read.
pub(super) fn documents(doc: &Path, root: &Path, licences: &str) -> anyhow::Result<()> {
    for name in ["README.md", "CHANGELOG.md", "SECURITY.md"] {
        put(&root.join(name), &doc.join(name), 0o644)?;
    }
    for folder in ["docs", "examples"] {
        put_all(&root.join(folder), &doc.join(folder))?;
    }
    write(&doc.join("THIRD-PARTY-LICENSES.txt"), licences.as_bytes())
}

/// A folder with all that is in it.
fn put_all(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            put_all(&entry.path(), &to)?;
        } else {
            let is_program = entry.metadata()?.permissions().mode() & 0o100 != 0;
            put(&entry.path(), &to, if is_program { 0o755 } else { 0o644 })?;
        }
    }
    Ok(())
}

fn put(from: &Path, to: &Path, mode: u32) -> anyhow::Result<()> {
    let content = fs::read(from).with_context(|| from.display().to_string())?;
    write(to, &content)?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

/// A file that all may read.
pub(super) fn write(to: &Path, content: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(to, content).with_context(|| to.display().to_string())?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(0o644))?)
}
