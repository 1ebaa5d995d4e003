//! Commands that the user ran himself: the agent tells the model of them in one text.

use std::fmt::Write;

use crate::Object;

/// What the model is told of the command and of how it ended.
pub(super) fn text(said: &Object<'_>) -> String {
    let of = |key| said.text_of(key).unwrap_or_default();
    let output = of("output");
    let mut text = format!("Ran `{}`\n", of("command"));
    if output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.extend(["```\n", &output, "\n```"]);
    }
    if said.is_true("cancelled") {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = failure(said) {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\n\nCommand exited with code {code}");
    }
    let file = of("fullOutputPath");
    if said.is_true("truncated") && !file.is_empty() {
        let _ = write!(text, "\n\n[Output truncated. Full output: {file}]");
    }
    text
}

/// The status that it ended with, when that is a number other than 0.
fn failure(said: &Object<'_>) -> Option<f64> {
    let status: f64 = said.get("exitCode")?.parse().ok()?;
    (status != 0.0).then_some(status)
}
