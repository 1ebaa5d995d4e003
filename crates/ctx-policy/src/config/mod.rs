//! Configuration files: our own, and those of the systems that the presets are
//! made after.

mod own;

use crate::error::Warning;
use crate::policy::Layer;

pub(crate) use own::read_own;

/// What a configuration file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The preset that it builds on, if it names one.
    pub preset: Option<String>,
    /// What it says of a policy.
    pub layer: Layer,
    /// What in it has no effect.
    pub warnings: Vec<Warning>,
}
