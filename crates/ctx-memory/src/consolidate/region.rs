//! The part of the master (L2) that the tools write, and what people did to it.
//!
//! It stands between two comments, of which the second has a hash of what is between them. Around it
//! is what people wrote. Where the hash does not fit, somebody edited the part: the lines that they
//! wrote or changed become theirs, and stand above it from then on; what they deleted
//! is not written again.

use ctx_ledger::text::regex;
use regex::Regex;
use similar::{Algorithm, DiffOp};
use std::sync::LazyLock;

use super::state::Refused;
use crate::hash::short_hash;

/// How the first and the last line of the part begin.
const BEGIN: &str = "<!-- ctx-memory: begin";
const END: &str = "<!-- ctx-memory: end";
/// The first line.
const FIRST: &str = "<!-- ctx-memory: begin. Edit at will: what you write here stays, what you delete stays away -->";

/// The heading of what does not hold any more.
pub(super) const HISTORY: &str = "## No longer holds";

/// The master, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Master {
    /// What people wrote above the part, and below.
    pub(super) above: Vec<u8>,
    pub(super) below: Vec<u8>,
    /// What people deleted from the part.
    pub(super) refused: Vec<Refused>,
    /// Whether there is a part.
    pub(super) has_part: bool,
    /// Whether people changed the part since it was written.
    pub(super) is_edited: bool,
}

/// What was found in the file.
enum Piece<'m> {
    Person(&'m [u8]),
    /// Between the two comments; with the hash of the second one.
    Part(Vec<&'m [u8]>, Option<String>),
}

impl Master {
    /// Takes a master apart; `last` is the part as it was written the last time.
    pub(super) fn parse(bytes: &[u8], last: Option<&str>) -> Self {
        let mut master = Self::default();
        let pieces = pieces(bytes);
        // Where it stands unchanged, what looks like another one is something else.
        let is_whole = |piece: &Piece<'_>| match piece {
            Piece::Part(lines, hash) => hash.as_ref() == Some(&hash_of(lines)),
            Piece::Person(_) => false,
        };
        let last = last.filter(|_| !pieces.iter().any(is_whole));
        for piece in pieces {
            match piece {
                Piece::Person(line) if master.has_part => master.below.extend_from_slice(line),
                Piece::Person(line) => master.above.extend_from_slice(line),
                // A copy of what was written says nothing new.
                ref part if is_whole(part) => master.has_part = true,
                Piece::Part(lines, hash) => {
                    let base = last.filter(|last| hash.is_none_or(|it| it == short_hash(last)));
                    master.take_edits(&lines, base);
                    (master.has_part, master.is_edited) = (true, true);
                }
            }
        }
        master
    }

    /// What people made of the part.
    fn take_edits(&mut self, lines: &[&[u8]], base: Option<&str>) {
        let new: Vec<String> = lines.iter().map(|line| normal(line)).collect();
        // Without the last version everything may be theirs.
        let old: Vec<String> = base
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect();
        let mut heading: Option<&[u8]> = None;
        for op in similar::capture_diff_slices(Algorithm::Myers, &old, &new) {
            if let DiffOp::Equal { new_index, len, .. } = op {
                let same = &lines[new_index..new_index + len];
                heading = same
                    .iter()
                    .rfind(|line| line.starts_with(b"## "))
                    .copied()
                    .or(heading);
                continue;
            }
            for deleted in op.old_range() {
                self.refuse(&old, deleted);
            }
            self.add(&lines[op.new_range()], heading);
        }
    }

    fn refuse(&mut self, old: &[String], at: usize) {
        if let Some(entry) = old[at].strip_prefix("- ") {
            let above = old[..at].iter().rfind(|line| line.starts_with("## "));
            self.refused.push(Refused {
                text: without_sources(entry).to_owned(),
                history: above.is_some_and(|heading| heading == HISTORY),
            });
        }
    }

    /// Puts lines of theirs above, below the heading that they stood under.
    fn add(&mut self, lines: &[&[u8]], heading: Option<&[u8]>) {
        let is_blank = |line: &&&[u8]| line.trim_ascii().is_empty();
        let from = lines.iter().take_while(is_blank).count();
        let until = lines.len() - lines.iter().rev().take_while(is_blank).count();
        let Some(lines) = lines.get(from..until).filter(|lines| !lines.is_empty()) else {
            return;
        };
        let mut all = self.above.split_inclusive(|byte| *byte == b'\n');
        let last = all.rfind(|line| line.starts_with(b"## "));
        let own = lines[0].starts_with(b"## ");
        let is_there = last.map(normal) == heading.map(normal);
        if let Some(heading) = heading.filter(|_| !is_there && !own) {
            end_paragraph(&mut self.above);
            self.above.extend_from_slice(heading);
            self.above.push(b'\n');
        } else if !(lines[0].starts_with(b"- ") && ends_in_list(&self.above)) {
            end_paragraph(&mut self.above);
        } else {
            end_line(&mut self.above);
        }
        self.above.extend_from_slice(&lines.concat());
        end_line(&mut self.above);
    }

    /// What people wrote, all of it.
    pub(super) fn own(&self) -> String {
        let own = [self.above.as_slice(), b"\n", &self.below].concat();
        String::from_utf8_lossy(&own).into_owned()
    }

    /// The master with this part, whose lines end with `\n`.
    pub(super) fn with(&self, part: &str) -> Vec<u8> {
        let mut bytes = self.above.clone();
        if !bytes.is_empty() {
            end_paragraph(&mut bytes);
        }
        let text = format!("{FIRST}\n{part}{END} {} -->\n", short_hash(part));
        let text = if self.own().contains("\r\n") {
            text.replace('\n', "\r\n")
        } else {
            text
        };
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(&self.below);
        bytes
    }
}

/// What people and the tools wrote, in order.
fn pieces(bytes: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut open: Option<Vec<&[u8]>> = None;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = normal(line);
        if text.starts_with(BEGIN) {
            if let Some(lines) = open.replace(Vec::new()) {
                pieces.push(Piece::Part(lines, None));
            }
        } else if let Some(end) = text.strip_prefix(END) {
            // One without a beginning is no line of theirs either.
            if let Some(lines) = open.take() {
                let hash = end.trim_end_matches("-->").trim();
                pieces.push(Piece::Part(lines, Some(hash.to_owned())));
            }
        } else if let Some(lines) = &mut open {
            lines.push(line);
        } else {
            pieces.push(Piece::Person(line));
        }
    }
    pieces.extend(open.map(|lines| Piece::Part(lines, None)));
    pieces
}

/// Whether a line is one of the two comments.
pub fn is_mark(line: &str) -> bool {
    line.starts_with(BEGIN) || line.starts_with(END)
}

/// What editors change by themselves does not count: ends of lines, blanks before them.
fn normal(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().to_owned()
}

fn hash_of(lines: &[&[u8]]) -> String {
    let text: String = lines.iter().map(|line| normal(line) + "\n").collect();
    short_hash(&text)
}

/// An entry of the master without its sources, and without what takes it back.
pub(super) fn without_sources(entry: &str) -> &str {
    static SOURCES: LazyLock<Regex> = LazyLock::new(|| {
        regex(r" \((?:user|assistant|by hand|system|tool)(?:, [^()]*)?\)(?: → taken back.*)?$")
    });
    SOURCES
        .find(entry)
        .map_or(entry, |found| &entry[..found.start()])
}

fn end_line(bytes: &mut Vec<u8>) {
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
}

fn end_paragraph(bytes: &mut Vec<u8>) {
    end_line(bytes);
    let is_ended = bytes.is_empty() || bytes.ends_with(b"\n\n") || bytes.ends_with(b"\n\r\n");
    if !is_ended {
        bytes.push(b'\n');
    }
}

fn ends_in_list(bytes: &[u8]) -> bool {
    let last = bytes
        .split(|byte| *byte == b'\n')
        .rfind(|line| !line.is_empty());
    last.is_some_and(|line| line.starts_with(b"- ")) && !bytes.ends_with(b"\n\n")
}
