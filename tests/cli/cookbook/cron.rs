//! cron.md and prometheus.md: the lines of the crontabs, their mails and exit statuses.

use std::fs;
use std::path::Path;

use super::{bare, file, home, rest, session};
use crate::bench::{Done, good};

struct Crontab {
    path: String,
    commands: Vec<String>,
}

fn crontab(page: &str, name: &str) -> Crontab {
    let text = file(page, name);
    let lines = text.lines().filter(|line| !line.is_empty());
    let mut crontab = Crontab { path: "/usr/bin:/bin".to_owned(), commands: Vec::new() };
    for line in lines.filter(|line| !line.starts_with('#')) {
        if let Some(path) = line.strip_prefix("PATH=") {
            path.clone_into(&mut crontab.path);
        } else if !line.starts_with("MAILTO=") {
            let fields: Vec<&str> = line.split_whitespace().take(5).collect();
            let is_time =
                |field: &&str| field.chars().all(|it| it.is_ascii_digit() || "*/,-".contains(it));
            assert!(fields.iter().all(is_time), "{line}");
            let command = line.splitn(6, char::is_whitespace).last().expect("a command");
            // cron takes a percent sign as the end of the line.
            assert!(!command.contains('%'), "{line}");
            crontab.commands.push(command.trim().to_owned());
        }
    }
    crontab
}

/// Returns the exit status and the text that cron would mail.
fn run(home: &Path, word: &str) -> (i32, String) {
    let crontab = crontab("cron.md", "ctx.crontab");
    let mut commands = crontab.commands.iter();
    let command = commands
        .find(|command| command.contains(word))
        .unwrap_or_else(|| panic!("no line with {word}"));
    let Done { code, stdout, stderr } = bare(home, &crontab.path, command);
    (code, stdout + &stderr)
}

/// One word from each line of the crontab, which identifies the line.
const NIGHT: [&str; 5] = ["ctx-compact", "ctx-snapshot -q >", "ctx-gc", "--verify", "consolidate"];
const SILENT: (i32, String) = (0, String::new());

/// A night without anything to report sends no mail.
#[test]
fn a_good_night_is_silent() {
    let home = home();
    let before = fs::read(session(home.path())).expect("a session");
    for word in NIGHT {
        assert_eq!(run(home.path(), word), SILENT, "{word}");
    }
    let after = fs::read(session(home.path())).expect("a session");
    assert!(after.len() > before.len() && after.starts_with(&before));
    // The compaction has taken one snapshot, and the nightly job another one.
    assert_eq!(good(home.path(), "ctx-snapshot --list").lines().count(), 2);
    // In the next hour, no session needs a compaction, and the next night finds nothing new.
    rest(home.path());
    for word in ["ctx-compact", "ctx-snapshot -q >"] {
        assert_eq!(run(home.path(), word), SILENT, "{word}");
    }
    assert_eq!(good(home.path(), "ctx-snapshot --list").lines().count(), 2);
}

/// If there is no session, no line of the crontab has anything to do.
#[test]
fn a_machine_without_sessions_is_silent() {
    let home = home();
    fs::remove_dir_all(home.path().join(".claude")).expect("removed");
    for word in NIGHT {
        assert_eq!(run(home.path(), word), SILENT, "{word}");
    }
}

/// The mail and the exit status match the table in cron.md.
#[test]
fn what_goes_wrong_is_mailed() {
    let home = home();
    good(home.path(), &format!("touch {}", session(home.path()).display()));
    let (code, mail) = run(home.path(), "ctx-compact");
    assert_eq!(code, 123, "{mail}");
    assert!(mail.contains("; a running agent would not notice"), "{mail}");

    assert_eq!(run(home.path(), "ctx-snapshot -q >"), SILENT);
    let snapshots = "find .local/state/ctx -name '*.jsonl' -path '*session-summaries*'";
    good(home.path(), &format!("chmod u+w $({snapshots}) && printf x >> $({snapshots})"));
    let (code, mail) = run(home.path(), "--verify");
    assert_eq!(code, 1, "{mail}");
    assert!(mail.contains(": FAILED: "), "{mail}");
}

/// The metrics are written for the node exporter, and the alerts use existing metrics.
#[test]
fn the_metrics_are_written_and_the_alerts_know_them() {
    let home = home();
    let crontab = crontab("prometheus.md", "prometheus.crontab");
    let [command] = &crontab.commands[..] else {
        panic!("one line");
    };
    let out = home.path().join("ctx.prom");
    let command =
        command.replace("/var/lib/node_exporter/textfile/ctx.prom", &out.display().to_string());
    let done = bare(home.path(), &crontab.path, &command);
    assert_eq!((done.code, done.stdout + &done.stderr), SILENT);
    let metrics = fs::read_to_string(out).expect("metrics");

    let rules: serde_json::Value =
        serde_saphyr::from_str(&file("prometheus.md", "rules.yml")).expect("YAML");
    let rules = rules["groups"][0]["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), 2);
    for rule in rules {
        let expr = rule["expr"].as_str().expect("an expression");
        let names = expr.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
        let names: Vec<&str> = names.filter(|name| name.starts_with("ctx_")).collect();
        assert_eq!(names.len(), 1, "{expr}");
        assert!(metrics.contains(&format!("# TYPE {} ", names[0])), "{expr}");
    }
}
