//! The calibrated size of a session as JSON. JSON keys may be added but never removed.

use ctx_tokens::Model;
use serde::Serialize;

use crate::estimate::{Calibration, CalibrationPass, Estimate, Reply};
use crate::message_counter::MessageCounter;
use crate::{Result, Session};

/// The calibrated size of a session. JSON keys may be added but never removed.
#[derive(Serialize)]
pub struct Calibrated {
    /// Whether the estimate is based on recorded usage.
    #[serde(rename = "calibrated")]
    by_usage: bool,
    counted: u64,
    #[serde(flatten)]
    estimate: Estimate,
    encoding: &'static str,
    model: Option<String>,
    factor: Option<f64>,
    base: Option<u64>,
    replies: Vec<Reply>,
    /// The number of replies whose size was predicted, and the number of correct predictions.
    #[serde(skip)]
    foretold: (usize, usize),
}

impl Calibrated {
    /// Calibrates against the usage recorded in the whole `session`. `model` is the model that the
    /// user named, and `counter` counts for that model.
    pub fn of(
        session: &mut Session,
        counter: MessageCounter,
        model: Option<&Model>,
    ) -> Result<Self> {
        let dialect = session.dialect();
        let mut pass = CalibrationPass::new(counter, dialect);
        session.visit(|record| pass.push(record, None))?;
        let calibration = pass.finish();
        let foretold = calibration.foretold();
        let Calibration { counted, estimate, .. } = calibration;
        let by_usage = estimate.is_some();
        let encoding = counter.encoding;
        let uncalibrated = || Estimate::uncalibrated(counted, encoding, model);
        Ok(Self {
            by_usage,
            counted,
            estimate: estimate.unwrap_or_else(uncalibrated),
            encoding: encoding.name(),
            model: calibration.model,
            factor: by_usage.then_some(calibration.factor),
            base: calibration.base,
            replies: calibration.replies,
            foretold,
        })
    }

    /// Returns a readable line with the estimate and its basis.
    pub fn headline(&self) -> String {
        let Estimate { low, tokens, high } = self.estimate;
        let how = if self.by_usage { "calibrated" } else { "no recorded usage" };
        format!("{tokens} tokens, {low} to {high} ({how})")
    }

    /// Returns the calibration's figures with their labels, formatted for people.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("counted", self.counted.to_string())];
        if let Some(factor) = self.factor {
            rows.extend(self.model.clone().map(|model| ("model", model)));
            rows.push(("replies", self.replies.len().to_string()));
            rows.push(("factor", format!("{factor:.3}")));
            rows.push(("base", self.base.unwrap_or_default().to_string()));
            let (all, held) = self.foretold;
            if all > 0 {
                let share = held as f64 * 100.0 / all as f64;
                rows.push(("held", format!("{share:.1}% ({held} of {all} replies)")));
            }
        }
        rows
    }
}
