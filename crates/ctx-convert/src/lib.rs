//! Sessions from one dialect into another: the active context, message by message.
//!
//! What is read is what the agent would send, in that order: fragments of a message become
//! one, results stand right behind the reply that called, a record that holds a call and its
//! result gives both. Texts are never changed. What the other dialect has no place for is
//! counted in the [`Report`], with the line where it stood.
//!
//! A session can also be *lowered* ([`Converter::whole_records`]): then no record of it, and no
//! message of a list in one, is in two exchanges of the new one, and each message is in one, so
//! that whoever decides which exchanges stay has decided which records do.

mod blob;
mod converter;
mod error;
mod index;
mod json;
mod lowered;
mod media;
mod pairing;
mod reading;
mod report;
mod said;
mod session;
mod source_id;
mod target;
mod turn;
mod writing;

pub use converter::Converter;
pub use error::ConvertError;
pub use lowered::Lowered;
pub use reading::Reading;
pub use report::{Kind, Loss, Report, Source};
pub use source_id::SourceId;
