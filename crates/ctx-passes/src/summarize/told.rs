//! What is told of a summary that was made, to programs and to the audit log.

use std::path::Path;

use ctx_llm::Usage;
use ctx_policy::Method;
use ctx_select::count::MessageCounter;
use ctx_store::{Figures, Summing};
use serde::Serialize;

use super::Summary;
use crate::compact::milliseconds;

/// What was done, for programs. The keys are a contract: new ones may come, none goes.
#[derive(Serialize)]
pub struct Told<'a> {
    name: Option<&'a str>,
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

/// How a summary was made.
#[derive(Clone, Copy)]
pub struct Making {
    /// By whom.
    pub summing: Summing,
    /// How long it took.
    pub duration_ms: u64,
}

impl Making {
    /// What the audit log tells of it.
    pub fn figures(&self) -> Figures {
        Figures {
            summing: Some(self.summing),
            duration_ms: Some(self.duration_ms),
            ..Figures::default()
        }
    }

    /// What programs are told of a summary; of none, where nothing was old.
    pub fn told(&self, summary: Option<&Summary>, counter: &MessageCounter) -> Told<'static> {
        Told {
            name: None,
            output: None,
            session: None,
            summarized_messages: summary.map_or(0, |summary| summary.messages),
            earlier_summaries: summary.map_or(0, |summary| summary.earlier),
            summary_tokens: summary.map(|summary| counter.text(&summary.text)),
            summary_file: None,
            summing: self.summing,
            duration_ms: self.duration_ms,
        }
    }
}

impl Told<'_> {
    /// With where it was read, where it is written, and, `stored`, the session in the store and
    /// the file there that has its summaries.
    #[must_use]
    pub fn of<'a>(
        self,
        name: Option<&'a str>,
        output: Option<&Path>,
        stored: Option<(&'a str, &Path)>,
    ) -> Told<'a> {
        let path = |path: &Path| path.display().to_string();
        let file = stored.filter(|_| self.summary_tokens.is_some());
        Told {
            name,
            output: output.map(path),
            session: stored.map(|(session, _)| session),
            summary_file: file.map(|(_, file)| path(file)),
            summarized_messages: self.summarized_messages,
            earlier_summaries: self.earlier_summaries,
            summary_tokens: self.summary_tokens,
            summing: self.summing,
            duration_ms: self.duration_ms,
        }
    }
}

/// How a summary was made where one by `asked` was wanted, and what models took.
pub fn summing(asked: Method, summary: Option<&Summary>, usage: Usage) -> Summing {
    let method = summary.map_or(Method::None, |summary| summary.method);
    let used_code = method != Method::Llm && method != Method::None;
    Summing {
        method: method.as_str(),
        fell_back: asked == Method::Llm && used_code,
        ..took(usage)
    }
}

/// What models took, where there is no summary, or none yet.
pub fn took(usage: Usage) -> Summing {
    Summing {
        model_calls: usage.calls,
        model_tokens_in: usage.tokens_in,
        model_tokens_out: usage.tokens_out,
        model_ms: milliseconds(usage.time),
        ..Summing::default()
    }
}

#[cfg(test)]
mod tests {
    use ctx_llm::Usage;
    use ctx_policy::Method;

    use super::super::fixtures::{ASK, LEDGER, old, plan};
    use super::{Making, summing};

    #[test]
    fn a_model_that_was_asked_for_and_wrote_nothing_is_a_fall_back() {
        let plan = plan();
        let usage = Usage {
            calls: 3,
            ..Usage::default()
        };
        let mut summary = old(&plan, LEDGER, &[ASK]).summary("short".to_owned());
        for (asked, wrote, fell_back) in [
            (Method::Llm, Method::Rule, true),
            (Method::Llm, Method::Llm, false),
            (Method::Rule, Method::Rule, false),
        ] {
            summary.method = wrote;
            let made = summing(asked, Some(&summary), usage);
            assert_eq!((made.method, made.fell_back), (wrote.as_str(), fell_back));
            assert_eq!(made.model_calls, 3);
        }
        let none = summing(Method::Llm, None, usage);
        assert_eq!((none.method, none.fell_back), ("none", false));
        let making = Making {
            summing: none,
            duration_ms: 5,
        };
        let told = |summary| {
            let told = making.told(summary, &plan.counter);
            let told = told.of(None, None, Some(("demo", "demo.md".as_ref())));
            serde_json::to_value(told).expect("JSON")
        };
        let (some, none) = (told(Some(&summary)), told(None));
        assert_eq!(
            (&some["summary_file"], &some["summarized_messages"]),
            (&"demo.md".into(), &1.into())
        );
        assert!(none["summary_file"].is_null() && none["summary_tokens"].is_null());
    }
}
