//! What CI systems read: annotations of GitHub Actions, and `JUnit` XML.

use std::fmt::Write;

use ctx_cli::printable;
use ctx_passes::check::Report;

use super::{Args, Results, text};

/// One `::error` command for each finding, as GitHub's documentation describes
/// workflow commands.
pub(super) fn github(args: &Args, results: &Results) -> String {
    let mut out = String::new();
    let mut error = |name: &str, line: Option<u64>, title: &str, message: &str| {
        let file = github_property(name);
        let line = line.map_or(String::new(), |line| format!(",line={line}"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "::error file={file}{line},title={}::{}",
            github_property(title),
            github_message(message)
        );
    };
    for (name, result) in results {
        match result {
            Ok(report) => {
                for finding in report.shown(args.all) {
                    error(name, finding.line, finding.rule, &finding.message);
                }
            }
            Err(failure) => error(name, None, "unreadable", &failure.to_string()),
        }
    }
    out
}

/// What would drive the terminal of somebody who looks at the log is escaped, as anywhere.
fn github_message(text: &str) -> String {
    let text = text
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A");
    printable(&text)
}

fn github_property(text: &str) -> String {
    github_message(text).replace(':', "%3A").replace(',', "%2C")
}

/// A test case for each file.
pub(super) fn junit(args: &Args, results: &Results) -> String {
    let is_bad = |report: &Report| !report.findings.is_empty();
    let failures = results
        .iter()
        .filter(|(_, result)| result.as_ref().is_ok_and(is_bad));
    let errors = results.iter().filter(|(_, result)| result.is_err());
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        results.len(),
        failures.count(),
        errors.count()
    );
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  <testsuite name=\"ctx-check\" {counts}>\n"
    );
    for (name, result) in results {
        let problem = match result {
            Ok(report) => failure(name, report, args.all),
            Err(failure) => {
                let message = xml(&failure.to_string());
                Some(format!(
                    "<error type=\"unreadable\" message=\"{message}\"/>"
                ))
            }
        };
        let case = format!("<testcase classname=\"ctx-check\" name=\"{}\"", xml(name));
        let _ = match problem {
            None => writeln!(out, "    {case}/>"),
            Some(problem) => writeln!(out, "    {case}>\n      {problem}\n    </testcase>"),
        };
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// The first finding as the message, all that are shown as the text.
fn failure(name: &str, report: &Report, all: bool) -> Option<String> {
    let first = report.findings.first()?;
    let lines: Vec<String> = report
        .shown(all)
        .map(|finding| xml(&format!("{name}{}", text::line(finding))))
        .collect();
    Some(format!(
        "<failure type=\"{}\" message=\"{}\">{}</failure>",
        first.rule,
        xml(&first.message),
        lines.join("\n")
    ))
}

/// Text for an attribute or an element. XML 1.0 has no form for most control
/// characters: they become U+FFFD.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{github_message, github_property, xml};

    #[test]
    fn commands_of_github_cannot_be_forged() {
        assert_eq!(
            github_property("a,b:c%3A\n::error"),
            "a%2Cb%3Ac%253A%0A%3A%3Aerror"
        );
        assert_eq!(github_message("50%, a:b\r\nc"), "50%25, a:b%0D%0Ac");
        // Who looks at the log of a run has a terminal.
        assert_eq!(github_message("\u{1b}[31m\u{9b}"), "\\u{1b}[31m\\u{9b}");
        assert_eq!(github_message("\u{1b}]0;x\u{7}"), "\\u{1b}]0;x\\u{7}");
    }

    #[test]
    fn xml_is_well_formed_whatever_the_text() {
        assert_eq!(
            xml("<a b=\"c\">&\n\t\u{1b}\u{9b}\u{ffff}é"),
            "&lt;a b=&quot;c&quot;&gt;&amp;&#10;&#9;\u{fffd}\u{fffd}\u{fffd}é"
        );
    }
}
