//! Tests that a new dialect needs no change in the code that decides about records.

#[path = "../../../ctx-format/tests/dialects/items.rs"]
mod items;
#[path = "../../../ctx-format/tests/dialects/tree.rs"]
mod tree;

use ctx_engine::count::Tally;
use ctx_engine::message_counter::{MessageCounter, PER_MESSAGE};
use ctx_engine::prune::{Options as PruneOptions, Pruner, Trim};
use ctx_engine::zones::Splitter;
use ctx_format::{Dialect, Object, Options, Outline, Record, Records, Zone};
use ctx_policy::Keep;
use ctx_policy::trigger::Size;
use ctx_tokens::Encoding;
use items::Items;
use tree::Tree;

fn session() -> Vec<String> {
    let long = "word ".repeat(4_000);
    let item = |text: &str| text.replace('\'', "\"").replace("LONG", &long);
    [
        "{'type':'message','role':'user','text':'one'}",
        "{'type':'call','call_id':'a','name':'ls','arguments':'{}'}",
        "{'type':'call','call_id':'b','name':'ls','arguments':'{}'}",
        "{'type':'output','call_id':'b','output':'LONG'}",
        "{'type':'note'}",
        "{'type':'message','role':'assistant','text':'wait'}",
        "{'type':'output','call_id':'a','output':'short'}",
        "{'type':'message','role':'user','text':'two'}",
    ]
    .map(item)
    .to_vec()
}

/// Returns the zones for a split that keeps this many messages, one letter per record: `k`ept or
/// `o`ld. `feed` passes on the outline of each record.
fn zones(messages: u64, feed: impl FnOnce(&mut dyn FnMut(Option<Outline>))) -> String {
    let mut splitter = Splitter::new(Keep { messages: Some(messages), ..Keep::default() });
    feed(&mut |outline| match &outline {
        Some(outline) => splitter.push(outline, 0, false),
        None => splitter.push_line(false),
    });
    splitter.finish();
    splitter.map(|verdict| if verdict.zone == Zone::Keep { 'k' } else { 'o' }).collect()
}

#[test]
fn a_result_far_from_its_call_stays_with_it() {
    let zones = |messages| {
        zones(messages, |push| {
            for text in session() {
                push(Items.outline(&Object::parse(&text).expect("an object")));
            }
        })
    };
    assert_eq!(zones(1), "oooooook");
    // The second to last record answers call a, whose exchange includes call b and the reply.
    assert_eq!(zones(2), "okkkkkkk");
}

#[test]
fn a_long_result_is_trimmed_where_the_format_has_it() {
    let policy = PruneOptions { trim: Some(Trim::default()), ..PruneOptions::default() };
    let session = session();
    let counter = MessageCounter::new(Encoding::O200kBase);
    let mut pruner = Pruner::new(&policy, counter, false);
    for text in &session {
        let object = Object::parse(text).expect("an object");
        match (Items.outline(&object), Items.message(&object)) {
            (Some(outline), Some(message)) => {
                pruner.message(&outline, &message, &object, false);
            }
            _ => pruner.line(false),
        }
    }
    let verdicts = pruner.finish();
    assert!((0..3).all(|record| !verdicts.is_changed(record)));
    assert!(verdicts.is_changed(3) && (0..session.len()).all(|at| !verdicts.is_dropped(at)));
    let object = Object::parse(&session[3]).expect("an object");
    let message = Items.message(&object).expect("a message");
    let (edits, _) = verdicts.message_edits(3, message, &object, &Items);
    let freed = verdicts.freed(3);
    assert_eq!(freed.len(), 1);
    let text = edits.of_object(&object);
    assert!(text.starts_with(r#"{"type":"output","call_id":"b","output":"word word"#));
    assert!(text.ends_with("⟧\"}"), "{text}");
}

/// A reply of three lines, with a result between them, and an abandoned branch.
const TREE: [&str; 7] = [
    r#"{"type":"user","id":"1","text":"one"}"#,
    r#"{"type":"reply","id":"2","parent":"1","reply":"r","text":"first"}"#,
    r#"{"type":"user","id":"x","parent":"1","text":"on a dead branch"}"#,
    r#"{"type":"reply","id":"3","parent":"2","reply":"r","call":"a"}"#,
    r#"{"type":"result","id":"4","parent":"3","of":"a","text":"LONG"}"#,
    r#"{"type":"reply","id":"5","parent":"4","reply":"r","text":"last"}"#,
    r#"{"type":"user","id":"6","parent":"5","text":"two"}"#,
];

fn each_of_tree(mut take: impl FnMut(&Record<'_>)) {
    let options = Options { dialect: Some(&Tree), ..Options::default() };
    let input = TREE.join("\n").replace("LONG", &"word ".repeat(4_000));
    let mut records = Records::open(input.as_bytes(), &options).expect("from memory");
    while let Some(record) = records.next().expect("from memory") {
        take(&record);
    }
}

#[test]
fn the_lines_of_a_reply_are_never_parted() {
    let zones = |messages| {
        zones(messages, |push| {
            each_of_tree(|record| push(record.outline(Some(&Tree))));
        })
    };
    assert_eq!(zones(1), "ooooook");
    // The result is the second to last message, and the whole reply stays with it.
    assert_eq!(zones(2), "okkkkkk");
    assert_eq!(zones(3), "okkkkkk");
    assert_eq!(zones(4), "kkkkkkk");
}

#[test]
fn the_lines_of_a_reply_count_as_one_message() {
    let counter = MessageCounter::new(Encoding::O200kBase);
    let (mut tally, mut size, mut frames) = (Tally::default(), Size::default(), 0);
    tally.begin();
    each_of_tree(|record| {
        let (outline, message) = (record.outline(Some(&Tree)), record.message(Some(&Tree)));
        if let (Some(outline), Some(message)) = (outline, message) {
            tally.message(&counter, &message);
            ctx_engine::message_counter::add_to_size(&mut size, &outline, &message, &counter);
            frames += counter.message(&message).overhead;
        }
    });
    assert_eq!((tally.messages, size.messages, size.turns), (4, 4, 2));
    assert_eq!(size.tokens, tally.tokens.total());
    assert_eq!(frames, 4 * PER_MESSAGE);
}

#[test]
fn a_reply_of_several_lines_is_protected_as_one() {
    let changes = |protect_last| {
        let policy =
            PruneOptions { trim: Some(Trim::default()), protect_last, ..PruneOptions::default() };
        let counter = MessageCounter::new(Encoding::O200kBase);
        let mut pruner = Pruner::new(&policy, counter, false);
        each_of_tree(|record| {
            let (outline, message) = (record.outline(Some(&Tree)), record.message(Some(&Tree)));
            match (&outline, &message, record.object()) {
                (Some(outline), Some(message), Some(object)) => {
                    pruner.message(outline, message, object, false);
                }
                _ => pruner.line(false),
            }
        });
        let verdicts = pruner.finish();
        assert!((0..TREE.len()).all(|at| !verdicts.is_dropped(at)));
        (0..TREE.len()).find(|at| verdicts.is_changed(*at))
    };
    assert_eq!(changes(0), Some(4));
    assert_eq!(changes(1), None);
}
