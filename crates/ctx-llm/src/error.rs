//! What can go wrong between us and a model.

use std::time::Duration;

/// Why there is no answer. No variant holds a key, and text of a server is cut
/// short and redacted before it comes in here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The key cannot be sent.
    #[error("the key holds characters that no header can carry")]
    BadKey,
    /// The whole answer was not there in time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// No connection, or one that broke.
    #[error("connection failed: {0}")]
    Connection(String),
    /// The host's name is not known.
    #[error("host not found")]
    HostNotFound,
    /// 429 and its like, or 5xx: the server says that later may be better.
    #[error("the server is busy or failing (status {status}){}", colon(.message))]
    Busy {
        /// HTTP status.
        status: u16,
        /// What the server said.
        message: String,
        /// How long it asked us to wait.
        retry_after: Option<Duration>,
    },
    /// The input is longer than the model can take.
    #[error("the input is too long for the model{}", colon(.0))]
    TooLong(String),
    /// The server wants a key, and there is none for it.
    #[error("the server wants a key, and none was sent (status 401){}", colon(.0))]
    NoKey(String),
    /// Another refusal of the request: key, model name, …
    #[error("the server refused the request (status {status}){}", colon(.message))]
    Rejected {
        /// HTTP status.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// Redirects are not followed: neither session nor key goes to an address
    /// that the user did not name.
    #[error("the server redirects (status {status}){}", colon(.location))]
    Redirect {
        /// HTTP status.
        status: u16,
        /// Host it points to.
        location: String,
    },
    /// More bytes than an answer may have.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(u64),
    /// A body that is no JSON.
    #[error("the answer is not JSON: {0}")]
    NotJson(String),
    /// JSON, but not what this API answers.
    #[error("the answer has not the shape of this API: {0}")]
    WrongShape(&'static str),
    /// An answer without text.
    #[error("the answer is empty{}", reason(.finish.as_deref()))]
    Empty {
        /// Why the model stopped, if it says so.
        finish: Option<String>,
    },
    /// Recorded answers that cannot be used.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// The model declined to answer.
    #[error("the model refused{}", colon(.0))]
    Refused(String),
}

impl LlmError {
    /// Whether the same question may be answered a little later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Timeout(_)
                | Self::Connection(_)
                | Self::Busy { .. }
                | Self::NotJson(_)
                | Self::Empty { .. }
        )
    }
}

/// Why a question cannot be recorded or replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TapeError {
    /// Another question was asked then.
    #[error("no answer is recorded for this question ({0})")]
    Missing(String),
    /// A file that this did not write, or that was changed.
    #[error("{0}: not a recorded answer")]
    Damaged(String),
    /// The directory cannot be used.
    #[error("{0}: {1}")]
    Io(String, String),
}

fn colon(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

fn reason(finish: Option<&str>) -> String {
    match finish {
        Some("length" | "max_tokens") => " (its tokens were used up before any text)".to_owned(),
        Some(other) => format!(" (stopped: {other})"),
        None => String::new(),
    }
}
