//! Tool results in files of the store: moved out of a session, put back, and found by their hashes.

mod original;
mod referred;
mod report;
mod restore;
mod take;
#[cfg(test)]
mod tests;

pub use original::{OriginalError, Wanted, original};
pub use referred::{Referred, referred};
pub use report::{OffloadReport, RestoreReport, Run};
pub use restore::{Foreign, Reference, Restorer};
pub use take::{OffloadedResult, Offloader, Plan, Transcripts};
