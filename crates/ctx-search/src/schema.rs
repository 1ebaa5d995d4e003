//! What the index holds of a document: its words, and numbers that say where it is.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::words::each_word;

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
struct Stream {
    text: String,
    ends: std::vec::IntoIter<usize>,
    start: usize,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream {
        let mut words = String::with_capacity(text.len() * 2);
        let mut ends = Vec::new();
        each_word(text, |_, word| {
            words.push_str(word);
            ends.push(words.len());
        });
        Stream {
            text: words,
            ends: ends.into_iter(),
            start: 0,
            token: Token::default(),
        }
    }
}

impl TokenStream for Stream {
    fn advance(&mut self) -> bool {
        let Some(end) = self.ends.next() else {
            return false;
        };
        self.token.position = self.token.position.wrapping_add(1);
        self.token.text.clear();
        self.token.text.push_str(&self.text[self.start..end]);
        self.start = end;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
