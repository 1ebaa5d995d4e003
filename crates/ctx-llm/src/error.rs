//! Errors that can occur when a question is sent to a model.

use std::time::Duration;

/// The outcome of asking a model a question.
pub(crate) type Result<T, E = LlmError> = std::result::Result<T, E>;

/// The reason why a question was not answered. No error contains a key. Text from a server is
/// redacted and shortened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The key contains characters that are not allowed in a header.
    #[error("the key contains characters not allowed in a header")]
    BadKey,
    /// The complete answer did not arrive within this time limit.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The connection could not be established, or it was lost.
    #[error("connection failed: {0}")]
    Connection(String),
    /// The host name cannot be resolved.
    #[error("host not found")]
    HostNotFound,
    /// The server sent status 408, 425, 429 or 5xx, so the same request may succeed later.
    #[error("the server is busy or failing (status {status}){}", colon(.message))]
    Busy {
        /// The HTTP status.
        status: u16,
        /// The message from the server; empty if there is none.
        message: String,
        /// How long to wait before another attempt, if the server specifies it.
        retry_after: Option<Duration>,
    },
    /// The input is longer than the model accepts. The variant holds the message from the server.
    #[error("the input is too long for the model{}", colon(.0))]
    TooLong(String),
    /// The server requires a key, but none was sent. The variant holds the message from the server.
    #[error("the server requires a key, but none was sent (status 401){}", colon(.0))]
    NoKey(String),
    /// The server refused the request for a reason without its own variant, such as a wrong key or
    /// an unknown model.
    #[error("the server refused the request (status {status}){}", colon(.message))]
    Rejected {
        /// The HTTP status.
        status: u16,
        /// The message from the server; empty if there is none.
        message: String,
    },
    /// The server redirects to another address. The client does not follow redirects, because the
    /// session and the key may be sent only to an address that the user named.
    #[error("the server sent a redirect (status {status}){}", colon(.location))]
    Redirect {
        /// The HTTP status.
        status: u16,
        /// The host that the redirect points to; empty if it is not known.
        location: String,
    },
    /// The answer is larger than this number of bytes.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(u64),
    /// The answer is not JSON. The variant holds the parser's error.
    #[error("the answer is not JSON: {0}")]
    NotJson(String),
    /// The response is JSON, but not in the format of the selected API. The variant describes the
    /// mismatch.
    #[error("the response is not in the format of the selected API: {0}")]
    WrongShape(&'static str),
    /// The answer does not contain any text.
    #[error("the answer is empty{}", reason(.finish.as_deref()))]
    Empty {
        /// The reason why the model stopped, if the server reports one.
        finish: Option<String>,
    },
    /// The answer could not be recorded or replayed.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// The model declined to answer. The variant holds the text of the refusal.
    #[error("the model refused{}", colon(.0))]
    Refused(String),
}

/// The reason why an answer cannot be recorded or replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TapeError {
    /// There is no recorded answer to this question. The variant holds the path of the missing
    /// file.
    #[error("no recorded answer to this question ({0})")]
    Missing(String),
    /// The file at this path was written or changed by another program.
    #[error("{0}: not a recorded answer")]
    Damaged(String),
    /// A file cannot be read or written. The first field is the path of the file, and the second is
    /// the reason.
    #[error("{0}: {1}")]
    Io(String, String),
}

fn colon(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn reason(finish: Option<&str>) -> String {
    match finish {
        Some("length" | "max_tokens") => " (the model ran out of tokens)".to_owned(),
        Some(other) => format!(" (stopped: {other})"),
        None => String::new(),
    }
}
