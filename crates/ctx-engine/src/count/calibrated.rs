//! The output of a calibrated count.

use crate::counter::MessageCounter;
use crate::estimate::{Calibration, CalibrationPass, Estimate, Reply};
use ctx_tokens::Model;
use serde::Serialize;

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
    /// The number of predicted replies, and of correct predictions.
    #[serde(skip)]
    foretold: (usize, usize),
}

impl Calibrated {
    /// Reads all of `session`. `model` is the one that `counter` counts for, if it is named.
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
        let Calibration { counted, estimate, .. } = calibration;
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

    /// The result for people, and its basis.
    pub fn headline(&self) -> String {
        let Estimate { low, tokens, high } = self.estimate;
        let how = if self.by_usage { "calibrated" } else { "no recorded usage" };
        format!("{tokens} tokens, {low} to {high} ({how})")
    }

    /// What was learned, for people, with labels.
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
