//! Changes of tool results: every other byte of a session stays.

mod change;
mod pass;
mod template;

pub use change::{Change, Reading, Substitute};
pub use pass::ChangePass;
pub use template::{FileFacts, Template};
