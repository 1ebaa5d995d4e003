//! The master file (L2), which consists of a generated part and text written by people.
//!
//! Two comments enclose the generated part, and the second comment contains a hash of it. All other
//! text in the file was written by people. If the hash does not match the generated part, people
//! have edited it. Lines that people added to the generated part, or changed there, are moved above
//! it and treated as people's own text. Lines that people deleted are not written again.

use std::sync::LazyLock;

use ctx_text::regex;
use regex::Regex;
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp};

use super::short_hash;

/// The file name of the master.
pub(super) const NAME: &str = "master.md";
/// The path of the master within the store.
pub(super) const PATH: &str = "memory/summary/master.md";

/// The heading of the section for statements that no longer hold.
pub(super) const HISTORY: &str = "## No longer holds";

/// The beginnings of the comments before and after the generated part.
const BEGIN: &str = "<!-- ctx-memory: begin";
const END: &str = "<!-- ctx-memory: end";
/// The full text of the comment before the generated part.
const FIRST: &str = "<!-- ctx-memory: begin. Edit at will: what you write here stays, what you delete stays away -->";

/// A parsed master file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Master {
    /// The text that people wrote above the generated part.
    pub(super) above: Vec<u8>,
    /// The text that people wrote below the generated part.
    pub(super) below: Vec<u8>,
    /// The statements that people deleted from the generated part.
    pub(super) refused: Vec<Refused>,
    pub(super) has_part: bool,
    /// True if people have edited the generated part since the last run.
    pub(super) is_edited: bool,
}

/// A statement that must not be written into the master again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Refused {
    pub(super) text: String,
    /// True if the statement is barred only from the section "No longer holds".
    pub(super) history: bool,
}

enum Piece<'m> {
    /// A line that a person wrote.
    Person(&'m [u8]),
    /// The lines between the two comments around a generated part, and the hash in the second
    /// comment.
    Part(Vec<&'m [u8]>, Option<String>),
}

impl Piece<'_> {
    fn is_unchanged_part(&self) -> bool {
        match self {
            Self::Part(lines, hash) => {
                let text: String = lines.iter().map(|line| normal(line) + "\n").collect();
                *hash == Some(short_hash(&text))
            }
            Self::Person(_) => false,
        }
    }
}

impl Master {
    /// Parses a master file; `last` is the generated part as the last run wrote it.
    pub(super) fn parse(bytes: &[u8], last: Option<&str>) -> Self {
        let mut master = Self::default();
        let pieces = pieces(bytes);
        // If the file has an unchanged generated part, any edited part is a copy made by a person.
        let last = last.filter(|_| !pieces.iter().any(Piece::is_unchanged_part));
        for piece in pieces {
            let is_unchanged = piece.is_unchanged_part();
            match piece {
                Piece::Person(line) if master.has_part => master.below.extend_from_slice(line),
                Piece::Person(line) => master.above.extend_from_slice(line),
                Piece::Part(..) if is_unchanged => master.has_part = true,
                Piece::Part(lines, hash) => {
                    let base = last.filter(|last| hash.is_none_or(|it| it == short_hash(last)));
                    master.take_edits(&lines, base);
                    (master.has_part, master.is_edited) = (true, true);
                }
            }
        }
        master
    }

    /// Adopts people's edits to the generated part. Without a `base` to compare with, every line
    /// counts as an edit.
    fn take_edits(&mut self, lines: &[&[u8]], base: Option<&str>) {
        let new: Vec<String> = lines.iter().map(|line| normal(line)).collect();
        let old: Vec<String> = base.unwrap_or_default().lines().map(str::to_owned).collect();
        let mut heading: Option<&[u8]> = None;
        for op in similar::capture_diff_slices(Algorithm::Myers, &old, &new) {
            if let DiffOp::Equal { new_index, len, .. } = op {
                let same = &lines[new_index..new_index + len];
                heading = same.iter().rfind(|line| line.starts_with(b"## ")).copied().or(heading);
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
            let heading = old[..at].iter().rfind(|line| line.starts_with("## "));
            self.refused.push(Refused {
                text: without_citations(entry).to_owned(),
                history: heading.is_some_and(|heading| heading == HISTORY),
            });
        }
    }

    /// Adds `lines`, which people wrote under `heading` in the generated part, to the text above
    /// that part.
    fn add(&mut self, lines: &[&[u8]], heading: Option<&[u8]>) {
        let is_text = |line: &&[u8]| !line.trim_ascii().is_empty();
        let (Some(first), Some(last)) =
            (lines.iter().position(is_text), lines.iter().rposition(is_text))
        else {
            return;
        };
        let lines = &lines[first..=last];
        let mut above = self.above.split_inclusive(|byte| *byte == b'\n');
        let last_heading = above.rfind(|line| line.starts_with(b"## "));
        let is_under_heading = last_heading.map(normal) == heading.map(normal);
        let begins_with_heading = lines[0].starts_with(b"## ");
        let continues_list = lines[0].starts_with(b"- ") && ends_in_list(&self.above);
        match heading {
            Some(heading) if !is_under_heading && !begins_with_heading => {
                end_paragraph(&mut self.above);
                self.above.extend_from_slice(heading);
                self.above.push(b'\n');
            }
            _ if continues_list => end_line(&mut self.above),
            _ => end_paragraph(&mut self.above),
        }
        self.above.extend_from_slice(&lines.concat());
        end_line(&mut self.above);
    }

    /// Returns everything in the file that people wrote.
    pub(super) fn own_text(&self) -> String {
        String::from_utf8_lossy(&[self.above.as_slice(), b"\n", &self.below].concat()).into_owned()
    }

    /// Returns the file with `part` as its new generated part. Each line of `part` must end with
    /// `\n`.
    pub(super) fn with_part(&self, part: &str) -> Vec<u8> {
        let mut bytes = self.above.clone();
        if !bytes.is_empty() {
            end_paragraph(&mut bytes);
        }
        let mut text = format!("{FIRST}\n{part}{END} {} -->\n", short_hash(part));
        if self.own_text().contains("\r\n") {
            text = text.replace('\n', "\r\n");
        }
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(&self.below);
        bytes
    }
}

fn pieces(bytes: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut part: Option<Vec<&[u8]>> = None;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = normal(line);
        if text.starts_with(BEGIN) {
            pieces.extend(part.replace(Vec::new()).map(|lines| Piece::Part(lines, None)));
        } else if let Some(end) = text.strip_prefix(END) {
            // Drop an end comment without a begin comment: people do not write such comments.
            if let Some(lines) = part.take() {
                let hash = end.trim_end_matches("-->").trim();
                pieces.push(Piece::Part(lines, Some(hash.to_owned())));
            }
        } else if let Some(lines) = &mut part {
            lines.push(line);
        } else {
            pieces.push(Piece::Person(line));
        }
    }
    pieces.extend(part.map(|lines| Piece::Part(lines, None)));
    pieces
}

/// Returns true if the line is one of the two comments around the generated part.
pub fn is_mark(line: &str) -> bool {
    line.starts_with(BEGIN) || line.starts_with(END)
}

/// Returns the line without trailing white space, which text editors may change on their own.
fn normal(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end().to_owned()
}

/// Returns a master entry without its citations and without the note on what superseded it.
pub(super) fn without_citations(entry: &str) -> &str {
    static CITATIONS: LazyLock<Regex> = LazyLock::new(|| {
        regex(r" \((?:user|assistant|by hand|system|tool)(?:, [^()]*)?\)(?: → taken back.*)?$")
    });
    CITATIONS.find(entry).map_or(entry, |found| &entry[..found.start()])
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
    let last = bytes.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty());
    last.is_some_and(|line| line.starts_with(b"- ")) && !bytes.ends_with(b"\n\n")
}
