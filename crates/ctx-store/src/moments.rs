//! What tests let happen at moments that no test could meet by itself.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// What happens at one moment of a race.
pub(crate) type Act = Box<dyn FnOnce()>;

thread_local! {
    static ACTS: RefCell<VecDeque<Option<Act>>> = const { RefCell::new(VecDeque::new()) };
    static WITHOUT_LEASES: Cell<bool> = const { Cell::new(false) };
}

/// Makes this thread one on a system that has no leases.
pub(crate) fn without_leases(without: bool) {
    WITHOUT_LEASES.set(without);
}

pub(crate) fn has_leases() -> bool {
    !WITHOUT_LEASES.get()
}

/// Lets things happen right before and right after names are exchanged: the first before
/// the first exchange of this thread, the second after it, the third before the next one, or
/// before the old file is looked at for the last time.
pub(crate) fn around_exchanges(acts: impl IntoIterator<Item = impl Into<Option<Act>>>) {
    ACTS.with_borrow_mut(|all| *all = acts.into_iter().map(Into::into).collect());
}

/// A moment that [`around_exchanges`] counts.
pub(crate) fn moment() {
    let act = ACTS.with_borrow_mut(VecDeque::pop_front);
    if let Some(act) = act.flatten() {
        act();
    }
}
