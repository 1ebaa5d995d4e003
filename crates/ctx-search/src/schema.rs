//! Sources and their documents, and the fields of the index.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::words::each_word;

/// The name under which our tokenizer is registered with the engine.
const WORDS: &str = "words";

/// The fields of a document in the index. The text is not stored, because it can be read from the
/// source.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// The words, with their frequencies. Positions are not stored: there are no phrase queries,
    /// and positions would double the size of the index.
    pub(crate) words: Field,
    /// The number of the source that contains the document.
    pub(crate) source: Field,
    /// The line on which the document begins in its source.
    pub(crate) line: Field,
    /// The offset of the document's first byte in its source.
    pub(crate) offset: Field,
    /// The document's session, if the source contains several sessions.
    pub(crate) session: Field,
    /// The number of the author's role: see [`ROLES`].
    pub(crate) role: Field,
    /// The time of the document, in milliseconds since 1970.
    pub(crate) time: Field,
    /// The hash of the role and the text, used to recognize equal documents.
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

/// The words in the text, in order.
struct WordStream {
    /// All words, concatenated. The end of each word is in `ends`.
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
    Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A memory file written by extraction. Each kind of item has its own file.
    Extracted,
    /// A daily log.
    Daily,
    /// The memory file for all sessions, `master.md`.
    Master,
    /// The user's description of the agent's character, `soul.md`.
    Soul,
    /// The cumulative summary of a session.
    Summary,
    /// The messages in a snapshot of a session.
    Snapshot,
    /// An offloaded tool result.
    Offloaded,
}

impl SourceKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// A file in the store, or other content that is read like a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The unique name of the source.
    pub name: String,
    /// The kind of the source.
    pub kind: SourceKind,
    /// The session that the source belongs to, if it belongs to a single session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// A value that changes whenever the source's content changes.
    pub mark: String,
}

impl Source {
    /// The group of the source. Sources in the same group share much of their content, so each
    /// document is indexed only in the first source that contains it. Only snapshots of the same
    /// session share a group.
    pub(crate) fn group(&self) -> &str {
        match (self.kind, &self.session) {
            (SourceKind::Snapshot, Some(session)) => session,
            _ => &self.name,
        }
    }
}

/// The unit of search results: a message or a paragraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// The 1-based line in the source.
    pub line: u64,
    /// The offset of the document's first byte in the source.
    pub offset: u64,
    /// The document's session, if the source contains several sessions.
    pub session: Option<String>,
    /// The author's role, or `None` if the document is not a message.
    pub role: Option<&'static str>,
    /// When the document was written, in milliseconds since 1970.
    pub time: i64,
    /// The text, which is indexed but not stored.
    pub text: String,
}

/// The roles. In the index, each role is stored as its 1-based position in this list.
pub const ROLES: [&str; 7] =
    ["system", "developer", "user", "assistant", "tool", "function", "other"];

/// The number of a role in the index; 0 for a document without a role.
pub(crate) fn number_of(role: Option<&str>) -> u64 {
    let place = role.and_then(|role| ROLES.iter().position(|known| *known == role));
    place.map_or(0, |place| place as u64 + 1)
}

pub(crate) fn role_of(number: u64) -> Option<&'static str> {
    let place = usize::try_from(number.checked_sub(1)?).ok()?;
    ROLES.get(place).copied()
}
