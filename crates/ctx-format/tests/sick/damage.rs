//! Tests files that a crash cut off, joined, or filled with NUL bytes.

use std::collections::HashSet;

use ctx_format::{Dialect, Object, Options, Records, Tag, Zone};
use proptest::prelude::*;

use crate::files::{self, File};
use crate::{in_context, lines, repaired};

/// Reads `bytes` as a session in any format, and returns the name of the format.
fn read(bytes: &[u8]) -> Option<&'static str> {
    let mut records = Records::open(bytes, &Options::default()).expect("from memory");
    let dialect = records.dialect();
    let is_document = records.document_members_beside().is_some();
    let mut all = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        let _ = record.outline(dialect);
        let _ = record.message(dialect);
        all.extend_from_slice(record.bytes);
        assert_eq!(stripped(&record), record.bytes, "split and strip");
    }
    assert!(is_document || all == bytes, "lines were lost");
    dialect.map(Dialect::name)
}

/// The record after a tag was added and removed again.
fn stripped(record: &ctx_format::Record<'_>) -> Vec<u8> {
    let tag = Tag { zone: Some(Zone::Old), ..Tag::default() };
    let Some(splice) = record.splice() else { return record.bytes.to_vec() };
    let mut tagged = Vec::new();
    splice.write(&record.untagged(), &tag, &mut tagged).expect("to memory");
    record.origin.clone().record(&tagged).untagged().into_owned()
}

/// The objects in a file that are on complete lines.
fn objects(bytes: &[u8]) -> HashSet<String> {
    let whole = |(_, line): (u64, Vec<u8>)| {
        let text = String::from_utf8(line).ok()?;
        let object = Object::parse(&text).ok()?;
        object.rest().trim_ascii().is_empty().then(|| text.trim_ascii().to_owned())
    };
    lines(bytes).into_iter().filter_map(whole).collect()
}

/// Checks properties that hold for every damaged file: its format is recognized, nothing is lost,
/// and the agent loads at least as much from the repaired copy as from the damaged file.
fn check(file: &File, bytes: &[u8]) {
    let found = read(bytes);
    let is_known = found.is_none_or(|name| name == file.name);
    assert!(is_known, "{} taken for {found:?}", file.name);
    let dialect = file.dialect();
    let (copy, _) = repaired(dialect, bytes);
    let before = in_context(dialect, bytes);
    let after = in_context(dialect, copy.as_bytes());
    assert!(after >= before, "{}: {before} became {after}: {copy}", file.name);
    let again = repaired(dialect, copy.as_bytes());
    assert_eq!(again, (copy, Vec::new()), "{}: repaired twice", file.name);
}

#[test]
fn a_file_may_be_cut_at_any_byte() {
    for file in files::all() {
        let text = file.text();
        for end in 0..=text.len() {
            check(&file, &text.as_bytes()[..end]);
        }
    }
}

#[test]
fn a_file_may_lack_any_line_end() {
    for file in files::all() {
        let whole = in_context(file.dialect(), file.text().as_bytes());
        let ends = file.text().match_indices('\n').count();
        for number in 0..ends {
            let (at, _) = file.text().match_indices('\n').nth(number).expect("a line end");
            let mut text = file.text();
            text.remove(at);
            check(&file, text.as_bytes());
            let (copy, _) = repaired(file.dialect(), text.as_bytes());
            assert_eq!(copy, file.text(), "{}: line {number}", file.name);
            assert_eq!(in_context(file.dialect(), copy.as_bytes()), whole);
        }
    }
}

#[test]
fn nul_bytes_may_stand_anywhere() {
    for file in files::all() {
        let text = file.text();
        for at in (0..=text.len()).step_by(11) {
            let (before, behind) = text.as_bytes().split_at(at);
            let bytes = [before, &[0; 40], behind].concat();
            check(&file, &bytes);
            let (copy, _) = repaired(file.dialect(), &bytes);
            assert_eq!(copy, text, "{}: byte {at}", file.name);
        }
    }
}

#[test]
fn a_torn_line_and_what_was_written_behind_it_are_told_apart() {
    for file in files::all() {
        for end in (1..file.lines[2].len()).step_by(5) {
            let mut lines = file.lines.clone();
            let torn = lines[2][..end].to_owned() + &lines[4];
            lines[4].clone_from(&torn);
            let text = lines.join("\n") + "\n";
            check(&file, text.as_bytes());
            let (copy, _) = repaired(file.dialect(), text.as_bytes());
            let is_there = objects(copy.as_bytes()).contains(&file.lines[4]);
            let is_alone = copy.contains(&format!("\n{}\n", file.lines[4]));
            assert!(is_there && is_alone, "{}: {torn}", file.name);
        }
    }
}

/// Values of all types, one of which replaces another value.
const VALUES: [&str; 9] =
    ["null", "7", "-1e9", "[]", "{}", "\"\"", "\"u2\"", "[null,[{}]]", "true"];

/// The kind of damage to a file, and its position as a share of the file's length.
#[derive(Clone, Debug)]
enum Damage {
    Cut(f64),
    Run(f64),
    Nul(f64, usize),
    Value(f64, usize),
    Swap(f64, f64),
    Twice(f64),
    Byte(f64, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = || 0.0..1.0;
    prop_oneof![
        1 => at().prop_map(Damage::Cut),
        2 => at().prop_map(Damage::Run),
        2 => (at(), 1usize..50).prop_map(|(at, length)| Damage::Nul(at, length)),
        6 => (at(), 0..VALUES.len()).prop_map(|(at, value)| Damage::Value(at, value)),
        2 => (at(), at()).prop_map(|(one, other)| Damage::Swap(one, other)),
        2 => at().prop_map(Damage::Twice),
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
    ]
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
fn place(share: f64, length: usize) -> usize {
    (share * length as f64) as usize
}

fn damaged(mut bytes: Vec<u8>, damage: &Damage) -> Vec<u8> {
    let line_ends = |bytes: &[u8]| -> Vec<usize> {
        let all = bytes.iter().enumerate();
        all.filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect()
    };
    let swap = |bytes: &[u8], one: f64, other: f64, is_copy: bool| {
        let mut lines: Vec<Vec<u8>> = lines(bytes).into_iter().map(|(_, line)| line).collect();
        if lines.is_empty() {
            return bytes.to_vec();
        }
        let (one, other) = (place(one, lines.len()), place(other, lines.len()));
        if is_copy {
            lines.insert(other, lines[one].clone());
        } else {
            lines.swap(one, other);
        }
        lines.concat()
    };
    match damage {
        Damage::Cut(at) => bytes.truncate(place(*at, bytes.len())),
        Damage::Run(at) => {
            let ends = line_ends(&bytes);
            if let Some(end) = ends.get(place(*at, ends.len())) {
                bytes.remove(*end);
            }
        }
        Damage::Nul(at, length) => {
            let at = place(*at, bytes.len());
            bytes.splice(at..at, std::iter::repeat_n(0, *length));
        }
        Damage::Value(at, value) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let wanted = place(*at, text.len());
            let from = (0..=wanted).rev().find(|at| text.is_char_boundary(*at));
            let from = from.unwrap_or_default();
            if let Some(colon) = text[from..].find("\":").map(|colon| from + colon + 2) {
                let mut rest = serde_json::Deserializer::from_str(&text[colon..])
                    .into_iter::<&serde_json::value::RawValue>();
                if let Some(Ok(raw)) = rest.next() {
                    let end = colon + raw.get().len();
                    return [&text[..colon], VALUES[*value], &text[end..]].concat().into_bytes();
                }
            }
        }
        Damage::Swap(one, other) => return swap(&bytes, *one, *other, false),
        Damage::Twice(at) => return swap(&bytes, *at, 1.0 - at, true),
        Damage::Byte(at, byte) => {
            let at = place(*at, bytes.len());
            if let Some(old) = bytes.get_mut(at) {
                *old = *byte;
            }
        }
    }
    bytes
}

proptest! {
    #[test]
    fn whatever_became_of_a_file_it_is_read_and_repaired(
        which in 0usize..7,
        damages in proptest::collection::vec(damage(), 1..6),
    ) {
        let file = &files::all()[which];
        let bytes = damages.iter().fold(file.text().into_bytes(), damaged);
        read(&bytes);
        // An incomplete line may be repaired in any way, but the copy must not need another repair.
        let (copy, _) = repaired(file.dialect(), &bytes);
        let (again, actions) = repaired(file.dialect(), copy.as_bytes());
        prop_assert!(again == copy && actions.is_empty(), "{copy}\n{actions:?}\n{again}");
    }
}

/// Whatever the parents of the lines are, a repair takes time linear in the length of the file.
#[test]
fn a_long_file_of_lost_parents_takes_no_longer_than_its_length() {
    let mut text = String::new();
    for number in 0..10_000 {
        let line =
            files::claude_user(number).replace("\"u", if number % 2 == 0 { "\"u" } else { "\"x" });
        text += &line.replace("00:", "0:");
        text.push('\n');
    }
    let file = files::claude_code();
    let begin = std::time::Instant::now();
    let (_, actions) = repaired(file.dialect(), text.as_bytes());
    assert!(!actions.is_empty());
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

/// A program that is killed and started again may write a line twice, with the same id.
#[test]
fn a_line_that_is_there_twice_costs_no_result() {
    for file in [files::claude_code(), files::pi(), files::qwen()] {
        let lines: Vec<String> = file.text().lines().map(|line| line.to_owned() + "\n").collect();
        for at in 0..lines.len() {
            let twice = [&lines[..=at], &lines[at..]].concat().concat();
            let (copy, _) = repaired(file.dialect(), twice.as_bytes());
            let missing = |text: &str| text.matches("missing from the session").count();
            assert!(missing(&copy) <= missing(&twice), "{} {at}: {copy}", file.name);
        }
    }
}
