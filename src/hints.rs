//! What to do when a snapshot or a session is not there under the name that was typed.

use std::path::Path;

use ctx_cli::shell_word;
use ctx_store::{MissingReason, MissingSnapshot, SnapshotId};

const LIST: &str = "ctx-snapshot --list shows what there is";

/// Where the snapshot is instead, or which ones are near.
pub fn of_snapshot(missing: &MissingSnapshot) -> String {
    match &missing.reason {
        MissingReason::DayInDigits(day) => format!("for a day write {day}"),
        MissingReason::HashInDigits => format!("for a hash write sha256:{}", missing.wanted),
        MissingReason::Elsewhere(id) => {
            let near = nearest(&missing.near);
            let session = SnapshotId::parse(id).map(|id| id.session.to_string());
            format!("name that one with -s {}{near}", session.unwrap_or_default())
        }
        MissingReason::InTrash(id) => {
            let number = SnapshotId::parse(id).map(|id| id.stamp.sequence.to_string());
            let wanted = number.unwrap_or_else(|| id.clone());
            format!("ctx-gc --undelete {wanted} brings it back")
        }
        MissingReason::NotThatDay(around) if !around.is_empty() => {
            format!("the nearest are {}", around.join(" and "))
        }
        MissingReason::NoneBefore(Some(oldest)) => format!("the oldest is {oldest}"),
        MissingReason::Unknown if !missing.near.is_empty() => {
            format!("{LIST}{}", nearest(&missing.near))
        }
        _ => LIST.to_owned(),
    }
}

fn nearest(near: &[String]) -> String {
    match near {
        [] => String::new(),
        [one] => format!(", or take the nearest, {one}"),
        several => format!(", or take one of the nearest, {}", several.join(" or ")),
    }
}

/// Names that may have been meant.
pub fn of_session(session: &str, near: &[String], in_trash: bool) -> String {
    if in_trash {
        return format!("what there was is in the trash: ctx-snapshot --list --trash -s {session}");
    }
    match near {
        [] => LIST.to_owned(),
        near => format!("did you mean -s {}?", near.join(" or -s ")),
    }
}

/// The command that restores a snapshot onto another path than its own.
pub fn to_another_file(id: &str, path: &Path) -> String {
    let path = shell_word(&path.display().to_string());
    let Some(id) = SnapshotId::parse(id) else {
        return format!("to restore it here nevertheless: --to {path}");
    };
    let (session, number) = (&id.session, id.stamp.sequence);
    format!(
        "to restore it here nevertheless: ctx-rollback -s {session} --snapshot {number} --to {path}"
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{of_session, of_snapshot, to_another_file};
    use ctx_store::{MissingReason, MissingSnapshot};

    /// 15 C1: each reason has its own advice.
    #[test]
    fn what_to_do_depends_on_where_it_is() {
        let id = |n: u32| format!("other-20261121T234307.123456Z-000{n}");
        for (reason, near, hint) in [
            (
                MissingReason::DayInDigits("2026-11-21".to_owned()),
                vec![],
                "for a day write 2026-11-21".to_owned(),
            ),
            (
                MissingReason::Elsewhere(id(2)),
                vec![id(1)],
                format!("name that one with -s other, or take the nearest, {}", id(1)),
            ),
            (
                MissingReason::InTrash(id(2)),
                vec![],
                "ctx-gc --undelete 2 brings it back".to_owned(),
            ),
            (MissingReason::Unknown, vec![], "ctx-snapshot --list shows what there is".to_owned()),
        ] {
            let wanted = "2".to_owned();
            let missing = MissingSnapshot { wanted, reason, near };
            assert_eq!(of_snapshot(&missing), hint);
        }
    }

    #[test]
    fn a_command_can_be_pasted() {
        assert_eq!(
            to_another_file("a-b-20261121T234307.123456Z-0012", Path::new("my chat.jsonl")),
            "to restore it here nevertheless: ctx-rollback -s a-b --snapshot 12 --to 'my chat.jsonl'"
        );
    }

    #[test]
    fn near_names_are_proposed_as_flags() {
        let near = ["demo".to_owned(), "demo-2".to_owned()];
        assert_eq!(of_session("dmeo", &near, false), "did you mean -s demo or -s demo-2?");
    }
}
