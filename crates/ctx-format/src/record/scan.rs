//! Finds values in JSON, and checks that the JSON is valid. Values within checked JSON are not
//! checked again.

use std::ops::Range;
use wide::u8x32;

/// The byte ranges of a member's key and value.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

/// Returns the members of the object at the beginning of `text`; `None` if `text` does not begin
/// with an object. If `IS_CHECKED` is true, `text` must be valid JSON; the result for invalid JSON
/// is unspecified.
pub(crate) fn members<const IS_CHECKED: bool>(text: &str) -> Option<Vec<Span>> {
    let mut walk = Walk::of(text);
    if walk.next()? != b'{' {
        return None;
    }
    let mut members = Vec::with_capacity(8);
    if walk.peek()? == b'}' {
        return Some(members);
    }
    loop {
        let key = walk.key()?;
        let value = walk.value::<IS_CHECKED>()?;
        members.push(Span { key, value });
        match walk.next()? {
            b',' => {}
            b'}' => return Some(members),
            _ => return None,
        }
    }
}

/// Returns the raw elements of an array whose JSON has already been checked; `None` if the value is
/// not an array.
pub fn elements(raw: &str) -> Option<Vec<&str>> {
    let mut walk = Walk::of(raw);
    let mut elements = Vec::new();
    if walk.next()? != b'[' {
        return None;
    }
    if walk.peek()? == b']' {
        return Some(elements);
    }
    loop {
        elements.push(raw.get(walk.value::<true>()?)?);
        if walk.next()? != b',' {
            return Some(elements);
        }
    }
}

struct Walk<'a> {
    text: &'a [u8],
    at: usize,
    /// The closing brackets of the arrays and objects that are still open.
    open: Vec<u8>,
}

impl<'a> Walk<'a> {
    fn of(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, open: Vec::new() }
    }

    /// Skips whitespace and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at)? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Reads a key and the colon after it.
    fn key(&mut self) -> Option<Range<usize>> {
        if self.next()? != b'"' {
            return None;
        }
        let start = self.at - 1;
        self.string()?;
        let key = start..self.at;
        (self.next()? == b':').then_some(key)
    }

    /// Moves to the end of the next value and returns its range.
    fn value<const IS_CHECKED: bool>(&mut self) -> Option<Range<usize>> {
        self.peek()?;
        let start = self.at;
        if IS_CHECKED {
            self.pass_over()?;
        } else {
            self.check()?;
        }
        Some(start..self.at)
    }

    /// Moves to the end of a string whose opening quote has been read.
    fn string(&mut self) -> Option<()> {
        loop {
            let mut special = special(self.text.get(self.at..)?);
            let mut next = BLOCK;
            while special != 0 {
                let place = special.trailing_zeros() as usize;
                let at = self.at + place;
                match self.text.get(at)? {
                    b'"' => {
                        self.at = at + 1;
                        return Some(());
                    }
                    b'\\' => next = place + escape_length(&self.text[at..])?,
                    _ => return None,
                }
                if next >= BLOCK {
                    break;
                }
                special &= u32::MAX << next;
            }
            self.at += next.max(BLOCK);
        }
    }

    /// Moves to the end of a value that is known to be valid JSON. The value can be nested to any
    /// depth.
    fn pass_over(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let byte = *self.text.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => self.string()?,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                _ if depth == 0 => self.scalar_end(),
                _ => continue,
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn scalar_end(&mut self) {
        let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(ends).unwrap_or(rest.len());
    }

    /// Moves to the end of a value, and checks that it is valid JSON. The value can be nested to
    /// any depth.
    fn check(&mut self) -> Option<()> {
        self.open.clear();
        loop {
            let first = self.next()?;
            match first {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    let end = first + 2;
                    if self.peek()? == end {
                        self.at += 1;
                    } else {
                        self.open.push(end);
                        self.key_in_object()?;
                        continue;
                    }
                }
                b't' => self.word(b"rue")?,
                b'f' => self.word(b"alse")?,
                b'n' => self.word(b"ull")?,
                _ => self.number(first)?,
            }
            loop {
                let Some(end) = self.open.last().copied() else { return Some(()) };
                match self.next()? {
                    b',' => break self.key_in_object()?,
                    byte if byte == end => {
                        self.open.pop();
                    }
                    _ => return None,
                }
            }
        }
    }

    fn key_in_object(&mut self) -> Option<()> {
        if self.open.last() == Some(&b'}') {
            self.key()?;
        }
        Some(())
    }

    fn word(&mut self, rest: &[u8]) -> Option<()> {
        let is_it = self.text.get(self.at..)?.starts_with(rest);
        self.at += rest.len();
        is_it.then_some(())
    }

    /// Reads the rest of a number whose first byte, `first`, has been read.
    fn number(&mut self, mut first: u8) -> Option<()> {
        if first == b'-' {
            first = *self.text.get(self.at)?;
            self.at += 1;
        }
        match first {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            _ => return None,
        }
        if first == b'0' && self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.text.get(self.at), Some(b'+' | b'-')));
            self.some_digits()?;
        }
        Some(())
    }

    fn digits(&mut self) {
        let rest = self.text[self.at..].iter();
        self.at += rest.take_while(|byte| byte.is_ascii_digit()).count();
    }

    fn some_digits(&mut self) -> Option<()> {
        let start = self.at;
        self.digits();
        (self.at > start).then_some(())
    }
}

/// Returns the length in bytes of the escape at the beginning of `text`; `None` if JSON has no such
/// escape.
fn escape_length(text: &[u8]) -> Option<usize> {
    let letter = *text.get(1)?;
    if letter == b'u' {
        return text.get(2..6)?.iter().all(u8::is_ascii_hexdigit).then_some(6);
    }
    matches!(letter, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't').then_some(2)
}

/// The number of bytes that are examined at a time.
pub(super) const BLOCK: usize = 32;

/// Examines the next [`BLOCK`] bytes of a string and returns a bit for each. The bit is set if the
/// byte is a quote, a backslash or a control character. If `text` is shorter, it is padded with NUL
/// bytes.
#[inline]
pub(super) fn special(text: &[u8]) -> u32 {
    let block = if let Some(bytes) = text.first_chunk() {
        u8x32::new(*bytes)
    } else {
        let mut padded = [0; BLOCK];
        padded[..text.len()].copy_from_slice(text);
        u8x32::new(padded)
    };
    let is_control = block.min(u8x32::splat(b' ' - 1)).simd_eq(block);
    let is_quote = block.simd_eq(u8x32::splat(b'"'));
    let is_backslash = block.simd_eq(u8x32::splat(b'\\'));
    (is_control | is_quote | is_backslash).to_bitmask()
}

#[cfg(test)]
mod tests;
