//! The part of a share that each system gets.

use std::fmt;

use crate::share::Share;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The least and the most that a share may be.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Bounds(Share, Share);

impl Bounds {
    /// Whether a share is within them; what is no share is not for them to say.
    pub(crate) fn admit(self, value: &Value) -> bool {
        Share::deserialize(value).map_or(true, |share| (self.0..=self.1).contains(&share))
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a share from {} to {}", self.0, self.1)
    }
}
