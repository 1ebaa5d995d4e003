//! The problems that version 0.169.0 of the client has when it loads a session, and repairs for
//! individual lines. Each problem was tested with that version.

use std::borrow::Cow;
use std::collections::HashSet;

use super::entry::Entry;
use super::item::{self, SHAPES};
use super::line::Line;
use super::{Codex, begins_elsewhere, is_paginated};
use crate::dialect::content::kind_of;
use crate::log::{Effect, Flaw, HeaderFacts, Log, NO_TIME, Remedy};
use crate::{Edits, Object, counted, json};

/// Collects the problems of a session line by line.
#[derive(Default)]
pub(super) struct Flaws {
    /// The index of the first line that is not blank, and whether it is a header.
    first: Option<(usize, bool)>,
    /// The index of the first header.
    header: Option<usize>,
    /// Whether the file is paginated. The client requires the last line of a paginated file to have
    /// a number.
    is_paginated: bool,
    /// The index of the header that names another file, with which the session begins.
    elsewhere: Option<usize>,
    /// The index of the last line that the client loads, and whether it has a number.
    last: Option<(usize, bool)>,
    ordinal: usize,
    ordinals: HashSet<usize>,
    /// The indexes of lines whose items have no envelope.
    bare: Vec<usize>,
    /// If the session does not begin with a header, facts from its lines for use in a new header.
    known: HeaderFacts,
    /// Whether any line has a number, in a session that does not begin with a header.
    has_ordinals: bool,
    found: Vec<Flaw>,
}

impl Flaws {
    /// Adds a line that cannot be parsed.
    pub(super) fn push_bad(&mut self, record: usize) {
        self.first.get_or_insert((record, false));
    }

    pub(super) fn push(&mut self, record: usize, object: &Object<'_>, line: &Line) {
        let payload = object.object_of("payload");
        let is_header = SHAPES.header.is_of(object);
        let (_, begins_well) = *self.first.get_or_insert((record, is_header));
        if !begins_well {
            let text = |within: Option<&Object<'_>>, key| within?.text_of(key).map(Cow::into_owned);
            let HeaderFacts { id, time, folder } = &mut self.known;
            *id = id.take().or_else(|| text(payload.as_ref(), "thread_id"));
            *time = time.take().or_else(|| text(Some(object), "timestamp"));
            *folder = folder.take().or_else(|| text(payload.as_ref(), "cwd"));
            self.has_ordinals |= object.get("ordinal").is_some();
        }
        if object.get("payload").is_none() {
            if SHAPES.old_header.is_of(object) || Entry::of(object).is_some() {
                self.bare.push(record);
            }
            return;
        }
        if is_header {
            self.header.get_or_insert(record);
            self.is_paginated |= payload.as_ref().is_some_and(is_paginated);
            if payload.as_ref().is_some_and(begins_elsewhere) {
                self.elsewhere.get_or_insert(record);
            }
        }
        if !SHAPES.line.is_of(object) {
            return;
        }
        if object.text_of("timestamp").is_none() {
            if Entry::of(object).is_some() {
                let flaw = Codex.flaw(record, "no-timestamp");
                self.found.push(flaw.repaired_by(Remedy::Change(Vec::new())));
            }
            return;
        }
        let ordinal = object.get("ordinal").filter(|raw| *raw != "null");
        let number = ordinal.and_then(|raw| raw.parse().ok());
        self.ordinal = number.unwrap_or(self.ordinal + 1);
        if number.is_some_and(|number| !self.ordinals.insert(number)) {
            self.found.push(Codex.flaw(record, "repeated-ordinal"));
        }
        self.last = Some((record, ordinal.is_some()));
        if *line == Line::Other {
            self.found.extend(passed_over(record, object));
        }
    }

    /// Returns the flaws of all lines added so far.
    pub(super) fn all(&self) -> Vec<Flaw> {
        let mut flaws = self.found.clone();
        if let Some((record, false)) = self.first {
            // If the first line is an old header without an envelope, its repair makes it the
            // header.
            if self.bare.first() != Some(&record) {
                flaws.push(Codex.flaw(record, "no-header").repaired_by(match self.header {
                    Some(header) => Remedy::CopyBefore(header),
                    None => Remedy::Before(self.new_header()),
                }));
            }
            flaws.extend(self.bare_items());
        }
        if let (Some((record, false)), true) = (self.last, self.is_paginated) {
            let flaw = Codex.flaw(record, "no-ordinal");
            flaws.push(flaw.repaired_by(Remedy::Change(vec![self.ordinal])));
        }
        flaws
    }

    /// Returns the flaw of a session whose beginning is in another file.
    pub(super) fn elsewhere(&self) -> Option<Flaw> {
        self.elsewhere.map(|record| Codex.flaw(record, "begins-elsewhere"))
    }

    /// Writes a header with all members that the client requires.
    fn new_header(&self) -> String {
        let [id, time, cwd] = self.known.quoted();
        let ordinal = if self.has_ordinals { r#""ordinal":0,"# } else { "" };
        let mode = if self.has_ordinals { r#","history_mode":"paginated""# } else { "" };
        format!(
            r#"{{"timestamp":{time},{ordinal}"type":"session_meta","payload":{{"id":{id},"timestamp":{time},"cwd":{cwd},"originator":"codex_cli_rs","cli_version":"0.0.0"{mode}}}}}"#
        )
    }

    /// Creates the flaws for items that have no envelope, as in files from before September 2025.
    /// The first flaw reports all lines without an envelope; each further flaw exists only so that
    /// its own line is repaired.
    fn bare_items(&self) -> impl Iterator<Item = Flaw> {
        let lines = counted(self.bare.len(), "line");
        let all = "without an envelope, as written before September 2025";
        self.bare.iter().enumerate().map(move |(at, record)| {
            let (effect, what) = match at {
                0 => (Effect::Refused, format!("{lines} {all}: Codex loads nothing from the file")),
                _ => (Effect::Harmless, "the line has no envelope".to_owned()),
            };
            let flaw = Flaw::new(*record, "bare-items", effect, what);
            flaw.repaired_by(Remedy::Change(Vec::new()))
        })
    }
}

/// Creates the flaw for a line whose items are not in the format that the client requires.
fn passed_over(record: usize, object: &Object<'_>) -> Option<Flaw> {
    if kind_of(object) == "compacted" {
        return Some(Codex.flaw(record, "compaction-not-read"));
    }
    if matches!(Entry::of(object)?, Entry::Item(item) if item::is_loaded(&item)) {
        return None;
    }
    Some(Codex.flaw(record, "item-not-read"))
}

/// Returns the edits that repair a violation of `rule` in a line.
pub(super) fn repaired(object: &Object<'_>, rule: &str, numbers: &[usize]) -> Edits {
    let mut edits = Edits::default();
    match rule {
        "no-ordinal" => {
            let number = numbers.first().copied().unwrap_or_default();
            edits.set(0, object, "ordinal", &number.to_string());
        }
        "no-timestamp" => edits.set(0, object, "timestamp", &json::quoted(NO_TIME)),
        "bare-items" => envelop(object, &mut edits),
        _ => {}
    }
    edits
}

/// Puts an envelope around a line that has none.
fn envelop(object: &Object<'_>, edits: &mut Edits) {
    let text = object.text();
    let begin = object.inside() - 1;
    let end = text.len() - object.rest().len();
    let time = object.text_of("timestamp");
    let time = json::quoted(time.as_deref().unwrap_or(NO_TIME));
    let (kind, required): (_, &[_]) = if SHAPES.old_header.is_of(object) {
        ("session_meta", &[("cwd", "/"), ("originator", "codex_cli_rs"), ("cli_version", "0.0.0")])
    } else {
        ("response_item", &[("type", "message")])
    };
    for (key, value) in required {
        if object.text_of(key).is_none() {
            edits.set(0, object, key, &json::quoted(value));
        }
    }
    let before = format!(r#"{{"timestamp":{time},"type":"{kind}","payload":{{"#);
    edits.replace(begin..begin + 1, before);
    edits.replace(end..end, "}".to_owned());
}
