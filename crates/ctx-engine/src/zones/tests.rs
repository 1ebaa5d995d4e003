use super::{
    ExchangeFinder, Keep, KnownFacts, KnownZones, MessageFacts, Reason, Splitter, Verdict,
    is_orphan,
};
use ctx_format::{Outline, Role, Rule, Validator, Zone, dialect::Dialect};
use proptest::prelude::*;

/// Creates an outline from a short form: `u`ser, `a`ssistant, `s`ystem, `t`ool, or `-` for a line
/// that is not a message. Call ids follow `a` and `t`.
fn outline(text: &str) -> Option<Outline<'_>> {
    let mut words = text.split('.');
    let role = match words.next()? {
        "u" => Role::User,
        "a" => Role::Assistant,
        "s" => Role::System,
        "t" => Role::Tool,
        _ => return None,
    };
    let ids: Vec<_> = words.map(Into::into).collect();
    let (calls, results) =
        if role == Role::Assistant { (ids, Vec::new()) } else { (Vec::new(), ids) };
    Some(Outline { role, begins_turn: role == Role::User, calls, results, ..Outline::of_line() })
}

/// Returns the outline of a summary, as the dialects write it.
fn summary_outline() -> Outline<'static> {
    Outline { begins_turn: false, ..outline("u").expect("a message") }
}

fn split(records: &[&str], keep: Keep) -> Vec<Verdict> {
    let mut splitter = Splitter::new(keep);
    let mut verdicts = Vec::new();
    for text in records {
        let pinned = text.ends_with('!');
        match outline(text.trim_end_matches('!')) {
            Some(outline) => {
                splitter.push(&outline, 10, pinned);
            }
            None => splitter.push_line(false),
        }
        verdicts.extend(&mut splitter);
    }
    splitter.finish();
    verdicts.extend(&mut splitter);
    assert_eq!(verdicts.len(), records.len());
    verdicts
}

/// Returns the zones, one letter per record: `s`ystem, `o`ld, `k`eep.
fn zones(records: &[&str], keep: Keep) -> String {
    let letter = |verdict: Verdict| match verdict.zone {
        Zone::System => 's',
        Zone::Old => 'o',
        Zone::Keep => 'k',
    };
    split(records, keep).into_iter().map(letter).collect()
}

fn messages(n: u64) -> Keep {
    Keep { messages: Some(n), ..Keep::default() }
}

#[test]
fn the_last_messages_are_kept_and_system_is_not_counted() {
    assert_eq!(zones(&["s", "u", "a", "u", "a", "s", "u"], messages(2)), "soooksk");
}

#[test]
fn nothing_is_old_when_all_fits() {
    assert_eq!(zones(&["u", "a"], messages(2)), "kk");
    assert_eq!(zones(&["u", "a"], messages(20)), "kk");
    assert_eq!(zones(&[], messages(20)), "");
}

#[test]
fn the_latest_user_message_is_kept_where_it_stands() {
    assert_eq!(zones(&["u", "a", "u", "a", "a", "a"], messages(1)), "ookook");
    assert_eq!(zones(&["u", "a", "u", "a", "a"], messages(0)), "ookoo");
}

#[test]
fn exchanges_stay_whole() {
    // The window begins at the second result.
    assert_eq!(zones(&["u", "a.1.2", "t.1", "t.2", "u"], messages(2)), "okkkk");
    // The window begins after the exchange.
    assert_eq!(zones(&["u", "a.1.2", "t.1", "t.2", "u", "a"], messages(2)), "ooookk");
    // A result is far from its call.
    assert_eq!(zones(&["u", "a.1", "u", "u", "t.1"], messages(1)), "okokk");
    // A pin pins its exchange.
    assert_eq!(zones(&["u", "a.1", "t.1!", "u", "a", "u"], messages(1)), "okkook");
}

#[test]
fn an_unanswered_call_is_old_when_no_result_came() {
    assert_eq!(zones(&["u", "a.1", "u", "a", "u"], messages(1)), "ooook");
}

/// No API accepts such a result, so it must not be in the kept part.
#[test]
fn a_result_without_a_call_is_old() {
    assert_eq!(zones(&["u", "a", "u", "t.1!", "a", "u"], messages(4)), "ookokk");
    assert_eq!(zones(&["u", "t.1", "-", "u"], messages(4)), "kook");
}

#[test]
fn ids_may_repeat() {
    let records = ["u", "a.0", "t.0", "u", "a.0", "t.0", "u"];
    assert_eq!(zones(&records, messages(2)), "ooookkk");
    let exchanges: Vec<_> =
        split(&records, messages(2)).iter().map(|verdict| verdict.exchange).collect();
    assert_eq!(exchanges, [None, Some(2), Some(2), None, Some(5), Some(5), None]);
}

#[test]
fn one_message_may_answer_two_replies() {
    assert_eq!(zones(&["u", "a.1", "a.2", "t.1.2", "u"], messages(2)), "okkkk");
}

#[test]
fn adjacent_replies_are_one_while_calls_wait() {
    assert_eq!(zones(&["u", "a.1", "a", "t.1!", "u", "u"], messages(1)), "okkkok");
    assert_eq!(zones(&["u", "a.2", "a.1", "t.2", "t.1!", "u", "u"], messages(1)), "okkkkok");
    assert_eq!(zones(&["u", "a", "a.1", "t.1!", "u", "u"], messages(1)), "ookkok");
}

#[test]
fn an_answer_to_an_earlier_reply_does_not_end_the_results_of_the_latest() {
    // The second `t.2` answers nothing. The line is among the results of the latest reply, so a
    // summary in its place would separate `t.1` from its call.
    let records = ["a.2", "u", "a.3.1", "t.2!", "t.2", "t.1"];
    assert_eq!(zones(&records, messages(1)), "kkkkkk");
    let records = ["a.2.3", "u", "a.1", "t.2!", "t.3", "t.2", "t.1!"];
    assert_eq!(zones(&records, messages(0)), "kkkkkkk");
}

#[test]
fn lines_that_are_no_messages_follow() {
    assert_eq!(zones(&["-", "s", "-", "u", "-", "a", "u", "-"], messages(1)), "sssoookk");
}

#[test]
fn turns_are_kept_whole() {
    let turns = |n| Keep { turns: Some(n), ..Keep::default() };
    let records = ["u", "a", "a", "u", "a", "u", "a"];
    assert_eq!(zones(&records, turns(1)), "oooookk");
    assert_eq!(zones(&records, turns(2)), "oookkkk");
    assert_eq!(zones(&records, turns(9)), "kkkkkkk");
    assert_eq!(zones(&["a", "u"], turns(2)), "kk");
    assert_eq!(zones(&records, turns(0)), "oooooko");
}

#[test]
fn tokens_are_a_floor() {
    let tokens = |n| Keep { tokens: Some(n), ..Keep::default() };
    assert_eq!(zones(&["u", "a", "u", "a"], tokens(11)), "ookk");
    assert_eq!(zones(&["u", "a", "u", "a"], tokens(30)), "okkk");
    assert_eq!(zones(&["u", "a", "u", "a"], tokens(1000)), "kkkk");
    let both = Keep { tokens: Some(10), messages: Some(3), ..Keep::default() };
    assert_eq!(zones(&["u", "a", "u", "a"], both), "okkk");
}

#[test]
fn a_system_message_that_is_a_summary_gets_old_like_others() {
    let mut splitter = Splitter::new(messages(1));
    let summary = Outline { is_summary: true, ..outline("s").expect("a message") };
    let user = outline("u").expect("a message");
    for outline in [&summary, &user] {
        splitter.push(outline, 0, false);
    }
    assert_eq!(splitter.next().map(|verdict| verdict.zone), Some(Zone::Old));
}

#[test]
fn verdicts_come_early() {
    let mut splitter = Splitter::new(messages(1));
    let user = outline("u").expect("a message");
    for _ in 0..3 {
        splitter.push(&user, 0, false);
    }
    assert_eq!(splitter.next().map(|verdict| verdict.reason), Some(Reason::Old));
    assert_eq!(splitter.next().map(|verdict| verdict.reason), Some(Reason::Old));
    assert_eq!(splitter.next(), None);
}

fn records() -> impl Strategy<Value = Vec<String>> {
    let id = || prop_oneof![Just("1"), Just("2"), Just("3")];
    let record = prop_oneof![
        3 => Just("u".to_owned()),
        1 => Just("s".to_owned()),
        1 => Just("-".to_owned()),
        2 => Just("a".to_owned()),
        3 => id().prop_map(|id| format!("a.{id}")),
        1 => (id(), id()).prop_map(|(one, two)| format!("a.{one}.{two}")),
        4 => id().prop_map(|id| format!("t.{id}")),
        1 => id().prop_map(|id| format!("t.{id}!")),
    ];
    proptest::collection::vec(record, 0..40)
}

proptest! {
    /// A summary in place of the old records adds no problem. It follows the system messages, which
    /// stay, but there may be no legal place for these after a pinned message.
    #[test]
    fn no_orphan_ever(records in records(), keep in 0u64..12, anthropic in any::<bool>()) {
        let dialect: &dyn Dialect =
            if anthropic { &ctx_format::dialect::Anthropic } else { &ctx_format::dialect::Chat };
        let texts: Vec<&str> = records.iter().map(String::as_str).collect();
        let verdicts = split(&texts, messages(keep));
        let mut before = Validator::new(dialect.rules());
        let mut after = Validator::new(dialect.rules());
        let (mut due, mut summarized) = (false, false);
        for (line, (text, verdict)) in (1..).zip(texts.iter().zip(&verdicts)) {
            let Some(mut outline) = outline(text.trim_end_matches('!')) else { continue };
            if anthropic && outline.role == Role::Tool {
                outline.role = Role::User;
                outline.has_content = false;
            }
            before.push(line, &outline);
            let is_old = verdict.zone == Zone::Old;
            due |= is_old;
            if due && !is_old && !outline.role.is_system() && !std::mem::replace(&mut summarized, true) {
                after.push(0, &summary_outline());
            }
            if !is_old {
                after.push(line, &outline);
            }
        }
        if due && !summarized {
            after.push(0, &summary_outline());
        }
        let before = before.finish();
        let is_strange = !before.is_empty() || records.iter().any(|it| it.ends_with('!'));
        for problem in after.finish() {
            let is_known = before.contains(&problem) || is_strange && problem.rule == Rule::MisplacedSystem;
            prop_assert!(is_known, "new problem {problem:?}");
        }
    }

    /// The verdict on a record does not depend on when it is requested.
    #[test]
    fn early_verdicts_are_final(records in records(), keep in 0u64..12) {
        let texts: Vec<&str> = records.iter().map(String::as_str).collect();
        let early = split(&texts, messages(keep));
        let mut splitter = Splitter::new(messages(keep));
        for text in &texts {
            match outline(text.trim_end_matches('!')) {
                Some(outline) => splitter.push(&outline, 10, text.ends_with('!')),
                None => splitter.push_line(false),
            }
        }
        splitter.finish();
        let late: Vec<_> = splitter.collect();
        let zones = |verdicts: &[Verdict]| verdicts.iter().map(|v| (v.zone, v.exchange)).collect::<Vec<_>>();
        prop_assert_eq!(zones(&early), zones(&late));
    }
    /// A session that has been read before is split like one that is read for the first time.
    #[test]
    fn what_is_known_decides_alike(
        records in records(),
        messages in proptest::option::of(0u64..12),
        turns in proptest::option::of(0u64..4),
        tokens in proptest::option::of(0u64..90),
    ) {
        let texts: Vec<&str> = records.iter().map(String::as_str).collect();
        let keep = Keep { messages, turns, tokens, recent_share: None };
        let verdicts = split(&texts, keep);
        let mut finder = ExchangeFinder::default();
        let found: Vec<Option<u64>> = (1..).zip(&texts).map(|(number, text)| {
            finder.push(number, &outline(text.trim_end_matches('!'))?)
        }).collect();
        let joined = finder.finish();
        let exchanges: Vec<_> = found.iter().map(|id| id.map(|id| joined.first_of(id))).collect();
        let expected: Vec<_> = verdicts.iter().map(|verdict| verdict.exchange).collect();
        prop_assert_eq!(&exchanges, &expected);

        // Record numbers may have gaps, because records may be left out.
        let facts = |(at, text): (usize, &&str)| match outline(text.trim_end_matches('!')) {
            Some(outline) => KnownFacts::Message(MessageFacts {
                is_system: outline.role == Role::System,
                begins_message: true,
                begins_turn: outline.begins_turn,
                tokens: 10,
                pinned: text.ends_with('!'),
                exchange: exchanges[at].map(|id| 3 * id),
                is_orphan: is_orphan(&outline, exchanges[at]),
            }),
            None => KnownFacts::Line,
        };
        let facts: Vec<KnownFacts> = texts.iter().enumerate().map(facts).collect();
        let numbered = || (1..).map(|number| 3 * number).zip(&facts);
        let mut zones = KnownZones::of(keep, |take| numbered().for_each(|(number, facts)| take(number, facts)));
        let decided = numbered().map(|(number, facts)| zones.next(number, facts));
        let decided: Vec<_> = decided.map(|verdict| (verdict.zone, verdict.reason)).collect();
        let expected: Vec<_> = verdicts.iter().map(|verdict| (verdict.zone, verdict.reason)).collect();
        prop_assert_eq!(decided, expected);
    }
}
