//! Tests how single records are read.

use super::{HEADER, SNAPSHOT, calls, message, results, rewind, says, set, user};
use crate::dialect::{Dialect, Gemini, Sniff};
use crate::{Edits, Object, Outline, Part, Role};

fn object(text: &str) -> Object<'_> {
    Object::parse(text).expect("an object")
}

fn outline(text: &str) -> Outline<'_> {
    Gemini.outline(&object(text)).expect("a message")
}

/// Each part as a letter and its text: `t`ext, `r`easoning, `c`all, `a`nswer, `m`edia, `o`paque.
fn words(parts: &[Part<'_>]) -> String {
    let word = |part: &Part<'_>| match part {
        Part::Text(text) => format!("t:{text}"),
        Part::Reasoning(text) => format!("r:{text}"),
        Part::Call(call) => {
            format!("c:{}:{}:{}", call.id.as_deref().unwrap_or("-"), call.name, call.arguments)
        }
        Part::Result(result) => {
            let id = result.id.as_deref().unwrap_or("-");
            let bad = if result.is_error { "!" } else { "" };
            format!("a{bad}:{id}({})", words(&result.parts))
        }
        Part::Media(media) => format!("m:{}", media.kind),
        Part::Opaque(raw) | Part::Refusal(raw) => format!("o:{raw}"),
    };
    let words: Vec<String> = parts.iter().map(word).collect();
    words.join(" ")
}

fn said(text: &str) -> String {
    words(&Gemini.message(&object(text)).expect("a message").parts)
}

#[test]
fn the_content_of_files_and_copies_of_results_are_not_the_users() {
    let (begin, end) = ("\\n--- Content from referenced files ---", "\\n--- End of content ---");
    for (texts, added) in [
        (&["see @a", begin, "x", end, "y", end][..], 1..6),
        (&["see @a", begin, "x"], 1..3),
        (&["see @a", end], 0..0),
    ] {
        let parts: Vec<_> = texts.iter().map(|text| format!(r#"{{"text":"{text}"}}"#)).collect();
        let line = message("n", "user", &format!(r#""content":[{}]"#, parts.join(",")));
        assert_eq!(Gemini.message(&object(&line)).expect("a message").added, added);
    }
    let response = r#"{"functionResponse":{"id":"a","name":"b","response":{"output":"x"}}}"#;
    let image = r#"{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}"#;
    let with_image = message("n", "user", &format!(r#""content":[{response},{image}]"#));
    assert!(!Gemini.held(&object(&with_image))[0].begins_turn);
    for (parts, added) in
        [(response.to_owned(), 0..usize::MAX), (format!(r#"{response},{{"text":"x"}}"#), 0..0)]
    {
        let line = message("n", "user", &format!(r#""content":[{parts}]"#));
        assert_eq!(Gemini.message(&object(&line)).expect("a message").added, added);
    }
}

#[test]
fn its_own_records_are_told_from_others() {
    for own in [
        HEADER,
        &user("a"),
        &says("b"),
        &message("n", "info", r#""content":"x""#),
        &rewind("a"),
        &set(&[&user("a")]),
        r#"{"$set":{"lastUpdated":"t"}}"#,
    ] {
        assert_eq!(Gemini.sniff(&object(own)), Sniff::Yes, "{own}");
    }
    for other in [
        r#"{"role":"user","content":"x"}"#,
        r#"{"id":"a","timestamp":"t","type":"message","message":{"role":"user"}}"#,
        r#"{"id":"a","timestamp":"t","type":"user","role":"user","content":"x"}"#,
        r#"{"id":"a","type":"user","content":"x"}"#,
        r#"{"id":"a","timestamp":"t","type":"user"}"#,
        r#"{"sessionId":"s","projectHash":"p","type":"x"}"#,
        r#"{"sessionId":"s","uuid":"u","parentUuid":null,"type":"user"}"#,
        r#"{"$set":7}"#,
    ] {
        assert_eq!(Gemini.sniff(&object(other)), Sniff::No, "{other}");
    }
}

#[test]
fn thoughts_and_calls_stand_beside_the_content() {
    let rest = r#""content":"so","thoughts":[{"subject":"S","description":"d"},{"subject":"","description":"e"}],"toolCalls":[{"id":"1","name":"ls","args":{"p": 1},"result":[{"functionResponse":{"id":"1","name":"ls","response":{"output":"x"}}},"y"]},{"id":"2","name":"ls","args":{},"result":null},{"id":"3","name":"ls","args":{},"result":""}]"#;
    assert_eq!(
        said(&message("a", "gemini", rest)),
        r#"r:**S** d r:e t:so c:1:ls:{"p": 1} c:2:ls:{} c:3:ls:{} a:1(t:x) t:y"#
    );
}

#[test]
fn a_content_with_calls_or_thoughts_is_all_but_the_results() {
    let listed = r#""thoughts":[{"subject":"S"}],"toolCalls":[{"id":"1","name":"ls","args":{},"result":"x"}]"#;
    let reply = |content| said(&message("a", "gemini", &format!("\"content\":{content},{listed}")));
    let call = r#"[{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"s"}]"#;
    assert_eq!(reply(call), "c:-:ls:{} a:1(t:x)");
    let thought = r#"[{"text":"hm","thought":true},{"text":"so"}]"#;
    assert_eq!(reply(thought), "r:hm t:so a:1(t:x)");
    let text = r#"[{"text":"so","thought":false}]"#;
    assert_eq!(reply(text), "r:**S**  t:so c:1:ls:{} a:1(t:x)");
}

#[test]
fn each_kind_of_part_is_seen() {
    let content = r#""content":["a",{"inlineData":{"mimeType":"image/png"}},{"fileData":{}},{"functionResponse":{"id":"1","name":"ls","response":{"error":"no"}}},{"functionResponse":{"name":"ls","response":{"output":"x","n":1},"parts":[{"inlineData":{}}]}},{"executableCode":{}}]"#;
    assert_eq!(
        said(&message("a", "user", content)),
        r#"t:a m:inlineData m:fileData a!:1(t:no) a:-(o:{"output":"x","n":1} m:inlineData) o:{"executableCode":{}}"#
    );
}

#[test]
fn no_outline_names_what_nothing_can_part() {
    for line in [calls("a", "1"), results("b", "1")] {
        let outline = outline(&line);
        assert!(outline.calls.is_empty() && outline.results.is_empty());
        assert!(!outline.begins_turn);
        assert_eq!(outline.has_content, outline.role == Role::Assistant);
    }
}

#[test]
fn only_the_user_begins_a_turn() {
    assert!(outline(&user("a")).begins_turn);
    assert!(outline(&set(&[&says("a"), &user("b")])).begins_turn);
    assert!(!outline(&says("a")).begins_turn);
    for text in [
        "System: Please continue.",
        "Please continue.",
        "\\nHere is the user's editor context as a JSON object. x",
        "- **Workspace Directories:**",
        "<state_snapshot>x",
    ] {
        let content = format!(r#""content":[{{"text":"{text}"}}]"#);
        assert!(!outline(&message("a", "user", &content)).begins_turn, "{text}");
    }
    let image = r#""content":[{"inlineData":{}}]"#;
    assert!(outline(&message("a", "user", image)).begins_turn);
}

#[test]
fn messages_of_several_speakers_are_nobodys() {
    let role = |messages: &[&str]| outline(&set(messages)).role;
    assert_eq!(role(&[&user("a"), &user("b")]), Role::User);
    assert_eq!(role(&[&says("a")]), Role::Assistant);
    assert_eq!(role(&[&user("a"), &says("b")]), Role::Other);
    let both = set(&[&user("a"), &calls("b", "1"), &user("a").replace(":[", ":[\"x\",")]);
    // If two messages have the same id, the later one counts, at the position of the first.
    assert_eq!(said(&both), "t:x t:a c:1:ls:{} a:1(t:x)");
}

#[test]
fn a_summary_is_known_with_the_clients_answer_to_it() {
    for messages in [vec![SNAPSHOT], vec![SNAPSHOT, &says("ok")]] {
        let line = set(&messages);
        let outline = outline(&line);
        assert_eq!((outline.role, outline.is_summary), (Role::User, true));
        assert!(!outline.begins_turn);
        let text = Gemini.summary_text(&object(&line)).expect("a summary");
        assert_eq!(text, "so far");
    }
}

/// If such a record were read as a summary, the messages after the summary would be lost when it is
/// summarized again.
#[test]
fn a_summary_with_messages_behind_it_is_read_as_they_are() {
    for behind in [user("a"), calls("a", "1"), results("a", "1")] {
        let line = set(&[SNAPSHOT, &says("ok"), &behind]);
        let outline = outline(&line);
        assert_eq!((outline.role, outline.is_summary), (Role::Other, true));
        assert!(!outline.begins_turn);
        assert_eq!(Gemini.summary_text(&object(&line)), None);
    }
    let asked = set(&[SNAPSHOT, &user("a")]);
    assert_eq!(Gemini.summary_text(&object(&asked)), None);
}

#[test]
fn only_the_client_has_written_a_summary() {
    let of_model = SNAPSHOT.replace("\"user\"", "\"gemini\"");
    let of_tool = results("a", "1").replace("\"x\"", "\"<state_snapshot>\"");
    for line in
        [SNAPSHOT.to_owned(), set(&[&of_model]), set(&[&of_tool]), set(&[&user("a"), SNAPSHOT])]
    {
        assert!(!outline(&line).is_summary, "{line}");
        assert_eq!(Gemini.summary_text(&object(&line)), None);
    }
}

#[test]
fn a_written_summary_is_read_again() {
    for text in ["what \"was\"", "", "<state_snapshot>x</state_snapshot>"] {
        let line = Gemini.summary_record(Role::User, text);
        let read = Gemini.summary_text(&object(&line));
        assert_eq!(read.as_deref(), Some(text));
    }
}

#[test]
fn places_are_those_in_the_record() {
    let replies = [calls("a", "1"), calls("b", "2").replace("{}", "{\"p\": 1}")];
    for line in [replies[1].clone(), set(&[&replies[0], &replies[1]])] {
        let object = object(&line);
        let parts = Gemini.message(&object).expect("a message").parts;
        let slots = parts.iter().filter_map(|part| match part {
            Part::Call(call) => call.slot.clone(),
            Part::Result(result) => result.slot.clone(),
            _ => None,
        });
        let texts: Vec<&str> = slots.map(|slot| &line[slot.range]).collect();
        assert_eq!(texts[texts.len() - 2..], ["{\"p\": 1}", "\"x\""]);
    }
    // A text cannot replace a response that has other members, or media next to the response.
    for response in [r#"{"output":"x","n":1}"#, r#"{"output":"x"},"parts":[{}]"#] {
        let line = results("a", "1").replace(r#"{"output":"x"}"#, response);
        let message = object(&line);
        let message = Gemini.message(&message).expect("a message");
        assert!(message.results().all(|result| result.slot.is_none()));
    }
}

#[test]
fn reasoning_goes_wherever_it_stands() {
    let without = |text: &str| {
        let object = object(text);
        let mut edits = Edits::default();
        let places = Gemini.message(&object).expect("a message").reasoning;
        assert!(places.is_sorted_by_key(|place| place.start));
        edits.cut(places);
        edits.of_object(&object)
    };
    let rest =
        r#""content":[{"text":"hm","thought":true},{"text":"so"}],"thoughts":[{"subject":"S"}]"#;
    let left = message("a", "gemini", r#""content":[{"text":"so"}]"#);
    assert_eq!(without(&message("a", "gemini", rest)), left);
    let list = set(&[&user("u"), &message("a", "gemini", rest)]);
    assert_eq!(without(&list), set(&[&user("u"), &left]));
    // If two messages have the same id, the later one counts, at the position of the first.
    let (first, second) = (says("b"), message("b", "gemini", rest));
    let list = set(&[&first, &message("a", "gemini", rest), &second]);
    let left_b = message("b", "gemini", r#""content":[{"text":"so"}]"#);
    assert_eq!(without(&list), set(&[&first, &left, &left_b]));
    for other in [says("a"), message("a", "user", rest)] {
        assert_eq!(without(&other), other);
    }
}

#[test]
fn what_is_for_the_screen_is_no_part_of_what_is_sent() {
    let rest = r#""content":"so","displayContent":"S","thoughts":[1],"toolCalls":[{"id":"1","name":"ls","args":{},"result":"x","resultDisplay":"X"}]"#;
    let line = message("a", "gemini", rest);
    let wrapped = Gemini.wrapped(&object(&line));
    let sent = ["\"so\"", "[1]", "\"1\"", "\"ls\"", "{}", "\"x\""];
    assert_eq!(wrapped.sent, sent);
    assert_eq!(wrapped.copies, ["\"S\"", "\"X\""]);
    // If the content has the whole reply, the calls outside the content are a copy.
    let whole = line.replace("\"so\"", r#"[{"functionCall":{"name":"ls"}}]"#);
    let wrapped = Gemini.wrapped(&object(&whole));
    assert_eq!(wrapped.sent.len(), 2);
    assert_eq!(wrapped.copies.len(), 6);
}
