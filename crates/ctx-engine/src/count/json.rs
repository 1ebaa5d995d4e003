//! The counts as JSON. JSON keys may be added but never removed.

use std::collections::BTreeMap;

use ctx_tokens::{Encoding, Model};
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::{Breakdown, Counts, Row};
use crate::estimate::{Calibration, CalibrationPass, Estimate, Reply};
use crate::message_counter::MessageCounter;
use crate::{Result, Session};

/// The counts for one file, or the total for all files.
#[derive(Serialize)]
pub struct CountJson<'a> {
    /// `file` for the counts of one file, and `total` for the total.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The name of the file as the user gave it; null for stdin and the total.
    name: Option<&'a str>,
    /// The number of files, given only in the total.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    conversations: u64,
    messages: u64,
    tokens: u64,
    bytes: u64,
    records: u64,
    bad_lines: u64,
    encoding: &'static str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    model: Option<OfModel<'a>>,
    /// Tokens by kind of content.
    kinds: BTreeMap<&'static str, u64>,
    /// The name of the requested breakdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<Row>>,
}

/// The content of the JSON other than the counts.
#[derive(Clone, Copy)]
pub struct CountFormat<'a> {
    /// The encoding in which tokens were counted.
    pub encoding: Encoding,
    /// The model or the context window that the user named, if any.
    pub model: Option<OfModel<'a>>,
    /// The breakdown, if requested.
    pub by: Option<Breakdown>,
}

/// The model, or only the context window, that the user named.
#[skip_serializing_none]
#[derive(Clone, Copy, Serialize)]
pub struct OfModel<'a> {
    /// The name of the model as the user gave it, or `None` if only a window is known.
    pub model: Option<&'a str>,
    /// The context window, in tokens.
    pub window: u64,
    /// The file's tokens as a share of the context window, or `None` in the total.
    pub share: Option<f64>,
    /// Whether the tokens were counted in the model's own encoding.
    pub exact: Option<bool>,
}

impl<'a> CountFormat<'a> {
    /// Returns the JSON counts for the file `name`.
    pub fn file(&self, name: Option<&'a str>, counts: &Counts) -> CountJson<'a> {
        let json = self.json("file", counts);
        let share = |model: OfModel<'a>| OfModel {
            share: Some(json.tokens as f64 / model.window as f64),
            ..model
        };
        CountJson { name, model: self.model.map(share), ..json }
    }

    /// Returns the JSON total for all files. The total has no share of the context window, because
    /// each file is sent separately.
    pub fn total(&self, files: usize, counts: &Counts) -> CountJson<'a> {
        CountJson { files: Some(files), ..self.json("total", counts) }
    }

    fn json(&self, kind: &'static str, counts: &Counts) -> CountJson<'a> {
        let tally = &counts.tally;
        CountJson {
            kind,
            name: None,
            files: None,
            conversations: tally.conversations,
            messages: tally.messages,
            tokens: tally.tokens.total(),
            bytes: counts.bytes,
            records: counts.records,
            bad_lines: counts.bad.count(),
            encoding: self.encoding.name(),
            model: self.model,
            kinds: tally.tokens.rows().into_iter().collect(),
            by: self.by.map(Breakdown::into),
            rows: self.by.map(|by| by.rows(counts)),
        }
    }
}

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
        session.each(|record| {
            pass.push(record, None);
            Ok(())
        })?;
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
