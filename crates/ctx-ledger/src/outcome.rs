//! Lines that say how something ended, and lines that name what was written: by their
//! shape, as compilers, test runners and git print them.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::text::bytes_regex;

/// Whether a line of a result says how a command, a build or a test ended.
///
/// Any line may, for better or worse, and one too many only takes room. Whether a call failed
/// is decided in `runtime`, by the first lines and by narrower forms: that makes an error.
pub(crate) fn is_outcome(line: &str) -> bool {
    static OUTCOME: LazyLock<Regex> = LazyLock::new(|| {
        let forms = [
            // Test runners: Go, Rust, pytest, jest, Maven.
            r"^(?:ok|FAIL|PASS|FAILED|PASSED|---\s+(?:FAIL|PASS):)(?:[ \t]|$)|\[no test files\]$",
            r"\b[0-9]+ (?:passed|failed|passing|failing|tests?|errors?|warnings?|issues?|problems?)\b",
            r"^(?:test result:|Tests?:|Test Suites:|BUILD (?:SUCCESS|FAILURE|FAILED))",
            r"(?i:\ball (?:tests|checks)(?: have)? pass)",
            // Git: a commit, its size, an empty one, a push, a request to merge.
            r"^\[[A-Za-z0-9_./-]+(?: \(root-commit\))? [0-9a-f]{7,40}\] ",
            r"^\s*[0-9]+ files? changed\b",
            r"^nothing to commit|^Already up to date|^On branch |^Switched to ",
            r"https://[A-Za-z0-9.-]+/\S+/(?:pull|merge_requests|issues)/[0-9]+",
            // Compilers and linters: a place, then what is wrong.
            r"^\S+:[0-9]+:[0-9]+:? \S",
            r"^(?:error|warning|fatal|panic|note)(?:\[[A-Z0-9]+\])?: ",
            r"^(?:Error|ERROR|Fatal|Exception|Traceback|AssertionError|[A-Z][A-Za-z]+(?:Error|Exception))\b",
            // SWE-agent: what a file has, what was found, an edit that was refused.
            r"^\[File: .* \([0-9]+ lines total\)\]$|^Found [0-9]+ match|\bNOT been applied\b|^- [EFW][0-9]{3} ",
            r"^(?i:exit code|exit status|command failed|permission denied)\b",
            r"\b(?:[Ff]ailed to|[Cc]annot|[Cc]ould not|not found|No such file|undefined:|has been updated|successfully)\b",
        ];
        bytes_regex(&forms.join("|"))
    });
    OUTCOME.is_match(line.as_bytes())
}

/// Whether a line is one of a traceback of Python's, that says where a call was made.
pub fn is_frame(line: &str) -> bool {
    line.starts_with("File \"") && line.contains("\", line ")
}

/// Whether words say why something is so, or what must or cannot be.
pub(crate) fn gives_reason(text: &str) -> bool {
    static REASON: LazyLock<Regex> = LazyLock::new(|| {
        bytes_regex(
            r"(?i)\b(?:because|since|so that|otherwise|in order to|to (?:avoid|prevent|ensure|make sure)|ensures?|prevents?|avoids?|due to|even if|instead of|rather than|must|never|cannot|can't|do(?:es)? not|don't|doesn't|would|always|only (?:if|when|for))\b|因为|以便|避免|否则|必须|防止",
        )
    });
    REASON.is_match(text.as_bytes())
}

/// Whether a line of what was written names something: a function, a type, a test, a
/// heading.
pub(crate) fn names_something(line: &str) -> bool {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        let before = "export|default|pub(?:\\([a-z]+\\))?|async|static|public|private|protected|abstract|final|declare|override|unsafe|extern";
        let names = "func|fn|def|class|struct|type|interface|enum|trait|impl|const|function|module|namespace|record|protocol|mod";
        bytes_regex(&format!(
            "^(?:(?:{before})\\s+)*(?:{names})\\s+\\(?[A-Za-z_]|^#{{1,6}} \\S|^(?:it|test|describe)\\("
        ))
    });
    NAME.is_match(line.as_bytes())
}

/// The code of a line of a search or a listing, which stands behind its place:
/// `src/a.rs:12:fn a()`, `12: fn a()`.
pub(crate) fn without_place(line: &str) -> &str {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| bytes_regex(r"^(?:[^\s:]+[:-])?[0-9]+[:-]\s*"));
    PLACE
        .find(line.as_bytes())
        .map_or(line, |place| &line[place.end()..])
}

#[cfg(test)]
mod tests {
    use super::{gives_reason, is_outcome, names_something, without_place};

    #[test]
    fn places_stand_before_the_code() {
        for (line, code) in [
            ("src/a.rs:12:fn a() {", "fn a() {"),
            ("src/a.rs-12-fn a() {", "fn a() {"),
            ("12: fn a() {", "fn a() {"),
            ("fn a() {", "fn a() {"),
            ("", ""),
        ] {
            assert_eq!(without_place(line), code);
        }
    }

    #[test]
    fn reasons_have_words_that_give_them() {
        for text in [
            "// Return at once: more output would corrupt the JSON.",
            "# kept, because the child has a copy of its own",
            "// 保留它，因为子进程也要用",
        ] {
            assert!(gives_reason(text), "{text}");
        }
        for text in ["// Saves the index in a file.", "# the mustard", ""] {
            assert!(!gives_reason(text), "{text}");
        }
    }

    #[test]
    fn outcomes_are_known_by_their_shape() {
        for line in [
            "ok  \texample.com/cli\t2.1s",
            "--- FAIL: TestLogin (0.00s)",
            "test result: ok. 12 passed; 0 failed",
            "[main 1a2b3c4d] fix the login",
            " 3 files changed, 21 insertions(+), 10 deletions(-)",
            "[File: /a/b.py (372 lines total)]",
            "Your changes have NOT been applied. Please fix your edit command and try again.",
            "src/a.go:5:2: \"os\" imported and not used",
            "error[E0382]: borrow of moved value",
            "ValueError: bad",
            "https://example.com/a/b/pull/42",
            "[lint:go] 0 issues.",
        ] {
            assert!(is_outcome(line), "{line}");
        }
        for line in [
            "func main() {",
            "okay then",
            "passed := 1",
            "",
            "the error is handled",
        ] {
            assert!(!is_outcome(line), "{line}");
        }
    }

    #[test]
    fn what_a_line_names() {
        for line in [
            "func (s *Server) Run() error {",
            "pub(crate) fn is_outcome(line: &str)",
            "export default class Login {",
            "def test_login(self):",
            "## Known limits",
            "it(\"logs in\", () => {",
        ] {
            assert!(names_something(line), "{line}");
        }
        for line in ["return 1", "x := func() {}", "#include <a>", "typed", ""] {
            assert!(!names_something(line), "{line}");
        }
    }
}
