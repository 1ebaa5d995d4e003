//! Removes secrets from text before it leaves a session in a summary, a memory file or a request.
//!
//! The scan is written by hand, without regular expressions, because all text that leaves a session
//! is scanned, even by tools that must start within a few milliseconds. The scan takes linear time.
//! The scan recognizes keys by their vendor's prefix or by their frame (`keys`), and random strings
//! by their characters (`value`). Other values are recognized by the name before them (`named`) or
//! above them in a table (`table`), by their place on a command line, in a request or in a file
//! (`forms`), or by the sentence that introduces them (`prose`). Vendors, names, flags and words
//! are listed in `rules.txt`.
//!
//! The scan is a safety net and not a guarantee: it misses secrets that look like prose.
//!
//! Rules from scanners for source repositories are not suitable for sessions. The best-known
//! scanner, gitleaks (MIT), has about 220 regular expressions. Compiling these expressions takes
//! 1.8 s of processor time, a thousand times as long as starting a tool. Searching for the
//! expressions' keywords first hardly helps, because every session contains "key", "token" and
//! "secret". Scanner rules recognize vendors' keys, but not the secrets that sessions leak most
//! often: secrets in text written by people, in command-line flags, in Chinese text and in YAML
//! blocks. Rust crates with similar rules (keyspoor, keyhog, nosecrets) are young, and
//! detect-secrets (Apache-2.0) is written in Python.

use std::borrow::Cow;
use std::ops::Range;

mod forms;
mod keys;
mod name;
mod named;
mod plain;
mod prose;
mod rules;
mod table;
#[cfg(test)]
mod tests;
mod value;

use plain::PlainText;

/// The text that replaces a secret.
pub const MARK: &str = "[REDACTED]";

/// Returns the text with each secret replaced by [`MARK`], and the number of secrets. Redacting the
/// returned text again would find no more secrets.
pub fn redact(text: &str) -> (Cow<'_, str>, usize) {
    let mut count = 0;
    let mut result = Cow::Borrowed(text);
    // A replacement can expose another secret, such as a key that directly follows the first one.
    // The loop terminates, because every replacement removes a character that is not part of a
    // mark.
    loop {
        let secrets = find(&result);
        if secrets.is_empty() {
            return (result, count);
        }
        count += secrets.len();
        result = Cow::Owned(marked(&result, &secrets));
    }
}

fn marked(text: &str, secrets: &[Range<usize>]) -> String {
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

/// Returns the byte ranges of the secrets that [`redact`] replaces in its first pass, from left to
/// right.
pub fn find(text: &str) -> Vec<Range<usize>> {
    let secrets = scan(text);
    if !secrets.is_empty() {
        return secrets;
    }
    PlainText::of(text).map_or(secrets, |plain| {
        scan(&plain.text).iter().map(|secret| plain.source_of(secret)).collect()
    })
}

fn scan(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut secrets = Vec::new();
    let (mut from, mut at) = (0, 0);
    // The position of the last `--`, where a long flag may begin.
    let mut dashes = None;
    // The end of the last table, whose rows are no heads of other tables.
    let mut table_end = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        let step = STEPS[usize::from(bytes[start])];
        // No name ends between two edges, such as tabs.
        let is_inner = || STEPS[usize::from(bytes[start.saturating_sub(1)])] == Step::Edge;
        if step == Step::Pass || step == Step::Edge && is_inner() {
            continue;
        }
        let cursor = Cursor { text, from, at: start };
        let mut ends_cell = step == Step::Edge;
        let secret = match step {
            Step::Pass | Step::Edge => None,
            Step::Word => {
                let end = at + run(&bytes[at..], is_word);
                // Skip the rest of the word, unless a backslash precedes it: a secret may begin
                // right after an escape such as `\n`.
                if start == 0 || bytes[start - 1] != b'\\' {
                    at = end;
                }
                word(cursor, end)
            }
            Step::Blank => {
                ends_cell = matches!(bytes.get(at), Some(b' ' | b'|' | b'\n'));
                // Of several blanks, only the first and the last matter.
                at += run(&bytes[at..], |b| b == b' ').saturating_sub(1);
                // The dashes may be after `start`, because the scan returns to the end of each
                // secret it finds.
                let length = dashes.and_then(|dashes| start.checked_sub(dashes));
                blank(cursor, length.is_some_and(|length| length <= name::NAME_MAX))
            }
            Step::Sign => {
                ends_cell = bytes[start] == b'|';
                if bytes[start] == b'-' && bytes.get(at) == Some(&b'-') {
                    dashes = Some(start);
                }
                sign(cursor)
            }
        };
        if ends_cell
            && secret.is_none()
            && start >= table_end
            && prose::may_announce(cursor.before())
            && let Some((cells, end)) = table::secrets(cursor)
        {
            table_end = end;
            (from, at) = cells.last().map_or((from, at), |last| (last.end, last.end));
            secrets.extend(cells);
            continue;
        }
        if let Some(secret) = secret
            && secret.start >= from
            && &text[secret.clone()] != MARK
        {
            (from, at) = (secret.end, secret.end);
            secrets.push(secret);
        }
    }
    secrets
}

/// A position in the text being scanned. Rules never read the text before `from`, which is the end
/// of the previous secret.
#[derive(Clone, Copy)]
struct Cursor<'t> {
    text: &'t str,
    from: usize,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn bytes(self) -> &'t [u8] {
        self.text.as_bytes()
    }

    /// The text from the previous secret to this position.
    fn before(self) -> &'t [u8] {
        &self.bytes()[self.from..self.at]
    }

    /// The text from this position to the end.
    fn rest(self) -> &'t [u8] {
        &self.bytes()[self.at..]
    }

    fn starts_with(self, text: &str) -> bool {
        self.rest().starts_with(text.as_bytes())
    }
}

/// The action that the scan takes at a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The byte neither begins nor introduces a secret.
    Pass,
    Word,
    Blank,
    /// The byte may end the name of a column in a table.
    Edge,
    /// The byte is a sign that [`sign`] has rules for.
    Sign,
}

/// The step for each byte value. The scan looks up a step for nearly every byte in a session.
static STEPS: [Step; 256] = {
    let mut steps = [Step::Pass; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let step = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => Step::Word,
            b' ' => Step::Blank,
            b'\n' | b'\r' | b'\t' | b'\\' | b',' | b';' | b')' => Step::Edge,
            b'-' | b'=' | b':' | b'$' | b'{' | b'>' | b'(' | b'|' | b'!' | b'#' | b'@' | b'^'
            // The first bytes of the full-width colon, 是 and 为.
            | 0xEF | 0xE6 | 0xE4 => Step::Sign,
            _ => Step::Pass,
        };
        steps[byte] = step;
        byte += 1;
    }
    steps
};

/// Finds a secret that begins with the word from the cursor to `end`.
fn word(cursor: Cursor<'_>, end: usize) -> Option<Range<usize>> {
    let Cursor { from, at, .. } = cursor;
    let bytes = cursor.bytes();
    // The words `basic` and `bearer`.
    let may_be_scheme = matches!(bytes[at], b'B' | b'b') && matches!(end - at, 5 | 6);
    let may_be_key = keys::may_begin(bytes, at..end);
    let is_glued = at > from && bytes[at - 1] >= 0x80;
    // What follows the first part of a key without a prefix.
    let ends_part = matches!(
        (bytes.get(end), end - at),
        (Some(b':'), 8..=13) | (Some(b'-'), 32) | (Some(b'~'), 5) | (Some(b'.'), 14 | 23..=28)
    );
    // Most words need no further checks.
    let may_be = may_be_scheme || may_be_key || is_glued;
    if !may_be || bytes[at] == b'_' || !starts_word(bytes, from, at) {
        return None;
    }
    let rules: [(bool, Rule); 6] = [
        (may_be_scheme, forms::bearer),
        (is_glued, prose::glued),
        (may_be_key, keys::prefixed),
        (may_be_key, keys::encoded),
        (may_be_key && ends_part, keys::shaped),
        (may_be_key, value::random_alone),
    ];
    first_found(cursor, &rules)
}

/// Finds the secret at or around a place in the text.
type Rule = fn(Cursor<'_>) -> Option<Range<usize>>;

/// Returns what the first rule finds, of those that apply.
fn first_found(cursor: Cursor<'_>, rules: &[(bool, Rule)]) -> Option<Range<usize>> {
    rules.iter().find_map(|(applies, rule)| if *applies { rule(cursor) } else { None })
}

/// Returns true if a word starts at `at`. A dash is part of a word here, so that a run such as
/// `sk-sk-…` is read only once. The letter in an escape (`\n` in quoted text) is not part of a
/// word.
fn starts_word(bytes: &[u8], from: usize, at: usize) -> bool {
    match bytes[from..at] {
        [] | [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., last] => !(is_word(last) || last == b'-'),
    }
}

/// Finds a secret that is indicated by the sign at the cursor.
fn sign(cursor: Cursor<'_>) -> Option<Range<usize>> {
    let bytes = cursor.bytes();
    let next = bytes.get(cursor.at + 1);
    match bytes[cursor.at] {
        b'-' => keys::private_key(cursor).or_else(|| forms::short_flag(cursor)),
        b'=' => {
            // In code, the sign may also be `=>` or `==`.
            let width = if matches!(next, Some(b'>' | b'=')) { 2 } else { 1 };
            named::assigned(cursor, width).or_else(|| named::member(cursor))
        }
        b':' => colon(cursor, if next == Some(&b'=') { 2 } else { 1 }),
        b'$' => keys::prefixed(cursor).or_else(|| prose::strong(cursor)),
        b'!' | b'#' | b'@' | b'^' => prose::strong(cursor),
        b'{' => keys::prefixed(cursor),
        b'>' if name::may_end_at(bytes, cursor.at) => named::element(cursor),
        b'(' if name::may_end_at(bytes, cursor.at) => named::argument(cursor),
        b'|' => forms::piped(cursor).or_else(|| named::cell(cursor)),
        // A Chinese word or sign joins the name of a secret to its value.
        0xE4 | 0xE6 | 0xEF if ["为", "是", "：", "＝"].iter().any(|it| cursor.starts_with(it)) => {
            named::assigned(cursor, "是".len())
        }
        _ => None,
    }
}

/// Finds a secret that is indicated by a colon. Most rules require a certain byte before or after
/// the colon.
fn colon(cursor: Cursor<'_>, width: usize) -> Option<Range<usize>> {
    let last = cursor.before().last().copied().unwrap_or(b' ');
    let next = cursor.bytes().get(cursor.at + 1).copied().unwrap_or(b'\n');
    let rules: [(bool, Rule); 5] = [
        (next == b'/', forms::url_password),
        (matches!(next, b'5' | b'6'), keys::prefixed),
        (matches!(last, b'e' | b'E'), forms::cookie),
        (last == b's', |cursor| {
            keys::prefixed(Cursor { at: cursor.at.saturating_sub(13), ..cursor })
        }),
        (is_word(next) && is_word(last), |cursor| prose::after_user(cursor, ":")),
    ];
    let secret = first_found(cursor, &rules);
    secret.or_else(|| named::assigned(cursor, width)).or_else(|| named::member(cursor))
}

/// Finds a secret after the space at the cursor, if a flag, a name or a sentence before the space
/// introduces it.
fn blank(cursor: Cursor<'_>, may_be_flag: bool) -> Option<Range<usize>> {
    // The scan calls this function at every space, and most words begin otherwise.
    let secret = match &cursor.rest()[1..] {
        [b'a', b's', b' ', ..] | [b'f', b'o', b'r', b' ', ..] => prose::before_name(cursor),
        [b'/', b' ', ..] => prose::after_user(cursor, " / "),
        [b'i' | b'e', b's', b' ' | b't', ..]
        | [b'e', b'r' | b'q', b' ' | b'u', ..]
        | [b'l', b'a', b'u', ..]
        | [b'l', 0xC3, ..]
        | [b'j' | b'h', b'e', b' ' | b's' | b'i', ..]
        | [b'b', b'r', b'z', ..]
        | [0xC3..=0xE2, ..] => prose::joined(cursor),
        _ => None,
    };
    let flag = || if may_be_flag { forms::long_flag(cursor) } else { None };
    let may_announce = || prose::may_announce(cursor.before());
    let announced = || if may_announce() { prose::announced(cursor) } else { None };
    secret.or_else(flag).or_else(announced)
}

#[inline]
fn is_word(byte: u8) -> bool {
    STEPS[usize::from(byte)] == Step::Word
}

/// Returns the number of leading bytes that satisfy `wanted`.
#[inline]
fn run(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !wanted(*byte)).unwrap_or(bytes.len())
}

/// Returns the number of trailing bytes that satisfy `wanted`, but at most `most`.
#[inline]
fn run_back(bytes: &[u8], most: usize, wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().rev().take(most).take_while(|byte| wanted(**byte)).count()
}

fn ends_with_ignoring_case(text: &[u8], end: &[u8]) -> bool {
    let start = text.len().checked_sub(end.len());
    start.is_some_and(|start| text[start..].eq_ignore_ascii_case(end))
}
