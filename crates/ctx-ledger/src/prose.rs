//! What people read, as opposed to code, data and logs.

/// Fewer words are no text that people read.
const LEAST_WORDS: usize = 6;

/// Words that say nothing by themselves, and join others.
pub const JOINING: &[&str] = &[
    "the", "a", "an", "of", "to", "in", "on", "for", "and", "or", "is", "are", "was", "were", "be",
    "been", "it", "its", "this", "that", "these", "those", "with", "as", "at", "by", "from", "not",
    "no", "if", "then", "than", "but", "so", "do", "does", "did", "can", "will", "would", "could",
    "should", "may", "might", "has", "have", "had", "i", "you", "we", "they", "he", "she", "my",
    "your", "our", "their", "me", "us", "them", "let", "now", "all", "any", "each", "also", "just",
    "into", "out", "up", "down", "over", "about", "there", "here", "what", "which", "who", "when",
    "where", "why", "how", "some", "more", "most", "other", "only", "very",
];

/// Whether a line is one of a text that people read: a quarter of its words only join others.
pub fn is_prose(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphabetic());
    let words: Vec<&str> = words.filter(|word| word.len() > 1).collect();
    let joins = |word: &&&str| JOINING.contains(&word.to_lowercase().as_str());
    words.len() >= LEAST_WORDS && words.iter().filter(joins).count() * 4 >= words.len()
}

#[cfg(test)]
mod tests {
    use super::is_prose;

    #[test]
    fn prose_has_words_that_join_others() {
        for text in [
            "The index is kept in a file of its own, since it grows.",
            "- what you do with it is up to you",
        ] {
            assert!(is_prose(text), "{text}");
        }
        for text in [
            "let index = file.read(path, options, limit);",
            "the end of it",
            "2026-01-02 INFO started worker pool size queue",
            "",
        ] {
            assert!(!is_prose(text), "{text}");
        }
    }
}
