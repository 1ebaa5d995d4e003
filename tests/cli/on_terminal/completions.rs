//! Completion of words in real shells.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ctx_testkit::{Case, Terminal};
use tempfile::TempDir;

use crate::is_there;

/// A folder with a session, a store of two sessions, and other things.
struct Place {
    folder: TempDir,
    /// The ids of the snapshots, newest first.
    ids: Vec<String>,
}

const USER: &[u8] = b"{\"role\":\"user\",\"content\":\"a\"}\n";

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        fs::create_dir(path.join("agents")).expect("a folder");
        for name in ["a talk.jsonl", "notes.txt", "agents/deep.jsonl"] {
            fs::write(path.join(name), USER).expect("a file");
        }
        let mut ids: Vec<String> = ["demo", "other"]
            .iter()
            .map(|session| {
                let done = Case::new(crate::tool_path("ctx-snapshot"))
                    .within(path)
                    .args(["--store", "st", "-s", session, "a talk.jsonl"])
                    .stdout_any()
                    .run();
                String::from_utf8(done.stdout).expect("an id").trim().to_owned()
            })
            .collect();
        ids.reverse();
        Self { folder, ids }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a program that finds the tools by `PATH`, as the scripts do.
    fn program(&self, program: &str) -> Command {
        let tools = crate::tool_path("ctx-count");
        let tools = tools.parent().expect("a folder").display();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.path())
            .env("TERM", "dumb")
            .env("CTX_HOME", "st")
            .env("PATH", format!("{tools}:/usr/local/bin:/usr/bin:/bin"))
            .current_dir(self.path());
        command
    }

    fn asks(command: &mut Command) -> Vec<String> {
        let done = command.output().expect("it starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(said, "");
        let text = String::from_utf8(done.stdout).expect("UTF-8");
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the proposals of bash, with words split as bash splits them.
    fn bash(&self, words: &[&str]) -> Vec<String> {
        let (tool, last) = (words[0], words.len() - 1);
        let current = if words[last] == "=" { "" } else { words[last] };
        let script = format!(
            "source {}; COMP_WORDS=(\"$@\"); COMP_CWORD={last}; _{tool} {tool} '{current}' x; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script("bash", tool).display()
        );
        let mut bash = self.program("bash");
        Self::asks(bash.args(["-c", &script, "bash"]).args(words))
    }

    /// Returns the proposals of fish for a line, each with its description.
    fn fish(&self, line: &str) -> Vec<String> {
        let tool = line.split(' ').next().expect("a tool");
        let script = format!("source {}; complete -C '{line}'", script("fish", tool).display());
        let mut fish = self.program("fish");
        Self::asks(fish.args(["--no-config", "-c", &script]))
    }
}

fn script(shell: &str, tool: &str) -> PathBuf {
    let name = match shell {
        "zsh" => format!("_{tool}"),
        "fish" => format!("{tool}.fish"),
        _ => tool.to_owned(),
    };
    xtask::root().join("completions").join(shell).join(name)
}

/// bash, which splits words at `=`, completes names, ids and files.
#[test]
fn bash_completes_what_the_tool_knows() {
    let place = Place::new();
    let snapshots = place.bash(&["ctx-rollback", "--snapshot", ""]);
    assert_eq!(snapshots[0], "latest");
    assert_eq!(snapshots[1..], place.ids);
    let of_one = place.bash(&["ctx-rollback", "-s", "demo", "--snapshot", ""]);
    assert_eq!(of_one[1..], place.ids[1..]);
    assert_eq!(place.bash(&["ctx-snapshot", "-s", ""]), ["demo", "other"]);
    assert_eq!(place.bash(&["ctx-compact", "--preset", "=", "syn"]), ["synapse"]);
    let presets = place.bash(&["ctx-compact", "--preset", "="]);
    assert_eq!(presets, ctx_policy_names());
    assert_eq!(place.bash(&["ctx-count", ""]), ["a talk.jsonl", "agents/", "st/"]);
    assert_eq!(place.bash(&["ctx-count", "agents/"]), ["agents/deep.jsonl"]);
    assert_eq!(place.bash(&["ctx-count", "--text", "n"]), ["notes.txt"]);
    assert_eq!(place.bash(&["ctx-count", "--calib"]), ["--calibrate"]);
    assert_eq!(place.bash(&["ctx-memory", ""]), ["search", "get", "consolidate", "inject"]);
}

fn ctx_policy_names() -> Vec<String> {
    let folder = fs::read_dir(xtask::root().join("presets")).expect("presets");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        path.file_stem().expect("a name").to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = folder.map(name).filter(|name| name != "built-in").collect();
    names.sort();
    names
}

/// The store on the command line is used; a missing one is not created.
#[test]
fn a_store_is_read_where_it_is_named_and_never_made() {
    let place = Place::new();
    let none = place.bash(&["ctx-rollback", "--store", "nowhere", "--snapshot", ""]);
    assert_eq!(none, [""]);
    assert!(!place.path().join("nowhere").exists());
    fs::rename(place.path().join("st"), place.path().join("moved")).expect("moved");
    let moved = place.bash(&["ctx-rollback", "--store", "=", "moved", "--snapshot", ""]);
    assert_eq!(moved[1..], place.ids);
    // If the store cannot be read, nothing is offered, and there is no message.
    fs::write(place.path().join("moved/FORMAT"), "no format").expect("written");
    let broken = place.bash(&["ctx-rollback", "--store", "moved", "--snapshot", ""]);
    assert_eq!(broken, [""]);
}

/// fish completes the same, with descriptions.
#[test]
fn fish_completes_what_the_tool_knows() {
    if !is_there("fish") {
        return;
    }
    let place = Place::new();
    let snapshots = place.fish("ctx-rollback --snapshot ");
    assert_eq!(snapshots.len(), 3, "{snapshots:?}");
    assert!(snapshots[0].starts_with("latest\t"), "{snapshots:?}");
    assert!(snapshots[1].starts_with(&format!("{}\t20", place.ids[0])), "{snapshots:?}");
    assert!(snapshots[1].contains(" UTC, "), "{snapshots:?}");
    assert_eq!(place.fish("ctx-rollback -s demo --snapshot ").len(), 2);
    assert_eq!(place.fish("ctx-compact --preset tur").len(), 1);
    assert_eq!(place.fish("ctx-count ag"), ["agents/"]);
    let model = place.fish("ctx-count --model gpt-5.4-m");
    assert_eq!(model.len(), 1, "{model:?}");
    assert!(place.fish("ctx-summarize --template sy")[0].starts_with("synapse"));
}

/// Types in a separate shell until `expected` follows the typed text.
fn typed(place: &Place, shell: &str, args: &[&str], setup: &str, tries: &[(&str, &str)]) {
    let mut terminal = Terminal::new(200);
    // Job control needs a terminal that belongs to the shell.
    let mut command = place.program("setsid");
    command
        .args(["--ctty", shell])
        .args(args)
        .env("PS1", "READY> ")
        .stdin(terminal.stream())
        .stdout(terminal.stream())
        .stderr(terminal.stream());
    let mut child = command.spawn().expect("the shell starts");
    drop(command);
    let mut at = terminal.wait_for("READY> ", 0);
    // The typed command contains the word in another form, so that its echo is not taken for its
    // output.
    terminal.types(&format!("{setup}; echo set''up\n"));
    at = terminal.wait_for("setup\r", at);
    at = terminal.wait_for("READY> ", at);
    for (number, (keys, expected)) in tries.iter().enumerate() {
        terminal.types(&format!("{keys}\t"));
        at = terminal.wait_for(expected, at);
        // Ctrl-U deletes the line. The prompt may be drawn again before that, so wait for the one
        // that follows an answer.
        terminal.types(&format!("\u{15}echo don''e {number}\n"));
        at = terminal.wait_for(&format!("done {number}\r"), at);
        at = terminal.wait_for("READY> ", at);
    }
    terminal.types("exit\n");
    child.wait().expect("it ends");
}

/// In an interactive bash the Tab key completes a name, and escapes a blank in it.
#[test]
fn bash_completes_by_the_key() {
    let place = Place::new();
    let script = script("bash", "ctx-rollback");
    let count = script.with_file_name("ctx-count");
    let setup = format!("source {}; source {}", script.display(), count.display());
    typed(
        &place,
        "bash",
        &["--norc", "--noprofile", "-i"],
        &setup,
        &[
            ("ctx-rollback --snapshot lat", "--snapshot latest "),
            ("ctx-count a\\ ta", "a\\ talk.jsonl "),
            ("ctx-count age", "agents/"),
        ],
    );
}

/// zsh completes from a folder of functions, as packages have it, even at the first key press.
#[test]
fn zsh_completes_by_the_key() {
    if !is_there("zsh") {
        return;
    }
    let place = Place::new();
    let script = script("zsh", "ctx-rollback");
    let folder = script.parent().expect("a folder").display();
    let setup = format!("fpath=({folder} $fpath); autoload -U compinit; compinit -u -D");
    typed(
        &place,
        "zsh",
        &["-f", "-i"],
        &setup,
        &[
            ("ctx-rollback --snapshot lat", "est"),
            ("ctx-rollback -s oth", "er"),
            ("ctx-compact --preset=syn", "apse"),
            ("ctx-count age", "nts/"),
        ],
    );
}
