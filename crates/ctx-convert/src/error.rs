//! Why a conversion fails.

use std::io;

use thiserror::Error;

/// Why a conversion fails.
#[derive(Debug, Error)]
pub enum ConvertError {
    /// The records could not wait in their file.
    #[error("cannot write a temporary file: {0}")]
    Temporary(#[source] io::Error),
    /// The output could not be written.
    #[error("{0}")]
    Output(#[source] io::Error),
}
