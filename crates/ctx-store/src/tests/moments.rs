//! Triggers events at exact moments of a race, which a test could otherwise hit only by chance.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;

/// An event at one moment in a race.
pub(crate) type Act = Box<dyn FnOnce()>;

thread_local! {
    static ACTS: RefCell<VecDeque<Option<Act>>> = const { RefCell::new(VecDeque::new()) };
    static WITHOUT_LEASES: Cell<bool> = const { Cell::new(false) };
    static WRITES: RefCell<VecDeque<Write>> = const { RefCell::new(VecDeque::new()) };
}

/// Makes leases unavailable to this thread, or available again.
pub(crate) fn without_leases(without: bool) {
    WITHOUT_LEASES.set(without);
}

pub(crate) fn has_leases() -> bool {
    !WITHOUT_LEASES.get()
}

/// Runs events around exchanges of names. The first event runs before this thread's first exchange,
/// the second after it, and the third before the next exchange or before the last check of the old
/// file.
pub(crate) fn around_exchanges(acts: impl IntoIterator<Item = impl Into<Option<Act>>>) {
    ACTS.with_borrow_mut(|all| *all = acts.into_iter().map(Into::into).collect());
}

/// Marks a moment at which the next event of [`around_exchanges`] happens.
pub(crate) fn moment() {
    let act = ACTS.with_borrow_mut(VecDeque::pop_front);
    if let Some(act) = act.flatten() {
        act();
    }
}

/// What happens to one write to a session file.
pub(crate) enum Write {
    /// The call writes at most this many bytes.
    Short(usize),
    /// The call fails with an error of this kind.
    Fails(io::ErrorKind),
    /// An event happens before the call.
    After(Act),
}

/// Sets what happens to this thread's next writes to session files.
pub(crate) fn let_writes(writes: impl IntoIterator<Item = Write>) {
    WRITES.with_borrow_mut(|all| *all = writes.into_iter().collect());
}

/// Returns the part of `wanted` that the next call may write.
pub(crate) fn part(wanted: &[u8]) -> io::Result<&[u8]> {
    match WRITES.with_borrow_mut(VecDeque::pop_front) {
        Some(Write::Short(most)) => Ok(&wanted[..most.min(wanted.len())]),
        Some(Write::Fails(kind)) => Err(kind.into()),
        Some(Write::After(act)) => {
            act();
            Ok(wanted)
        }
        None => Ok(wanted),
    }
}
