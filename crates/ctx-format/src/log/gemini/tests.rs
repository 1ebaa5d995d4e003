//! Tests which parts of generated sessions are in the context. The expected values are taken from
//! what the client makes of such files.

mod content;

use crate::Dialect;
use crate::dialect::Gemini;
use crate::view::{Outside, Presence};
use crate::{Options, Records};

const HEADER: &str = r#"{"sessionId":"s","projectHash":"p","kind":"main"}"#;

/// The summary of a compaction as a user message.
const SNAPSHOT: &str = r#"{"id":"sum","timestamp":"t","type":"user","content":[{"text":"<state_snapshot>\nso far\n</state_snapshot>"}]}"#;

fn message(id: &str, kind: &str, rest: &str) -> String {
    format!(r#"{{"id":"{id}","timestamp":"t","type":"{kind}",{rest}}}"#)
}

/// A user message whose text is its id.
fn user(id: &str) -> String {
    message(id, "user", &format!(r#""content":[{{"text":"{id}"}}]"#))
}

fn says(id: &str) -> String {
    message(id, "gemini", &format!(r#""content":"{id}""#))
}

/// The part with a tool's response to a call.
fn response(call: &str) -> String {
    format!(r#"{{"functionResponse":{{"id":"{call}","name":"ls","response":{{"output":"x"}}}}}}"#)
}

/// A reply with a call and the result of that call.
fn calls(id: &str, call: &str) -> String {
    let result = response(call);
    let call = format!(r#"{{"id":"{call}","name":"ls","args":{{}},"result":[{result}]}}"#);
    message(id, "gemini", &format!(r#""content":"","toolCalls":[{call}]"#))
}

fn results(id: &str, call: &str) -> String {
    message(id, "user", &format!(r#""content":[{}]"#, response(call)))
}

fn set(messages: &[&str]) -> String {
    format!(r#"{{"$set":{{"messages":[{}]}}}}"#, messages.join(","))
}

fn rewind(id: &str) -> String {
    format!(r#"{{"$rewindTo":"{id}"}}"#)
}

fn presences(lines: &[&str]) -> Vec<Presence> {
    let text = lines.join("\n");
    let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
    let name = records.dialect().map(crate::Dialect::name);
    assert_eq!(name, Some("gemini"));
    let mut presences = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        presences.push(record.presence.expect("a log"));
    }
    presences
}

/// The messages in the context, each as the numbers of its lines, from 0.
fn context(lines: &[&str]) -> Vec<Vec<usize>> {
    let mut messages: Vec<Vec<usize>> = Vec::new();
    for (number, presence) in presences(lines).into_iter().enumerate() {
        let Presence::Inside(fragment) = presence else { continue };
        let at = usize::try_from(fragment.message).expect("a small number");
        messages.resize(messages.len().max(at + 1), Vec::new());
        messages[at].push(number);
    }
    messages
}

/// The numbers of the lines that are not in the context, and why they are not.
fn outside(lines: &[&str]) -> Vec<(usize, Outside)> {
    let lines = presences(lines).into_iter().enumerate();
    let outside = lines.filter_map(|(number, presence)| match presence {
        Presence::Outside(why) => Some((number, why)),
        Presence::Inside(_) => None,
    });
    outside.collect()
}

#[test]
fn a_message_that_is_written_again_stays_at_its_place() {
    let lines = [HEADER, &user("a"), &says("b"), &user("c"), &says("b")];
    assert_eq!(context(&lines), [[1], [4], [3]]);
    let expected = [(0, Outside::NeverSent), (2, Outside::Superseded)];
    assert_eq!(outside(&lines), expected);
}

#[test]
fn a_rewind_takes_back_a_message_and_all_behind_it() {
    let (a, b, c) = (user("a"), says("b"), user("c"));
    let lines = [HEADER, &a, &b, &c, &rewind("b"), &user("d")];
    assert_eq!(context(&lines), [[1], [5]]);
    let dead = Outside::DeadBranch;
    assert_eq!(outside(&lines)[1..3], [(2, dead), (3, dead)]);
    // A message that is written again after a rewind undid it comes at the end.
    let again = [HEADER, &a, &b, &c, &rewind("b"), &user("d"), &b];
    assert_eq!(context(&again), [[1], [5], [6]]);
}

#[test]
fn a_rewind_to_what_is_not_there_takes_back_all() {
    let lines = [HEADER, &user("a"), &says("b"), &rewind("?"), &user("d")];
    assert_eq!(context(&lines), [[4]]);
    // Messages that a rewind undid do not come back.
    let (a, b) = (user("a"), says("b"));
    let twice = [HEADER, &a, &b, &rewind("b"), &user("c"), &rewind("b")];
    assert!(context(&twice).is_empty());
}

#[test]
fn a_compaction_takes_the_place_of_all_before_it() {
    let (a, b, c) = (user("a"), says("b"), user("c"));
    let compaction = set(&[SNAPSHOT, &c]);
    let lines = [HEADER, &a, &b, &c, &compaction, &says("d")];
    assert_eq!(context(&lines), [[4], [5]]);
    let old = Outside::BeforeCompaction;
    let expected = [(1, old), (2, old), (3, Outside::Superseded)];
    assert_eq!(outside(&lines)[1..], expected);
}

/// A client that resumes a session writes a list that contains its own texts and then all messages.
#[test]
fn a_list_of_messages_says_them_anew_or_leaves_them() {
    let (a, b, c) = (user("a"), says("b"), user("c"));
    let own = message("e", "user", r#""content":"<session_context>x""#);
    let all = set(&[&own, &a, &b]);
    let lines = [HEADER, &a, &b, &c, &set(&[&own]), &all, &says("d")];
    assert_eq!(context(&lines), [[5], [6]]);
    let (again, left) = (Outside::Superseded, Outside::DeadBranch);
    let expected = [(1, again), (2, again), (3, left), (4, Outside::NeverSent)];
    assert_eq!(outside(&lines)[1..], expected);
}

#[test]
fn a_list_of_messages_stays_as_long_as_one_of_them() {
    let list = set(&[&user("a"), &says("b")]);
    let written_again = [HEADER, &list, &user("c"), &says("b")];
    assert_eq!(context(&written_again), [[1], [3], [2]]);
    assert_eq!(context(&[HEADER, &list, &rewind("b")]), [[1]]);
    assert!(context(&[HEADER, &list, &rewind("a")]).is_empty());
}

/// The parts of each record in the context, and the numbers of the messages that they belong to.
fn said(lines: &[&str]) -> Vec<(String, Vec<u64>)> {
    let text = lines.join("\n");
    let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
    let mut said = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        let Some(message) = record.message(Some(&Gemini)) else { continue };
        let places = match (&record.portion, record.presence) {
            (Some(portion), _) => portion.inside().iter().map(|(_, place)| *place).collect(),
            (None, Some(Presence::Inside(fragment))) => vec![fragment.message],
            _ => Vec::new(),
        };
        said.push((message.texts().join("|"), places));
    }
    said
}

#[test]
fn of_a_list_of_messages_some_may_be_taken_back() {
    let (a, b, c, d) = (user("a"), says("b"), user("c"), user("d"));
    let own = message("e", "info", r#""content":"x""#);
    let list = set(&[&own, &a, &b, &c]);
    let back = [HEADER, &list, &rewind("c"), &d];
    let expected = [("a|b".to_owned(), vec![0, 0]), ("d".to_owned(), vec![1])];
    assert_eq!(said(&back), expected);
    let more = [HEADER, &list, &rewind("b"), &d];
    assert_eq!(said(&more)[0], ("a".to_owned(), vec![0]));
    let header = HEADER.replace('}', &format!(r#","messages":[{a},{b},{c}]}}"#));
    assert_eq!(said(&[&header, &rewind("b")]), [("a".to_owned(), vec![0])]);
    // Messages can also be removed from a compaction, which remains a compaction as long as its
    // summary is left.
    let compaction = set(&[SNAPSHOT, &b, &c]);
    let lines = [HEADER, &compaction, &rewind("c")].join("\n");
    let mut records = Records::open(lines.as_bytes(), &Options::default()).expect("from memory");
    records.next().expect("from memory");
    let record = records.next().expect("from memory").expect("the list");
    let object = record.whole_object().expect("an object");
    assert!(record.outline(Some(&Gemini)).expect("a message").is_summary);
    assert_eq!(Gemini.held(object).len(), 2);
    assert_eq!(Gemini.held(&object.whole()).len(), 3);
    let portion = record.portion.as_ref().expect("not all of it");
    assert_eq!(*portion.outside, [(2, Outside::DeadBranch)]);
}

#[test]
fn a_message_of_a_list_that_is_written_again_stays_at_its_place() {
    let (a, c) = (user("a"), user("c"));
    let list = set(&[&a, &says("b"), &c]);
    let new = message("b", "gemini", r#""content":"new""#);
    let lines = [HEADER, &list, &user("d"), &new];
    let expected = [("a|c", vec![0, 2]), ("d", vec![3]), ("new", vec![1])];
    let expected = expected.map(|(text, places)| (text.to_owned(), places));
    assert_eq!(said(&lines), expected);
    // The results of a reply in the list follow that reply, wherever their own record begins.
    let reply = calls("r", "1");
    let list = set(&[&a, &says("b"), &reply]);
    let lines = [HEADER, &list, &new, &results("s", "1")];
    assert_eq!(context(&lines), [vec![1, 3], vec![2]]);
    let places: Vec<Vec<u64>> = said(&lines).into_iter().map(|(_, it)| it).collect();
    assert_eq!(places, [vec![0, 2], vec![1], vec![2]]);
}

/// If the client leaves out a series of replies because one of them has an empty part, those
/// replies of the series that are in a list are left out too.
#[test]
fn a_void_reply_takes_its_neighbours_in_a_list_with_it() {
    let void = message("v", "gemini", r#""content":"x""#).replace("\"x\"", r#"[{"text":""}]"#);
    let list = set(&[&user("a"), &says("b"), &void, &user("c")]);
    let expected = ("a|c".to_owned(), vec![0, 0]);
    assert_eq!(said(&[HEADER, &list]), [expected]);
}

#[test]
fn only_a_list_of_messages_takes_a_place() {
    let a = user("a");
    for other in
        [r#"{"$set":{"lastUpdated":"t"}}"#, r#"{"$set":{"messages":{"a":1}}}"#, r#"{"$set":7}"#]
    {
        assert_eq!(context(&[HEADER, &a, other]), [[1]], "{other}");
    }
    assert!(context(&[HEADER, &a, r#"{"$set":{"messages":[]}}"#]).is_empty());
    // A list of messages in a header does not replace the earlier messages either.
    let header = HEADER.replace('}', &format!(r#","messages":[{}]}}"#, user("b")));
    assert_eq!(context(&[HEADER, &a, &header]), [[1], [2]]);
}

/// The client writes the results again after a reply that already contains them, and sends both
/// copies.
#[test]
fn results_behind_a_reply_continue_its_message() {
    let (a, b, c) = (user("a"), calls("b", "1"), results("c", "1"));
    let next = says("d");
    let lines = [HEADER, &a, &b, &c, &next];
    assert_eq!(context(&lines), [vec![1], vec![2, 3], vec![4]]);
    // The client writes the reply again after each call, with one more call.
    let grown = [HEADER, &a, &says("b"), &b, &c, &results("e", "1"), &next];
    assert_eq!(context(&grown), [vec![1], vec![3, 4, 5], vec![6]]);
    // A tool may have read an image.
    let image = c.replace("[{", r#"[{"inlineData":{"mimeType":"image/png","data":"eA=="}},{"#);
    assert_eq!(context(&[HEADER, &b, &image, &next]), [vec![1, 2], vec![3]]);
    // A call may be in the content of a reply, and the reply may be in a list.
    let call = r#""content":[{"functionCall":{"name":"ls"}}]"#;
    let list = set(&[&a, &message("b", "gemini", call)]);
    let nameless = c.replace(r#""id":"1","name""#, r#""name""#);
    assert_eq!(context(&[HEADER, &list, &nameless]), [[1, 2]]);
    let other = nameless.replace("\"ls\"", "\"cat\"");
    assert_eq!(context(&[HEADER, &list, &other]), [[1], [2]]);
}

#[test]
fn results_of_other_calls_are_a_message() {
    let (b, other) = (calls("b", "1"), results("c", "2"));
    assert_eq!(context(&[HEADER, &b, &other]), [[1], [2]]);
    let late = [HEADER, &b, &user("c"), &results("d", "1")];
    assert_eq!(context(&late), [[1], [2], [3]]);
    // Results also form a separate message if their reply is written again after them.
    let again = [HEADER, &b, &results("c", "1"), &b];
    assert_eq!(context(&again), [[3], [2]]);
}

#[test]
fn what_says_nothing_to_the_model_is_not_sent() {
    for (kind, rest) in [
        ("info", r#""content":"x""#),
        ("error", r#""content":"x""#),
        ("warning", r#""content":"x""#),
        ("other", r#""content":"x""#),
        ("gemini", r#""content":"","thoughts":[],"toolCalls":[]"#),
        ("gemini", r#""content":[]"#),
        ("user", r#""content":"""#),
        ("user", r#""content":" \ufeff""#),
        ("user", r#""content":" /help""#),
        ("user", r#""content":["?","x"]"#),
        ("user", r#""content":["<session","_context>"]"#),
        ("user", r#""content":{"text":"<hook_context>x"}"#),
        ("user", r#""content":[{},5]"#),
    ] {
        let line = message("b", kind, rest);
        let lines = [HEADER, &user("a"), &line];
        assert_eq!(context(&lines), [[1]], "{line}");
        assert_eq!(outside(&lines)[1], (2, Outside::NeverSent));
    }
    for (kind, rest) in [
        ("gemini", r#""content":"","thoughts":[{"subject":"s"}]"#),
        ("gemini", r#""content":"","toolCalls":[{"id":"1"}]"#),
        ("user", r#""content":"x /help""#),
        ("user", r#""content":[{"inlineData":{}},"/help"]"#),
    ] {
        let line = message("b", kind, rest);
        assert_eq!(context(&[HEADER, &line]), [[1]], "{line}");
    }
}

#[test]
fn a_void_reply_takes_its_neighbours_with_it() {
    for void in [r#"[{"text":""}]"#, r#"["x",{}]"#, r#"[""]"#] {
        let void = message("v", "gemini", &format!(r#""content":{void}"#));
        let lines = [HEADER, &user("a"), &says("b"), &void, &says("c")];
        assert_eq!(context(&lines), [[1]]);
        // A result or a user message ends a series of replies.
        let parted = [HEADER, &calls("a", "1"), &void, &user("b"), &says("c")];
        assert_eq!(context(&parted), [[1], [3], [4]]);
    }
    for other in [r#"[{"text":"","thoughtSignature":"s"}]"#, r#"[{"x":1}]"#] {
        let other = message("b", "gemini", &format!(r#""content":{other}"#));
        assert_eq!(context(&[HEADER, &other]), [[1]], "{other}");
    }
}

#[test]
fn a_bad_line_is_passed_over() {
    let (a, b) = (user("a"), says("b"));
    let two = [a.as_str(), b.as_str()].concat();
    let lines = [HEADER, "broken", &a, &two, "[1]", "", &b, "{\"id\":\"c"];
    assert_eq!(context(&lines), [[2], [6]]);
    let unnamed = r#"{"timestamp":"t","type":"user","content":"x"}"#;
    let lines = [HEADER, unnamed, r#"{"id":7,"type":"user","content":"x"}"#];
    assert!(context(&lines).is_empty());
    let list = set(&["7", unnamed, &a]);
    assert_eq!(context(&[HEADER, &list]), [[1]]);
}

#[test]
fn a_document_of_messages_is_such_a_session() {
    let (a, note) = (user("a"), message("n", "warning", r#""content":"x""#));
    for messages in [[&note, &a], [&a, &note]] {
        let [first, second] = messages;
        let text = format!(
            "{{\n  \"sessionId\": \"s\",\n  \"projectHash\": \"p\",\n  \"messages\": [\n    {first},\n    {second}\n  ]\n}}"
        );
        assert_eq!(context(&[&text]).len(), 1);
        let records = Records::open(text.as_bytes(), &Options::default());
        let records = records.expect("from memory");
        assert_eq!(records.document_members_beside(), Some(vec!["sessionId", "projectHash"]));
    }
}
