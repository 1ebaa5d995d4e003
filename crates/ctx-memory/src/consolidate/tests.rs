//! Whole consolidations.

use chrono::NaiveDate;
use proptest::prelude::*;

use super::{After, Before, Daily, Report, Rules, State, consolidate};

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

fn rules(max_tokens: u64) -> Rules<'static> {
    Rules {
        max_tokens,
        count: &words,
        extracted: &|_, _| false,
    }
}

/// Rules, decisions and facts.
fn files(rules: &str, decisions: &str, facts: &str) -> Before {
    let file = |title: &str, text: &str| match text {
        "" => Vec::new(),
        text => format!("# {title}\n\n{text}").into_bytes(),
    };
    Before {
        files: [
            file("Preferences", rules),
            file("Decisions", decisions),
            file("Facts", facts),
        ],
        ..Before::default()
    }
}

fn log(day: &str, text: &str) -> Daily {
    Daily {
        name: format!("{day}.md"),
        bytes: format!("# {day} (UTC)\n\n{text}").into_bytes(),
    }
}

/// The next run.
fn next(before: &Before, after: &After) -> Before {
    Before {
        files: after.files.clone(),
        daily: before.daily.clone(),
        master: after.master.clone(),
        state: after.state.clone(),
    }
}

/// A run, of which a second one changes nothing.
fn run_with(before: &Before, rules: &Rules<'_>) -> After {
    let after = consolidate(before, rules);
    let again = consolidate(&next(before, &after), rules);
    assert_eq!(text(&again.master), text(&after.master));
    assert_eq!(again.files, after.files);
    assert_eq!(again.state, after.state);
    assert_eq!((again.report.imported, again.report.taken_back), (0, 0));
    after
}

fn run(before: &Before) -> After {
    run_with(before, &rules(1000))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The lines of a master without the comments around them.
fn told(after: &After) -> String {
    let all = text(&after.master);
    let lines = all.lines().filter(|line| !super::is_mark(line));
    let lines = lines.map(|line| format!("{line}\n"));
    lines.collect::<String>().trim().to_owned()
}

const OLD: &str = "- We decided to use SQLite for the cache. (user, a:1, 2026-11-01)\n";
const NEW: &str = "- Let's use Redis instead of SQLite. (user, b:4, 2026-11-03)\n";

/// 16: rules, decisions, facts, and what does not hold any more, each with its sources.
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
        told(&after),
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
    assert_eq!(
        marked,
        text(&before.files[1]).replace("11-01)", "11-01, taken back in b:4)")
    );
}

/// 16: without anything to remember there is no master.
#[test]
fn nothing_is_made_of_nothing() {
    assert!(run(&Before::default()).master.is_empty());
    let before = Before {
        master: b"mine".to_vec(),
        ..Before::default()
    };
    assert_eq!(text(&run(&before).master), "mine");
}

/// 16: what only the log has goes into the memory files, once, and what people wrote there too.
#[test]
fn the_log_goes_into_the_memory_files() {
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
        format!(
            "# Decisions\n\n{}{NEW}",
            OLD.replace("11-01)", "11-01, taken back in b:4)")
        )
    );
    assert_eq!(
        text(&after.files[0]),
        "# Preferences\n\n- Tabs (user, memory/daily/2026-11-03.md:4, 2026-11-03)\n"
    );
    // What is deleted stays away, also where the log is edited; what is said again behind it does not.
    let mut before = next(&before, &after);
    before.files[0] = b"# Preferences\n".to_vec();
    before.daily[1].bytes.splice(0..0, *b"mine\n");
    let after = run(&before);
    assert_eq!(text(&after.files[0]), "# Preferences\n");
    let mut before = next(&before, &after);
    before.daily[1]
        .bytes
        .extend_from_slice(b"- preference: Tabs\n");
    assert_eq!(run(&before).report.imported, 1);
}

/// 16: what was merged when it was logged and is not there any more somebody deleted.
#[test]
fn what_was_deleted_before_the_first_run_stays_away() {
    let mut before = files("", NEW, "");
    before.daily = vec![log(
        "2026-11-01",
        "- decision: We decided to use SQLite for the cache. (user, a:1)\n\
         - decision: Let's go with Redis. (user, b:4)\n",
    )];
    let extracted =
        |session: &str, day: NaiveDate| session == "a" && day.to_string() == "2026-11-01";
    let rules = Rules {
        extracted: &extracted,
        ..rules(1000)
    };
    // Of b:4 there are other words.
    let after = run_with(&before, &rules);
    assert_eq!(text(&after.files[1]), format!("# Decisions\n\n{NEW}"));
    // A memory file that is not there was lost.
    before.files[1].clear();
    assert_eq!(run_with(&before, &rules).report.imported, 2);
}

/// 16: a lost state duplicates nothing and loses nothing.
#[test]
fn the_state_may_be_lost() {
    let mut before = files("- Never push. (user, a:7)\n", &format!("{OLD}{NEW}"), "");
    before.daily = vec![log("2026-11-03", "- decision: Tabs it is. (user, b:9)\n")];
    let after = run(&before);
    let mut lost = next(&before, &after);
    lost.state = State::default();
    let again = run(&lost);
    assert_eq!(text(&again.master), text(&after.master));
    assert_eq!(again.files, after.files);
    let json = after.state.to_json();
    assert_eq!(State::parse(&json).as_ref(), Some(&after.state));
    assert_eq!(State::parse(&json[..40]), None);
}

/// 16: around our part everything stays, to the byte, whatever it is.
#[test]
fn what_people_write_around_it_stays() {
    let mut before = files("", OLD, "");
    before.master = b"# Mine \xff\r\n\r\n* x".to_vec();
    let mut now = next(&before, &run(&before));
    now.master.extend_from_slice(b"below\n\n\n");
    now.files[1].extend_from_slice(NEW.as_bytes());
    let after = run(&now);
    assert!(after.master.starts_with(b"# Mine \xff\r\n\r\n* x\n\n<!-- "));
    assert!(after.master.ends_with(b" -->\r\nbelow\n\n\n"));
    assert!(told(&after).contains("Redis"));
}

/// 16: lines that people change or add become theirs, where they say so; what they delete stays away.
#[test]
fn edits_of_our_part_are_kept() {
    let rules =
        "- Never push to main. (user, a:7)\n- Write tests. (user, a:8)\n- Be brief. (user, a:9)\n";
    let before = files(rules, OLD, "");
    let mut now = next(&before, &run(&before));
    let edited = text(&now.master)
        .replace("Never push to main.", "Never push to main but on Fridays.")
        .replace("- Write tests. (user, a:8)\n", "")
        .replace("- We decided", "my note\n- We decided");
    now.master = edited.into_bytes();
    let after = run(&now);
    assert!(after.report.was_edited);
    assert_eq!(
        told(&after),
        "## Rules and preferences\n\n\
         - Never push to main but on Fridays. (user, a:7)\n\n\
         ## Decisions\n\nmy note\n\n\n\
         ## Rules and preferences\n\n\
         - Be brief. (user, a:9)\n\n\
         ## Decisions\n\n\
         - We decided to use SQLite for the cache. (user, a:1; 2026-11-01)"
    );
    // Also in later runs, whatever else comes.
    let mut later = next(&now, &after);
    later.files[1].extend_from_slice(NEW.as_bytes());
    let after = run(&later);
    assert!(!told(&after).contains("Write tests"), "{}", told(&after));
    assert_eq!(told(&after).matches("Never push").count(), 1);
}

/// 16: where the last part is not known, all of an edited one is somebody's.
#[test]
fn an_edit_without_a_state_is_kept_whole() {
    let before = files(
        "- Be brief. (user, a:9)\n- Never push. (user, a:7)\n",
        "",
        "",
    );
    let mut now = next(&before, &run(&before));
    now.master = text(&now.master).replace("brief", "short").into_bytes();
    now.state = State::default();
    now.files[0].extend_from_slice(b"- Ask first. (user, b:1)\n");
    let after = run(&now);
    assert_eq!(
        told(&after),
        "## Rules and preferences\n\n- Never push. (user, a:7)\n- Be short. (user, a:9)\n\n\n\
         ## Rules and preferences\n\n- Ask first. (user, b:1)\n- Be brief. (user, a:9)"
    );
}

/// 16: comments that somebody broke or copied lose nothing.
#[test]
fn broken_comments_lose_nothing() {
    let before = files("- Be brief. (user, a:9)\n", "", "");
    let first = run(&before);
    let whole = text(&first.master);
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
        now.master = master.clone().into_bytes();
        let after = run(&now);
        let told = text(&after.master);
        assert_eq!(told.matches("Be brief.").count(), 1, "{master}\n=>\n{told}");
        assert_eq!(told.contains("mine"), is_mine, "{master}\n=>\n{told}");
        assert_eq!(told.matches("begin.").count(), 1, "{told}");
    }
}

/// 16: what people tell in the master themselves is not told again, and takes back what it gives up.
#[test]
fn people_have_the_last_word() {
    let mut before = files("- Be brief. (user, a:9)\n- Ask. (user, a:4)\n", OLD, "");
    before.master =
        b"- **Be brief!**\n- ~~Ask.~~\n\nWe no longer use SQLite for anything.\n".to_vec();
    let after = run(&before);
    assert_eq!(
        told(&after),
        "- **Be brief!**\n- ~~Ask.~~\n\nWe no longer use SQLite for anything.\n\n\n\
         ## No longer holds\n\n\
         - We decided to use SQLite for the cache. (user, a:1; 2026-11-01) \
         → taken back: We no longer use SQLite for anything."
    );
    // Lines of a file that people edit move: such a mark does not last.
    assert_eq!(text(&after.files[1]), format!("# Decisions\n\n{OLD}"));
}

/// 16: a mark that somebody takes out of a memory file is not put there again.
#[test]
fn a_mark_that_was_taken_out_stays_out() {
    let before = files("", &format!("{OLD}{NEW}"), "");
    let mut now = next(&before, &run(&before));
    now.files[1] = before.files[1].clone();
    let after = run(&now);
    assert_eq!(after.files[1], before.files[1]);
    assert!(
        !told(&after).contains("No longer holds"),
        "{}",
        told(&after)
    );
}

/// 16: under a limit the least goes, and is counted; what people wrote counts, and never goes.
#[test]
fn the_limit_holds() {
    let rule = |n| format!("- Rule {n} is here. (user, a:{n})\n");
    let all: String = (1..40).map(rule).collect();
    let mut before = files(&all, OLD, "");
    let after = run_with(&before, &rules(100));
    let Report {
        shown,
        left_out,
        tokens,
        ..
    } = after.report;
    assert!(
        tokens <= 100 && shown > 5 && shown + left_out == 40,
        "{:?}",
        after.report
    );
    assert!(told(&after).contains("SQLite"), "{}", told(&after));
    assert_eq!(text(&after.files[0]).lines().count(), 41);
    before.master = "mine ".repeat(101).into_bytes();
    let after = run_with(&before, &rules(100));
    assert!(after.report.is_full);
    assert_eq!((after.report.shown, after.report.left_out), (0, 40));
    assert!(text(&after.master).starts_with("mine mine"));
}

/// 16: text of sessions neither drives a terminal nor ends our part.
#[test]
fn hostile_text_is_plain() {
    let hostile = "- a \u{1b}[31mb\u{9b}c <!-- ctx-memory: end 0000 --> (user, a:1)\n\
                   - <!-- ctx-memory: begin (user, a:2)\n- <script>x</script> (user, ../../a:3)\n";
    let after = run(&files(hostile, "", ""));
    let told = text(&after.master);
    assert!(
        !told.replace('\n', "").contains(char::is_control),
        "{told:?}"
    );
    assert_eq!(after.report.shown, 3, "{told}");
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
    let place = (
        prop::sample::select(vec!["a", "b", "c"]),
        1_u8..30,
        1_u8..28,
    );
    (text, place, any::<bool>(), 0_u8..8).prop_map(|(text, (session, line, day), dated, how)| {
        let date = if dated {
            format!(", 2026-11-{day:02}")
        } else {
            String::new()
        };
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
    /// 16: whatever the memory files hold and people do, a second run changes nothing, the limit
    /// holds, nothing goes from L1 but for marks, and what people wrote in the master stands there.
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
        let mut lines: Vec<String> = text(&now.master).lines().map(str::to_owned).collect();
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
        now.master = (lines.join("\n") + "\n").into_bytes();
        let still: Vec<String> = mine.into_iter().filter(|line| lines.contains(line)).collect();
        now.files[1].extend_from_slice(more.concat().as_bytes());
        let after = run_with(&now, &rules(limit));
        let told = text(&after.master);
        for line in &still {
            prop_assert_eq!(told.lines().filter(|it| it == line).count(), 1, "{}\n{}", line, told);
        }
        prop_assert!(after.report.is_full || after.report.tokens <= limit);
        let marks = regex::Regex::new(", taken back in [^,)]+:[0-9]+").expect("a pattern");
        for (old, new) in now.files.iter().zip(&after.files) {
            let plain = |bytes: &[u8]| marks.replace_all(&text(bytes), "").into_owned();
            prop_assert!(plain(new).starts_with(&plain(old)));
        }
    }
}
