//! The model of a session file: records, messages, dialects, exchanges, turns,
//! tags, validity.
//!
//! A session file is read as [`Records`]: one line each, its bytes untouched,
//! classified ([`Class`]) and never refused. A [`Dialect`] reads an [`Object`]
//! as an [`Outline`] (role, calls, results: cheap) or as a whole [`Message`]
//! (all parts: decoded only when asked for). What a tool decided about a record
//! travels in its [`Tag`]; [`Validator`] says which problems a sequence holds. Where a
//! file is a log that holds more than the model is sent, its [`view`] says what that is.
//!
//! Nothing here is ever re-serialised: views borrow from the record, and what is
//! written is the record's own bytes with a tag spliced in or cut out.

mod about;
mod again;
mod batch;
mod class;
pub mod compaction;
mod counted;
mod cut;
pub mod dialect;
mod document;
mod edit;
pub mod flaw;
mod foreign;
mod frame;
mod from_start;
mod handle;
mod head;
mod json;
mod lines;
mod links;
mod message;
mod object;
mod origin;
mod pairs;
mod portion;
mod presence;
mod presences;
pub mod problems;
mod record;
mod records;
pub mod repair;
pub mod rules;
pub mod scan;
mod second_reading;
mod splice;
mod spool;
mod strings;
mod tag;
mod unread;
mod usage;
mod validity;
pub mod view;
mod watch;
mod within;
mod zones;

pub use about::About;
pub use batch::Conversation;
pub use class::Class;
pub use counted::counted;
pub use dialect::{Dialect, Held};
pub use edit::{Edits, Slot};
pub use flaw::{Effect, Flaw, Remedy};
pub use foreign::Foreign;
pub use frame::Frame;
pub use from_start::FromStart;
pub use handle::{Handle, Saved, ShortHash};
pub use head::Head;
pub use links::{Bond, GoodFor, Link, Links, SecondCopy};
pub use message::{Call, Denial, Media, Message, Outline, Part, Role, SummaryRole, ToolResult};
pub use object::{Member, Object};
pub use origin::{MAX_LINE, Origin, Piece};
pub use portion::Portion;
pub use presences::Presences;
pub use record::Record;
pub use records::{Options, Records, dialect_of_lines};
pub use rules::Rules;
pub use second_reading::show as show_to_view;
pub use splice::Splice;
pub use spool::Spool;
pub use strings::map_strings;
pub use tag::{Tag, Zone};
pub use unread::{Unread, UnreadRule};
pub use usage::{ReplyId, Usage, UsageOf};
pub use validity::{Problem, Rule, Validator};
pub use watch::{Observer, Watch, Watched};
pub use zones::{EarlyEnd, ZoneReader};
