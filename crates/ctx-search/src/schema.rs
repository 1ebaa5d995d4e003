//! Sources and their documents, and the fields of the index.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::words::each_word;

/// The name of our tokenizer in the index.
const WORDS: &str = "words";

/// The fields of a document. Text is not stored; it is read from the source.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// The words, with their frequencies. Positions are not stored, because there are no phrase
    /// queries, and they would double the size of the index.
    pub(crate) words: Field,
    /// The number of its source.
    pub(crate) source: Field,
    /// The line in the source.
    pub(crate) line: Field,
    /// The offset of its first byte in the source.
    pub(crate) offset: Field,
    /// The session, if the source has several.
    pub(crate) session: Field,
    /// The number of its role.
    pub(crate) role: Field,
    /// The time in milliseconds.
    pub(crate) time: Field,
    /// The hash of role and text, by which equal documents are recognized.
    pub(crate) hash: Field,
}

impl Fields {
    pub(crate) fn new() -> (Schema, Self) {
        let mut schema = Schema::builder();
        let words = TextFieldIndexing::default()
            .set_tokenizer(WORDS)
            .set_index_option(IndexRecordOption::WithFreqs);
        let fields = Self {
            words: schema
                .add_text_field("words", TextOptions::default().set_indexing_options(words)),
            source: schema.add_u64_field("source", INDEXED | FAST),
            line: schema.add_u64_field("line", FAST),
            offset: schema.add_u64_field("offset", FAST),
            session: schema.add_text_field("session", STRING),
            role: schema.add_u64_field("role", INDEXED | FAST),
            time: schema.add_i64_field("time", FAST),
            hash: schema.add_u64_field("hash", FAST),
        };
        (schema.build(), fields)
    }
}

/// Registers our tokenizer with the engine.
pub(crate) fn register(index: &tantivy::Index) {
    index.tokenizers().register(WORDS, Words);
}

#[derive(Clone)]
struct Words;

/// The words of a text in order.
struct WordStream {
    /// All words, concatenated, and the end of each.
    words: String,
    ends: std::vec::IntoIter<usize>,
    /// The end of the last word that was returned.
    at: usize,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream {
        let (mut words, mut ends) = (String::new(), Vec::new());
        each_word(text, |_, word| {
            words.push_str(word);
            ends.push(words.len());
        });
        WordStream { words, ends: ends.into_iter(), at: 0, token: Token::default() }
    }
}

impl TokenStream for WordStream {
    fn advance(&mut self) -> bool {
        let Some(end) = self.ends.next() else { return false };
        self.token.text.clear();
        self.token.text.push_str(&self.words[self.at..end]);
        self.token.position = self.token.position.wrapping_add(1);
        self.at = end;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// The kinds of sources.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// Memory files by subject.
    Extracted,
    /// The daily logs.
    Daily,
    /// The memory of all sessions.
    Master,
    /// The agent's character.
    Soul,
    /// The summary of a session.
    Summary,
    /// The messages in a snapshot of a session.
    Snapshot,
    /// An offloaded tool result.
    Offloaded,
}

impl SourceKind {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The word for the kind.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A file of the store, or another text that is read like a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The unique name of the source.
    pub name: String,
    /// The kind of the source.
    pub kind: SourceKind,
    /// The session, if all of the source belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// A value that changes with the content.
    pub mark: String,
}

impl Source {
    /// The group of the source. Sources of one group share much of their content, so equal
    /// documents are only found in the first one. Only the snapshots of one session form a group.
    pub(crate) fn group(&self) -> &str {
        match (self.kind, &self.session) {
            (SourceKind::Snapshot, Some(session)) => session,
            _ => &self.name,
        }
    }
}

/// A document: a message or a paragraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The line in the source, from 1.
    pub line: u64,
    /// The offset of its first byte in the source.
    pub offset: u64,
    /// The session, if the source has several.
    pub session: Option<String>,
    /// The speaker, if any.
    pub role: Option<&'static str>,
    /// The time of writing, in milliseconds since 1970.
    pub time: i64,
    /// The text.
    pub text: String,
}

/// The roles, by their number in the index.
pub const ROLES: [&str; 7] =
    ["system", "developer", "user", "assistant", "tool", "function", "other"];

/// The number of a role in the index; 0 means none.
pub(crate) fn number_of(role: Option<&str>) -> u64 {
    let place = role.and_then(|role| ROLES.iter().position(|known| *known == role));
    place.map_or(0, |place| place as u64 + 1)
}

pub(crate) fn role_of(number: u64) -> Option<&'static str> {
    let place = usize::try_from(number.checked_sub(1)?).ok()?;
    ROLES.get(place).copied()
}
