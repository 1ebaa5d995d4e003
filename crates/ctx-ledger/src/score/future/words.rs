//! Words that tell nothing: as values, and beside values.

/// Values that every session has. In the order of the alphabet.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "bash", "been", "change", "class", "code", "command", "content", "create", "data", "date", "default", "delete", "echo", "edit",
    "email", "error", "errors", "false", "file", "files", "find", "from", "grep", "have", "import", "input", "item", "items",
    "java", "javac", "list", "main", "message", "messages", "name", "node", "none", "null", "number", "open", "order",
    "orders", "other", "output", "path", "plan", "print", "private", "public", "python", "read", "result", "results",
    "return", "search", "self", "shell", "static", "status", "string", "system", "test", "tests", "text", "that", "this",
    "time", "today", "tomorrow", "true", "type", "unknown", "update", "user", "users", "value", "void", "will", "with",
    "write", "your",
];

/// Words that stand beside everything. In the order of the alphabet.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "about", "after", "again", "all", "also", "and", "any", "are", "because", "been", "before", "being", "both", "but",
    "can", "could", "did", "didnt", "does", "dont", "down", "during", "each", "few", "for", "from", "get", "going", "good",
    "got", "great", "had", "has", "have", "her", "here", "hers", "hey", "him", "his", "how", "into", "its", "ive",
    "just", "know", "like", "made", "make", "more", "most", "much", "nor", "not", "off", "once", "one", "only", "other",
    "our", "out", "over", "own", "really", "same", "see", "she", "some", "such", "than", "thank", "thanks", "that", "thats",
    "the", "their", "them", "then", "there", "these", "they", "think", "this", "those", "time", "too", "very", "was", "were",
    "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "wow", "yeah", "yes", "you", "your", "yours",
];

/// Whether a value tells nothing.
pub(super) fn is_common(value: &str) -> bool {
    contains(COMMON, value)
}

/// Whether a word tells nothing about what stands beside it.
pub(super) fn is_stop(word: &str) -> bool {
    contains(STOP, word)
}

fn contains(list: &[&str], word: &str) -> bool {
    let lower = word.to_lowercase();
    list.binary_search(&lower.as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{COMMON, STOP, is_common, is_stop};

    #[test]
    fn the_lists_can_be_searched() {
        assert!(COMMON.is_sorted() && STOP.is_sorted());
        assert!(is_common("True") && !is_common("HAT030"));
        assert!(is_stop("With") && !is_stop("order"));
    }
}
