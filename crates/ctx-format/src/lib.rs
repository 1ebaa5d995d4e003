//! Session files: their records and messages, API formats, and the log formats of agents.
//!
//! [`Records`] reads a session file line by line. Each line keeps its bytes and is assigned a
//! [`Class`]. No line is rejected. A [`Dialect`] reads the [`Object`] of a record as an [`Outline`]
//! (role, calls and results, with no text decoded) or as a whole [`Message`]. The [`Log`] of an
//! agent contains more than the model receives; the [`view`] of the log determines which records
//! form the context. [`Validator`] finds everything that the API would reject, [`repair`] fixes it,
//! and [`convert`] writes the context in another format.
//!
//! Records are never re-serialized. Views borrow from a record, and tools write its original bytes,
//! changed only by [`Edits`] or by a [`Tag`] that is inserted or removed.
//!
//! Dependencies point one way: `record` does not depend on any dialect, `dialect/interface.rs` and
//! `log/mod.rs` do not depend on any format, and no agent's format depends on the format of another
//! agent. `dialect/mod.rs` lists all formats for `session` and `convert`.

pub mod convert;
pub mod dialect;
pub mod files;
mod handle;
mod legality {
    //! An API's requirements for a session: its rules, violations of them, and repairs.
    pub mod binding;
    pub mod content;
    pub mod problems;
    pub mod repair;
    pub mod rules;
}
pub mod log;
mod record;
mod session;

pub use dialect::foreign::Foreign;
pub use dialect::interface::{Dialect, HeldMessage, InvalidReasoning};
pub use dialect::unread::{Unread, UnreadRule};
pub use dialect::usage::{ReplyId, Usage, UsageOf};
pub use handle::{Handle, Saved, ShortHash};
pub use legality::content::Content;
pub use legality::problems::{Problem, Rule, Validator, counted};
pub use legality::{binding, content, problems, repair, rules, rules::Rules};
pub use log::links::{Bond, GoodFor, Link, Links, SecondCopy};
pub use log::{About, EditWriter, Effect, Flaw, Import, Log, Remedy, compaction, view};
pub use record::edit::{Edits, Slot};
pub use record::json::map_strings;
pub use record::message::{
    Call, Denial, Media, MediaPlace, Message, Outline, Part, Role, SummaryRole, ToolResult,
};
pub use record::object::{Member, NotObject, Object};
pub use record::presence::{Portion, Presences};
pub use record::scan::elements;
pub use record::spool::Spool;
pub use record::tag::{EarlyEnd, Splice, Tag, Zone, ZoneReader};
pub use record::{Class, MAX_LINE, Origin, Piece, Record};
pub use session::document::{FixedFile, Frame, Head};
pub use session::reread::show as show_to_view;
pub use session::{BadLine, Observer, Options, Records, Tally, Watch, Watched, dialect_of_lines};

pub(crate) use record::{json, scan};
