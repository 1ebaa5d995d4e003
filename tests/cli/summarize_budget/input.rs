//! Input of all kinds: broken, torn, huge, or with messages of one role only.

use super::talk::{Event, sentences, session, work};
use super::{case, parts, tokens, within};

#[test]
fn nothing_is_nothing() {
    assert_eq!(within(0, &[], ""), "");
    assert_eq!(within(10, &[], "\n\n"), "\n\n");
}

#[test]
fn only_system_messages() {
    let session = session("chat", Some(&sentences(0, 20)), &[]);
    let all = tokens(session.clone(), "chat");
    assert_eq!(within(all, &[], session.clone()), session);
    case(all - 1).stdin(session).code(2).stderr_has("tokens must stay").run();
}

#[test]
fn no_user_message_at_all() {
    let events: Vec<Event> =
        (0..12).map(|n| Event::Call(format!("cat {n}"), sentences(10 * n, 30))).collect();
    for dialect in ["chat", "anthropic"] {
        let before = session(dialect, None, &events);
        let after = within(1_000, &["--dialect", dialect], before);
        assert!(parts(&after).1.is_some());
        assert!(tokens(after, dialect) <= 1_000);
    }
}

#[test]
fn documents_become_records() {
    let session = work();
    let records: Vec<&str> = session.lines().collect();
    let array = format!("[{}]", records.join(",\n "));
    let object = format!("{{\"model\":\"m\",\"messages\":[{}]}}", records.join(", "));
    let all = tokens(session.clone(), "chat");
    let lines = within(1_500, &[], session.clone());
    for document in [array, object] {
        let whole = within(all, &[], document.clone());
        assert_eq!(whole.lines().collect::<Vec<_>>(), records);
        // The summary may cite other lines as its sources.
        let after = within(1_500, &[], document);
        assert!(tokens(after.clone(), "chat") <= 1_500);
        assert_eq!(parts(&after).0.last(), parts(&lines).0.last());
        assert!(parts(&after).1.is_some());
    }
}

#[test]
fn a_line_in_the_writing_stays_last() {
    let torn = "{\"role\":\"assistant\",\"content\":\"half of it";
    let after = within(1_500, &[], format!("{}{torn}", work()));
    assert!(after.ends_with(&format!("\n{torn}")), "{after}");
    assert!(parts(&after).1.is_some());
    let only = within(50, &[], torn);
    assert_eq!(only, torn);
}

#[test]
fn bad_lines_stay_go_or_fail() {
    let work = work();
    let mut lines: Vec<&str> = work.lines().collect();
    let count = lines.len();
    // The bad lines are within the summarized part, and after the last reply.
    lines.insert(10, "{broken");
    lines.push("[1, 2]");
    let before = format!("{}\n", lines.join("\n"));
    let run = |args: &[&str], told: &str| {
        let case = case(1_500).args(args.iter().copied()).stdin(before.clone());
        let done = case.stdout_any().stderr_has(told).run();
        String::from_utf8(done.stdout).expect("UTF-8")
    };
    let kept =
        run(&[], ":11: 2 bad lines, 1 kept, 1 removed with the summarized part; the first: ");
    assert!(kept.ends_with("\n[1, 2]\n"));
    assert!(!kept.contains("{broken"));
    let dropped = run(
        &["--invalid", "drop"],
        ":11: 2 bad lines, 1 left out, 1 removed with the summarized part; the first: ",
    );
    assert_eq!(format!("{dropped}[1, 2]\n"), kept);
    case(1_500)
        .args(["--invalid", "fail"])
        .stdin(before.clone())
        .code(2)
        .stderr_has("ctx-summarize: <stdin>:11: ")
        .run();
    // If nothing has to be summarized, bad lines stay where they are.
    assert_eq!(within(1_000_000, &[], before.clone()), before);
    assert_eq!(count, lines.len() - 2);
}

#[test]
fn line_ends_stay_what_they_are() {
    let before = work().replace('\n', "\r\n");
    let after = within(1_500, &[], before.clone());
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
    let unix = within(1_500, &[], work());
    assert_eq!(after.replace("\r\n", "\n"), unix);
    // The last line has no line end.
    let before = work();
    let after = within(1_500, &[], before.trim_end());
    assert_eq!(format!("{after}\n"), unix);
}

/// A message may have a megabyte of text: from the user, from a tool, or in the model's arguments.
#[test]
fn one_giant_message() {
    let giant = sentences(0, 13_000);
    assert!(giant.len() > 900_000);
    let small = |text: &str| Event::Reply(text.to_owned());
    for (what, events) in [
        ("alone", vec![Event::User(giant.clone())]),
        ("user", vec![small("hello"), Event::User(giant.clone()), small("I read it.")]),
        (
            "result",
            vec![Event::User("read it".to_owned()), Event::Call("cat".to_owned(), giant.clone())],
        ),
        (
            "arguments",
            vec![
                Event::User("write it".to_owned()),
                Event::Call(giant.clone(), "ok".to_owned()),
                small("It is written."),
            ],
        ),
    ] {
        for dialect in ["chat", "anthropic"] {
            let before = session(dialect, None, &events);
            let args = ["--dialect", dialect];
            let done =
                case(2_000).args(["-q"]).args(args).stdin(before).stdout_any().stderr_has("").run();
            let after = String::from_utf8(done.stdout).expect("UTF-8");
            let total = tokens(after.clone(), dialect);
            assert!(total <= 2_000, "{what}, {dialect}: {total}");
            assert!(total > 100, "{what}, {dialect}: {total}");
        }
    }
}

/// A line of more than 64 MiB is copied without being parsed.
#[test]
fn an_opaque_line() {
    let mut before = work().into_bytes();
    let place = before.len();
    before.extend_from_slice(b"{\"role\":\"assistant\",\"content\":\"");
    before.resize(before.len() + (65 << 20), b'x');
    before.extend_from_slice(b"\"}\n");
    let giant = before[place..].to_vec();
    let done = case(1_500)
        .args(["-q", "--dialect", "chat"])
        .stdin(before)
        .stdout_any()
        .stderr_has("")
        .run();
    // After the last reply the line stays byte for byte.
    assert!(done.stdout.ends_with(&giant));
    let rest = &done.stdout[..done.stdout.len() - giant.len()];
    assert!(tokens(rest, "chat") <= 1_500);
}

#[test]
fn chinese_and_mixed_sessions() {
    let mut events = vec![Event::User(
        "请修复 src/auth.rs 的登录问题，端口必须是 9000。不要动数据库。".to_owned(),
    )];
    for n in 0..20 {
        events.push(Event::Reply(format!("第 {n} 步：检查模块 part_{n}。")));
        events.push(Event::Call(
            format!("cat part_{n}.rs"),
            format!("连接数据库失败，错误代码 E{n:04}，端口 54{n:02}。").repeat(20),
        ));
    }
    events.push(Event::User("继续 please".to_owned()));
    events.push(Event::Reply("好的。".to_owned()));
    for dialect in ["chat", "anthropic"] {
        let before = session(dialect, None, &events);
        for budget in [300, 1_000, 3_000] {
            let after = within(budget, &["--dialect", dialect], before.clone());
            let total = tokens(after.clone(), dialect);
            assert!(total <= budget, "{total} > {budget}");
            let (rest, summary) = parts(&after);
            let text = after.as_str();
            assert!(budget < 1_000 || text.contains("9000"), "{budget}: {text}");
            assert!(summary.is_some());
            assert_eq!(rest.last(), before.lines().last().as_ref());
        }
    }
}

#[test]
fn batch_records_have_no_budget() {
    case(100)
        .args(["--batch"])
        .stdin("")
        .code(2)
        .stderr_has("--budget cannot be used with --batch")
        .run();
}

#[test]
fn floors_need_a_budget() {
    for floor in ["--keep-messages", "--keep-turns", "--keep-tokens", "--pin"] {
        ctx_testkit::Case::new(super::CTX_SUMMARIZE)
            .args([floor, "1"])
            .stdin("")
            .code(2)
            .stderr_has("")
            .run();
    }
}
