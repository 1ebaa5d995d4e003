//! What the context of a session comes to for the API, as it is shown.

use ctx_select::calibrate::Estimate;
use ctx_select::count::MessageCounter;
use ctx_tokens::Model;
use serde::Serialize;

use super::{Calibration, CalibrationPass, Reply};
use crate::{ErrorKind, PassError, Session};

/// A session, calibrated. The keys of its JSON are a contract: new ones may come, none goes.
#[derive(Serialize)]
pub struct Calibrated {
    /// Whether there is recorded usage to go by.
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
    /// How many replies were foretold, and how many of them as they were.
    #[serde(skip)]
    foretold: (usize, usize),
}

impl Calibrated {
    /// Reads all of `session`. `model` is what `counter` counts for, where it is named.
    pub fn of(
        session: &mut Session,
        counter: MessageCounter,
        model: Option<&Model>,
    ) -> Result<Self, PassError> {
        let dialect = session.dialect();
        let mut pass = CalibrationPass::new(counter, dialect);
        session.each(|record| {
            if dialect.is_none() && record.whole_object().is_some() {
                return Err(ErrorKind::NoMessage { batch: false }.at(record.line));
            }
            pass.push(record, None);
            Ok(())
        })?;
        Ok(Self::new(pass.finish(), counter, model))
    }

    fn new(calibration: Calibration, counter: MessageCounter, model: Option<&Model>) -> Self {
        let foretold = calibration.foretold();
        let Calibration {
            counted, estimate, ..
        } = calibration;
        let by_usage = estimate.is_some();
        let encoding = counter.encoding();
        let uncalibrated = || Estimate::uncalibrated(counted, encoding, model);
        Self {
            by_usage,
            counted,
            estimate: estimate.unwrap_or_else(uncalibrated),
            encoding: encoding.name(),
            model: calibration.model,
            factor: by_usage.then_some(calibration.factor),
            base: calibration.base,
            replies: calibration.replies,
            foretold,
        }
    }

    /// For a person: what it comes to, and by what that is known.
    pub fn headline(&self) -> String {
        let Estimate { low, tokens, high } = self.estimate;
        let how = if self.by_usage {
            "calibrated"
        } else {
            "no recorded usage"
        };
        format!("{tokens} tokens, {low} to {high} ({how})")
    }

    /// For a person: what was learned, each with what it is.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("counted", self.counted.to_string())];
        if let Some(factor) = self.factor {
            let model = self.model.clone().map(|model| ("model", model));
            rows.extend(model);
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
