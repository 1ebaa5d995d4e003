//! Tests which entries of generated sessions are in the context. The expected values are taken from
//! what the agent's loader makes of such files.

use crate::dialect::Dialect;
use crate::view::{Outside, Presence};
use crate::{Options, Record, Records};

/// The lines of a session after its header.
#[derive(Clone, Default)]
struct Lines(Vec<String>);

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;

/// A header in the format of the oldest files.
const OLD_HEADER: &str =
    r#"{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}"#;

impl Lines {
    fn bare(mut self, line: &str) -> Self {
        self.0.push(line.to_owned());
        self
    }

    /// Adds an entry. `ids` is `id>parent`, and `rest` is the text after these members.
    fn add(self, ids: &str, rest: &str) -> Self {
        let (id, parent) = ids.split_once('>').expect("an id and a parent");
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        self.bare(&format!(
            r#"{{"id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z",{rest}}}"#
        ))
    }

    fn message(self, ids: &str, rest: &str) -> Self {
        self.add(ids, &format!(r#""type":"message","message":{{{rest}}}"#))
    }

    fn user(self, ids: &str) -> Self {
        self.message(ids, r#""role":"user","content":"x""#)
    }

    /// Adds a reply that ended for the reason `stop`.
    fn reply(self, ids: &str, stop: &str) -> Self {
        let rest = r#""role":"assistant","content":[{"type":"text","text":"y"}],"stopReason":"#;
        self.message(ids, &format!(r#"{rest}"{stop}""#))
    }

    fn result(self, ids: &str) -> Self {
        let rest = r#""role":"toolResult","toolCallId":"1","toolName":"n","content":[]"#;
        self.message(ids, rest)
    }

    fn compaction(self, ids: &str, rest: &str) -> Self {
        self.add(ids, &format!(r#""type":"compaction","summary":"sum"{rest}"#))
    }

    /// The records after the header, each as its id, or `-` if it has none, and its presence.
    fn presences_behind(&self, header: &str) -> Vec<(String, Presence)> {
        let text = format!("{header}\n{}", self.0.join("\n"));
        let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
        let name = records.dialect().map(Dialect::name);
        assert_eq!(name, Some("pi"));
        let mut presences = Vec::new();
        while let Some(record) = records.next().expect("from memory") {
            let presence = record.presence.expect("a tree");
            presences.push((id_of(&record), presence));
        }
        assert_eq!(presences[0].1, Presence::Outside(Outside::NeverSent));
        presences.split_off(1)
    }

    /// The ids of the messages in the context, in the order in which they are sent.
    fn context_behind(&self, header: &str) -> Vec<String> {
        let presences = self.presences_behind(header).into_iter();
        let mut inside: Vec<_> = presences
            .filter_map(|(id, presence)| match presence {
                Presence::Inside(fragment) => Some((fragment.message, id)),
                Presence::Outside(_) => None,
            })
            .collect();
        inside.sort();
        inside.into_iter().map(|(_, id)| id).collect()
    }

    /// The texts of the messages in the context, in order. The flag of each text says whether
    /// another text can replace it.
    fn said(&self) -> Vec<(String, bool)> {
        let text = format!("{HEADER}\n{}", self.0.join("\n"));
        let mut records = Records::open(text.as_bytes(), &Options::default()).expect("from memory");
        let dialect = records.dialect();
        let mut said = Vec::new();
        while let Some(record) = records.next().expect("from memory") {
            let Some(Presence::Inside(fragment)) = record.presence else { continue };
            let message = record.message(dialect).expect("a message");
            let has_slot = message.results().any(|result| result.slot.is_some());
            let calls = record.outline(dialect).expect("a message").calls;
            assert_eq!(calls.len(), message.calls().count());
            said.push((fragment.message, (message.texts().join("|"), has_slot)));
        }
        said.sort();
        said.into_iter().map(|(_, said)| said).collect()
    }

    fn edit(self, ids: &str, target: &str, replacement: &str) -> Self {
        let rest = r#""type":"context_edit","targetId":"#;
        self.add(ids, &format!(r#"{rest}"{target}","replacement":{replacement}"#))
    }

    fn context(&self) -> String {
        self.context_behind(HEADER).join(" ")
    }

    /// The ids of the records that are not in the context, and why they are not.
    fn outside(&self) -> Vec<(String, Outside)> {
        let presences = self.presences_behind(HEADER).into_iter();
        presences
            .filter_map(|(id, presence)| match presence {
                Presence::Outside(why) => Some((id, why)),
                Presence::Inside(_) => None,
            })
            .collect()
    }
}

/// The id of an entry, or its text if the entry has no id, as in the oldest files.
fn id_of(record: &Record<'_>) -> String {
    let object = record.whole_object();
    let said = || object?.object_of("message")?.text_of("content");
    let id = object.and_then(|object| object.text_of("id")).or_else(said);
    id.map_or_else(|| "-".to_owned(), std::borrow::Cow::into_owned)
}

fn why(ids: &[&str], why: Outside) -> Vec<(String, Outside)> {
    ids.iter().map(|id| ((*id).to_owned(), why)).collect()
}

/// A session of two turns.
fn two_turns() -> Lines {
    let first = Lines::default().user("a>").reply("b>a", "stop");
    first.user("c>b").reply("d>c", "stop")
}

#[test]
fn the_newest_entry_and_its_parents_are_sent_and_a_left_branch_is_not() {
    let lines = two_turns().user("e>b").reply("f>e", "stop");
    assert_eq!(lines.context(), "a b e f");
    assert_eq!(lines.outside(), why(&["c", "d"], Outside::DeadBranch));
    let emptied = two_turns().user("e>");
    assert_eq!(emptied.context(), "e");
    // An entry with settings also changes where the session continues.
    let back = two_turns().add("m>b", r#""type":"model_change""#);
    assert_eq!(back.context(), "a b");
}

#[test]
fn a_summary_comes_before_the_entries_that_stay_and_these_before_later_ones() {
    let lines = two_turns().compaction("s>d", r#","firstKeptEntryId":"c""#);
    let lines = lines.user("e>s");
    assert_eq!(lines.context(), "s c d e");
    assert_eq!(lines.outside(), why(&["a", "b"], Outside::BeforeCompaction));
}

#[test]
fn where_the_first_entry_that_stays_is_not_on_the_path_none_stays() {
    let nowhere = two_turns().compaction("s>d", r#","firstKeptEntryId":"?""#);
    assert_eq!(nowhere.context(), "s");
    assert_eq!(two_turns().compaction("s>d", "").context(), "s");
    let elsewhere = two_turns().user("e>b");
    let elsewhere = elsewhere.compaction("s>e", r#","firstKeptEntryId":"d""#);
    assert_eq!(elsewhere.context(), "s");
    // A compaction without `firstKeptEntryId` does not keep an entry without an id.
    let lines = Lines::default().bare(r#"{"type":"compaction","summary":"sum","parentId":null}"#);
    assert_eq!(lines.context(), "-");
}

#[test]
fn of_two_compactions_the_last_one_counts_and_the_first_one_is_no_entry_that_stays() {
    let first = two_turns().compaction("s>d", r#","firstKeptEntryId":"c""#);
    let second = first.user("e>s").compaction("t>e", r#","firstKeptEntryId":"d""#);
    let second = second.user("f>t");
    assert_eq!(second.context(), "t d e f");
    let before = Outside::BeforeCompaction;
    assert_eq!(second.outside(), why(&["a", "b", "c", "s"], before));
    // A compaction on an abandoned branch does not change the context.
    let left = two_turns().compaction("s>d", "").user("e>d");
    assert_eq!(left.context(), "a b c d e");
    assert_eq!(left.outside(), why(&["s"], Outside::DeadBranch));
}

#[test]
fn in_the_oldest_files_entries_follow_each_other_and_numbers_name_them() {
    let say = |lines: Lines, text: &str| {
        lines.bare(&format!(
            r#"{{"type":"message","timestamp":"t","message":{{"role":"user","content":"{text}"}}}}"#
        ))
    };
    // A line that is not JSON is not numbered, but a second header is.
    let lines = say(Lines::default(), "a").bare("{\"type\":").bare("");
    let lines = say(say(lines.bare(OLD_HEADER), "b"), "c");
    let compaction = |number: &str| {
        format!(r#"{{"type":"compaction","summary":"sum","firstKeptEntryIndex":{number}}}"#)
    };
    let all = lines.context_behind(OLD_HEADER);
    assert_eq!(all, ["a", "b", "c"]);
    let lines = say(lines.bare(&compaction("4")), "d");
    assert_eq!(lines.context_behind(OLD_HEADER), ["-", "c", "d"]);
    for none in ["0", "2", "7", "99", "-1", "null"] {
        let again = Lines(lines.0.clone()).bare(&compaction(none));
        assert_eq!(again.context_behind(OLD_HEADER), ["-"], "{none}");
    }
    // From version 2 on, entries are identified by their ids.
    let branch = two_turns().user("e>b");
    assert_eq!(branch.context_behind(OLD_HEADER).len(), 5);
    let second = HEADER.replace('3', "\"2\"");
    assert_eq!(branch.context_behind(&second), ["a", "b", "e"]);
}

#[test]
fn what_does_not_begin_with_a_header_is_not_read() {
    let headless = two_turns();
    assert!(headless.context_behind("").is_empty() && headless.context_behind("{}").is_empty());
    let nameless = r#"{"type":"session","version":3}"#;
    assert!(headless.context_behind(nameless).is_empty());
    let never = vec![Outside::NeverSent; 4];
    let presences = headless.presences_behind("{}");
    let reasons = presences.into_iter().map(|(_, presence)| presence);
    assert!(reasons.eq(never.into_iter().map(Presence::Outside)));
    // A torn line before the header does no harm.
    let torn = format!("{{\"type\":\"ses\n{HEADER}");
    assert_eq!(headless.context_behind(&torn).len(), 4);
}

#[test]
fn torn_lines_missing_parents_and_circles_end_the_path() {
    let torn = two_turns().bare("{\"id\":\"e\",").user("f>d");
    assert_eq!(torn.context(), "a b c d f");
    assert_eq!(two_turns().user("e>lost").user("f>e").context(), "e f");
    let circle = Lines::default().user("a>b").user("b>a");
    assert_eq!(circle.context(), "a b");
    assert_eq!(Lines::default().user("a>a").context(), "a");
    assert_eq!(two_turns().bare(r#"{"id":7,"type":[]}"#).context(), "");
}

#[test]
fn of_two_entries_with_one_id_the_later_one_counts() {
    let twice = two_turns().user("c>b").reply("e>c", "stop");
    assert_eq!(twice.context(), "a b c e");
    assert_eq!(twice.outside()[0], ("c".to_owned(), Outside::Superseded));
}

#[test]
fn what_is_no_message_is_not_sent() {
    let lines = two_turns()
        .add("1>d", r#""type":"custom","customType":"x","data":{"a":1}"#)
        .add("2>1", r#""type":"label","targetId":"a","label":"l""#)
        .add("3>2", r#""type":"branch_summary","summary":"","fromId":"z""#)
        .message("4>3", r#""role":"bashExecution","excludeFromContext":true"#)
        .message("5>4", r#""role":"system","content":"x""#)
        .message("6>5", r#""role":"hookMessage","content":"x""#)
        .add("7>6", r#""type":"new","content":"x""#)
        .add("8>7", r#""type":"message""#);
    assert_eq!(lines.context(), "a b c d");
    let all = ["1", "2", "3", "4", "5", "6", "7", "8"];
    assert_eq!(lines.outside(), why(&all, Outside::NeverSent));
    for older in ["2", "\"2\""] {
        let header = HEADER.replace('3', older);
        let context = lines.context_behind(&header);
        assert_eq!(context, ["a", "b", "c", "d", "6"], "{older}");
    }
}

#[test]
fn replies_that_failed_are_not_said_again() {
    let lines = two_turns().reply("e>d", "aborted").reply("f>e", "error");
    let lines = lines.reply("g>f", "length").reply("h>g", "toolUse");
    assert_eq!(lines.context(), "a b c d g h");
    assert_eq!(lines.outside(), why(&["e", "f"], Outside::NeverSent));
}

/// Only `OpenClaw` writes such entries.
#[test]
fn a_reset_is_a_boundary_without_a_summary_and_keeps_messages_only() {
    let custom = r#""type":"custom_message","customType":"x","content":"x""#;
    let lines = two_turns().add("x>d", custom).result("r>x");
    let kept = r#""type":"reset","firstKeptEntryId":"c""#;
    let lines = lines.add("R>r", kept).add("y>R", custom);
    assert_eq!(lines.context(), "c d r y");
    assert_eq!(two_turns().add("R>d", r#""type":"reset""#).context(), "");
    let over = two_turns().compaction("s>d", "").add("R>s", kept);
    assert_eq!(over.context(), "c d");
    let again = over.user("e>R").compaction("t>e", r#","firstKeptEntryId":"d""#);
    assert_eq!(again.context(), "t d e");
}

#[test]
fn in_oh_my_pi_a_title_precedes_the_header_and_a_reset_keeps_nothing() {
    let titled = format!("{{\"type\":\"title\",\"v\":1,\"title\":\"x\",\"pad\":\" \"}}\n{HEADER}");
    let reset = two_turns().add("R>d", r#""type":"reset_boundary""#).user("e>R");
    assert_eq!(reset.context_behind(&titled), ["e"]);
}

/// Only `OpenClaw` writes such entries.
#[test]
fn a_leaf_is_where_the_session_goes_on_and_what_stands_beside_is_not() {
    let leaf = |target: &str| format!(r#""type":"leaf","targetId":{target}"#);
    let back = two_turns().add("l>d", &leaf("\"b\""));
    assert_eq!(back.context(), "a b");
    assert_eq!(back.user("e>l").context(), "a b e");
    assert_eq!(two_turns().add("l>d", &leaf("null")).context(), "");
    for nowhere in ["\"?\"", "7"] {
        let lost = two_turns().add("l>d", &leaf(nowhere));
        assert_eq!(lost.context(), "a b c d", "{nowhere}");
        assert_eq!(lost.user("e>l").context(), "a b c d e", "{nowhere}");
    }
    let beside_the_path = two_turns().add("l>b", &leaf("\"?\""));
    assert_eq!(beside_the_path.context(), "a b c d");
    let message = r#""type":"message","message":{"role":"user","content":"x"}"#;
    let beside = two_turns().add("e>b", &format!(r#""appendMode":"side",{message}"#));
    assert_eq!(beside.context(), "a b c d");
    // The next entry still names this one as its parent.
    assert_eq!(beside.clone().user("f>e").context(), "a b c d f");
    let twice = beside.add("g>e", &format!(r#""appendMode":"side",{message}"#));
    assert_eq!(twice.user("f>g").user("h>f").context(), "a b c d f h");
    // The next entry names the last line as its parent, but the session continues from the leaf.
    let hung_on = format!(r#"{},"appendParentId":"d""#, leaf("\"b\""));
    let next = two_turns().add("l>d", &hung_on).user("e>d").user("f>e");
    assert_eq!(next.context(), "a b e f");
    let one_only = next.user("g>d");
    assert_eq!(one_only.context(), "a b c d g");
}

/// pi has had edits since version 0.87.
#[test]
fn an_edit_changes_what_an_entry_says_or_takes_it_out() {
    let said = |lines: &Lines| {
        let said = lines.said().into_iter().map(|(text, _)| text);
        said.collect::<Vec<_>>().join(" ")
    };
    let lines = two_turns().result("r>d");
    assert_eq!(lines.said()[4], (String::new(), true));
    let omitted = lines.clone().edit("1>r", "c", "null");
    assert_eq!(omitted.context(), "a b d r");
    assert_eq!(omitted.outside()[0], ("c".to_owned(), Outside::Superseded));
    let texts = r#"{"content":"other"}"#;
    let parts = r#"{"content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]}"#;
    let edited = lines.edit("1>r", "r", texts).edit("2>1", "b", parts);
    assert_eq!(said(&edited), "x 1|2 x y other");
    // The original text is not sent, so it cannot be replaced in the file.
    assert!(edited.said().iter().all(|(_, has_slot)| !has_slot));
    // If there are several edits, the last one counts. An edit on an abandoned branch does not
    // count.
    let again = edited.clone().edit("3>2", "r", r#"{"content":[]}"#);
    assert_eq!(said(&again), "x 1|2 x y ");
    assert_eq!(said(&again.user("e>1")), "x y x y other x");
    // A call that an edit removes is not read as part of the message.
    let call =
        r#""role":"assistant","content":[{"type":"toolCall","id":"1","name":"n","arguments":{}}]"#;
    let call = two_turns().message("e>d", call).edit("1>e", "e", texts);
    assert_eq!(said(&call), "x y x y other");
    // A shell command has no content that an edit could replace, but an edit can remove the
    // command.
    let shell = two_turns().message("e>d", r#""role":"bashExecution","command":"ls","output":"""#);
    let shell = shell.edit("1>e", "e", texts);
    assert_eq!(said(&shell), "x y x y ls".replace("ls", "Ran `ls`\n(no output)"));
    assert_eq!(shell.edit("2>1", "e", "null").context(), "a b c d");
}

#[test]
fn an_edit_counts_where_its_entry_stays_behind_a_compaction() {
    let edited = two_turns().edit("1>d", "a", "null").edit("2>1", "c", r#"{"content":"other"}"#);
    let said = |first: &str| {
        let first = format!(r#","firstKeptEntryId":"{first}""#);
        let lines = edited.clone().compaction("s>2", &first).user("e>s");
        (lines.said().into_iter().map(|(text, _)| text).collect::<Vec<_>>(), lines.outside())
    };
    let state = |id: &str| (id.to_owned(), Outside::NeverSent);
    let before = why(&["a", "b"], Outside::BeforeCompaction);
    let (texts, outside) = said("c");
    assert_eq!(texts, ["sum", "other", "y", "x"]);
    assert_eq!(outside, [before, vec![state("1"), state("2")]].concat());
    // An edit has no effect after a compaction that keeps neither the edit nor the edited entry.
    let (texts, outside) = said("s");
    assert_eq!(texts, ["sum", "x"]);
    let all = why(&["a", "b", "c", "d", "1", "2"], Outside::BeforeCompaction);
    assert_eq!(outside, all);
    let left = edited.user("e>d").outside();
    assert_eq!(left, why(&["1", "2"], Outside::DeadBranch));
}
