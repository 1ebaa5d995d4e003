//! L11: an agent's own file that has just changed is left alone, whichever tool would replace it,
//! and whatever the new content is.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use ctx_testkit::Case;

use crate::{tool_path, tools};

/// The agent's file.
const LIVE: &str = "live.jsonl";
/// Another session, which no agent is using.
const OTHER: &str = "other.jsonl";
/// A placeholder for the input in the calls below.
const INPUT: &str = "INPUT";

/// Returns twelve lines; `line` makes each one from its number, role and text.
fn session(line: impl Fn(usize, &str, &str) -> String) -> String {
    let words = "we always run the tests before we push ".repeat(20);
    let lines = (0..12).map(|n| line(n, ["user", "assistant"][n % 2], &words) + "\n");
    lines.collect()
}

/// Returns a Claude Code session.
pub(crate) fn of_agent() -> String {
    session(|n, role, words| {
        let parent = n.checked_sub(1);
        let parent = parent.map_or_else(|| "null".to_owned(), |n| format!("\"u{n}\""));
        format!(
            "{{\"type\":\"{role}\",\"uuid\":\"u{n}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"isSidechain\":false,\
             \"timestamp\":\"2026-11-20T10:00:0{}.000Z\",\"cwd\":\"/w\",\"version\":\"2.1.0\",\
             \"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{n} {words}\"}}]}}}}",
            n % 10
        )
    })
}

fn chat() -> String {
    session(|n, role, words| format!("{{\"role\":\"{role}\",\"content\":\"{n} {words}\"}}"))
}

/// The way in which a tool gets its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// The agent's file is also the input.
    Itself,
    Another,
    /// The agent's file is the input, through stdin.
    Stdin,
    AnotherStdin,
}

const ALL: &[From] = &[From::Itself, From::Another, From::Stdin, From::AnotherStdin];

/// A call that would replace the agent's file, and the ways in which it may get its input.
struct Call {
    tool: &'static str,
    args: &'static [&'static str],
    from: &'static [From],
    /// The exit status: 4, or 2 if the tool writes no session.
    code: i32,
}

const fn writes(tool: &'static str, args: &'static [&'static str], from: &'static [From]) -> Call {
    let code = 4;
    Call { tool, args, from, code }
}

const fn reports(tool: &'static str, args: &'static [&'static str]) -> Call {
    let (from, code) = (ALL, 2);
    Call { tool, args, from, code }
}

const PIPES: &[From] = &[From::Stdin, From::AnotherStdin];
const ITSELF: &[From] = &[From::Itself];

const CALLS: &[Call] = &[
    reports("ctx-check", &[INPUT, "-o", LIVE]),
    writes("ctx-check", &["--repair", INPUT, "-o", LIVE], ALL),
    writes("ctx-compact", &["--force", LIVE], ITSELF),
    writes("ctx-compact", &["--force", "--batch", LIVE], ITSELF),
    writes("ctx-compact", &["--force", "-o", LIVE], PIPES),
    writes("ctx-compact", &["--force", "--batch", "-o", LIVE], PIPES),
    writes("ctx-convert", &["--to", "chat", INPUT, "-o", LIVE], ALL),
    writes("ctx-count", &["--annotate", INPUT, "-o", LIVE], ALL),
    writes("ctx-extract", &["--into", "memory", INPUT, "-o", LIVE], ALL),
    reports("ctx-extract", &[INPUT, "-o", LIVE]),
    writes("ctx-memory", &["inject", "--transcript", INPUT, "-o", LIVE], ALL),
    reports("ctx-memory", &["inject", "-o", LIVE]),
    writes("ctx-offload", &["-s", "x", INPUT, "-o", LIVE], ALL),
    writes("ctx-offload", &["-s", "x", "-i", LIVE], ITSELF),
    writes("ctx-offload", &["-s", "x", "--restore", INPUT, "-o", LIVE], ALL),
    writes("ctx-prune", &["--drop", "noise", INPUT, "-o", LIVE], ALL),
    writes("ctx-prune", &["--drop", "noise", "-i", LIVE], ITSELF),
    writes("ctx-rollback", &["-s", "s", "latest", LIVE], ITSELF),
    writes("ctx-rollback", &["-s", "s", "--snapshot", "1", "--to", LIVE], ITSELF),
    reports("ctx-score", &[OTHER, INPUT, "-o", LIVE]),
    writes("ctx-split", &["--keep-turns", "1", INPUT, "-o", LIVE], ALL),
    reports("ctx-stats", &[INPUT, "-o", LIVE]),
    writes("ctx-summarize", &["--budget", "400", INPUT, "-o", LIVE], ALL),
    writes("ctx-summarize", &["--batch", INPUT, "-o", LIVE], ALL),
];

fn run(dir: &Path, call: &Call, from: From, more: &[&str]) -> Output {
    let input = match from {
        From::Itself => LIVE,
        From::Another => OTHER,
        From::Stdin | From::AnotherStdin => "-",
    };
    let stdin = if from == From::Stdin { LIVE } else { OTHER };
    let args = call.args.iter().map(|arg| if *arg == INPUT { input } else { arg });
    let done = Command::new(tool_path(call.tool))
        .args(args)
        .args(more)
        .current_dir(dir)
        .env("HOME", dir)
        .env_remove("CTX_HOME")
        .env_remove("XDG_STATE_HOME")
        .stdin(File::open(dir.join(stdin)).expect("opens"))
        .output();
    done.expect("the tool starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn has_dry_run(name: &str) -> bool {
    let mut tools = tools().into_iter();
    let tool = tools.find(|tool| tool.name == name).expect("a tool");
    let command = tool.full_command();
    command.get_arguments().any(|arg| arg.get_long() == Some("dry-run"))
}

#[test]
fn no_tool_replaces_an_agents_file_that_changed_just_now() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let live = dir.join(LIVE);
    fs::write(dir.join(OTHER), chat()).expect("writes");
    fs::write(&live, of_agent().repeat(2)).expect("writes");
    Case::new(tool_path("ctx-snapshot")).within(dir).args(["-q", LIVE]).stdout_any().run();
    for call in CALLS {
        for from in call.from {
            let name = format!("{} {:?} {from:?}", call.tool, call.args);
            fs::write(&live, of_agent()).expect("writes");
            let is_refused = |more: &[&str], why: &str| {
                let mut done = run(dir, call, *from, more);
                // Until it calls exec, a child of another test has this test's files open, too.
                for _ in 0..5 {
                    if text(&done.stderr).contains("is open for writing by a process") {
                        done = run(dir, call, *from, more);
                    }
                }
                let said = text(&done.stderr);
                assert_eq!(done.status.code(), Some(call.code), "{name}: {said}");
                assert!(said.contains(why), "{name}: {said}");
                let now = fs::read_to_string(&live).expect("reads");
                assert_eq!(now, of_agent(), "{name}");
            };
            if call.code == 2 {
                is_refused(&[], "is a session and cannot be overwritten");
                continue;
            }
            let why = "changed just now; a running agent would not notice a change by this tool; \
                       stop the agent and try again with --min-idle 0s";
            is_refused(&[], why);
            // `ctx-extract -n` prints items and does not check the output.
            if has_dry_run(call.tool) && call.tool != "ctx-extract" {
                is_refused(&["-n"], why);
            }
            let done = run(dir, call, *from, &["--min-idle", "0s"]);
            // Some tools refuse the lines of an agent because of their format.
            assert_ne!(done.status.code(), Some(4), "{name}: {}", text(&done.stderr));
        }
    }
}

/// Each tool with an option for an output file, also in a subcommand, has its call above.
#[test]
fn every_tool_with_an_output_is_tried() {
    let tried: BTreeSet<&str> = CALLS.iter().map(|call| call.tool).collect();
    let mut writing = BTreeSet::new();
    for tool in tools() {
        let command = tool.full_command();
        for command in std::iter::once(&command).chain(command.get_subcommands()) {
            let mut options = command.get_arguments().filter_map(|arg| arg.get_long());
            if options.any(|long| ["output", "in-place", "to", "min-idle"].contains(&long)) {
                writing.insert(tool.name);
            }
        }
    }
    assert_eq!(writing, tried);
}

/// A tool that gives a session another id recognizes its own output, so an undo does not have to
/// wait.
#[test]
fn what_a_tool_wrote_under_another_id_is_no_agents() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join(LIVE);
    fs::write(&path, of_agent()).expect("written");
    let file = File::options().write(true).open(&path).expect("the file");
    let hour = std::time::Duration::from_secs(3600);
    let before = std::time::SystemTime::now() - hour;
    file.set_modified(before).expect("a time");
    drop(file);
    crate::bench::good(dir.path(), "ctx-convert -q --store st --to codex live.jsonl -o live.jsonl");
    assert_ne!(fs::read_to_string(&path).expect("text"), of_agent());
    crate::bench::good(dir.path(), "ctx-rollback -q --store st --undo live.jsonl");
    assert_eq!(fs::read_to_string(&path).expect("text"), of_agent());
}
