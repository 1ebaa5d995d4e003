//! What changed within a message.

use super::brief::{Brief, Kind, PartBrief};
use ctx_transcript::counted;

/// What is different, in words: `result: 12000 → 900 characters, a handle at its end`.
pub(super) fn changes(old: &Brief, new: &Brief) -> Vec<String> {
    let mut changes = Vec::new();
    if old.role != new.role {
        let name = |brief: &Brief| brief.role.map_or("no message", |role| role.as_str());
        changes.push(format!("{} → {}", name(old), name(new)));
    }
    for kind in [
        Kind::Text,
        Kind::Reasoning,
        Kind::Call,
        Kind::Result,
        Kind::Other,
    ] {
        let of = |brief: &Brief| -> Vec<PartBrief> {
            let parts = brief.parts.iter().filter(|part| part.kind == kind);
            parts.cloned().collect()
        };
        changes.extend(of_kind(kind, &of(old), &of(new)));
    }
    if changes.is_empty() {
        changes.push("only what stands beside the message".to_owned());
    }
    changes
}

/// Parts of one kind, paired by the ids of their calls, else by their order.
fn of_kind(kind: Kind, old: &[PartBrief], new: &[PartBrief]) -> Vec<String> {
    let mut left: Vec<Option<&PartBrief>> = new.iter().map(Some).collect();
    let mut changes = Vec::new();
    for part in old {
        let at = left
            .iter()
            .position(|it| it.is_some_and(|it| it.id == part.id));
        match at.and_then(|at| left[at].take()) {
            Some(other) if other.hash != part.hash => changes.push(change(kind, part, other)),
            Some(_) => {}
            None => changes.push(format!("{} gone: {}", kind.name(), size(part))),
        }
    }
    let added = left.into_iter().flatten();
    changes.extend(added.map(|part| format!("{} new: {}", kind.name(), size(part))));
    changes
}

fn change(kind: Kind, old: &PartBrief, new: &PartBrief) -> String {
    let (name, before) = (kind.name(), old.characters);
    let handle = match (old.has_handle, new.has_handle) {
        (false, true) => ", a handle at its end",
        (true, false) => ", back from its handle",
        _ => "",
    };
    if before == new.characters {
        return format!("{name} changed: {}{handle}", size(old));
    }
    format!("{name}: {before} → {}{handle}", size(new))
}

fn size(part: &PartBrief) -> String {
    counted(part.characters, "character")
}
