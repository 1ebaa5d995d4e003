//! Repairs a log by making a copy from which the agent loads everything that can be recovered.
//!
//! First, every readable object is put on its own line. Then flaws are repaired in rounds until no
//! flaw with a remedy remains. Unchanged lines keep their bytes.

use std::collections::BTreeMap;

use super::{Action, RepairKind, Salvage};
use crate::log::{Effect, Flaw, Remedy};
use crate::record::line_end;

use crate::session::reread::show;
use crate::{Dialect, Edits, MAX_LINE, Origin, Piece, Record};

/// A repaired copy of a log.
pub struct RepairedLog {
    /// The content of the repaired copy.
    pub bytes: Vec<u8>,
    /// All repairs, sorted by source line.
    pub actions: Vec<Action>,
    /// For each line in the copy, the number of the source line that it came from.
    pub sources: Vec<u64>,
}

/// A line in the unfinished copy.
struct Line {
    /// The number of the source line that this line came from.
    source: u64,
    bytes: Vec<u8>,
}

/// The maximum number of repair rounds. Several rounds are needed because a repair may reveal other
/// flaws.
const ROUNDS: usize = 8;

/// Repairs a log in `dialect`; `None` if the dialect is not a log. `lines` are the lines of the
/// file with their line numbers and line endings. If `strict` is true, calls at the end of the
/// session that may still get a result are also repaired.
pub fn repair_log(
    dialect: &dyn Dialect,
    lines: Vec<(u64, Vec<u8>)>,
    strict: bool,
) -> Option<RepairedLog> {
    let mut log = Log { dialect, lines: Vec::with_capacity(lines.len()), actions: Vec::new() };
    for (source, bytes) in lines {
        log.read(Line { source, bytes });
    }
    let mut flaws = log.flaws()?;
    for _ in 0..ROUNDS {
        let waits = |flaw: &Flaw| flaw.effect == Effect::Waits;
        flaws.retain(|flaw| flaw.remedy.is_some() && (strict || !waits(flaw)));
        if !log.repair(&flaws) {
            break;
        }
        flaws = log.flaws()?;
    }
    log.end_the_last_line();
    log.actions.sort_by_key(|action| action.line);
    Some(RepairedLog {
        sources: log.lines.iter().map(|line| line.source).collect(),
        bytes: log.lines.into_iter().flat_map(|line| line.bytes).collect(),
        actions: log.actions,
    })
}

struct Log<'d> {
    dialect: &'d dyn Dialect,
    lines: Vec<Line>,
    actions: Vec<Action>,
}

impl Log<'_> {
    /// Adds a line to the copy. If the line is damaged, every readable object in it becomes a
    /// separate line.
    fn read(&mut self, line: Line) {
        let source = line.source;
        let record = record(&line.bytes, source == 1);
        let Some(Salvage { lines, done }) = Salvage::of(&record) else {
            self.lines.push(line);
            return;
        };
        for what in done {
            self.act(source, "", what);
        }
        let end = match line_end(&line.bytes) {
            b"" => b"\n",
            end => end,
        };
        for text in lines {
            let bytes = [text.as_bytes(), end].concat();
            self.lines.push(Line { source, bytes });
        }
    }

    fn flaws(&self) -> Option<Vec<Flaw>> {
        let mut view = self.dialect.log()?.view_builder();
        for (number, line) in self.lines.iter().enumerate() {
            show(view.as_mut(), number, &record(&line.bytes, number == 0));
        }
        Some(view.view().flaws)
    }

    /// Repairs the given flaws and returns true if this changed any line.
    fn repair(&mut self, flaws: &[Flaw]) -> bool {
        let mut edits: BTreeMap<usize, Edits> = BTreeMap::new();
        let mut before: BTreeMap<usize, String> = BTreeMap::new();
        for flaw in flaws {
            let at = flaw.record;
            let source = self.lines[at].source;
            let Some((what, change)) = self.change(flaw) else { continue };
            match change {
                Change::Before(text) => drop(before.insert(at, text)),
                // A line is edited only once per round, and its other flaws are repaired in the
                // next round.
                Change::Edit(_) if edits.contains_key(&at) => continue,
                Change::Edit(edit) => drop(edits.insert(at, edit)),
            }
            self.act(source, flaw.id.as_deref().unwrap_or_default(), what);
        }
        let is_changed = !edits.is_empty() || !before.is_empty();
        for (at, edit) in edits {
            self.lines[at].bytes = record(&self.lines[at].bytes, at == 0).edited(&edit);
        }
        for (at, text) in before.into_iter().rev() {
            let source = self.lines[at].source;
            let bytes = (text + "\n").into_bytes();
            self.lines.insert(at, Line { source, bytes });
        }
        is_changed
    }

    /// Returns the repair and the change that the flaw's remedy calls for; `None` if the remedy
    /// changes nothing.
    fn change(&self, flaw: &Flaw) -> Option<(RepairKind, Change)> {
        let of = |at: usize| record(&self.lines[at].bytes, at == 0);
        let own = of(flaw.record);
        Some(match flaw.remedy.as_ref()? {
            Remedy::Before(text) => (RepairKind::Header, Change::Before(text.clone())),
            Remedy::CopyBefore(at) => {
                let header = of(*at).object()?.text().trim_ascii().to_owned();
                (RepairKind::Header, Change::Before(header))
            }
            Remedy::Link { key, to, of: name } => {
                let parent = of(*to);
                let (own, new) = (own.object()?, parent.object()?.get(name)?);
                if own.get(key) == Some(new) {
                    return None;
                }
                let mut edits = Edits::new();
                edits.set(0, own, key, new);
                let to = self.lines[*to].source;
                (RepairKind::Reparent { to }, Change::Edit(edits))
            }
            Remedy::Change(numbers) => {
                let edits = self.dialect.log()?.repaired(own.object()?, flaw, numbers);
                let what = if flaw.rule == "unanswered-call" {
                    RepairKind::Answer
                } else {
                    RepairKind::Change { rule: flaw.rule }
                };
                (!edits.is_empty()).then_some((what, Change::Edit(edits)))?
            }
        })
    }

    /// Adds a line ending to the last line if it has none; otherwise the agent would append its
    /// next line to that line.
    fn end_the_last_line(&mut self) {
        let Some(last) = self.lines.last_mut() else { return };
        if !last.bytes.is_empty() && line_end(&last.bytes).is_empty() {
            last.bytes.push(b'\n');
            let source = last.source;
            self.act(source, "", RepairKind::EndLine);
        }
    }

    fn act(&mut self, line: u64, id: &str, what: RepairKind) {
        let id = id.to_owned();
        self.actions.push(Action { line, id, what });
    }
}

enum Change {
    /// Insert this line before the line with the flaw.
    Before(String),
    Edit(Edits),
}

/// Reads a line of the copy as a record. Overlong lines are not parsed.
fn record(bytes: &[u8], is_first: bool) -> Record<'_> {
    let piece = if bytes.len() > MAX_LINE { Piece::First } else { Piece::Whole };
    let line = if is_first { 1 } else { 2 };
    Origin { line, piece, ..Origin::ALONE }.record(bytes)
}
