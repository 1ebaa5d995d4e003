//! Reports a collection's actions, as lines of text for users.

use ctx_format::counted;

use crate::collect::Action;
use crate::{Packing, StoreItem};

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
}
