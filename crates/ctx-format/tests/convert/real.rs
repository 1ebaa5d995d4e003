//! Tests conversions of recorded sessions.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ctx_format::convert::{Converter, LossKind, Report, SourceId};
use ctx_format::{Dialect, Options, Origin, Outline, Records, Role, Validator, dialect};

use crate::support::{lowering, of_reader};

/// Run this test with `CTX_TRANSCRIPTS=DIR cargo test -p ctx-convert -- --ignored --nocapture`.
#[test]
#[ignore = "needs real sessions in CTX_TRANSCRIPTS"]
fn recorded_sessions_become_legal_ones_of_whole_records() {
    let folders = std::env::var_os("CTX_TRANSCRIPTS").expect("CTX_TRANSCRIPTS names folders");
    let mut count = 0;
    for path in std::env::split_paths(&folders).flat_map(|folder| files(&folder)) {
        let Some(inside) = inside(&path) else { continue };
        count += 1;
        for name in ["anthropic", "chat"] {
            let to = dialect::by_name(name).expect("a dialect");
            let (lines, report) = of_reader(open(&path), Converter::new(to));
            assert!(problems(to, &lines) <= told(&report), "{} {name}", path.display());
        }
        let (lines, report) = of_reader(open(&path), lowering());
        let lost = report.losses.iter().filter(|loss| loss.kind.is_loss());
        let lost: Vec<_> = lost.filter(|loss| loss.kind != LossKind::Record).collect();
        assert!(lost.is_empty(), "{}: {lost:?}", path.display());
        assert_eq!(parted(&lines, &report), Vec::<SourceId>::new(), "{}", path.display());
        let written: BTreeSet<u64> = report
            .sources
            .iter()
            .flat_map(|it| it.origins.iter().map(|origin| origin.record))
            .collect();
        assert_eq!(written, inside, "{}", path.display());
    }
    // With `--nocapture`, the numbers to report are printed.
    #[allow(clippy::print_stdout)]
    {
        println!("{count} sessions");
    }
    assert!(count > 0);
}

fn open(path: &Path) -> File {
    File::open(path).expect("it can be read")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|it| it == "json" || it == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The numbers of the records in the context; `None` if the file is not a session in a known
/// format.
fn inside(path: &Path) -> Option<BTreeSet<u64>> {
    let mut records = Records::open(open(path), &Options::default()).expect("it can be read");
    let dialect = records.dialect()?;
    let mut inside = BTreeSet::new();
    let mut number = 0;
    while let Some(record) = records.next().expect("it can be read") {
        if record.message(Some(dialect)).is_some() {
            inside.insert(number);
        }
        number += u64::from(record.piece.begins());
    }
    Some(inside)
}

fn outlines<'l>(dialect: &dyn Dialect, lines: &'l [String]) -> Vec<Outline<'l>> {
    let outlines = lines.iter().map(|line| {
        let record = Origin::ALONE.record(line.as_bytes());
        record.outline(Some(dialect)).expect("a message")
    });
    outlines.collect()
}

fn problems(dialect: &dyn Dialect, lines: &[String]) -> u64 {
    let mut validator = Validator::new(dialect.rules());
    for (number, outline) in outlines(dialect, lines).iter().enumerate() {
        validator.push(number as u64 + 1, outline);
    }
    let problems = validator.finish();
    let of_pairs = problems.iter().filter(|it| !it.id.is_empty());
    of_pairs.count() as u64
}

fn told(report: &Report) -> u64 {
    let is_told = |kind| matches!(kind, LossKind::OpenCall | LossKind::LoneResult);
    let told = report.losses.iter().filter(|loss| is_told(loss.kind));
    told.map(|loss| loss.count).sum()
}

/// The records of the source that are in more than one exchange.
fn parted(lines: &[String], report: &Report) -> Vec<SourceId> {
    let to = dialect::by_name("anthropic").expect("a dialect");
    let outlines = outlines(to, lines);
    let mut seen = BTreeSet::new();
    let mut parted = Vec::new();
    let mut before: &[SourceId] = &[];
    for (outline, source) in outlines.iter().zip(&report.sources) {
        let answers = outline.role == Role::User && !outline.results.is_empty();
        for origin in &source.origins {
            let is_new = seen.insert(*origin);
            let is_of_reply = answers && before.contains(origin);
            if !is_new && !is_of_reply {
                parted.push(*origin);
            }
        }
        before = &source.origins;
    }
    parted
}
