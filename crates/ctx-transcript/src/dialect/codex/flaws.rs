//! What is wrong with a session as the client 0.169.0 loads it, each tried with the client.

use super::compacted::Compacted;
use super::header::{Known, is_header, is_old_head};
use super::line::Line;
use super::{Entry, loaded};
use crate::Object;
use crate::counted;
use crate::dialect::kind_of;
use crate::flaw::{Effect, Flaw, Remedy};

/// The types of lines that the client loads.
const LOADED: [&str; 10] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
    "world_state",
    "token_usage_record",
    "rollout_reference",
];

/// Looks at the lines as they come.
#[derive(Default)]
pub(super) struct Flaws {
    records: usize,
    /// The first line that is not blank, when it is no header.
    headless: Option<usize>,
    has_lines: bool,
    /// The first header behind that.
    header: Option<usize>,
    /// Whether lines have numbers, without which the last one is not loaded.
    is_paginated: bool,
    /// The last line that is loaded, and whether it has a number.
    last: Option<(usize, bool)>,
    ordinal: usize,
    /// Items without anything around them.
    bare: Vec<usize>,
    known: Known,
    found: Vec<Flaw>,
}

impl Flaws {
    /// A line that does not parse.
    pub(super) fn push_bad(&mut self) {
        if !std::mem::replace(&mut self.has_lines, true) {
            self.headless = Some(self.records);
        }
        self.records += 1;
    }

    /// The next record; `None` for a blank one.
    pub(super) fn push(&mut self, object: Option<&Object<'_>>, line: &Line) {
        let record = self.records;
        self.records += 1;
        let Some(object) = object else {
            return;
        };
        let is_header = is_header(object);
        if is_header {
            self.header.get_or_insert(record);
            let payload = object.object_of("payload");
            let mode = payload.and_then(|payload| payload.text_of("history_mode"));
            self.is_paginated |= mode.as_deref() == Some("paginated");
        }
        if !std::mem::replace(&mut self.has_lines, true) && !is_header {
            self.headless = Some(record);
        }
        if self.headless.is_some() {
            self.known.see(object);
        }
        if object.get("payload").is_none() {
            if is_old_head(object) || Entry::of(object).is_some() {
                self.bare.push(record);
            }
            return;
        }
        if LOADED.contains(&&*kind_of(object)) {
            self.loaded(record, object, line);
        }
    }

    fn loaded(&mut self, record: usize, object: &Object<'_>, line: &Line) {
        if object.text_of("timestamp").is_none() {
            if Entry::of(object).is_some() {
                let what = "no time: Codex passes the line over".to_owned();
                let flaw = Flaw::new(record, "no-timestamp", Effect::Lost, what);
                self.found
                    .push(flaw.repaired_by(Remedy::Change(Vec::new())));
            }
            return;
        }
        let ordinal = object.get("ordinal").filter(|raw| *raw != "null");
        self.ordinal = ordinal
            .and_then(|raw| raw.parse().ok())
            .map_or(self.ordinal + 1, |number: usize| number);
        self.last = Some((record, ordinal.is_some()));
        if *line == Line::Other {
            self.found.extend(passed_over(record, object));
        }
    }

    /// All that is wrong.
    pub(super) fn finish(mut self) -> Vec<Flaw> {
        let whole = "Codex loads nothing of the file";
        if let Some(record) = self.headless {
            // The first of the bare lines becomes the header.
            if self.bare.first() != Some(&record) {
                let what = format!("no session_meta is the first line: {whole}");
                let flaw = Flaw::new(record, "no-header", Effect::Refused, what);
                let remedy = match self.header {
                    Some(header) => Remedy::CopyBefore(header),
                    None => Remedy::Before(self.known.header()),
                };
                self.found.push(flaw.repaired_by(remedy));
            }
            self.bare(record);
        }
        if let Some((record, false)) = self.last.filter(|_| self.is_paginated) {
            let what =
                format!("the last line has no ordinal, which a paginated file needs: {whole}");
            let flaw = Flaw::new(record, "no-ordinal", Effect::Refused, what);
            self.found
                .push(flaw.repaired_by(Remedy::Change(vec![self.ordinal])));
        }
        self.found
    }

    /// Files of before September 2025: items without anything around them.
    fn bare(&mut self, first: usize) {
        let Some(last) = self.bare.first().copied() else {
            return;
        };
        let what = format!(
            "{} without an envelope, as before September 2025: Codex loads nothing of the file",
            counted(self.bare.len(), "line")
        );
        let mut flaw = Flaw::new(last.max(first), "bare-items", Effect::Refused, what);
        for record in std::mem::take(&mut self.bare) {
            flaw.record = record;
            self.found
                .push(flaw.clone().repaired_by(Remedy::Change(Vec::new())));
            // One of them says it; the others only have to be repaired.
            flaw.effect = Effect::Harmless;
            "no envelope".clone_into(&mut flaw.message);
        }
    }
}

/// A line of the context whose items have another shape than the client's.
fn passed_over(record: usize, object: &Object<'_>) -> Option<Flaw> {
    let of = |rule, effect, what: &str| Some(Flaw::new(record, rule, effect, what.to_owned()));
    match (&*kind_of(object), Entry::of(object)) {
        ("compacted", entry) => {
            let is_read = matches!(&entry, Some(Entry::Compacted(it)) if is_loaded(it));
            let what = "a compaction with an item of a shape that Codex does not load: it goes on from what was before";
            (!is_read).then(|| of("compaction-not-read", Effect::Ignored, what))?
        }
        (_, Some(Entry::Item(item))) if loaded::is_loaded(&item) => None,
        (_, Some(Entry::Item(_) | Entry::Agent(_))) => of(
            "item-not-read",
            Effect::Lost,
            "an item of a shape that Codex does not load: it passes the line over",
        ),
        _ => None,
    }
}

fn is_loaded(compacted: &Compacted<'_>) -> bool {
    let items = compacted.items();
    items.is_some_and(|items| items.iter().all(loaded::is_loaded))
}
