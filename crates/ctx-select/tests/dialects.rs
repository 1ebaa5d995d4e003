//! What is decided about records needs no word about a new dialect.

#[path = "../../ctx-transcript/tests/dialects/items.rs"]
mod items;

use ctx_select::count::MessageCounter;
use ctx_select::prune::{MessageFacts, Policy, Pruner, Questions, Trim, Verdict};
use ctx_select::split::{self, Keep, Splitter};
use ctx_tokens::Encoding;
use ctx_transcript::{Dialect, Object, Zone};
use items::Items;

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

#[test]
fn a_result_far_from_its_call_stays_with_it() {
    let zones = |messages| {
        let mut splitter = Splitter::new(Keep {
            messages: Some(messages),
            ..Keep::default()
        });
        for text in session() {
            let object = Object::parse(&text).expect("an object");
            let outline = Items.outline(&object);
            splitter.push(match &outline {
                Some(outline) => split::Facts::Message {
                    outline,
                    tokens: 0,
                    pinned: false,
                },
                None => split::Facts::Line,
            });
        }
        splitter.finish();
        let verdicts = std::iter::from_fn(|| splitter.next());
        verdicts
            .map(|verdict| if verdict.zone == Zone::Keep { 'k' } else { 'o' })
            .collect::<String>()
    };
    assert_eq!(zones(1), "oooooook");
    // The last but one answers call a, whose exchange call b and the reply are in.
    assert_eq!(zones(2), "okkkkkkk");
}

#[test]
fn a_long_result_is_trimmed_where_the_format_has_it() {
    let policy = Policy {
        trim: Some(Trim::default()),
        ..Policy::default()
    };
    let session = session();
    let questions = Questions {
        policy: &policy,
        counter: MessageCounter::new(Encoding::O200kBase),
        size: false,
    };
    let mut pruner = Pruner::new(&questions);
    for text in &session {
        let object = Object::parse(text).expect("an object");
        match (Items.outline(&object), Items.message(&object)) {
            (Some(outline), Some(message)) => {
                let facts = MessageFacts::of(&message, &object, false, &questions);
                pruner.message(&outline, facts);
            }
            _ => pruner.line(),
        }
    }
    let verdicts = pruner.finish();
    assert!((0..3).all(|record| matches!(verdicts.get(record), Verdict::Keep)));
    let Verdict::Change(changes) = verdicts.get(3) else {
        panic!("it changes");
    };
    let object = Object::parse(&session[3]).expect("an object");
    let message = Items.message(&object).expect("a message");
    let (edits, _) = changes.carry_out(message, &object);
    let freed = verdicts.freed(3);
    assert_eq!(freed.len(), 1);
    let text = edits.of_object(&object);
    assert!(text.starts_with(r#"{"type":"output","call_id":"b","output":"word word"#));
    assert!(text.ends_with("⟧\"}"), "{text}");
}
