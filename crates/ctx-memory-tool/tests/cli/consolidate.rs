//! Tests of `ctx-memory consolidate`.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use crate::field::Field;

const OLD: &str = "- We decided to use SQLite for the cache. (user, a:1, 2026-11-01)\n";
const NEW: &str = "- Let's use Redis instead of SQLite. (user, b:4, 2026-11-03)\n";

/// Two decisions, a rule that occurs only in a log, and a fact stated in two sessions.
fn field() -> Field {
    let field = Field::new();
    field.put("FORMAT", "{\"format\":1}\n");
    field.put("memory/extracted/decisions.md", &format!("# Decisions\n\n{OLD}{NEW}"));
    field.put(
        "memory/extracted/facts.md",
        "# Facts\n\n- 端口设为 8443。 (user, c:2, 2026-11-02)\n- 端口设为 8443 (assistant, d:5, 2026-11-04)\n",
    );
    field.put(
        "memory/daily/2026-11-04.md",
        "# 2026-11-04 (UTC)\n\n- preference: Never push to main.\n",
    );
    field
}

fn read(field: &Field, name: &str) -> String {
    fs::read_to_string(field.root().join(name)).unwrap_or_default()
}

const PART: &str = "\n## Rules and preferences\n\n\
    - Never push to main. (user, memory/daily/2026-11-04.md:3; 2026-11-04)\n\n\
    ## Decisions\n\n\
    - Let's use Redis instead of SQLite. (user, b:4; 2026-11-03)\n\n\
    ## Facts\n\n\
    - 端口设为 8443。 (user, c:2, d:5; 2026-11-04)\n\n\
    ## No longer holds\n\n\
    - We decided to use SQLite for the cache. (user, a:1; 2026-11-01) → taken back in b:4: Let's use Redis instead of SQLite.\n\n";

/// The generated part of the master: the lines between the two comments.
fn part(field: &Field) -> String {
    let master = read(field, "memory/summary/master.md");
    let from = master.find("-->\n").expect("the first one") + 4;
    master[from..master.rfind("<!-- ").expect("the last one")].to_owned()
}

/// Log entries are added to the memory files, and from there to the master. A second run changes
/// nothing.
#[test]
fn the_memory_is_brought_together_once() {
    let field = field();
    field
        .call(&["consolidate", "--json"])
        .stdout(
            "{\"changed\":[\"memory/extracted/preferences.md\",\"memory/extracted/decisions.md\",\
             \"memory/summary/master.md\"],\"imported\":1,\"taken_back\":1,\"statements\":5,\
             \"topics\":4,\"history\":1,\"own\":0,\"shown\":4,\"left_out\":0,\"tokens\":176,\
             \"edited\":false}\n",
        )
        .run();
    assert_eq!(part(&field), PART);
    assert_eq!(
        read(&field, "memory/extracted/decisions.md"),
        format!("# Decisions\n\n{}{NEW}", OLD.replace("11-01)", "11-01, taken back in b:4)"))
    );
    let today = chrono::Utc::now().format("%F");
    let daily = read(&field, &format!("memory/daily/{today}.md"));
    assert!(
        daily.ends_with(" consolidated: 1 new in the memory files, 1 taken back; the master has 4 topics, 176 tokens\n"),
        "{daily}"
    );
    let log = read(&field, "context/events.jsonl");
    assert_eq!(log.lines().count(), 2, "{log}");
    field.call(&["consolidate"]).run();
    assert_eq!(read(&field, "context/events.jsonl"), log);
    assert_eq!(part(&field), PART);
    field.call(&["inject", "--without", "runtime"]).stdout(format!("{}\n", PART.trim())).run();
}

/// `-n` shows what would change without changing anything.
#[test]
fn a_dry_run_is_a_diff() {
    let field = field();
    field
        .call(&["consolidate", "-n"])
        .stdout(format!(
            "--- a/memory/extracted/preferences.md\n+++ b/memory/extracted/preferences.md\n\
             @@ -0,0 +1,3 @@\n+# Preferences\n+\n\
             +- Never push to main. (user, memory/daily/2026-11-04.md:3, 2026-11-04)\n\
             --- a/memory/extracted/decisions.md\n+++ b/memory/extracted/decisions.md\n\
             @@ -1,4 +1,4 @@\n # Decisions\n \n-{OLD}+{} {NEW}\
             --- a/memory/summary/master.md\n+++ b/memory/summary/master.md\n\
             @@ -0,0 +1,19 @@\n\
             +<!-- ctx-memory: begin. Edit at will: what you write here stays, what you delete stays away -->\n{}\
             +<!-- ctx-memory: end 0980d4074ab689bf -->\n",
            OLD.replace("11-01)", "11-01, taken back in b:4)"),
            PART.replace('\n', "\n+").trim_end_matches('+').replacen('\n', "+\n", 1),
        ))
        .run();
    assert!(!field.root().join("context").exists());
    assert!(!field.root().join("memory/summary").exists());
    field.call(&["consolidate"]).run();
    field.call(&["consolidate", "-n"]).run();
}

/// Entries that do not fit are counted, and people's text is never omitted.
#[test]
fn what_is_left_out_is_said() {
    let field = field();
    field
        .call(&["consolidate", "--max-tokens", "100", "--json"])
        .stdout_has("\"shown\":2,\"left_out\":2,")
        .stderr("ctx-memory: warning: 2 topics did not fit into master.md; raise --max-tokens\n")
        .run();
    field.put("memory/summary/master.md", &"mine ".repeat(101));
    field
        .call(&["consolidate", "--max-tokens", "100"])
        .stderr("ctx-memory: warning: your own text in master.md exceeds --max-tokens (100 tokens), so the file contains nothing else; raise --max-tokens, or shorten your text\n")
        .run();
    assert!(read(&field, "memory/summary/master.md").starts_with("mine mine "));
    assert_eq!(part(&field), "");
}

/// Without memory files there is nothing to do, and no store is created.
#[test]
fn nothing_is_made_of_nothing() {
    let field = Field::new();
    field.call(&["consolidate"]).run();
    field.call(&["consolidate", "-n"]).run();
    assert!(!field.root().exists());
}

/// A path that is not a regular file in the store is neither read nor replaced.
#[test]
fn a_link_is_refused() {
    let field = field();
    let outside = field.dir.path().join("outside.md");
    fs::write(&outside, "secret\n").expect("written");
    fs::create_dir(field.root().join("memory/summary")).expect("made");
    symlink(&outside, field.root().join("memory/summary/master.md")).expect("a link");
    for args in [&["consolidate"][..], &["consolidate", "-n"]] {
        field.call(args).code(2).stderr_has("store/memory/summary/master.md: cannot read: ").run();
    }
    assert_eq!(fs::read_to_string(outside).expect("there"), "secret\n");
    assert!(!field.root().join("context").exists());
}

/// While another run changes the memory, a run waits and then reports that the memory is busy.
#[test]
fn another_run_is_waited_for() {
    let field = field();
    let lock = File::open(field.root().join("memory/extracted")).expect("there");
    lock.lock().expect("locked");
    field
        .call(&["consolidate"])
        .code(4)
        .stderr("ctx-memory: store/memory/extracted is being changed by another run; try again\n")
        .run();
}

/// If the master cannot be written, the memory files do not change.
#[test]
fn what_cannot_be_written_changes_nothing() {
    let field = field();
    let summary = field.root().join("memory/summary");
    fs::create_dir(&summary).expect("made");
    fs::write(summary.join("master.md"), "mine\n").expect("written");
    fs::set_permissions(&summary, Permissions::from_mode(0o500)).expect("closed");
    if fs::write(summary.join("probe"), "").is_ok() {
        // A superuser can write even to this folder, so the test would prove nothing.
        return;
    }
    let before = read(&field, "memory/extracted/decisions.md");
    field.call(&["consolidate"]).code(2).stderr_has("cannot create").run();
    assert_eq!(read(&field, "memory/extracted/decisions.md"), before);
}

/// Text that contains control characters, or looks like our format, is only text.
#[test]
fn hostile_text_is_plain() {
    let field = field();
    let hostile = "# Facts\n\n- the \u{1b}]0;x\u{7}port \u{9b}2J (user, a:1)\n\
        - <!-- ctx-memory: end 0 --> (user, a:2)\n- up (user, ../../../../etc/passwd:3)\n";
    field.put("memory/extracted/facts.md", hostile);
    field.call(&["consolidate"]).run();
    let master = read(&field, "memory/summary/master.md");
    assert!(!master.contains(|c: char| c.is_control() && c != '\n'), "{master:?}");
    assert_eq!(read(&field, "memory/extracted/facts.md"), hostile);
    field.call(&["consolidate", "-n"]).run();
}

/// A run that is killed at any moment loses nothing, and the next run completes.
#[test]
fn a_storm_of_kills() {
    const ROUNDS: u32 = 60;
    let whole = field();
    let start = Instant::now();
    whole.call(&["consolidate"]).run();
    let span = start.elapsed();
    let mut killed = 0;
    for round in 0..ROUNDS {
        let field = field();
        field.put("memory/summary/master.md", "# Mine\n\nwords\n");
        let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_ctx-memory"))
            .args(["consolidate", "--store"])
            .arg(field.root())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        // This order of delays hits early, middle and late system calls alike.
        std::thread::sleep(span * (round * 37 % ROUNDS) / ROUNDS);
        run.kill().expect("killed");
        killed += u32::from(run.wait().expect("ended").code().is_none());
        let decisions = read(&field, "memory/extracted/decisions.md");
        assert!(decisions.contains("SQLite for the cache.") && decisions.ends_with(NEW));
        assert!(read(&field, "memory/summary/master.md").starts_with("# Mine\n\nwords\n"));
        field.call(&["consolidate"]).run();
        assert_eq!(part(&field), PART);
        let preferences = read(&field, "memory/extracted/preferences.md");
        assert_eq!(preferences.lines().count(), 3, "{preferences}");
        field.call(&["consolidate", "-n"]).run();
        for folder in ["memory/extracted", "memory/summary"] {
            assert_eq!(hidden(&field.root().join(folder)), [""; 0]);
        }
    }
    assert!(killed > ROUNDS / 6, "{killed}");
}

/// The names in a folder that start with a dot.
fn hidden(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names.filter(|name| name.starts_with('.')).collect()
}
