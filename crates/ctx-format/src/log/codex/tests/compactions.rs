//! Tests compactions with and without items.

use super::{Codex, Lines, SUMMARY, call, output, said, session};
use crate::Dialect;
use crate::view::Outside;

#[test]
fn items_of_a_compaction_take_the_place_of_all_before() {
    let left = [said("user", "u1"), said("user", SUMMARY)];
    let lines = session().turn(1).replaced("B", &left).turn(2);
    assert_eq!(lines.context(), "B u2 a2");
    assert_eq!(lines.outside("a1"), Some(Outside::BeforeCompaction));
    let again = lines.replaced("C", &left).turn(3);
    assert_eq!(again.context(), "C u3 a3");
    assert_eq!(again.outside("B"), Some(Outside::BeforeCompaction));
    assert_eq!(session().replaced("B", &[]).turn(2).context(), "u2 a2");
    let twice = session().begins("t").replaced("B", &left).replaced("C", &left);
    assert_eq!(twice.user("u").ends("t").context(), "C u");
    // A reply after the compaction is not part of the compaction's message.
    let reply = session().replaced("B", &[said("assistant", "a1")]).says("a2");
    assert_eq!(reply.context(), "B a2");
    // The client skips a compaction if an item does not have the required members.
    for bad in ["7", "{}", r#"{"type":"message","role":"user","content":"x"}"#] {
        let lines = session().replaced("B", &[bad.to_owned()]).turn(2);
        assert_eq!(lines.context(), "dev env u2 a2", "{bad}");
    }
    let lines = session().line("B", "compacted", r#"{"replacement_history":[]}"#);
    assert_eq!(lines.turn(2).context(), "dev env u2 a2");
}

#[test]
fn a_compaction_is_taken_back_with_its_turn() {
    let left = [said("user", "u1"), said("user", SUMMARY)];
    let before = || session().turn(1).turn(2).replaced("B", &left).turn(3);
    assert_eq!(before().back("1").context(), "B");
    let older = before().back("2").turn(4);
    assert_eq!(older.context(), "dev env u1 a1 u4 a4");
    assert_eq!(older.outside("B"), Some(Outside::DeadBranch));
    // A compaction in the middle of a turn belongs to that turn.
    let within = || {
        let begun = session().turn(1).begins("t2").user("u2");
        begun.replaced("B", &left).says("a2").ends("t2")
    };
    assert_eq!(within().turn(3).context(), "B a2 u3 a3");
    assert_eq!(within().back("1").turn(3).context(), "dev env u1 a1 u3 a3");
    // The id at the end of a turn does not matter, nor do the settings of another turn.
    let strange = session().turn(1).replaced("B", &left).begins("t2");
    let strange = strange.user("u2").says("a2").ends("t8").turn(3).back("2");
    assert_eq!(strange.context(), "B");
    let mixed = session().turn(1).replaced("B", &left).begins("t2").user("u2");
    let mixed = mixed.line("-", "turn_context", r#"{"turn_id":"t8"}"#);
    assert_eq!(mixed.clone().turn(3).back("2").context(), "dev env u1 a1");
    assert_eq!(mixed.ends("t2").turn(3).back("2").context(), "B");
    // A rollback does not count a turn without a request, but does count a turn whose request is
    // only shown on the screen.
    let quiet = || session().turn(1).replaced("B", &left).begins("q");
    let counted = quiet().says("a").ends("q").back("1").turn(3);
    assert_eq!(counted.context(), "dev env u3 a3");
    let shown = quiet().event("-", "user_message", r#","message":"x""#);
    let shown = shown.says("a").ends("q").turn(4).back("2").turn(3);
    assert_eq!(shown.outside("u1"), Some(Outside::BeforeCompaction));
    assert_eq!(shown.context(), "u3 a3");
    let empty = quiet().event("-", "user_message", "").says("a").ends("q");
    assert_eq!(empty.turn(4).back("2").turn(3).context(), "dev env u3 a3");
}

#[test]
fn a_compaction_without_items_keeps_what_the_user_said() {
    let lines = session().turn(1).turn(2).compacted("S", SUMMARY).turn(3);
    assert_eq!(lines.context(), "u1 u2 S u3 a3");
    for word in ["dev", "env", "a1"] {
        assert_eq!(lines.outside(word), Some(Outside::BeforeCompaction));
    }
    // The summary becomes part of the next summary. A summary that does not begin like the client's
    // is a user message.
    let again = lines.compacted("T", "so far").turn(4);
    assert_eq!(again.context(), "u1 u2 u3 T u4 a4");
    assert_eq!(again.compacted("V", "on").context(), "u1 u2 u3 T u4 V");
    // A summary that counts as a user message begins a turn.
    let back = |summary| session().turn(1).compacted("S", summary).turn(3).back("2");
    assert_eq!(back("so far").context(), "u1");
    assert_eq!(back(SUMMARY).context(), "");
    let null = session().turn(1);
    let null = null.line("S", "compacted", r#"{"message":"s","replacement_history":null}"#);
    assert_eq!(null.context(), "u1 S");
}

#[test]
fn of_old_requests_only_the_newest_stay() {
    let big = "b".repeat(60_000);
    let item = |text: &str| said("user", text);
    let lines = |summaries: u32| {
        let old = session().user("old").item("big", &item(&big)).user("mid");
        let new = old.item("big2", &item(&big)).user("new");
        (0..summaries).fold(new, |lines, _| lines.compacted("S", SUMMARY))
    };
    assert_eq!(lines(1).context(), "big mid big2 new S");
    assert_eq!(lines(1).outside("old"), Some(Outside::BeforeCompaction));
    assert_eq!(lines(0).context(), "dev env old big mid big2 new");
}

/// A session whose last rollback undoes a turn that is only shown on the screen. The client
/// therefore undoes one more turn, which is part of the compaction with these items.
fn taken_back(items: &[String]) -> Lines {
    let lines = session().turn(1).replaced("B", items).begins("q");
    let shown = lines.event("-", "user_message", r#","message":"x""#);
    shown.says("a").ends("q").turn(4).back("2").turn(3)
}

#[test]
fn of_the_items_of_a_compaction_a_rollback_takes_back_the_newest() {
    let left =
        [said("user", "u0"), call("1"), output("1"), said("user", "u1"), said("user", SUMMARY)];
    let lines = taken_back(&left);
    assert_eq!(lines.context(), "B u3 a3");
    assert_eq!(lines.left("B"), "u0|ls|{}|x");
    // What remains of the compaction is not a summary, and its content counts as a request.
    lines.each(|place, record| {
        if lines.0[place].0 != "B" {
            return;
        }
        let object = record.whole_object().expect("an object");
        assert_eq!(Codex.summary_text(object), None);
        let outline = record.outline(Some(&Codex)).expect("a message");
        assert!(outline.begins_turn && !outline.is_summary);
        let held = Codex.held(object).len();
        assert_eq!((held, Codex.held(&object.whole()).len()), (3, 5));
        let portion = record.portion.as_ref().expect("not all of it");
        let gone = Outside::DeadBranch;
        assert_eq!(*portion.outside, [(3, gone), (4, gone)]);
        let sent = Codex.wrapped(object).sent.concat();
        assert!(sent.contains("u0") && !sent.contains("u1"));
    });
    // If a rollback leaves the summary in the context, it is still a summary.
    let first = [said("user", SUMMARY), said("user", "u0")];
    let lines = taken_back(&first);
    assert_eq!(lines.left("B"), SUMMARY);
    lines.each(|place, record| {
        let outline = record.outline(Some(&Codex));
        let is_summary = outline.is_some_and(|outline| outline.is_summary);
        assert_eq!(is_summary, lines.0[place].0 == "B");
    });
}

/// A call waits for its result if a rollback undid the result together with the request after it.
#[test]
fn a_call_whose_result_was_taken_back_waits() {
    let left = [said("user", "u0"), call("1"), said("user", "u1"), output("1")];
    taken_back(&left).each(|_, record| {
        if record.portion.is_some() {
            let outline = record.outline(Some(&Codex)).expect("a message");
            assert_eq!(outline.calls, ["1"]);
        }
    });
}

#[test]
fn of_the_items_of_a_compaction_one_without_items_keeps_the_requests() {
    let left = [said("user", "u0"), said("assistant", "a0"), said("user", "u1")];
    let lines = session().turn(1).replaced("B", &left).turn(2);
    let lines = lines.compacted("S", SUMMARY);
    assert_eq!(lines.context(), "B u2 S");
    assert_eq!(lines.left("B"), "u0|u1");
}
