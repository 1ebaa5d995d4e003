//! Large tool results leave a session for files of the store, with a reference in
//! their place; they can be put back, and an original can be found by its hash.

#[cfg(feature = "clap")]
mod asked;
mod change;
mod original;
mod restore;
mod stream;
mod take;
mod template;
#[cfg(test)]
mod tests;
mod told;

#[cfg(feature = "clap")]
pub use asked::Asked;
pub use change::{Change, Reading, Substitute};
pub(crate) use original::sessions;
pub use original::{OriginalError, Wanted, original};
pub use restore::{Foreign, Reference, Restorer};
pub use stream::ChangePass;
pub use take::{OffloadedResult, Offloader, Plan, Transcripts};
pub use template::Template;
pub use told::{Of, ToldOffload, ToldRestore};
