//! Lists the secrets that redaction finds in sessions, for review:
//!
//!     cargo run --release -p ctx-redact --example secrets -- FOLDER
//!
//! Prints one line for each distinct secret: the number of its occurrences, and the secret between
//! « and » with the text around it. Like the tools, it reads JSON string by string, and any other
//! file as a single text. The output shows secrets, so do not keep it in a file.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use ctx_redact::find;
use serde_json::{Deserializer, Value};

/// The number of characters to show on each side of a secret.
const AROUND: usize = 40;

type Findings = BTreeMap<String, usize>;

fn main() -> io::Result<()> {
    let mut findings = Findings::new();
    for name in env::args_os().skip(1) {
        for file in files(Path::new(&name))? {
            look_at(&fs::read(file)?, &mut findings);
        }
    }
    for (finding, count) in &findings {
        println!("{count:6}  {finding}");
    }
    let all: usize = findings.values().sum();
    println!("{all:6}  in all, {} distinct", findings.len());
    Ok(())
}

/// Returns the file itself, or the files in a folder and its subfolders.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        found.extend(files(&entry?.path())?);
    }
    Ok(found)
}

fn look_at(bytes: &[u8], findings: &mut Findings) {
    let values = Deserializer::from_slice(bytes).into_iter::<Value>();
    match values.collect::<Result<Vec<_>, _>>() {
        Ok(values) => values.iter().for_each(|value| strings(value, findings)),
        Err(_) => add(&String::from_utf8_lossy(bytes), findings),
    }
}

fn strings(value: &Value, findings: &mut Findings) {
    match value {
        Value::String(text) => add(text, findings),
        Value::Array(values) => values.iter().for_each(|value| strings(value, findings)),
        Value::Object(members) => members.values().for_each(|value| strings(value, findings)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn add(text: &str, findings: &mut Findings) {
    for secret in find(text) {
        let before: Vec<char> = text[..secret.start].chars().rev().take(AROUND).collect();
        let before: String = before.into_iter().rev().collect();
        let after: String = text[secret.end..].chars().take(AROUND).collect();
        let line = format!("{before}«{}»{after}", &text[secret]);
        *findings.entry(line.escape_debug().to_string()).or_default() += 1;
    }
}
