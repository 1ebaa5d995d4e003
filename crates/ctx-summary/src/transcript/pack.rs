//! Cuts out the middle of long text, and packs text into questions for a model.

use ctx_tokens::TokenCounter;

use ctx_text::{first_chars, last_chars};

/// If `text` has more than `limit` characters, cuts out its middle. The end is kept because errors
/// are often reported there.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let head = first_chars(text, limit.div_ceil(2));
    let tail = last_chars(text, limit / 2);
    format!("{head}\n[… {} characters left out …]\n{tail}", length - limit)
}

/// Packs pieces, in order, into texts of at most `limit` tokens. A longer piece is split, at a line
/// break if possible.
pub(crate) fn pack(pieces: &[String], limit: u64, counter: &dyn TokenCounter) -> Vec<String> {
    let mut packed: Vec<String> = Vec::new();
    let mut tokens = 0;
    for piece in pieces.iter().flat_map(|piece| split(piece, limit, counter)) {
        // The blank line between two pieces takes two tokens.
        let more = counter.count(piece) + 2;
        match packed.last_mut() {
            Some(text) if tokens + more <= limit => {
                text.extend(["\n\n", piece]);
                tokens += more;
            }
            _ => {
                packed.push(piece.to_owned());
                tokens = more;
            }
        }
    }
    packed
}

/// Splits `text` in half repeatedly until every part has at most `limit` tokens.
fn split<'t>(text: &'t str, limit: u64, counter: &dyn TokenCounter) -> Vec<&'t str> {
    if text.len() < 2 || counter.count_up_to(text, limit.saturating_sub(2)).is_some() {
        return vec![text];
    }
    let half = (text.len() / 2..text.len()).find(|at| text.is_char_boundary(*at));
    let half = half.unwrap_or(text.len());
    let line_end = text[..half].rfind('\n').filter(|end| *end > text.len() / 4);
    let at = line_end.map_or(half, |end| end + 1);
    if at == text.len() {
        return vec![text];
    }
    let (head, tail) = text.split_at(at);
    let mut parts = split(head, limit, counter);
    parts.extend(split(tail, limit, counter));
    parts
}

#[cfg(test)]
mod tests {
    use super::{pack, shorten};
    use ctx_tokens::Encoding;
    use proptest::prelude::*;

    #[test]
    fn shortened_texts_keep_head_and_tail() {
        assert_eq!(shorten("12345", 5), "12345");
        assert_eq!(shorten("123456", 5), "123\n[… 1 characters left out …]\n56");
    }

    proptest! {
        #[test]
        fn packing_loses_nothing_and_keeps_the_limit(
            pieces in prop::collection::vec("[a-z决定 \n]{1,120}", 0..20), limit in 6u64..60,
        ) {
            let counter = Encoding::Chars4.counter();
            let packed = pack(&pieces, limit, counter);
            for text in &packed {
                prop_assert!(counter.count(text) <= limit, "{} > {limit}", counter.count(text));
            }
            let bare = |texts: &[String]| texts.concat().replace('\n', "");
            prop_assert_eq!(bare(&packed), bare(&pieces));
        }
    }
}
