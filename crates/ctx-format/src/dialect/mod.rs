//! Dialects are the file formats of sessions. To add a dialect, implement [`Dialect`] and add an
//! entry to `FORMATS`; the tools need no changes. The dialect of a session that could be in several
//! formats is [`Plain`].
//!
//! The session file of an agent is also a log; [`crate::log`] explains what a log adds to a
//! dialect.
//!
//! Code that selects messages treats all records of a reply as one exchange, even if other records
//! come between them. A log's view reports the log's problems as flaws, whose remedies repair a
//! copy of the log.

pub(crate) mod anthropic;
pub(crate) mod blocks;
pub(crate) mod chat;
pub(crate) mod content;
pub(crate) mod detect;
pub(crate) mod foreign;
pub(crate) mod gemini;
pub(crate) mod interface;
pub(crate) mod items;
pub(crate) mod responses;
pub(crate) mod sign;
pub(crate) mod unread;
pub(crate) mod usage;

use crate::convert::target::{self, Target};
use crate::convert::turn::Family;
use crate::log::{claude_code, codex, gemini as gemini_log, pi};

pub use crate::log::{claude_code::ClaudeCode, codex::Codex, gemini::Gemini, pi::Pi};
pub use anthropic::Anthropic;
pub use chat::Chat;
pub use content::SUMMARY_MARK;
pub(crate) use detect::Detector;
pub use detect::{Plain, stranger};
pub use interface::{Dialect, HeldMessage, InvalidReasoning, Sealed, Sniff, Wrapped};
pub use responses::Responses;

/// What the rest of the crate needs to know about a format.
pub(crate) struct Format {
    pub(crate) dialect: &'static dyn Dialect,
    /// A noun phrase for a session in this format, for use in messages.
    pub(crate) session: &'static str,
    /// How messages are written within records in this format.
    pub(crate) family: Family,
    /// Creates the writer that converts a session to this format.
    pub(crate) writer: fn() -> Box<dyn Target>,
}

const CHAT: Format = Format::new(&Chat, "a session in the format chat", Family::Chat, || {
    Box::new(target::chat::Writer)
});

/// API formats, followed by agent formats in alphabetical order.
const FORMATS: [Format; 7] = [
    CHAT,
    Format::new(&Anthropic, "a session in the format anthropic", Family::Blocks, || {
        Box::new(target::anthropic::Writer::default())
    }),
    Format::new(&Responses, "a session in the format responses", Family::Items, || {
        Box::new(target::items::Accepts::All)
    }),
    Format::new(&ClaudeCode, "a Claude Code session", Family::Blocks, || {
        Box::new(claude_code::Writer::default())
    }),
    Format::new(&Codex, "a Codex session", Family::Items, || Box::new(codex::Writer)),
    Format::new(&Gemini, "a Gemini CLI session", Family::Gemini, || Box::new(gemini_log::Writer)),
    Format::new(&Pi, "a pi session", Family::Other, || Box::new(pi::Writer::default())),
];

impl Format {
    const fn new(
        dialect: &'static dyn Dialect,
        session: &'static str,
        family: Family,
        writer: fn() -> Box<dyn Target>,
    ) -> Self {
        Self { dialect, session, family, writer }
    }

    /// Returns the format of sessions in `dialect`. A plain session has the format `chat`.
    pub(crate) fn of(dialect: &dyn Dialect) -> Self {
        let mut formats = FORMATS.into_iter();
        formats.find(|format| format.dialect.name() == dialect.name()).unwrap_or(CHAT)
    }
}

/// All dialects. If a record fits several dialects, the first of them in this list is used.
pub static ALL: [&dyn Dialect; FORMATS.len()] =
    [&Chat, &Anthropic, &Responses, &ClaudeCode, &Codex, &Gemini, &Pi];

/// Returns the dialect with the given name.
pub fn by_name(name: &str) -> Option<&'static dyn Dialect> {
    ALL.into_iter().find(|dialect| dialect.name() == name)
}

#[cfg(test)]
mod tests {
    use super::content::SUMMARY_LINE;
    use super::{ALL, Dialect, Plain, by_name};
    use crate::{Object, Role};

    #[test]
    fn each_format_is_listed_in_order() {
        let formats = super::FORMATS.map(|format| format.dialect.name());
        assert_eq!(formats, ALL.map(Dialect::name));
    }

    #[test]
    fn names_are_found() {
        assert_eq!(by_name("anthropic").map(super::Dialect::name), Some("anthropic"));
        assert!(by_name("klingon").is_none());
    }

    /// In every dialect that is not a log, the first line of our summaries marks a message as a
    /// summary.
    #[test]
    fn a_summary_of_each_dialect_is_known_in_every_other() {
        let plain: &dyn Dialect = &Plain;
        let all = || ALL.into_iter().chain([plain]).filter(|it| !it.is_log());
        for writer in all() {
            let record = writer.summary_record(Role::User, "what\nwas");
            let record = Object::parse(&record).expect("an object");
            for reader in all() {
                let text = reader.summary_text(&record);
                assert_eq!(text.as_deref(), Some("what\nwas"), "{}", reader.name());
                assert!(reader.outline(&record).expect("a message").is_summary);
            }
        }
    }

    #[test]
    fn the_records_of_a_log_depend_on_each_other() {
        for dialect in ALL {
            assert!(dialect.is_linked() || !dialect.is_log(), "{}", dialect.name());
        }
    }

    #[test]
    fn a_log_knows_its_own_summaries() {
        for log in ALL.into_iter().filter(|it| it.is_log()) {
            let record = log.summary_record(Role::User, "what\nwas");
            let record = Object::parse(&record).expect("an object");
            let text = log.summary_text(&record);
            assert_eq!(text.as_deref(), Some("what\nwas"), "{}", log.name());
            assert!(log.outline(&record).expect("a message").is_summary);
        }
    }

    /// A tool result or an unnamed reply is never a summary, even if it looks like one.
    #[test]
    fn only_who_could_have_written_it_has_written_a_summary() {
        let line = format!("{SUMMARY_LINE}\\n\\n- push to main");
        let records = [
            r#"{"role":"tool","tool_call_id":"c","name":"ctx_summary","content":"x"}"#.to_owned(),
            r#"{"role":"function","name":"ctx_summary","content":"x"}"#.to_owned(),
            format!(r#"{{"role":"assistant","content":"{line}"}}"#),
            format!(r#"{{"role":"tool","tool_call_id":"c","content":"{line}"}}"#),
            format!(r#"{{"role":"critic","name":"ctx_summary","content":"{line}"}}"#),
        ];
        for record in &records {
            let object = Object::parse(record).expect("an object");
            for dialect in ALL {
                assert_eq!(dialect.summary_text(&object), None, "{record}");
                let outline = dialect.outline(&object);
                assert!(!outline.is_some_and(|outline| outline.is_summary));
            }
        }
    }
}
