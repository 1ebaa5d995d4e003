//! Why a model gives no answer.

use std::time::Duration;

/// The result of a question.
pub(crate) type Result<T, E = LlmError> = std::result::Result<T, E>;

/// Why there is no answer. No variant contains a key. Text of a server is redacted and shortened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The key cannot be sent in a header.
    #[error("the key has characters that are not allowed in a header")]
    BadKey,
    /// The answer was not complete in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// There is no connection, or it broke.
    #[error("connection failed: {0}")]
    Connection(String),
    /// The name of the host is unknown.
    #[error("host not found")]
    HostNotFound,
    /// Status 408, 425, 429 or 5xx: the request may succeed later.
    #[error("the server is busy or failing (status {status}){}", colon(.message))]
    Busy {
        /// HTTP status.
        status: u16,
        /// The server's message.
        message: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The input is longer than the model can take.
    #[error("the input is too long for the model{}", colon(.0))]
    TooLong(String),
    /// The server requires a key, and none is set.
    #[error("the server requires a key, and none was sent (status 401){}", colon(.0))]
    NoKey(String),
    /// The server refused the request for another reason, such as a wrong key or an unknown model.
    #[error("the server refused the request (status {status}){}", colon(.message))]
    Rejected {
        /// HTTP status.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// The server redirects. The client does not follow, because session and key may only go to an
    /// address that the user named.
    #[error("the server redirects (status {status}){}", colon(.location))]
    Redirect {
        /// HTTP status.
        status: u16,
        /// The host that the redirect points to.
        location: String,
    },
    /// The answer is larger than allowed.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(u64),
    /// The answer is not JSON.
    #[error("the answer is not JSON: {0}")]
    NotJson(String),
    /// The answer is JSON, but does not match this API.
    #[error("the answer does not match this API: {0}")]
    WrongShape(&'static str),
    /// The answer has no text.
    #[error("the answer is empty{}", reason(.finish.as_deref()))]
    Empty {
        /// Why the model stopped, if the server reports it.
        finish: Option<String>,
    },
    /// The recorded answers cannot be used.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// The model declined to answer.
    #[error("the model refused{}", colon(.0))]
    Refused(String),
}

/// Why a question cannot be recorded or replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TapeError {
    /// The answer to this question was not recorded.
    #[error("no answer is recorded for this question ({0})")]
    Missing(String),
    /// Another program wrote or changed the file.
    #[error("{0}: not a recorded answer")]
    Damaged(String),
    /// The directory cannot be used.
    #[error("{0}: {1}")]
    Io(String, String),
}

fn colon(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn reason(finish: Option<&str>) -> String {
    match finish {
        Some("length" | "max_tokens") => " (its tokens were used up before any text)".to_owned(),
        Some(other) => format!(" (stopped: {other})"),
        None => String::new(),
    }
}
