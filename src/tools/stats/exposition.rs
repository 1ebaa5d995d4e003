//! The text format of Prometheus, as promtool wants it: each family has its HELP and its TYPE
//! before its samples, stands once, and no sample is there twice.

use std::fmt::Write;

use ctx_cli::printable;

/// What a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How values are distributed.
    Histogram,
}

/// The metrics of one name.
pub(super) struct Family {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    samples: String,
}

impl Family {
    pub(super) fn new(kind: Kind, name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            kind,
            samples: String::new(),
        }
    }

    /// One sample, with its labels.
    #[must_use]
    pub(super) fn with(self, labels: &[(&str, &str)], value: f64) -> Self {
        self.suffixed("", labels, value)
    }

    /// One without labels, where there is a value.
    #[must_use]
    pub(super) fn only(self, value: Option<f64>) -> Self {
        match value {
            Some(value) => self.with(&[], value),
            None => self,
        }
    }

    /// One whose name goes on, as those of histograms do.
    #[must_use]
    pub(super) fn suffixed(mut self, suffix: &str, labels: &[(&str, &str)], value: f64) -> Self {
        let pairs: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", label(value)))
            .collect();
        let labels = if pairs.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", pairs.join(","))
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.samples, "{}{suffix}{labels} {value}", self.name);
        self
    }
}

/// The text of all families; one without samples is left out.
pub(super) fn text(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let (name, help) = (family.name, family.help);
        let _ = write!(
            out,
            "# HELP {name} {help}\n# TYPE {name} {kind}\n{}",
            family.samples
        );
    }
    out
}

/// The value of a label: no control character, then escaped as the format wants it.
fn label(value: &str) -> String {
    let value = printable(value);
    let value = value.replace('\\', "\\\\");
    value.replace('"', "\\\"")
}
