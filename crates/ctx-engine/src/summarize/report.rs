//! The report on how a summary was made, for programs and for the audit log.

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

#[cfg(test)]
mod tests {
    use ctx_llm::Usage;
    use ctx_policy::Method;

    use super::super::fixtures::{ASK, LEDGER, old, plan};
    use super::Summing;

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
    }
}
