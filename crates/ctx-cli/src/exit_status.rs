//! The exit statuses of the tools.

/// The exit status of a tool. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Done; also when the reader of stdout went away.
    Done = 0,
    /// Done, and the answer is "no"; each man page says what "no" means there.
    No = 1,
    /// Usage, bad input or I/O: no file and no store entry changed; stdout may be partial.
    Failed = 2,
    /// Partly done: some inputs failed.
    Partial = 3,
    /// Busy, or changed meanwhile: try again.
    Busy = 4,
    /// Committed, but its durability or its audit record is uncertain, or the report failed.
    Uncertain = 5,
    /// Interrupted.
    Interrupted = 130,
}

impl ExitStatus {
    /// Every status with its meaning, in numerical order.
    pub const TABLE: [(Self, &'static str); 7] = [
        (Self::Done, "done, or the reader of stdout went away"),
        (Self::No, "done, and the answer is \"no\""),
        (
            Self::Failed,
            "usage, bad input or I/O: no file and no store entry changed; stdout may be partial",
        ),
        (Self::Partial, "partly done: some inputs failed"),
        (Self::Busy, "busy, or changed meanwhile: try again"),
        (
            Self::Uncertain,
            "committed, but its durability or its audit record is uncertain, or stdout could not be written",
        ),
        (Self::Interrupted, "interrupted"),
    ];

    /// Returns the status for several inputs: the status that all share, the worst answer if all
    /// ended well, "uncertain" if all are done, and "partly" if only some failed.
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

    /// Returns the number that the shell sees.
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
