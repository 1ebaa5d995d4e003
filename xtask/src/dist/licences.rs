//! The licences of what is built into the tools, as those licences ask for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::cargo::{Metadata, Package};

const HEAD: &str = "\
The tools contain, or contain tables made from, the packages below. Each is followed by the licence
that its authors chose, then come the texts that are in these packages, each once.

";

/// A page of all of them.
pub(super) fn text(metadata: &Metadata) -> String {
    let built_in = metadata.built_in();
    let others = built_in.iter().filter(|package| package.source.is_some());
    let mut page = HEAD.to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in others {
        let Package { name, version, .. } = package;
        let licence = package.license.as_deref().unwrap_or("see its text below");
        let _ = writeln!(page, "{name} {version}: {licence}");
        let folder = package.manifest_path.parent().unwrap_or(Path::new("."));
        for text in licence_files(folder) {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    // The text that most packages share comes first.
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by_key(|(_, of)| (std::cmp::Reverse(of.len()), of.clone()));
    for (text, of) in texts {
        let _ = write!(page, "\n{}\n{}\n\n{text}\n", "-".repeat(78), of.join(", "));
    }
    page
}

/// The texts of the files of a package that are about its licence.
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
    // The same text ends its lines in several ways.
    texts.map(|text| text.replace("\r\n", "\n").trim().to_owned()).collect()
}
