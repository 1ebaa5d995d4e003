//! Session files: records, messages, the formats of APIs, the logs of agents.
//!
//! [`Records`] reads a session file line by line. It keeps the bytes of each line, classifies the
//! line ([`Class`]) and rejects none. A [`Dialect`] reads the [`Object`] of a record as an
//! [`Outline`] (role, calls and results, without decoding texts) or as a whole [`Message`]. A file
//! that is the [`Log`] of an agent holds more than the model receives; its [`view`] says which
//! records form the context. [`Validator`] finds what the API would refuse, [`repair`] repairs it,
//! and [`convert`] writes the context in another format.
//!
//! Nothing is serialized again: views borrow from the record, and tools write the record's own
//! bytes with [`Edits`] made, or with a [`Tag`] inserted or removed.
//!
//! No file takes a name from one that stands above it: `record` knows no dialect,
//! `dialect/interface.rs` and `log/mod.rs` know no format, and a format knows no other agent's.
//! `dialect/mod.rs` lists the formats, for `session` and `convert`.

pub mod convert;
pub mod dialect;
pub mod files;
mod handle;
mod legality {
    //! The requirements of an API: its rules, the problems of a session with them, and their repair.
    pub mod problems;
    pub mod repair;
    pub mod rules;
}
pub mod log;
mod record;
mod session;

pub use dialect::foreign::Foreign;
pub use dialect::interface::{Dialect, HeldMessage};
pub use dialect::unread::{Unread, UnreadRule};
pub use dialect::usage::{ReplyId, Usage, UsageOf};
pub use handle::{Handle, Saved, ShortHash};
pub use legality::problems::{Problem, Rule, Validator, counted};
pub use legality::{problems, repair, rules, rules::Rules};
pub use log::links::{Bond, GoodFor, Link, Links, SecondCopy};
pub use log::{About, Effect, Flaw, Log, Remedy, compaction, view};
pub use record::edit::{Edits, Slot};
pub use record::json::map_strings;
pub use record::message::{
    Call, Denial, Media, Message, Outline, Part, Role, SummaryRole, ToolResult,
};
pub use record::object::{Member, NotObject, Object};
pub use record::presence::{Portion, Presences};
pub use record::scan::elements;
pub use record::spool::Spool;
pub use record::tag::{EarlyEnd, Splice, Tag, Zone, ZoneReader};
pub use record::{Class, MAX_LINE, Origin, Piece, Record};
pub use session::document::{Conversation, FixedFile, Frame, FromStart, Head};
pub use session::reread::show as show_to_view;
pub use session::{BadLine, Observer, Options, Records, Tally, Watch, Watched, dialect_of_lines};

pub(crate) use record::{json, scan};
