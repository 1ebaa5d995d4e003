//! Reports a collection's actions, as lines of text for users or as JSON objects for scripts.

use ctx_format::counted;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::collect::{Action, Cause};
use crate::{Packing, StoreItem};

/// The JSON object that reports the action on an item. Scripts rely on the keys: new keys may be
/// added, but none may be removed.
#[skip_serializing_none]
#[derive(Serialize)]
pub struct ActionJson {
    id: String,
    keep: bool,
    /// The reasons to keep the item. The list is empty if the item is removed.
    reasons: Vec<String>,
    kind: &'static str,
    action: &'static str,
    /// Whether the item's session loses all of its snapshots.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    last_of_session: bool,
    /// The size of the session in bytes, if the action is to pack its snapshot.
    bytes: Option<u64>,
    packed_bytes: Option<u64>,
}

impl Action {
    /// Returns the line for users, such as `removed ID: no rule keeps it`, or `would remove …` in a
    /// dry run.
    pub fn say(&self, item: &StoreItem, dry_run: bool) -> String {
        let name = <&str>::from(self);
        let verb = match self {
            Self::Keep(_) => name.to_owned(),
            _ if dry_run => format!("would {name}"),
            Self::Pack(_) => "packed".to_owned(),
            _ => name.to_owned() + "d",
        };
        let mut why = self.reasons();
        if let Self::Pack(Packing { bytes, packed_bytes }) = self {
            let size = counted(*bytes, "byte");
            why.extend([packed_bytes.map_or(size.clone(), |packed| format!("{size} in {packed}"))]);
        }
        let colon = if why.is_empty() { "" } else { ": " };
        format!("{verb} {item}{colon}{}", why.join(", "))
    }

    /// Returns the JSON object that `--json` prints.
    pub fn json(&self, item: &StoreItem) -> ActionJson {
        let keep = !self.removes();
        let (bytes, packed_bytes) = match self {
            Self::Pack(packing) => (Some(packing.bytes), packing.packed_bytes),
            _ => (None, None),
        };
        ActionJson {
            id: item.to_string(),
            keep,
            reasons: if keep { self.reasons() } else { Vec::new() },
            kind: match item {
                StoreItem::Snapshot(_) => "snapshot",
                StoreItem::Offloaded(_) => "offloaded",
            },
            action: self.into(),
            last_of_session: *self == Self::Discard(Cause::NoRuleAndLast),
            bytes,
            packed_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::StoreItem;
    use crate::collect::{Action, Cause};
    use crate::retention::Reason;
    use crate::tests::Bench;

    #[test]
    fn a_dry_run_says_what_would_be_done() {
        let bench = Bench::new();
        let id = bench.take("demo", b"1\n");
        let item = StoreItem::Snapshot(id.clone());
        let discard = Action::Discard(Cause::NoRule);
        for (action, dry_run, expected) in [
            (&discard, false, format!("removed {id}: no rule keeps it")),
            (&discard, true, format!("would remove {id}: no rule keeps it")),
            (&Action::Purge, false, format!("purged {id}")),
            (&Action::Delete, true, format!("would delete {id}")),
            (&Action::Keep(vec![Reason::Held]), true, format!("keep {id}: held")),
        ] {
            assert_eq!(action.say(&item, dry_run), expected);
        }
    }

    #[test]
    fn programs_learn_why_a_thing_stays() {
        let bench = Bench::new();
        let id = bench.take("demo", b"1\n");
        let item = StoreItem::Snapshot(id.clone());
        for (action, expected) in [
            (
                Action::Keep(vec![Reason::Held]),
                r#""keep":true,"reasons":["held"],"kind":"snapshot","action":"keep"}"#,
            ),
            (
                Action::Discard(Cause::NoRule),
                r#""keep":false,"reasons":[],"kind":"snapshot","action":"remove"}"#,
            ),
        ] {
            let json = serde_json::to_string(&action.json(&item)).expect("JSON");
            assert_eq!(json, format!("{{\"id\":\"{id}\",{expected}"));
        }
    }
}
