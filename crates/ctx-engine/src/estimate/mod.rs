//! Estimates the tokens of the agent's next request, as its API counts them, from the recorded
//! usage.

mod calibrator;
mod usage;

pub use calibrator::{Calibrator, Estimate, Request};
pub use usage::{Calibration, CalibrationPass, LastReply, Reply};
