//! The exit statuses of the tools.

/// The exit status of a tool. The numeric values never change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Done, or the reader of stdout exited early.
    Done = 0,
    /// Done, and the answer is "no"; the man page of each tool says what "no" means.
    No = 1,
    /// A usage error, bad input or an I/O error: no file and no store entry changed, but stdout may
    /// be incomplete.
    #[default]
    Failed = 2,
    /// Partly done: some inputs failed.
    Partial = 3,
    /// Another process is using the file, or changed it during the run: try again.
    Busy = 4,
    /// The change was made, but it may not be durable or recorded in the audit log, or writing to
    /// stdout failed.
    Uncertain = 5,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl ExitStatus {
    /// Every status with its meaning, in numerical order.
    pub const TABLE: [(Self, &'static str); 7] = [
        (Self::Done, "done, or the reader of stdout exited early"),
        (Self::No, "done, and the answer is \"no\""),
        (
            Self::Failed,
            "usage error, bad input or I/O error: no file or store entry changed; stdout may be incomplete",
        ),
        (Self::Partial, "partly done: some inputs failed"),
        (Self::Busy, "busy, or changed during the run: try again"),
        (
            Self::Uncertain,
            "change made, but it may not be durable or in the audit log, or stdout could not be written",
        ),
        (Self::Interrupted, "interrupted"),
    ];

    /// Returns the combined status of several inputs. If all inputs have the same status, returns
    /// that status. A mixture of `Done` and `No` gives `No`. Any other mixture gives `Uncertain` if
    /// all inputs were processed, or else `Partial`.
    pub fn of_several(statuses: &[Self]) -> Self {
        let all_are = |kinds: &[Self]| statuses.iter().all(|status| kinds.contains(status));
        match statuses {
            [] => Self::Done,
            [first, rest @ ..] if rest.iter().all(|status| status == first) => *first,
            _ if all_are(&[Self::Done, Self::No]) => Self::No,
            _ if all_are(&[Self::Done, Self::No, Self::Uncertain]) => Self::Uncertain,
            _ => Self::Partial,
        }
    }

    /// Returns the status as a number, for the shell.
    pub fn code(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::ExitStatus;

    #[test]
    fn the_numbers_are_a_contract() {
        let codes: Vec<u8> = ExitStatus::TABLE.iter().map(|(status, _)| status.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 130]);
    }

    #[test]
    fn several_inputs_have_one_status() {
        use ExitStatus::{Busy, Done, Failed, No, Partial, Uncertain};
        for (statuses, status) in [
            (&[][..], Done),
            (&[Busy, Busy], Busy),
            (&[Done, No, Done], No),
            (&[Done, Failed], Partial),
            (&[No, Uncertain], Uncertain),
            (&[Uncertain, Failed, Done], Partial),
            (&[Uncertain, Busy], Partial),
        ] {
            assert_eq!(ExitStatus::of_several(statuses), status, "{statuses:?}");
        }
    }
}
