//! Estimates what the agent would send next, in tokens of its API, from the usage that it has
//! recorded.

mod calibrator;
mod usage;

pub use calibrator::{Calibrator, Estimate, Request};
pub use usage::{Calibration, CalibrationPass, LastReply, Reply};
