//! What the index holds of a document: its words, and numbers that say where it is.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::words::words_at;

/// The name of our tokenizer in the index.
const WORDS: &str = "words";

/// The fields of a document. No text is stored: it is read where it came from.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    /// The words, with how often each stands there. Not where: nobody asks for phrases, and
    /// places would double the size of the index.
    pub(crate) words: Field,
    /// The number of its source.
    pub(crate) source: Field,
    /// The line in it.
    pub(crate) line: Field,
    /// Where in it its bytes begin.
    pub(crate) offset: Field,
    /// The session that it is of, where its source is of several.
    pub(crate) session: Field,
    /// The number of its role.
    pub(crate) role: Field,
    /// When it was said, in milliseconds.
    pub(crate) time: Field,
    /// The hash of role and text, by which an equal one is known.
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

/// Tells the engine what a word is.
pub(crate) fn register(index: &tantivy::Index) {
    index.tokenizers().register(WORDS, Words);
}

#[derive(Clone)]
struct Words;

/// The words of a text, one behind the other.
struct Stream<'a> {
    text: &'a str,
    /// How far the text was read.
    at: usize,
    /// The words that were read there, one behind the other, and where each ends.
    words: String,
    ends: Vec<usize>,
    lower: String,
    /// How many of these were handed on.
    handed: usize,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        Stream {
            text,
            at: 0,
            words: String::new(),
            ends: Vec::new(),
            lower: String::new(),
            handed: 0,
            token: Token::default(),
        }
    }
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        while self.handed == self.ends.len() {
            if self.at >= self.text.len() {
                return false;
            }
            self.handed = 0;
            self.words.clear();
            self.ends.clear();
            self.at = words_at(self.text, self.at, &mut self.lower, |_, word| {
                self.words.push_str(word);
                self.ends.push(self.words.len());
            });
        }
        let start = match self.handed {
            0 => 0,
            before => self.ends[before - 1],
        };
        self.token.text.clear();
        self.token
            .text
            .push_str(&self.words[start..self.ends[self.handed]]);
        self.token.position = self.token.position.wrapping_add(1);
        self.handed += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
