//! The report on how a summary was made, for programs and for the audit log.

use std::path::Path;

use crate::message_counter::MessageCounter;
use ctx_llm::Usage;
use ctx_policy::Method;
use serde::Serialize;

use super::Summary;

/// How a summary was made, and the cost of the model requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summing {
    /// The method that wrote the summary, or `none` if there is no summary.
    pub method: Method,
    /// Whether the summary was written without a model even though a model was requested.
    pub fell_back: bool,
    /// The cost of the model requests.
    #[serde(flatten)]
    pub usage: Usage,
}

impl Summing {
    /// Creates the report. `wanted` is the requested method, which may differ from the method that
    /// wrote `summary`. `summary` is `None` if nothing was summarized.
    pub fn new(wanted: Method, summary: Option<&Summary>, usage: Usage) -> Self {
        let method = summary.map_or(Method::None, |summary| summary.method);
        let by_code = method != Method::Llm && method != Method::None;
        Self { method, fell_back: wanted == Method::Llm && by_code, usage }
    }

    /// Adds the figures for another summary in the same batch.
    pub(crate) fn add(&mut self, next: &Self) {
        if next.method != Method::None {
            self.method = next.method;
        }
        self.fell_back |= next.fell_back;
        self.usage += next.usage;
    }
}

/// The JSON report from `ctx-summarize`. The keys are stable: keys may be added but never removed.
#[derive(Default, Serialize)]
pub struct Report<'a> {
    /// The session as the user named it, or `None` for stdin.
    pub name: Option<&'a str>,
    output: Option<String>,
    session: Option<&'a str>,
    summarized_messages: u64,
    earlier_summaries: u64,
    summary_tokens: Option<u64>,
    summary_file: Option<String>,
    #[serde(flatten)]
    summing: Summing,
    duration_ms: u64,
}

impl<'a> Report<'a> {
    /// Creates the report on a session. `summary` is `None` if there was nothing to summarize.
    pub fn new(
        name: Option<&'a str>,
        summary: Option<&Summary>,
        counter: &MessageCounter,
        summing: Summing,
        duration_ms: u64,
    ) -> Self {
        Self {
            name,
            summarized_messages: summary.map_or(0, |summary| summary.messages),
            earlier_summaries: summary.map_or(0, |summary| summary.earlier),
            summary_tokens: summary.map(|summary| counter.text(&summary.text)),
            summing,
            duration_ms,
            ..Self::default()
        }
    }

    /// Adds the output file, and the session's id and summary file in the store.
    #[must_use]
    pub fn written(mut self, output: Option<&Path>, stored: Option<(&'a str, &Path)>) -> Self {
        let path = |path: &Path| path.display().to_string();
        self.output = output.map(path);
        if let Some((session, file)) = stored {
            self.session = Some(session);
            self.summary_file = self.summary_tokens.map(|_| path(file));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use ctx_llm::Usage;
    use ctx_policy::Method;

    use super::super::fixtures::{ASK, LEDGER, old, plan};
    use super::{Report, Summing};

    #[test]
    fn code_that_writes_for_a_model_is_a_fall_back() {
        let plan = plan();
        let usage = Usage { calls: 3, ..Usage::default() };
        let mut summary = old(&plan, LEDGER, &[ASK]).summary("short".to_owned());
        for (wanted, wrote, fell_back) in [
            (Method::Llm, Method::Rule, true),
            (Method::Llm, Method::Llm, false),
            (Method::Rule, Method::Rule, false),
        ] {
            summary.method = wrote;
            let summing = Summing::new(wanted, Some(&summary), usage);
            assert_eq!((summing.method, summing.fell_back), (wrote, fell_back));
            assert_eq!(summing.usage.calls, 3);
        }
        let none = Summing::new(Method::Llm, None, usage);
        assert_eq!((none.method, none.fell_back), (Method::None, false));
        let report = |summary| {
            let report = Report::new(None, summary, &plan.counter, none, 5);
            let report = report.written(None, Some(("demo", "demo.md".as_ref())));
            serde_json::to_value(report).expect("JSON")
        };
        let (some, none) = (report(Some(&summary)), report(None));
        assert_eq!(
            (&some["summary_file"], &some["summarized_messages"]),
            (&"demo.md".into(), &1.into())
        );
        assert!(none["summary_file"].is_null() && none["summary_tokens"].is_null());
    }
}
