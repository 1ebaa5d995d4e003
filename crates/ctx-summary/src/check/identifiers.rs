//! Finds invented identifiers in a model's answer, such as paths, addresses, ids, hashes and
//! numbers.
//!
//! If a path is followed by a range of line numbers, only the two ends of the range must occur in
//! the session. For example, a model that read lines 317 and 318 of a listing may write `317-318`.

use std::ops::Range;
use std::sync::LazyLock;

use super::numbers;
use super::phrases::Phrases;
use super::words::{HashedSet, LONGEST_NAME};
use ctx_text::{hash_lowercase, hash_pair, is_han, regex};
use regex::Regex;

/// The kind of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdentifierKind {
    Url,
    Path,
    Id,
    Number,
}

/// Inserts into `seen` the identifiers found in a source text.
pub(super) fn gather(text: &str, seen: &mut HashedSet) {
    for range in tokens(text) {
        let token = &text[range];
        // Plain words are looked up only as parts of paths.
        if !token.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'/' | b'.')) {
            continue;
        }
        seen.insert(hash_lowercase(token));
        for piece in pieces(token) {
            seen.insert(hash_lowercase(bare(piece)));
            seen.extend(short_hashes(piece).chain(last_names(piece)).map(hash_lowercase));
            numbers::gather(piece, seen);
        }
        // A summary may refer to a file by the end of its name, such as `_test.go`.
        let ends = segments(token).filter_map(|part| Some(&part[part.rfind('_')?..]));
        seen.extend(ends.map(hash_lowercase).chain(steps(token)));
    }
}

/// Returns the positions of identifiers in `line` that do not occur in the source.
pub(super) fn invented(line: &str, seen: &HashedSet, phrases: &Phrases) -> Vec<Range<usize>> {
    let mut found = tokens(line);
    found.retain(|range| {
        let (token, before) = (&line[range.clone()], &line[..range.start]);
        let Some(kind) = kind(token) else { return false };
        // `strings.to_lower(…)` is a call, not a file name.
        let is_call = line[range.end..].starts_with('(') && !token.contains('/');
        let is_derived = || match kind {
            IdentifierKind::Url => false,
            IdentifierKind::Path => is_call,
            IdentifierKind::Id => phrases.has_near(joined(token)),
            IdentifierKind::Number => is_rounded(before) || numbers::ends_sum(before, token),
        };
        !is_known(token, kind, seen) && !is_derived()
    });
    found
}

/// Returns true if the text before a number marks it as rounded. A rounded number need not occur in
/// the source.
fn is_rounded(before: &str) -> bool {
    let before = before.trim_end().trim_end_matches(['`', '*']);
    ["about", "around", "roughly", "nearly", "almost", "some", "~", "≈", "约", "大约", "近"]
        .iter()
        .any(|word| before.ends_with(word))
}

fn is_known(token: &str, kind: IdentifierKind, seen: &HashedSet) -> bool {
    if seen.has(hash_lowercase(token)) {
        return true;
    }
    match kind {
        IdentifierKind::Url => are_steps_known(token, seen),
        IdentifierKind::Path => {
            let (path, lines) = split_lines(token);
            are_steps_known(path, seen) && numbers::are_ends_known(lines, seen)
        }
        IdentifierKind::Id => pieces(token).all(|piece| {
            let whole = bare(piece);
            !piece.bytes().any(|b| b.is_ascii_digit())
                || seen.has(hash_lowercase(whole))
                || whole.bytes().all(|b| b.is_ascii_digit()) && numbers::is_known(whole, seen)
        }),
        IdentifierKind::Number => numbers::is_known(token, seen),
    }
}

/// Returns true if the adjacent parts of `path` are also adjacent in the source.
fn are_steps_known(path: &str, seen: &HashedSet) -> bool {
    let mut steps = steps(path).peekable();
    if steps.peek().is_none() {
        return segments(path).all(|part| seen.has(hash_lowercase(part)));
    }
    steps.all(|step| seen.has(step))
}

/// Splits off the line numbers at the end of a path such as `a.rs:3-7` or `a.rs#L3`.
fn split_lines(path: &str) -> (&str, &str) {
    let is_line = |c: char| c.is_ascii_digit() || ":-,#L".contains(c);
    let name = path.trim_end_matches(is_line);
    let mark = path[name.len()..].find([':', '#']);
    path.split_at(mark.map_or(path.len(), |at| name.len() + at))
}

fn kind(token: &str) -> Option<IdentifierKind> {
    if token.contains("://") {
        return Some(IdentifierKind::Url);
    }
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    let letters = token.chars().filter(|c| c.is_alphabetic()).count();
    if letters == 0 {
        return (digits >= 4).then_some(IdentifierKind::Number);
    }
    if is_path(token) {
        return Some(IdentifierKind::Path);
    }
    if digits == 0 || token.len() < 4 {
        return None;
    }
    let head = token.bytes().take_while(u8::is_ascii_digit).count();
    // The token is a date with a time, such as `2026-01-02T03:04:05Z`.
    if digits >= 8 && letters <= 2 && head >= 4 {
        return Some(IdentifierKind::Number);
    }
    // `10-minute` consists of ordinary words.
    if head > 0 && head < 4 && digits == head && token[head..].starts_with('-') {
        return None;
    }
    // `500ms`, `1.5MB` and `3rd` consist of a number and a unit or a suffix.
    let amount = token.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_amount = amount.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','));
    if head > 0 && letters <= 3 && is_amount {
        return (digits >= 4).then_some(IdentifierKind::Number);
    }
    let tail = token.bytes().rev().take_while(u8::is_ascii_digit).count();
    // `base64`, `python3` and `utf-8` are ordinary words.
    let is_word = tail == digits
        && tail < 4
        && token[..token.len() - tail].chars().all(|c| c.is_alphabetic() || c == '-');
    (!is_word && token.is_ascii()).then_some(IdentifierKind::Id)
}

fn is_path(token: &str) -> bool {
    let is_file = |name: &str| {
        name.rsplit_once('.').is_some_and(|(stem, end)| {
            stem.len() > 1
                && (1..=5).contains(&end.len())
                && end.starts_with(|c: char| c.is_ascii_lowercase())
                && end.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                && stem.chars().any(char::is_alphabetic)
        })
    };
    let slashes = token.matches('/').count();
    let file = token.split(':').next().unwrap_or(token);
    match slashes {
        0 => is_file(file),
        1 => token.starts_with(['/', '~', '.']) && token.len() > 3 || is_file(file),
        // `reset/compact/switch` is a list of words.
        _ => {
            token.contains(|c: char| c.is_ascii_digit() || "._-".contains(c))
                || token.starts_with('/')
        }
    }
}

/// Returns the ranges of all words and identifiers in `text`, without surrounding punctuation.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let is_part = |c: char| c.is_alphanumeric() && !is_han(c) || "_-./:@#%+~&?$".contains(c);
    // `12,345` is one number.
    let joins_digits = |at: usize| {
        let bytes = text.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        bytes[at] == b',' && at > 0 && digit(at - 1) && digit(at + 1)
    };
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, is_part(c) || c == ',' && joins_digits(at)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let whole = &text[from..at];
                let token = whole.trim_start_matches([':', '-', '#', '?', '&', '+', '@', '%']);
                let begin = from + whole.len() - token.len();
                let token = token.trim_end_matches(['.', ':', '?', '-', '#', '&', '/', '%', '+']);
                if !token.is_empty() {
                    found.push(begin..begin + token.len());
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Splits a path or an address into its parts.
fn segments(token: &str) -> impl Iterator<Item = &str> {
    token.split(['/', ':', '?', '&', '#']).filter(|part| part.chars().any(char::is_alphanumeric))
}

/// Returns the pairs of adjacent parts in a path.
fn steps(token: &str) -> impl Iterator<Item = u64> {
    let hashes = || segments(token).map(hash_lowercase);
    hashes().zip(hashes().skip(1)).map(|(first, second)| hash_pair(first, second))
}

fn pieces(token: &str) -> impl Iterator<Item = &str> {
    let pieces = token.split(['/', ':', '@', '#', '~', '+', '&', '?', '$', '%']);
    pieces.filter(|piece| !piece.is_empty())
}

/// Removes the `v` from a version such as `v1.2`.
fn bare(piece: &str) -> &str {
    let number = piece.strip_prefix(['v', 'V']);
    number.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(piece)
}

/// Returns the usual abbreviations of a long hash.
fn short_hashes(piece: &str) -> impl Iterator<Item = &str> {
    let is_hash = piece.len() >= 16 && piece.bytes().all(|b| b.is_ascii_hexdigit());
    (7..=12).filter(move |_| is_hash).map(|length| &piece[..length])
}

/// Returns a dotted name and its suffixes: for `a.b.C`, these are `b.C` and `C`.
fn last_names(piece: &str) -> impl Iterator<Item = &str> {
    let names = piece.rmatch_indices('.').map(|(at, _)| &piece[at + 1..]);
    let names = names.take_while(|name| name.len() <= LONGEST_NAME);
    let names = names.filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    std::iter::once(piece).chain(names)
}

/// Splits `DEN/11:00-LAS` into `DEN`, `11:00` and `LAS`, because a summary may join words that are
/// separate in the record.
fn joined(token: &str) -> impl Iterator<Item = &str> {
    // A time such as `11:00` is not split.
    static PART: LazyLock<Regex> = LazyLock::new(|| regex("(?:[0-9](?::[0-9])+|[^/:-])+"));
    PART.find_iter(token).map(|part| part.as_str())
}

#[cfg(test)]
mod tests {
    use super::{HashedSet, Phrases, gather, invented};

    fn of<'l>(source: &str, line: &'l str) -> Vec<&'l str> {
        let (mut seen, mut phrases) = (HashedSet::default(), Phrases::default());
        gather(source, &mut seen);
        phrases.gather(source);
        let found = invented(line, &seen, &phrases).into_iter();
        found.map(|range| &line[range]).collect()
    }

    const SOURCE: &str = "cat /home/u/app/src/main.rs:42 at commit 3f786850e387550fdab836ed7e6dc881de23001b, \
        see https://ex.org/docs/a?x=1 and JIRA-4711, port 8080, 12,345 rows on 2026-11-22, react@18.2.0, user_id u_9x8, 8 in a_test.go";

    #[test]
    fn what_the_source_has_is_no_invention() {
        for line in [
            "main.rs, src/main.rs and /home/u/app/src/main.rs:42",
            "commit 3f78685 (3f786850e3)",
            "https://ex.org/docs/a and ex.org/docs",
            "JIRA-4711, jira-4711; port 8080；12345 rows, react 18.2.0, v18.2.0",
            "2026-11-22, u_9x8",
            "端口 8080。文件：main.rs",
            "base64, utf-8, python3, 3 files in 500ms, step 2, 1st, and/or, e.g. this, TCP/IP",
            "main.rs:8-42, about 5000 rows, 约9000, _id u_9x8, is `_test.go`",
            "a 10-minute break, strconv.Itoa, text.to_lower(x), reset/compact/switch",
        ] {
            assert!(of(SOURCE, line).is_empty(), "{line}");
        }
    }

    #[test]
    fn the_last_names_of_a_dotted_name_are_known() {
        let source = "parsed by time.RFC3339 and pkg::v2.Reader.open, see conf/app.local.json";
        for line in ["RFC3339", "Reader.open", "v2.Reader.open", "local.json"] {
            assert!(of(source, line).is_empty(), "{line}");
        }
        for line in ["RFC3340", "Writer.open", "v3.Reader.open", "app.json"] {
            assert_eq!(of(source, line), [line]);
        }
    }

    /// Otherwise, the time would be quadratic in the length of the name.
    #[test]
    fn only_the_last_of_very_many_names_are_known() {
        let mut seen = HashedSet::default();
        gather(&"ab.c1.".repeat(100_000), &mut seen);
        assert!(seen.hashes.len() < 100);
    }

    const FLIGHTS: &str = r#"[{"flight": "HAT021", "origin": "DEN", "destination": "LAS", "departs": "11:00:00",
        "arrives": "12:30:00", "status": "on time", "seats": {"first": 3, "economy": 12}, "prices": {"first": 410,
        "economy": 98}}, {"flight": "HAT099", "origin": "ATL", "destination": "SEA", "departs": "14:45:00"}]"#;

    #[test]
    fn what_a_line_joins_is_known_by_its_parts_near_one_another() {
        for line in [
            "DEN 11:00-LAS 12:30",
            "HAT021/11:00:00-DEN",
            "HAT021:DEN-LAS",
            "DEN-LAS-12:30",
            "ATL 14:45-SEA",
        ] {
            assert!(of(FLIGHTS, line).is_empty(), "{line}");
        }
        for (line, found) in [
            ("DEN 11:30-LAS", "11:30-LAS"),
            ("DEN 14:45-LAS", "14:45-LAS"),
            ("HAT021-SEA", "HAT021-SEA"),
            ("HAT021/HAT999", "HAT021/HAT999"),
            ("BOS-11:00", "BOS-11:00"),
        ] {
            assert_eq!(of(FLIGHTS, line), [found], "{line}");
        }
    }

    #[test]
    fn inventions_are_found() {
        for (line, found) in [
            ("see src/other.rs", "src/other.rs"),
            ("see `lib.rs`.", "lib.rs"),
            ("/etc/u/app", "/etc/u/app"),
            ("main.rs:42-9999", "main.rs:42-9999"),
            ("https://evil.org/x", "https://evil.org/x"),
            ("https://ex.org/docs/7", "https://ex.org/docs/7"),
            ("at 9a8b7c6d", "9a8b7c6d"),
            ("JIRA-4712", "JIRA-4712"),
            ("端口 9090。", "9090"),
            ("54,321 rows", "54,321"),
            ("since 2027-01-02T03:04:05Z", "2027-01-02T03:04:05Z"),
            ("54321 rows", "54321"),
        ] {
            assert_eq!(of(SOURCE, line), [found], "{line}");
        }
    }
}
