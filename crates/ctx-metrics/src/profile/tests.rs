use ctx_engine::message_counter::MessageCounter;
use ctx_engine::prune::{Options, Plan};
use ctx_engine::{ErrorKind, Invalid, PassError, Session, count};
use ctx_format::Options as ReadOptions;
use ctx_testkit::chat_session;
use ctx_tokens::Encoding;
use proptest::prelude::*;

use super::{ContentKind, Cut, Profile, ProfilePass, Replaced};

fn counter() -> MessageCounter {
    MessageCounter::new(Encoding::Chars4)
}

fn open(text: &str) -> Session {
    let reader = Box::new(std::io::Cursor::new(text.to_owned().into_bytes()));
    Session::open(reader, &ReadOptions::default(), Invalid::Keep).expect("from memory")
}

/// Returns the profile of a session whose file had these earlier states.
fn profile(
    earlier: &[(&str, Option<Replaced>)],
    now: (&str, Option<Replaced>),
) -> Result<Profile, PassError> {
    let mut pass = ProfilePass::new(counter());
    for (text, replaced) in earlier {
        pass.earlier(&mut open(text), replaced.clone())?;
    }
    let mut session = open(now.0);
    let plan = Plan {
        signed_reasoning: ctx_policy::SignedReasoning::Keep,
        options: Options::lossless(session.dialect().map(|it| it as _)),
        pins: Vec::new(),
        zone: None,
        min_gain: 0,
        counter: counter(),
        report_changes: false,
        strict: false,
        cache: None,
        temp: std::env::temp_dir(),
    };
    pass.now(&mut session, now.1, &plan)
}

fn alone(text: &str) -> Profile {
    profile(&[], (text, None)).expect("read")
}

fn says(role: &str, words: &str) -> String {
    format!("{{\"role\":\"{role}\",\"content\":\"{words}\"}}\n")
}

/// Returns a reply that reads a file, and the result of that call.
fn reads(id: u32, path: &str, result: &str) -> String {
    format!(
        "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{id}\",\"type\":\"function\",\"function\":{{\"name\":\"read\",\"arguments\":\"{{\\\"path\\\":\\\"{path}\\\"}}\"}}}}]}}\n{{\"role\":\"tool\",\"tool_call_id\":\"c{id}\",\"content\":\"{result}\"}}\n"
    )
}

fn replaced(cut: Cut, bytes: usize) -> Replaced {
    Replaced {
        cut,
        tool: "ctx-compact".to_owned(),
        time: chrono::DateTime::UNIX_EPOCH,
        bytes: Some(bytes as u64),
    }
}

fn totals(profile: &Profile) -> Vec<(u64, bool)> {
    let points = profile.points.iter();
    points.map(|point| (point.kinds.total(), point.anew)).collect()
}

/// The tokens of all kinds add up to the count of `ctx-count`, and the curve ends at that count.
#[test]
fn the_kinds_add_up_to_the_count() {
    let text = says("system", "be brief")
        + &says("user", "what is in a.rs?")
        + &reads(1, "a.rs", "fn main")
        + &says("assistant", "a function");
    let profile = alone(&text);
    let counted = count::tokens(Box::new(std::io::Cursor::new(text.into_bytes())), &counter());
    assert_eq!(Some(profile.context.total()), counted.expect("from memory"));
    let last = profile.points.last().expect("a point");
    assert_eq!((last.kinds, last.line), (profile.context, 5));
    assert!(
        profile.context.of(ContentKind::Results) > 0
            && profile.context.of(ContentKind::Summary) == 0
    );
    assert_eq!(
        profile.tools.iter().map(|(name, share)| (name.as_str(), share.count)).collect::<Vec<_>>(),
        [("read", 1)]
    );
    assert!(profile.marks.is_empty() && profile.score.is_none());
}

proptest! {
    /// For any session, the kinds add up to the count. The curve has as many points as a reader can
    /// distinguish, in order, and ends at the current context; the largest items are parts of it.
    #[test]
    fn of_any_session_the_kinds_add_up(text in chat_session()) {
        let profile = alone(&text);
        let counted = count::tokens(Box::new(std::io::Cursor::new(text.into_bytes())), &counter());
        let counted = counted.expect("from memory").unwrap_or_default();
        prop_assert_eq!(profile.context.total(), if profile.points.is_empty() { 0 } else { counted });
        let last = profile.points.last().map(|point| point.kinds).unwrap_or_default();
        prop_assert_eq!(last, profile.context);
        prop_assert!(profile.points.windows(2).all(|two| two[0].at < two[1].at));
        let largest: u64 = profile.largest.iter().map(|item| item.tokens).sum();
        prop_assert!(largest <= counted);
        prop_assert!(profile.largest.windows(2).all(|two| two[0].tokens >= two[1].tokens));
    }
}

/// An empty file has an empty profile, and a file that is not a session is refused.
#[test]
fn of_nothing_there_is_nothing() {
    let nothing = alone("");
    assert_eq!((nothing.context.total(), nothing.points.len()), (0, 0));
    let error = profile(&[], ("{\"what\":1}\n", None)).expect_err("no session");
    assert!(matches!(error.kind, ErrorKind::UnknownFormat));
}

/// The savings are the sum of what the rules free, and name the calls that are affected.
#[test]
fn savings_are_by_rule_and_by_call() {
    let long = "word ".repeat(200);
    let mut text = says("user", "go");
    for id in 0..3 {
        text += &reads(id, "a.rs", &long);
    }
    // The last three replies and their results stay unchanged.
    assert_eq!(alone(&text).savings.expect("it can be pruned").total.changes, 0);
    text += &says("assistant", "one").repeat(4);
    let savings = alone(&text).savings.expect("it can be pruned");
    let sum: u64 = savings.groups.iter().map(|group| group.sum.gain()).sum();
    assert!(sum > 300 && sum == savings.total.gain());
    assert_eq!(savings.groups.len(), 1);
    let group = &savings.groups[0];
    assert_eq!((group.call.as_str(), group.sum.changes, group.line), ("read a.rs", 2, 3));
    assert_eq!(savings.rules.len(), 1);
}

/// Successive states of a file are on one curve. A compaction's result is the first point of the
/// next state, and content that was taken over is not counted again.
#[test]
fn a_replaced_file_goes_on_where_it_was() {
    let old = says("user", &"old ".repeat(100)) + &says("assistant", "yes");
    let left = says("user", "short");
    let grown = left.clone() + &says("assistant", "more");
    let compacted = Some(replaced(Cut::Compaction, left.len()));
    let rolled_back = Some(replaced(Cut::Rollback, old.len()));
    let profile = profile(&[(&old, None), (&grown, compacted)], (&old, rolled_back)).expect("read");
    let totals = totals(&profile);
    let anew: Vec<bool> = totals.iter().map(|it| it.1).collect();
    assert_eq!(anew, [false, false, true, false, true]);
    assert!(totals[1].0 > totals[2].0 && totals[2].0 < totals[3].0);
    assert_eq!(totals[4].0, totals[1].0);
    let marks: Vec<_> =
        profile.marks.iter().map(|mark| (mark.cut, mark.at, mark.before, mark.after)).collect();
    assert_eq!(
        marks,
        [
            (Cut::Compaction, 3, Some(totals[1].0), totals[2].0),
            (Cut::Rollback, 5, Some(totals[3].0), totals[4].0),
        ]
    );
}

/// Returns a line of a Claude Code log.
fn line(id: u32, parent: u32, rest: &str) -> String {
    let parent = if parent == 0 { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        "{{\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"timestamp\":\"2030-01-01T00:00:0{id}.000Z\",{rest}}}\n"
    )
}

fn user(words: &str) -> String {
    format!("\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{words}\"}}")
}

/// A log records its own compactions. At each compaction, the context shrinks, the curve keeps its
/// earlier points, and the items that the summary lost are listed.
#[test]
fn a_log_tells_of_its_own_compaction() {
    let ask = "Never write to the table accounts_2031, please. ".repeat(8);
    let text = [
        line(1, 0, &user(&ask)),
        line(2, 1, "\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"model\":\"m-1\",\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":900,\"output_tokens\":3},\"content\":[{\"type\":\"text\",\"text\":\"I will not.\"}]}"),
        line(3, 0, "\"type\":\"system\",\"subtype\":\"compact_boundary\",\"logicalParentUuid\":\"2\",\"content\":\"Conversation compacted\""),
        line(4, 3, &format!("\"isCompactSummary\":true,{}", user("There was a talk."))),
        line(5, 4, &user("go on")),
    ]
    .concat();
    let profile = alone(&text);
    let totals = totals(&profile);
    let anew: Vec<bool> = totals.iter().map(|it| it.1).collect();
    assert_eq!(anew, [false, false, true, false]);
    assert!(totals[1].0 > totals[2].0);
    let [mark] = &profile.marks[..] else {
        panic!("one compaction");
    };
    assert_eq!((mark.cut, mark.line, mark.before), (Cut::Compaction, Some(4), Some(totals[1].0)));
    assert!(mark.time.is_some() && mark.tool.is_none());
    assert_eq!(profile.context.total(), totals[3].0);
    assert!(profile.context.of(ContentKind::Summary) > 0);
    assert_eq!(profile.model.as_deref(), Some("m-1"));
    let recorded: Vec<_> = profile.points.iter().map(|point| point.recorded).collect();
    assert_eq!(recorded, [None, Some(909), None, None]);
    let score = profile.score.expect("scored");
    assert!(score.kept < 0.5 && score.total().lost > 0);
    let lost =
        score.lost.iter().any(|(_, line, text)| *line == 1 && text.contains("accounts_2031"));
    assert!(lost, "{:?}", score.lost);
}
