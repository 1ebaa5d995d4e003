//! For thirty days sessions are extracted and consolidated, while a person edits the memory files.
//! The clock is a faked one, the tools are the real ones.
//!
//! `CTX_TRANSCRIPTS=DIR cargo test --test cli memory_days:: -- --nocapture` also uses the sessions
//! of Claude Code in that folder, and prints the memory that they give.

mod field;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ctx_tokens::Encoding;
use serde_json::json;

use field::{Field, MASTER};

const DAYS: u32 = 30;
const MOST: u64 = 1500;

/// A matter that is decided, repeated in other sessions, and decided differently later. Some
/// matters are decided a third time, as at first.
struct Matter {
    subject: &'static str,
    first: &'static str,
    second: &'static str,
    is_chinese: bool,
}

const MATTERS: [Matter; 8] = [
    english("the nightly export", "SQLite", "Postgres"),
    english("the waiting list", "RabbitMQ", "Kafka"),
    chinese("候补名单", "MySQL", "MongoDB"),
    english("the front end", "Svelte", "Solid2"),
    chinese("日志", "Fluentd2", "VectorD"),
    english("the builds", "JenkinsX", "BuildKite"),
    english("the search index", "SolrCloud", "TypeSense"),
    chinese("备份", "ResticD", "BorgBase"),
];

const fn english(subject: &'static str, first: &'static str, second: &'static str) -> Matter {
    Matter { subject, first, second, is_chinese: false }
}

const fn chinese(subject: &'static str, first: &'static str, second: &'static str) -> Matter {
    Matter { subject, first, second, is_chinese: true }
}

impl Matter {
    fn decided(&self) -> String {
        let Self { subject, first, .. } = self;
        if self.is_chinese {
            format!("我们决定用 {first} 存{subject}。")
        } else {
            format!("We decided to use {first} for {subject} of the harbour.")
        }
    }

    /// Returns the decision in nearly the same words.
    fn repeated(&self) -> String {
        let Self { subject, first, .. } = self;
        if self.is_chinese {
            format!("我们已经决定用 {first} 存{subject}了。")
        } else {
            format!("So we decided to use {first} for {subject} of the whole harbour.")
        }
    }

    fn changed(&self) -> String {
        let Self { subject, first, second, .. } = self;
        if self.is_chinese {
            format!("我们决定{subject}改用 {second}，不再用 {first}。")
        } else {
            format!("We decided to use {second} instead of {first} for {subject}.")
        }
    }

    fn changed_back(&self) -> String {
        let Self { subject, first, second, .. } = self;
        if self.is_chinese {
            format!("我们决定{subject}换回 {first}，弃用 {second}。")
        } else {
            format!("We decided to go back to {first} instead of {second} for {subject}.")
        }
    }

    fn is_changed_back(&self) -> bool {
        self.subject.len().is_multiple_of(2)
    }

    /// In the end the first choice is made again, either with a note about the choice that it
    /// replaces or in exactly the words of the first time.
    fn decided_again(&self) -> String {
        if self.is_changed_back() { self.changed_back() } else { self.decided() }
    }
}

/// Returns the statements of the user on a day, with their sessions. A late statement is in a
/// session that is extracted days after it was written.
fn said(day: u32) -> Vec<(String, u32, String)> {
    let mut said = Vec::new();
    for (number, matter) in (1..).zip(&MATTERS) {
        let session = |name: &str| format!("{name}-{}", (day + number) % 5);
        if day == number {
            said.push((session("plan"), day, matter.decided()));
        }
        if day == number + 3 {
            said.push((session("work"), day, matter.repeated()));
        }
        if day == number + 9 {
            said.push((session("plan"), day, matter.changed()));
        }
        if day == number + 12 {
            said.push((format!("late-{number}"), number + 5, matter.repeated()));
        }
        if day == number + 17 {
            let session = format!("again-{number}");
            said.push((session, day, matter.decided_again()));
        }
    }
    let session = format!("plan-{}", day % 5);
    said.push((
        session.clone(),
        day,
        format!("Never touch the folder data{day}/ without asking me."),
    ));
    said.push((
        session,
        day,
        format!("The live file of day {day} is /var/lib/harbour/day{day}.db."),
    ));
    said
}

/// Returns a record of a session, written on that day.
fn record(day: u32, text: &str) -> String {
    let time = chrono::DateTime::from_timestamp(1_790_000_000 + i64::from(day) * 86_400, 0);
    let time = time.expect("a time").to_rfc3339();
    format!("{}\n", json!({"role": "user", "content": text, "timestamp": time}))
}

/// The edits that a person makes on some days.
fn edit(field: &mut Field, day: u32) {
    let is_rule = |line: &str| line.starts_with("- Never touch");
    match day {
        4 => field.write(MASTER, "- Ana decides what ships."),
        7 => {
            field.change(MASTER, is_rule, |line| line.replace("Never touch", "Never even look at"));
        }
        9 => field.delete(|line| line.starts_with("- Never touch")),
        12 => field
            .change("extracted/preferences.md", is_rule, |line| format!("- ~~{}~~", &line[2..])),
        15 => field.change(
            "extracted/facts.md",
            |line| line.contains("/day2.db"),
            |line| line.replace("The live", "The old"),
        ),
        18 => field.write("extracted/decisions.md", "- We ship on Thursdays."),
        21 => field.change(
            MASTER,
            |line| line.starts_with("## Decisions"),
            |_| "## What we decided".to_owned(),
        ),
        _ => {}
    }
}

/// On each of thirty days a second run changes nothing, the master stays within its limit, edits
/// are kept byte for byte, and a superseded decision never appears as valid.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn thirty_days_of_memory() {
    let Some(mut field) = Field::new() else {
        eprintln!("skipped: cc is not here, or nothing can be preloaded");
        return;
    };
    let mut sessions: BTreeMap<String, String> = BTreeMap::new();
    for day in 1..=DAYS {
        for (session, written, text) in said(day) {
            let records = sessions.entry(session.clone()).or_default();
            let _ = write!(records, "{}", record(written, &text));
            field.extract(day, &session, records.as_bytes());
        }
        edit(&mut field, day);
        field.consolidate(day, MOST);
        field.edits_survive(day);
        is_bounded(&field, day);
        let part = field.part();
        for (number, matter) in (1..).zip(&MATTERS) {
            let told = |text: &str| part.current.iter().any(|line| line.contains(text));
            let first = told(&matter.decided()) || told(&matter.repeated());
            let is_changed = day >= number + 9;
            let is_again = day >= number + 17;
            if is_changed && (!is_again || matter.is_changed_back()) {
                assert!(!first, "day {day}: {:#?}", part.current);
            }
            if is_again {
                assert!(!told(&matter.changed()), "day {day}: {:#?}", part.current);
            }
        }
    }
    // Without a limit, all valid topics are listed, and the others are in the history.
    field.consolidate(DAYS, 20_000);
    let part = field.part();
    for matter in &MATTERS {
        let holds = |line: &&String| {
            line.contains(&matter.decided_again()) || line.contains(&matter.repeated())
        };
        assert!(
            part.current.iter().any(|line| holds(&line)),
            "{}: {:#?}",
            matter.first,
            part.current
        );
        let is_old =
            |line: &&String| line.contains(&matter.changed()) && line.contains("taken back in");
        assert!(
            part.history.iter().any(|line| is_old(&line)),
            "{}: {:#?}",
            matter.first,
            part.history
        );
    }
    assert!(part.current.iter().any(|line| line.starts_with("- We ship on Thursdays. (by hand, ")));
}

fn is_bounded(field: &Field, day: u32) {
    let master = field.read(MASTER);
    let tokens = Encoding::default().counter().count(&master);
    assert!(tokens <= MOST, "day {day}: {tokens} tokens");
}

/// Runs thirty days with sessions of real agents, if they are given.
#[test]
#[allow(clippy::print_stderr)] // A person looks at the result.
fn thirty_days_of_real_sessions() {
    let Some(folder) = std::env::var_os("CTX_TRANSCRIPTS") else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("claude-code");
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let texts: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).expect("read")).collect();
    let mut field = Field::new().expect("a clock that can be faked");
    for day in 1..=DAYS {
        for (number, text) in (0..).zip(&texts) {
            // Each session grows for three days.
            let begins = 1 + number * (DAYS - 3) / u32::try_from(texts.len()).expect("few");
            let age = (day + 1).saturating_sub(begins).min(3);
            if age == 0 || day > begins + 2 {
                continue;
            }
            let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
            let until = lines.len() * age as usize / 3;
            field.extract(day, &format!("s{number:02}"), &lines[..until].concat());
        }
        match day {
            5 => field.write(MASTER, "My own words."),
            8 | 16 => field.change(
                MASTER,
                |line| line.starts_with("- ") && line.contains("; ") && !line.contains("Indeed"),
                |line| line.replacen("- ", "- Indeed: ", 1),
            ),
            11 => field.delete(|line| {
                line.starts_with("- ") && line.contains("; ") && !line.contains("Indeed")
            }),
            _ => {}
        }
        let told = field.consolidate(day, MOST);
        field.edits_survive(day);
        is_bounded(&field, day);
        let part = field.part();
        for said in field.taken_back() {
            let line = part.current.iter().find(|line| line.starts_with(&format!("- {said} (")));
            assert!(line.is_none(), "day {day}: {line:?}");
        }
        eprintln!("day {day}: {told}; store {} bytes", field.size());
    }
    eprintln!("{}\n{}", field.folder().display(), field.read(MASTER));
}
