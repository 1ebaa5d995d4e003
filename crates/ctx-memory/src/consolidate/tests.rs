//! Tests of the consolidation as a function of the files.

use chrono::NaiveDate;
use proptest::prelude::*;

use super::statement::tests::decisions;
use super::{MASTER, MemoryFiles, NewMemory, Report, Rules, State, add_mark, consolidate, is_mark};
use crate::entry::Citation;
use crate::files::DailyLog;

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

fn rules(max_tokens: u64) -> Rules<'static> {
    Rules { max_tokens, count: &words }
}

fn files(rules: &str, decisions: &str, facts: &str) -> MemoryFiles {
    let file = |title: &str, text: &str| match text {
        "" => Vec::new(),
        text => format!("# {title}\n\n{text}").into_bytes(),
    };
    MemoryFiles {
        files: [
            file("Preferences", rules),
            file("Decisions", decisions),
            file("Facts", facts),
            Vec::new(),
        ],
        ..MemoryFiles::default()
    }
}

fn log(day: &str, text: &str) -> DailyLog {
    DailyLog {
        name: format!("{day}.md"),
        day: day.parse().expect("a day"),
        text: format!("# {day} (UTC)\n\n{text}"),
    }
}

/// The files as the next run finds them.
fn next(before: &MemoryFiles, after: &NewMemory) -> MemoryFiles {
    MemoryFiles {
        files: after.files.clone(),
        daily: before.daily.clone(),
        extractions: before.extractions.clone(),
        state: after.state.clone(),
    }
}

/// Runs twice and checks that the second run changes nothing.
fn run_with(before: &MemoryFiles, rules: &Rules<'_>) -> NewMemory {
    let after = consolidate(before, rules);
    let again = consolidate(&next(before, &after), rules);
    assert_eq!(text(&again.files[MASTER]), text(&after.files[MASTER]));
    assert_eq!(again.files, after.files);
    assert_eq!(again.state, after.state);
    assert_eq!((again.report.imported, again.report.taken_back), (0, 0));
    after
}

fn run(before: &MemoryFiles) -> NewMemory {
    run_with(before, &rules(1000))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The master without the comments around the generated part.
fn master_text(after: &NewMemory) -> String {
    let all = text(&after.files[MASTER]);
    let lines = all.lines().filter(|line| !is_mark(line));
    let lines = lines.map(|line| format!("{line}\n"));
    lines.collect::<String>().trim().to_owned()
}

const OLD: &str = "- We decided to use SQLite for the cache. (user, a:1, 2026-11-01)\n";
const NEW: &str = "- Let's use Redis instead of SQLite. (user, b:4, 2026-11-03)\n";

#[test]
fn the_master_has_its_sections() {
    let before = files(
        "- Never push to main. (user, a:7, 2026-11-01)\n- mine\n",
        &format!("{OLD}{NEW}- We decided to use tabs. (assistant, c:9)\n"),
        "- The port is 8443. (assistant, b:2, 2026-11-03)\n\
         - So the port is 8443. (assistant, 0a1b2c3d-0000-4000-8000-0123456789ab:5, 2026-11-02)\n\
         - The port is 8443! (assistant, d:6, 2026-11-02)\n",
    );
    let after = run(&before);
    assert_eq!(
        master_text(&after),
        "## Rules and preferences\n\n\
         - mine (by hand, memory/extracted/preferences.md:4)\n\
         - Never push to main. (user, a:7; 2026-11-01)\n\n\
         ## Decisions\n\n\
         - Let's use Redis instead of SQLite. (user, b:4; 2026-11-03)\n\
         - We decided to use tabs. (assistant, c:9)\n\n\
         ## Facts\n\n\
         - So the port is 8443. (assistant, 0a1b2c3d:5, b:2 and 1 more; 2026-11-03)\n\n\
         ## No longer holds\n\n\
         - We decided to use SQLite for the cache. (user, a:1; 2026-11-01) \
         → taken back in b:4: Let's use Redis instead of SQLite."
    );
    let marked = text(&after.files[1]);
    assert_eq!(marked, text(&before.files[1]).replace("11-01)", "11-01, taken back in b:4)"));
}

#[test]
fn no_master_is_created_without_statements() {
    assert!(run(&MemoryFiles::default()).files[MASTER].is_empty());
    let mut before = MemoryFiles::default();
    before.files[MASTER] = b"mine".to_vec();
    assert_eq!(text(&run(&before).files[MASTER]), "mine");
}

#[test]
fn new_log_entries_are_imported_once() {
    let mut before = files("", OLD, "");
    before.daily = vec![
        log(
            "2026-11-01",
            "## 10:00:00 a: extracted 1 new item\n\n- decision: We decided to use SQLite for the cache. (user, a:1)\n",
        ),
        log(
            "2026-11-03",
            "- decision: Let's use Redis instead of SQLite. (user, b:4)\n- preference: Tabs\n- fact: ~~no~~\n",
        ),
    ];
    let after = run(&before);
    assert_eq!(after.report.imported, 2);
    assert_eq!(
        text(&after.files[1]),
        format!("# Decisions\n\n{}{NEW}", OLD.replace("11-01)", "11-01, taken back in b:4)"))
    );
    assert_eq!(
        text(&after.files[0]),
        "# Preferences\n\n- Tabs (user, memory/daily/2026-11-03.md:4, 2026-11-03)\n"
    );
    // A deleted entry stays deleted even if the log is edited.
    let mut before = next(&before, &after);
    before.files[0] = b"# Preferences\n".to_vec();
    before.daily[1].text.insert_str(0, "mine\n");
    let after = run(&before);
    assert_eq!(text(&after.files[0]), "# Preferences\n");
}

#[test]
fn entries_deleted_before_the_first_run_stay_deleted() {
    let mut before = files("", NEW, "");
    before.daily = vec![log(
        "2026-11-01",
        "- decision: We decided to use SQLite for the cache. (user, a:1)\n\
         - decision: Let's go with Redis. (user, b:4)\n",
    )];
    let day: NaiveDate = "2026-11-01".parse().expect("a day");
    before.extractions.insert((Some("a".to_owned()), day));
    // Entry b:4 has been reworded.
    let after = run(&before);
    assert_eq!(text(&after.files[1]), format!("# Decisions\n\n{NEW}"));
    // A missing memory file was lost rather than emptied by a person, so its entries come back.
    before.files[1].clear();
    assert_eq!(run(&before).report.imported, 2);
}

#[test]
fn a_lost_state_loses_and_repeats_nothing() {
    let mut before = files("- Never push. (user, a:7)\n", &format!("{OLD}{NEW}"), "");
    before.daily = vec![log("2026-11-03", "- decision: Tabs it is. (user, b:9)\n")];
    let after = run(&before);
    let mut lost = next(&before, &after);
    lost.state = State::default();
    let again = run(&lost);
    assert_eq!(text(&again.files[MASTER]), text(&after.files[MASTER]));
    assert_eq!(again.files, after.files);
    let json = after.state.to_json();
    assert_eq!(serde_json::from_str::<State>(&json).ok().as_ref(), Some(&after.state));
    assert!(serde_json::from_str::<State>(&json[..40]).is_err());
}

#[test]
fn text_around_our_part_stays_byte_for_byte() {
    let mut before = files("", OLD, "");
    before.files[MASTER] = b"# Mine \xff\r\n\r\n* x".to_vec();
    let mut now = next(&before, &run(&before));
    now.files[MASTER].extend_from_slice(b"below\n\n\n");
    now.files[1].extend_from_slice(NEW.as_bytes());
    let after = run(&now);
    assert!(after.files[MASTER].starts_with(b"# Mine \xff\r\n\r\n* x\n\n<!-- "));
    assert!(after.files[MASTER].ends_with(b" -->\r\nbelow\n\n\n"));
    assert!(master_text(&after).contains("Redis"));
}

#[test]
fn edited_lines_become_the_editors_and_deleted_ones_stay_deleted() {
    let rules =
        "- Never push to main. (user, a:7)\n- Write tests. (user, a:8)\n- Be brief. (user, a:9)\n";
    let before = files(rules, OLD, "");
    let mut now = next(&before, &run(&before));
    let edited = text(&now.files[MASTER])
        .replace("Never push to main.", "Never push to main but on Fridays.")
        .replace("- Write tests. (user, a:8)\n", "")
        .replace("- We decided", "my note\n- We decided");
    now.files[MASTER] = edited.into_bytes();
    let after = run(&now);
    assert!(after.report.was_edited);
    assert_eq!(
        master_text(&after),
        "## Rules and preferences\n\n\
         - Never push to main but on Fridays. (user, a:7)\n\n\
         ## Decisions\n\nmy note\n\n\n\
         ## Rules and preferences\n\n\
         - Be brief. (user, a:9)\n\n\
         ## Decisions\n\n\
         - We decided to use SQLite for the cache. (user, a:1; 2026-11-01)"
    );
    // Later runs do not add the edited and deleted lines again.
    let mut later = next(&now, &after);
    later.files[1].extend_from_slice(NEW.as_bytes());
    let after = run(&later);
    assert!(!master_text(&after).contains("Write tests"), "{}", master_text(&after));
    assert_eq!(master_text(&after).matches("Never push").count(), 1);
}

#[test]
fn without_a_state_all_of_an_edited_part_is_kept() {
    let before = files("- Be brief. (user, a:9)\n- Never push. (user, a:7)\n", "", "");
    let mut now = next(&before, &run(&before));
    now.files[MASTER] = text(&now.files[MASTER]).replace("brief", "short").into_bytes();
    now.state = State::default();
    now.files[0].extend_from_slice(b"- Ask first. (user, b:1)\n");
    let after = run(&now);
    assert_eq!(
        master_text(&after),
        "## Rules and preferences\n\n- Never push. (user, a:7)\n- Be short. (user, a:9)\n\n\n\
         ## Rules and preferences\n\n- Ask first. (user, b:1)\n- Be brief. (user, a:9)"
    );
}

#[test]
fn broken_or_copied_comments_lose_nothing() {
    let before = files("- Be brief. (user, a:9)\n", "", "");
    let first = run(&before);
    let whole = text(&first.files[MASTER]);
    let lines: Vec<&str> = whole.lines().collect();
    let end = lines.len() - 1;
    for master in [
        lines[1..].join("\n"),
        lines[..end].join("\n"),
        lines[1..end].join("\n"),
        format!("{whole}mine\n{whole}"),
        format!("{whole}{}\nmine\n", lines[0]),
        format!("{}\nmine\n{whole}", lines[end]),
    ] {
        let mut now = next(&before, &first);
        let is_mine = master.contains("mine");
        now.files[MASTER] = master.clone().into_bytes();
        let after = run(&now);
        let master = text(&after.files[MASTER]);
        assert_eq!(master.matches("Be brief.").count(), 1, "{master}\n=>\n{master}");
        assert_eq!(master.contains("mine"), is_mine, "{master}\n=>\n{master}");
        assert_eq!(master.matches("begin.").count(), 1, "{master}");
    }
}

#[test]
fn text_of_people_in_the_master_is_not_repeated_and_takes_back() {
    let mut before = files("- Be brief. (user, a:9)\n- Ask. (user, a:4)\n", OLD, "");
    before.files[MASTER] =
        b"- **Be brief!**\n- ~~Ask.~~\n\nWe no longer use SQLite for anything.\n".to_vec();
    let after = run(&before);
    assert_eq!(
        master_text(&after),
        "- **Be brief!**\n- ~~Ask.~~\n\nWe no longer use SQLite for anything.\n\n\n\
         ## No longer holds\n\n\
         - We decided to use SQLite for the cache. (user, a:1; 2026-11-01) \
         → taken back: We no longer use SQLite for anything."
    );
    // Line numbers change when people edit the master, so L1 gets no mark that cites such a line.
    assert_eq!(text(&after.files[1]), format!("# Decisions\n\n{OLD}"));
}

#[test]
fn a_removed_mark_is_not_added_again() {
    let before = files("", &format!("{OLD}{NEW}"), "");
    let mut now = next(&before, &run(&before));
    now.files[1] = before.files[1].clone();
    let after = run(&now);
    assert_eq!(after.files[1], before.files[1]);
    assert!(!master_text(&after).contains("No longer holds"), "{}", master_text(&after));
}

#[test]
fn the_limit_drops_the_least_important_and_never_text_of_people() {
    let rule = |n| format!("- Rule {n} is here. (user, a:{n})\n");
    let all: String = (1..40).map(rule).collect();
    let mut before = files(&all, OLD, "");
    let after = run_with(&before, &rules(100));
    let Report { shown, left_out, tokens, .. } = after.report;
    assert!(tokens <= 100 && shown > 5 && shown + left_out == 40, "{:?}", after.report);
    assert!(master_text(&after).contains("SQLite"), "{}", master_text(&after));
    assert_eq!(text(&after.files[0]).lines().count(), 41);
    before.files[MASTER] = "mine ".repeat(101).into_bytes();
    let after = run_with(&before, &rules(100));
    assert!(after.report.is_full);
    assert_eq!((after.report.shown, after.report.left_out), (0, 40));
    assert!(text(&after.files[MASTER]).starts_with("mine mine"));
}

#[test]
fn hostile_text_neither_drives_a_terminal_nor_ends_our_part() {
    let hostile = "- a \u{1b}[31mb\u{9b}c <!-- ctx-memory: end 0000 --> (user, a:1)\n\
                   - <!-- ctx-memory: begin (user, a:2)\n- <script>x</script> (user, ../../a:3)\n";
    let after = run(&files(hostile, "", ""));
    let master = text(&after.files[MASTER]);
    assert!(!master.replace('\n', "").contains(char::is_control), "{master:?}");
    assert_eq!(after.report.shown, 3, "{master}");
}

fn entry() -> impl Strategy<Value = String> {
    let text = prop::sample::select(vec![
        "We decided to use SQLite for the cache.",
        "So we decided to use SQLite for the cache",
        "Let's use Redis instead of SQLite.",
        "We decided to go back to SQLite instead of Redis for the cache.",
        "我们决定用 SQLite。",
        "我们决定改用 Redis，不再用 SQLite。",
        "Never push to main.",
    ]);
    let place = (prop::sample::select(vec!["a", "b", "c"]), 1_u8..30, 1_u8..28);
    (text, place, any::<bool>(), 0_u8..8).prop_map(|(text, (session, line, day), dated, how)| {
        let date = if dated { format!(", 2026-11-{day:02}") } else { String::new() };
        match how {
            0 => format!("- {text}\n"),
            1 => format!("- ~~{text} (user, {session}:{line}{date})~~\n"),
            2 => format!(
                "- {text} (assistant, {session}:{line}{date}, taken back in {session}:40)\n"
            ),
            _ => format!("- {text} (user, {session}:{line}{date})\n"),
        }
    })
}

proptest! {
    #[test]
    fn consolidation_is_idempotent_and_loses_nothing(
        decisions in prop::collection::vec(entry(), 0..9),
        facts in prop::collection::vec(entry(), 0..4),
        daily in prop::collection::vec(entry(), 0..4),
        more in prop::collection::vec(entry(), 0..4),
        edits in prop::collection::vec((0_usize..40, 0_u8..3), 0..4),
        limit in 20_u64..200,
    ) {
        let logged = daily.iter().map(|it| it.replacen("- ", "- decision: ", 1)).collect::<String>();
        let mut before = files("", &decisions.concat(), &facts.concat());
        before.daily = vec![log("2026-11-20", &logged)];
        let after = run_with(&before, &rules(limit));
        let mut now = next(&before, &after);
        let mut lines: Vec<String> = text(&now.files[MASTER]).lines().map(str::to_owned).collect();
        let mut mine = Vec::new();
        for (number, (at, how)) in edits.into_iter().enumerate() {
            let at = at % (lines.len() + 1);
            match how {
                0 if at < lines.len() => { lines.remove(at); }
                1 if at < lines.len() && lines[at].starts_with("- ") => {
                    lines[at] = format!("- my words {number}");
                    mine.push(lines[at].clone());
                }
                _ => { let line = format!("note {number}"); lines.insert(at, line.clone()); mine.push(line); }
            }
        }
        now.files[MASTER] = (lines.join("\n") + "\n").into_bytes();
        let still: Vec<String> = mine.into_iter().filter(|line| lines.contains(line)).collect();
        now.files[1].extend_from_slice(more.concat().as_bytes());
        let after = run_with(&now, &rules(limit));
        let master = text(&after.files[MASTER]);
        for line in &still {
            prop_assert_eq!(master.lines().filter(|it| it == line).count(), 1, "{}\n{}", line, master);
        }
        prop_assert!(after.report.is_full || after.report.tokens <= limit);
        let marks = regex::Regex::new(", taken back in [^,)]+:[0-9]+").expect("a pattern");
        for (old, new) in now.files[..MASTER].iter().zip(&after.files) {
            let plain = |bytes: &[u8]| marks.replace_all(&text(bytes), "").into_owned();
            prop_assert!(plain(new).starts_with(&plain(old)));
        }
    }
}

#[test]
fn a_mark_changes_only_the_parenthesis_of_our_entry() {
    let by = Citation { session: "b".to_owned(), line: 9 };
    for (old, new) in [
        (
            "# D\n- Use A. (user, a:1) \t\r\n- b\n",
            Some("# D\n- Use A. (user, a:1, taken back in b:9) \t\r\n- b\n"),
        ),
        (
            "* Use A. (user, a:1, 2026-11-20)",
            Some("* Use A. (user, a:1, 2026-11-20, taken back in b:9)"),
        ),
        ("- Use A.\n", None),
    ] {
        let mut file = old.as_bytes().to_vec();
        let is_marked = add_mark(&mut file, &decisions(old)[0], &by);
        assert_eq!(is_marked, new.is_some());
        assert_eq!(String::from_utf8_lossy(&file), new.unwrap_or(old));
    }
}
