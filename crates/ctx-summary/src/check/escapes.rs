//! Escapes of JSON and of programs, as in results of tools and arguments of calls.

use std::borrow::Cow;

/// A text as it reads without escapes: `\n` ends a line, `\"` is a quotation mark, `\u4e2d` a
/// character. JSON within JSON has more than one backslash.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = rest[at..].trim_start_matches('\\');
        let Some(letter) = rest.chars().next() else {
            break;
        };
        let (c, length) = match letter {
            'n' | 'r' => ('\n', 1),
            't' => ('\t', 1),
            'u' => code_point(&rest[1..]).unwrap_or(('\\', 0)),
            _ => ('\\', 0),
        };
        if length > 0 || letter == 'u' {
            plain.push(c);
        }
        rest = &rest[length..];
    }
    plain.push_str(rest);
    plain.into()
}

/// The character of `4e2d`, or of two halves of one: `d83d\ude00`; and how many bytes this is
/// together with the `u` before it.
fn code_point(digits: &str) -> Option<(char, usize)> {
    let unit = |text: &str| u16::from_str_radix(text.get(..4)?, 16).ok();
    let first = unit(digits)?;
    let behind = &digits[4..];
    let low = behind.trim_start_matches('\\');
    let backslashes = behind.len() - low.len();
    let second = low.strip_prefix('u').and_then(unit);
    let both = second.filter(|_| backslashes > 0 && (0xd800..0xdc00).contains(&first));
    let units = std::iter::once(first).chain(both);
    let c = char::decode_utf16(units).next()?.ok()?;
    Some((c, both.map_or(5, |_| 10 + backslashes)))
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn escapes_read_as_what_they_stand_for() {
        for (text, plain) in [
            (r#"a\nb \"c\" \\\"d\\\""#, "a\nb \"c\" \"d\""),
            (r"\u4e2d\\u6587 \ud83d\ude00", "中文 😀"),
            (r"x\t1 %s\r", "x\t1 %s\n"),
            (r"\u12 \ud83d 中\", r"\u12 \ud83d 中"),
            ("none", "none"),
        ] {
            assert_eq!(unescaped(text), plain);
        }
    }
}
