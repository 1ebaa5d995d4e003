//! What a byte can be in a text, looked up: every byte of a session is asked, several
//! times.

pub(crate) const LOWER: u8 = 1;
pub(crate) const UPPER: u8 = 1 << 1;
pub(crate) const DIGIT: u8 = 1 << 2;
pub(crate) const UNDERSCORE: u8 = 1 << 3;
/// `/` and `~`, which join the names of a path.
pub(crate) const SLASH: u8 = 1 << 4;
/// `.`, `@` and `+`, which join words that count alone, too.
pub(crate) const DOT: u8 = 1 << 5;
pub(crate) const DASH: u8 = 1 << 6;

pub(crate) const LETTER: u8 = LOWER | UPPER;
pub(crate) const WORD: u8 = LETTER | DIGIT | UNDERSCORE;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte: u8 = 0;
    loop {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'/' | b'~' => SLASH,
            b'.' | b'@' | b'+' => DOT,
            b'-' => DASH,
            _ => 0,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

/// The class of a byte; 0 for what stands in no identifier.
pub(crate) fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

/// The class of the byte at `at`; 0 behind the end.
pub(crate) fn class_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(0, |byte| class(*byte))
}

/// The classes of all bytes together.
pub(crate) fn classes(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |all, byte| all | class(*byte))
}

/// How many bytes from `at` on are of these classes.
pub(crate) fn run(bytes: &[u8], at: usize, wanted: u8) -> usize {
    let rest = &bytes[at..];
    let length = rest.iter().position(|byte| class(*byte) & wanted == 0);
    length.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::{DASH, DIGIT, LETTER, LOWER, WORD, class, class_at, classes, run};

    #[test]
    fn letters_and_digits_are_those_of_ascii() {
        for byte in 0..=u8::MAX {
            assert_eq!(class(byte) & LETTER != 0, byte.is_ascii_alphabetic());
            assert_eq!(class(byte) & DIGIT != 0, byte.is_ascii_digit());
            let is_word = byte.is_ascii_alphanumeric() || byte == b'_';
            assert_eq!(class(byte) & WORD != 0, is_word);
            assert!(class(byte).count_ones() <= 1);
        }
    }

    #[test]
    fn runs_end_with_another_class_or_with_the_text() {
        assert_eq!(run(b"ab-Cd", 0, LOWER), 2);
        assert_eq!(run(b"ab-Cd", 2, LOWER), 0);
        assert_eq!(run(b"ab-Cd", 3, LETTER), 2);
        assert_eq!(run(b"ab", 2, LOWER), 0);
        assert_eq!(classes(b"a-1"), LOWER | DASH | DIGIT);
        assert_eq!((classes(b""), class_at(b"a", 1)), (0, 0));
    }
}
