//! `ctx-count` on a terminal.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use ctx_testkit::{Case, Terminal};

use super::call;

const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/session.jsonl");

/// Returns the output of a call on a terminal with this many columns, by lines.
fn shown(columns: u16, args: &[&str], variable: Option<(&str, &str)>) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(SESSION, folder.path().join("session.jsonl")).expect("a session");
    fs::write(folder.path().join("log.jsonl"), LOG).expect("a session");
    on_terminal(folder.path(), columns, args, variable)
}

fn on_terminal(
    folder: &Path,
    columns: u16,
    args: &[&str],
    variable: Option<(&str, &str)>,
) -> String {
    let mut command = call("ctx-count", folder);
    command.args(args).envs(variable).stdin(Stdio::null());
    super::shown(command, Terminal::new(columns))
}

/// A log whose agent has recorded the tokens of its requests.
const LOG: &str = concat!(
    r#"{"uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2030-01-01T00:00:01.000Z","type":"user","message":{"role":"user","content":"Look at the file, please."}}"#,
    "\n",
    r#"{"uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2030-01-01T00:00:02.000Z","type":"assistant","message":{"role":"assistant","model":"claude-opus-4-5","usage":{"input_tokens":50000,"output_tokens":3},"content":[{"type":"text","text":"I will."}]}}"#,
    "\n",
);

const PLAIN: Option<(&str, &str)> = Some(("NO_COLOR", "1"));

/// On a terminal there are headings, a bar as wide as the terminal, and a legend.
#[test]
fn a_file_has_a_bar_of_its_window() {
    let shown = shown(80, &["--model", "gpt-4o", "session.jsonl"], PLAIN);
    assert_eq!(shown, EXPECTED);
}

const EXPECTED: &str = "\
MESSAGES  TOKENS   BYTES  WINDOW  FILE
     206   30282  131286   23.7%  session.jsonl

session.jsonl: 30282 of 128000 tokens, 23.7% of gpt-4o
█▒▓========#######+·····························································
█ system       139    0.1%    # results    11637    9.1%
▒ user         970    0.8%    + overhead     827    0.6%
▓ assistant   2831    2.2%    · free       97718   76.3%
= calls      13878   10.8%
";

/// No line is wider than the terminal, and the bar has its width.
#[test]
fn what_is_shown_fits_the_terminal() {
    for columns in [40, 80, 200] {
        let shown = shown(columns, &["--model", "gpt-4o", "session.jsonl"], PLAIN);
        let widths = shown.lines().map(|line| line.chars().count());
        let columns = usize::from(columns);
        assert!(widths.clone().all(|width| width <= columns), "{shown}");
        assert!(widths.clone().any(|width| width == columns), "{shown}");
        assert!(shown.starts_with("MESSAGES  TOKENS   BYTES  WINDOW  FILE\n"), "{shown}");
    }
}

/// Colours are those that every terminal has, and can be turned off; the patterns show the same.
#[test]
fn colours_can_be_switched_off() {
    let file = ["--model", "gpt-4o", "session.jsonl"];
    let coloured = shown(80, &file, None);
    for code in ["\u{1b}[1m", "\u{1b}[32m", "\u{1b}[36m", "\u{1b}[34m"] {
        assert!(coloured.contains(code), "{code:?} in {coloured:?}");
    }
    for variable in [PLAIN, Some(("TERM", "dumb"))] {
        assert!(!shown(80, &file, variable).contains('\u{1b}'));
    }
    let never = [&file[..], &["--color", "never"]].concat();
    assert!(!shown(80, &never, None).contains('\u{1b}'));
}

/// With recorded usage, tokens that are not in the file are shown as well, and the window is that
/// of its model.
#[test]
fn what_only_the_api_knows_is_shown() {
    let text = shown(80, &["log.jsonl"], PLAIN);
    assert!(text.contains("of 200000 tokens, 25.0% of claude-opus-4-5\n"), "{text}");
    assert!(text.contains(": not in the file"), "{text}");
    // If the user names a model, the tokens of the messages for that model are shown.
    let text = shown(80, &["--model", "gpt-4o", "log.jsonl"], PLAIN);
    assert!(!text.contains("not in the file"), "{text}");
}

/// Bars of a few files are below each other; for many files there are no bars.
#[test]
fn many_files_have_no_bars() {
    let bars = |count: usize| {
        let files = vec!["session.jsonl"; count];
        let text = shown(80, &files, PLAIN);
        text.lines().filter(|line| line.starts_with("session.jsonl: ")).count()
    };
    assert_eq!([1, 3, 4].map(bars), [1, 3, 0]);
}

/// On a terminal other tables have headings, too, and the same numbers as elsewhere.
#[test]
fn breakdowns_have_headings() {
    let text = shown(80, &["--by", "role", "session.jsonl"], PLAIN);
    assert!(text.starts_with("COUNT  TOKENS   SHARE  ROLE\n"), "{text}");
    let text = shown(80, &["--by", "reach", "log.jsonl"], PLAIN);
    assert!(text.starts_with("COUNT  BYTES   SHARE  REACH\n"), "{text}");
    let text = shown(80, &["--text", "session.jsonl"], PLAIN);
    assert!(text.starts_with("TOKENS  FILE\n") && text.lines().count() == 2, "{text}");
}

/// Output to a file has no heading, even from a terminal.
#[test]
fn a_file_and_a_pipe_get_what_they_always_got() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(SESSION, folder.path().join("session.jsonl")).expect("a session");
    let told = on_terminal(folder.path(), 80, &["-o", "out", "session.jsonl"], None);
    assert_eq!(told, "");
    let written = fs::read_to_string(folder.path().join("out")).expect("written");
    Case::new(crate::tool_path("ctx-count"))
        .args(["session.jsonl"])
        .file("session.jsonl", fs::read(SESSION).expect("a session"))
        .stdout(written.as_str())
        .run();
    assert!(written.ends_with(" session.jsonl\n") && written.lines().count() == 1);
    let json = on_terminal(folder.path(), 80, &["--json", "session.jsonl"], None);
    assert!(json.starts_with("{\"type\":\"file\""), "{json}");
}
