use std::borrow::Cow;

use ctx_format::Role;

use super::MemoryKind::{Decision, Fact, Preference};
use super::{LISTS, MemoryKind, Sentence, TABLES, simplified};

fn is_a(kind: MemoryKind, sentence: &str, role: Role) -> bool {
    Sentence::new(sentence, role).is_a(kind)
}

fn is_kept(kind: MemoryKind, sentence: &str, role: Role) -> bool {
    Sentence::new(sentence, role).is_kept_as(kind)
}

#[test]
fn each_pattern_finds_its_sentences_and_no_look_alikes() {
    let (mut kind, mut expected) = (Decision, None);
    let mut tested: Vec<(MemoryKind, &str)> = Vec::new();
    let lines = include_str!("examples.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("== ") {
            kind = MemoryKind::ALL
                .into_iter()
                .find(|kind| <&str>::from(kind) == name)
                .expect("a kind");
        } else if let Some(name) = line.strip_prefix('[') {
            expected = Some(name.trim_end_matches(']')).filter(|name| !name.is_empty());
            tested.extend(expected.map(|name| (kind, name)));
        } else {
            let found = Sentence::new(line, Role::User).pattern(kind).map(|pattern| pattern.name);
            assert_eq!(found, expected, "{line}");
        }
    }
    for kind in [Decision, Fact, Preference] {
        for pattern in &TABLES.of(kind).expect("a table")[0].patterns {
            assert!(tested.contains(&(kind, pattern.name)), "{} has no example", pattern.name);
        }
    }
}

#[test]
fn consent_is_the_users() {
    let asks = "Let's proceed with checking the next reservation";
    assert!(!is_a(Decision, asks, Role::Assistant));
}

#[test]
fn what_a_model_says_of_itself_is_no_preference() {
    for sentence in
        ["I prefer the second fix.", "Always run the tests first.", "I like this approach a lot"]
    {
        assert!(is_a(Preference, sentence, Role::User), "{sentence}");
        assert!(!is_a(Preference, sentence, Role::Assistant), "{sentence}");
    }
}

#[test]
fn questions_state_nothing_but_their_first_clauses_do() {
    let is = |sentence| is_a(Decision, sentence, Role::User);
    assert!(!is("Have we decided to use Redis?"));
    assert!(!is("我们决定用 Redis 了吗？"));
    assert!(!is("决定用哪个呢"));
    assert!(!is("I selected nothing? "));
    assert!(is("我们决定用 Redis，你觉得怎么样？"));
}

#[test]
fn both_scripts_of_chinese_are_read() {
    let is = |kind, sentence| is_a(kind, sentence, Role::User);
    assert!(is(Decision, "我們決定用 Rust 重寫"));
    assert!(is(Decision, "最終選擇了 PostgreSQL"));
    assert!(is(Preference, "我喜歡簡短的回答"));
    assert!(!is(Decision, "我還沒決定"));
    assert!(!is(Decision, "請選擇一個文件"));
    assert_eq!(simplified("我們決定選擇 Rust"), "我们决定选择 Rust");
    assert_eq!(LISTS.entries("simplified").concat().chars().count() % 2, 0);
    for text in ["We decided.", "我们决定用 Rust", "Wir haben es schön gewählt"] {
        assert!(matches!(simplified(text), Cow::Borrowed(same) if same == text));
    }
}

#[test]
fn code_in_backticks_is_not_said() {
    let is = |sentence| is_a(Decision, sentence, Role::User);
    assert!(!is("The log says `we decided to stop`."));
    assert!(is("We decided on `sqlite`."));
    assert!(is("It`s so: we decided on sqlite."));
}

#[test]
fn hints_overlap_and_have_no_case() {
    let is = |sentence| is_a(Decision, sentence, Role::User);
    assert!(is("WE'RE GOING TO DROP IT") && is("We're going with tabs, so going with it"));
    // The lower-case form of the kelvin sign is the letter k.
    assert!(is("Please switch to the other parser.") && !is("Please swit\u{212a}h"));
}

#[test]
fn conclusions_and_their_look_alikes() {
    let is = |sentence| is_kept(Decision, sentence, Role::Assistant);
    for sentence in [
        "I'll put the helpers into `paths` since it is a common dependency.",
        "A reader of our own is the cleanest approach because no caller changes.",
        "The suggestion could break things that work today.",
        "The tool was mistaken about it: all cases are used.",
        "Skipped - all cases are used",
        "Changed from `list.New(tree)` to `list.With(data)`.",
        "So updating one place covers all agents without any hook.",
        "Added a custom `Unmarshal` method that handles both formats.",
        "推荐您去北京饭店吧，这家店设施齐全。",
    ] {
        assert!(is(sentence), "{sentence}");
    }
    for sentence in [
        "I'll read the file because I need its lines.",
        "Let me find the root cause.",
        "What is the root cause?",
        "Let's see what the real problem is here today.",
        "I'm not sure what the fix is for all of them.",
        "The tests pass now.",
        "Skipped 3 tests (slow)",
        "If we fixed it by hand, it would break again.",
        "请给我推荐一家酒店。",
    ] {
        assert!(!is(sentence), "{sentence}");
    }
}

#[test]
fn causes_and_remedies_are_facts() {
    for sentence in [
        "The root cause is that the lock is taken twice.",
        "The loop fails because it stops at the first line.",
        "**Lint error**: the error was not wrapped. Fixed by wrapping it with `fmt.Errorf`.",
        "根本原因是锁被取了两次。",
    ] {
        assert!(is_kept(Fact, sentence, Role::Assistant), "{sentence}");
        assert!(!is_kept(Decision, sentence, Role::Assistant), "{sentence}");
    }
    for sentence in ["Let me find the root cause.", "The cause is probably a race in the importer."]
    {
        assert!(!is_kept(Fact, sentence, Role::Assistant), "{sentence}");
    }
    assert!(!is_a(Decision, "已经确定是锁的问题导致超时。", Role::Assistant));
    assert!(is_a(Decision, "接口已经确定使用 gRPC。", Role::Assistant));
}

#[test]
fn demands_are_the_users() {
    let is = |sentence, role| is_kept(Preference, sentence, role);
    for sentence in [
        "Do not change the names of existing functions.",
        "no don't set it, let's see if it keeps happening",
        "Address them but be careful not to break what works.",
        "Have in mind that the path has the user's home in it.",
        "Cancel it without changing the flights.",
        "Both types must stay in sync.",
        "I need the fastest return trip on the same day.",
        "还是找经济型的酒店，没健身房也行，别太贵了",
        "所有輸出必須是中文。",
    ] {
        assert!(is(sentence, Role::User), "{sentence}");
        assert!(!is(sentence, Role::Assistant), "{sentence}");
    }
    for sentence in [
        "I don't know why.",
        "Never mind that one.",
        "It never works here.",
        "I'll make sure to have it ready.",
        "The talk never flagged for an hour.",
        "It has no output, so that must have worked.",
        "Why should it never stop?",
        "我们要不要试试这个？",
        "I need the file.",
    ] {
        assert!(!is(sentence, Role::User), "{sentence}");
    }
}

#[test]
fn who_the_user_is_is_kept() {
    let is = |sentence, role| is_kept(Fact, sentence, role);
    for sentence in [
        "Sure, my user ID is mia_li_3668.",
        "My name is Ada, and I work on the parser.",
        "I'm a backend engineer, new to Rust.",
        "Please call me Sam.",
        "我叫王小明，",
        "我的邮箱是 ada@example.org",
        "我是這個項目的維護者",
        "部署由小李负责。",
    ] {
        assert!(is(sentence, Role::User), "{sentence}");
    }
    assert!(is("The user's name is Ada.", Role::Assistant));
    assert!(is("Ana maintains the parser crate.", Role::Assistant));
    for sentence in [
        "My name is wrong on the ticket.",
        "我叫一辆出租车。",
        "If my name is Ada, greet me.",
        "I'm a bit lost.",
    ] {
        assert!(!is(sentence, Role::User), "{sentence}");
    }
    assert!(!is("My name is Claude.", Role::Assistant));
    assert!(!is("This maintains a list.", Role::Assistant));
}

#[test]
fn the_moment_is_no_memory() {
    for (kind, sentence) in [
        (Fact, "**Location:** `src/cli/args.ts`"),
        (Fact, "RGB: `r=0, g=215, b=255`"),
        (Fact, "`docs/color.md` is untracked."),
        (Fact, "`.git/REVERT_HEAD` - during revert"),
        (Fact, "Error: ENOENT: no file at /a/b/package.json"),
        (Decision, "16 - **Themes**: we decided to keep them."),
    ] {
        assert!(is_a(kind, sentence, Role::User), "{sentence}");
        assert!(!is_kept(kind, sentence, Role::User), "{sentence}");
    }
    for sentence in [
        "You can use the gift card instead.",
        "This ensures that no log is overwritten.",
        "I need to change it to `_` since it is no longer used.",
        "The fix is to raise the limit:",
    ] {
        assert!(!is_kept(Decision, sentence, Role::Assistant), "{sentence}");
    }
    let asks = "I'm sure there must be something you can do.";
    assert!(!is_kept(Preference, asks, Role::User));
}

#[test]
fn what_lasts_is_kept() {
    for (kind, sentence) in [
        (Fact, "**`src/list/data.go`** - Data fetching and branch filtering"),
        (Fact, "Log location: `.app/logs/<id>.log`, JSON, level by `APP_LEVEL`"),
        (Decision, "We decided to keep SQLite."),
        (Preference, "Both types must stay in sync."),
    ] {
        assert!(is_kept(kind, sentence, Role::User), "{sentence}");
    }
}
