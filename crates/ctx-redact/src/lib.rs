//! Secrets out of text, before it goes into a summary, a memory file or a request.
//!
//! A scan by hand, not a set of patterns: it runs over every text that leaves a
//! session, also in tools that must start in a few milliseconds. It knows keys by
//! their prefix (`keys`, `table`) or their frame (`frames`), values by the name before
//! them (`named`, `pairs`, `header`) or by their place (`command`, `files`, `spoken`), and
//! random strings by their characters (`random`).
//! It is a net, not a proof: a secret that looks like prose passes.
//!
//! Why no rule set of a scanner of repositories: the best known, that of gitleaks (MIT),
//! is some 220 regular expressions. Crates carry it or one like it (keyspoor, keyhog,
//! nosecrets); all are young, before 1.0, and the one that names these rules as its source
//! wants a newer compiler than ours. So many expressions of that form take 1.8 s of processor
//! time to compile, a thousand starts of a tool; to look for their keywords first helps
//! little where "key", "token" and "secret" are in every session. And what sessions leak
//! most is not in them: they know vendors, but not what people say, flags of programs,
//! Chinese, blocks of YAML. detect-secrets (Apache-2.0) is detectors in Python. So what is
//! a fact, a vendor's prefix and length, stands in our `table`, and the rest is code that
//! takes linear time.

use std::borrow::Cow;
use std::ops::Range;

mod block;
mod changed;
mod command;
mod encoded;
mod files;
mod frames;
mod header;
mod keys;
mod lines;
mod name;
mod named;
mod pairs;
mod random;
mod sentence;
mod spoken;
mod table;
#[cfg(test)]
mod tests;
mod told;
mod value;

/// What stands where a secret was.
pub const MARK: &str = "[REDACTED]";

/// The text without its secrets, and how many were taken out.
///
/// A second run over the result finds nothing.
pub fn redact(text: &str) -> (Cow<'_, str>, usize) {
    let mut count = 0;
    let mut result = Cow::Borrowed(text);
    // A mark can make visible what was hidden before (a key that was glued to
    // another one), so this goes on until nothing is found. It ends: every
    // replacement takes away at least one character that no mark gave.
    loop {
        let secrets = find(&result);
        if secrets.is_empty() {
            return (result, count);
        }
        count += secrets.len();
        result = Cow::Owned(without(&result, &secrets));
    }
}

/// The text with a mark in the place of each of these secrets.
fn without(text: &str, secrets: &[Range<usize>]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut copied = 0;
    for secret in secrets {
        result.push_str(&text[copied..secret.start]);
        result.push_str(MARK);
        copied = secret.end;
    }
    result.push_str(&text[copied..]);
    result
}

/// Where the secrets of a text are, from left to right: what [`redact`] takes out first.
pub fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut secrets = Vec::new();
    // Nothing looks back beyond the secret before.
    let (mut from, mut at) = (0, 0);
    // Where a flag may begin.
    let mut dashes = None;
    while at < bytes.len() {
        let start = at;
        at += 1;
        let found = match STEPS[usize::from(bytes[start])] {
            Step::Pass => continue,
            Step::Word => {
                let end = at + run(&bytes[at..], is_word);
                // Nothing begins inside a word, but behind the letter of an escape.
                if start == 0 || bytes[start - 1] != b'\\' {
                    at = end;
                }
                word(text, from, start..end)
            }
            Step::Blank => {
                let may_be_flag = dashes.is_some_and(|dashes| start - dashes <= name::NAME_MAX);
                blank(text, from, start, may_be_flag)
            }
            Step::Sign => {
                if bytes[start..].starts_with(b"--") {
                    dashes = Some(start);
                }
                sign(text, from, start)
            }
        };
        if let Some(secret) =
            found.filter(|secret| secret.start >= from && &text[secret.clone()] != MARK)
        {
            (from, at) = (secret.end, secret.end);
            secrets.push(secret);
        }
    }
    secrets
}

/// What the search does at a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nothing: no secret begins here, and nothing here announces one.
    Pass,
    Word,
    Blank,
    /// What [`sign`] knows.
    Sign,
}

/// The step at each byte: looked up, since the search runs over nearly all text of a session.
const STEPS: [Step; 256] = {
    let mut steps = [Step::Pass; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let is_word = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        if is_word {
            steps[byte] = Step::Word;
        }
        byte += 1;
    }
    let mut at = 0;
    while at < SIGNS.len() {
        steps[SIGNS[at] as usize] = Step::Sign;
        at += 1;
    }
    steps[b' ' as usize] = Step::Blank;
    steps
};

/// The secret that begins with a word; `from` is the end of the secret before.
fn word(text: &str, from: usize, word: Range<usize>) -> Option<Range<usize>> {
    let (bytes, at) = (text.as_bytes(), word.start);
    let scheme = matches!(bytes[at], b'B' | b'b');
    // Most words end at once.
    let may_be_key = keys::may_begin(bytes, word);
    let is_glued = at > from && bytes[at - 1] >= 0x80;
    if !(scheme || may_be_key || is_glued) || bytes[at] == b'_' || !starts_word(bytes, from, at) {
        return None;
    }
    let bearer = scheme.then(|| header::bearer(text, at)).flatten();
    let glued = || is_glued.then(|| spoken::glued(text, from, at)).flatten();
    let Some(secret) = bearer.or_else(glued) else {
        return may_be_key.then(|| key(text, from, at)).flatten();
    };
    Some(secret)
}

/// The key, or random string, that begins at the start of a word.
fn key(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    keys::prefixed(text, at)
        .or_else(|| keys::discord(text, at))
        .or_else(|| random::alone(text, from, at))
}

/// What [`sign`] has an arm for: the last three are the first bytes of the fullwidth colon,
/// of 是 and of 为.
const SIGNS: &[u8] = b"-=:.~${>(|\xEF\xE6\xE4";

/// The secret that the sign at `at` announces.
fn sign(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    match text.as_bytes()[at] {
        b'-' => frames::private_key(text, at)
            .or_else(|| command::short(text, from, at))
            .or_else(|| keys::mailchimp(text, from, at)),
        b'=' => equals(text, from, at).or_else(|| header::signature(text, from, at)),
        b':' => colon(text, from, at),
        b'.' => keys::terraform(text, from, at),
        b'~' => keys::azure(text, from, at),
        b'$' => files::hash(text, at),
        b'{' => files::sum(text, at),
        b'>' if name::may_be_before(text.as_bytes(), at) => pairs::element(text, from, at),
        b'(' if name::may_be_before(text.as_bytes(), at) => pairs::argument(text, from, at),
        b'|' => command::piped(text, from, at).or_else(|| pairs::cell(text, from, at)),
        0xEF => said(text, from, at, "：").or_else(|| said(text, from, at, "＝")),
        0xE6 => said(text, from, at, "是"),
        0xE4 => said(text, from, at, "为"),
        _ => None,
    }
}

/// What a blank announces: the flag, the word or the sentence before it.
fn blank(text: &str, from: usize, at: usize, may_be_flag: bool) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let said = || said(text, from, at, " is ").or_else(|| spoken::of_something(text, from, at));
    let said = (bytes.get(at + 1) == Some(&b'i')).then(said).flatten();
    let flagged = || command::flagged(text, from, at);
    said.or_else(|| may_be_flag.then(flagged).flatten())
        .or_else(|| {
            let may_be = spoken::may_announce(bytes, at);
            let announced =
                || spoken::announced(text, from, at).or_else(|| told::behind_name(text, from, at));
            may_be.then(announced).flatten()
        })
}

/// `=`, and `=>` and `==` of code.
fn equals(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let is_wide = matches!(text.as_bytes().get(at + 1), Some(b'>' | b'='));
    let width = if is_wide { 2 } else { 1 };
    named::assigned(text, from, at, width).or_else(|| pairs::member(text, from, at))
}

/// `:`, and `:=` of code.
fn colon(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let is_wide = text.as_bytes().get(at + 1) == Some(&b'=');
    let width = if is_wide { 2 } else { 1 };
    header::url_password(text, at)
        .or_else(|| keys::telegram(text, from, at))
        .or_else(|| command::login(text, from, at))
        .or_else(|| files::pgpass(text, from, at))
        .or_else(|| header::cookie(text, from, at))
        .or_else(|| frames::putty(text, from, at))
        .or_else(|| named::assigned(text, from, at, width))
        .or_else(|| pairs::member(text, from, at))
}

/// The value behind a word that joins it to its name.
fn said(text: &str, from: usize, at: usize, word: &str) -> Option<Range<usize>> {
    if !text.as_bytes()[at..].starts_with(word.as_bytes()) {
        return None;
    }
    named::assigned(text, from, at, word.len())
}

/// A dash is part of a word here, so that every run of `sk-sk-…` is looked at once;
/// the letter of an escape (`\n` in quoted text) is not.
fn starts_word(bytes: &[u8], from: usize, at: usize) -> bool {
    if at == from {
        return true;
    }
    let before = bytes[at - 1];
    let is_escape =
        matches!(before, b'n' | b'r' | b't') && at - from >= 2 && bytes[at - 2] == b'\\';
    is_escape || !(is_word(before) || before == b'-')
}

fn is_word(byte: u8) -> bool {
    STEPS[usize::from(byte)] == Step::Word
}

/// Length of the run of bytes that `wanted` accepts.
fn run(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    let end = bytes.iter().position(|byte| !wanted(*byte));
    end.unwrap_or(bytes.len())
}

/// Length of such a run at the end, up to `most`.
fn run_back(bytes: &[u8], most: usize, wanted: impl Fn(u8) -> bool) -> usize {
    let last = bytes.iter().rev().take(most);
    last.take_while(|byte| wanted(**byte)).count()
}
