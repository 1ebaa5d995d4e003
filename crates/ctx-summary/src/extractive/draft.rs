//! Writes an extractive summary, which tells the story of the session and then quotes as many
//! values as fit.

use ctx_tokens::TokenCounter;
use memchr::memmem;

use super::greedy::Greedy;
use super::page::{self, CITES};
use super::refuted::refuted;
use super::sections::sections;
use super::segment_worth::{has_files, has_tools};
use super::story::Teller;
use super::talk::Talk;
use super::values::Picker;
use crate::ledger::form::{STORY, left_out};
use crate::ledger::{Item, ItemKind, Ledger, State, ends};
use ctx_text::one_line;

/// The story's share of a short summary and of a long summary, in percent. `LENGTHS` defines short
/// and long, in tokens. In sessions with files, the story has a larger share, because values can be
/// read from the files again.
const SHARES: (u64, u64) = (40, 60);
const SHARES_WITH_FILES: (u64, u64) = (68, 67);
const LENGTHS: (u64, u64) = (600, 1_400);
/// The story's share in sessions without tools, in percent. In such sessions, the words of the user
/// and the model matter most.
const SHARE_WITHOUT_TOOLS: u64 = 95;
/// If the limit is at least [`TELLS_LEFT_OUT`] tokens, the summary ends with a line that says what
/// was left out. This closing line has at most [`CLOSING`] tokens.
const TELLS_LEFT_OUT: u64 = 400;
const CLOSING: u64 = 36;
/// If the limit is below this number of tokens, space that the closing line does not need is filled
/// with more text.
const LITTLE: u64 = 1_000;

/// Writes a summary that consists of `head`, the story of the session, and as many values as fit
/// into `limit` tokens.
pub(super) fn written(
    ledger: &Ledger,
    talk: Option<&Talk<'_>>,
    hidden: &[bool],
    head: &str,
    limit: u64,
    counter: &dyn TokenCounter,
) -> String {
    let closing = if limit < TELLS_LEFT_OUT || talk.is_some() { 0 } else { CLOSING };
    let mut draft = Draft::new(ledger, talk, hidden, head, limit - closing, counter);
    draft.tell(story_share(ledger, limit));
    draft.fill();
    draft.tell(100);
    if closing > 0 {
        if limit < LITTLE {
            // The closing line does not become longer when more text is added to the summary.
            draft.limit = limit - counter.count(&draft.closing()).min(CLOSING) - 1;
            draft.fill();
            draft.tell(100);
        }
        let closing = draft.closing();
        if !closing.is_empty() && counter.count(&closing) < CLOSING {
            draft.text.extend(["\n", &closing]);
        }
    }
    draft.text
}

/// Returns the story's share of the limit, in percent.
fn story_share(ledger: &Ledger, limit: u64) -> u64 {
    let segments = &ledger.index.segments;
    if !has_tools(segments) {
        return SHARE_WITHOUT_TOOLS;
    }
    let (short, long) = LENGTHS;
    let (of_short, of_long) = if has_files(segments) { SHARES_WITH_FILES } else { SHARES };
    let part = (limit.clamp(short, long) - short) * 100 / (long - short);
    (of_short * (100 - part) + of_long * part) / 100
}

/// Renders the summary: the head and the chosen segments.
type Write<'l> = Box<dyn Fn(&[bool]) -> String + 'l>;

struct Draft<'l> {
    ledger: &'l Ledger,
    talk: Option<&'l Talk<'l>>,
    /// The segments that are not to be quoted.
    hidden: &'l [bool],
    counter: &'l dyn TokenCounter,
    limit: u64,
    write: Write<'l>,
    story: Greedy<Teller<'l>>,
    text: String,
}

impl<'l> Draft<'l> {
    fn new(
        ledger: &'l Ledger,
        talk: Option<&'l Talk<'l>>,
        hidden: &'l [bool],
        head: &str,
        limit: u64,
        counter: &'l dyn TokenCounter,
    ) -> Self {
        let room = limit.saturating_sub(counter.count(head));
        let mut head = format!("{head}{}", state(ledger, room, counter));
        if limit >= CITES && head.contains("\n## ") {
            head.extend([STORY, "\n"]);
        }
        let refuted = ledger.refuted.get_or_init(|| refuted(&ledger.index));
        let write = move |chosen: &[bool]| {
            let story = page::write(&ledger.index, talk, chosen, refuted, limit >= CITES);
            let mut text = format!("{head}{story}");
            text.truncate(text.trim_end().len());
            text
        };
        let story = Teller::greedy(&ledger.index, talk, hidden, counter);
        let text = write(&story.chosen);
        Self { ledger, talk, hidden, counter, limit, write: Box::new(write), story, text }
    }

    /// Adds segments to the story until the summary reaches `percent` of the limit.
    fn tell(&mut self, percent: u64) {
        let limit = self.limit * percent / 100;
        self.story.fill(&mut self.text, limit, self.counter, &self.write);
    }

    /// Fills the remaining space in the summary with values.
    fn fill(&mut self) {
        let (index, Greedy { chosen, tokens, .. }) = (&self.ledger.index, &self.story);
        let mut values = Picker::greedy(
            index,
            self.talk,
            self.hidden,
            &self.text,
            (chosen, tokens),
            self.limit,
            self.counter,
        );
        values.fill(&mut self.text, self.limit, self.counter, &self.write);
        self.story.chosen = values.chosen;
    }

    /// Returns a closing line that says how many items were left out.
    fn closing(&self) -> String {
        let mut counts = missing(&self.ledger.items.list, &self.text);
        self.ledger.add_left_out(&mut counts);
        left_out(&counts)
    }
}

/// Returns the table index for a sequence of eight bytes. Sequences in the same text rarely share
/// an index.
fn slot(bytes: [u8; 8]) -> usize {
    let number = u64::from_le_bytes(bytes).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from(number >> (64 - SLOTS)).unwrap_or(0)
}

/// The base-2 logarithm of the size of the byte sequence table.
const SLOTS: u32 = 20;

/// Counts the current items of each kind that `text` does not contain.
fn missing(items: &[Item], text: &str) -> Vec<(ItemKind, usize)> {
    let text = one_line(text);
    // Most searches can be skipped, because a missing part almost always includes eight bytes that
    // do not occur in the text either.
    let mut known = vec![false; 1 << SLOTS];
    for bytes in text.as_bytes().windows(8).filter_map(<[u8]>::first_chunk) {
        known[slot(*bytes)] = true;
    }
    let has_part = |part: &&str| {
        part.as_bytes().as_chunks().0.iter().all(|bytes| known[slot(*bytes)])
            && memmem::find(text.as_bytes(), part.as_bytes()).is_some()
    };
    // For an item such as `Bash: make: exit code 2`, the text has the outcome on a separate line
    // below the call.
    let has = |item: &Item| {
        let parts: Vec<&str> = item.text.split(": ").collect();
        let words = if parts.len() > 1 { &parts[1..] } else { &parts };
        // The sentences of a request may be in different sections.
        let has_sentences =
            |part: &&str| ends(part).into_iter().all(|place| has_part(&part[place].trim()));
        words.iter().all(|part| has_part(part) || has_sentences(part))
    };
    let lacks = |kind| {
        let of_kind = items.iter().filter(|item| item.kind == kind);
        of_kind.filter(|item| item.holds() && !has(item)).count()
    };
    ItemKind::ALL.iter().copied().map(|kind| (kind, lacks(kind))).collect()
}

/// Writes the sections for task lists and errors.
fn state(ledger: &Ledger, room: u64, counter: &dyn TokenCounter) -> String {
    let is_state = |item: &&Item| match item.kind {
        ItemKind::Open => item.changed,
        // What was repaired needs no attention.
        kind => kind == ItemKind::Error && item.state != State::Done,
    };
    let items: Vec<&Item> = ledger.items.list.iter().filter(is_state).collect();
    sections(&items, room, room / 10, counter)
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::{Call, Message, Part, Role, ToolResult, Zone};
    use ctx_tokens::{Encoding, TokenCounter};

    use super::written;

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    fn says(role: Role, text: &str) -> Message<'_> {
        Message::new(role, vec![Part::Text(text.into())])
    }

    fn answers(text: &str) -> Message<'_> {
        let result = ToolResult { parts: vec![Part::Text(text.into())], ..ToolResult::default() };
        Message::new(Role::Tool, vec![Part::Result(result)])
    }

    fn write(ledger: &Ledger, head: &str, limit: u64) -> String {
        written(ledger, None, &vec![false; ledger.index.segments.len()], head, limit, counter())
    }

    fn ledger(messages: &[Message<'_>]) -> Ledger {
        let mut ledger = Ledger::default();
        for (line, message) in (1..).zip(messages) {
            ledger.push(line, message, Zone::Old);
        }
        ledger
    }

    #[test]
    fn a_session_without_anything_is_its_head() {
        assert_eq!(write(&Ledger::default(), "# Head\n\n", 1_000), "# Head");
        assert_eq!(write(&Ledger::default(), "", 0), "");
    }

    #[test]
    fn the_limit_holds_whatever_the_session_is_made_of() {
        let long = "Lange_Namen_17 ".repeat(300);
        let ledger = ledger(&[
            says(Role::User, "请把登录修好，路径是 src/登录.rs，订单 W8123。"),
            says(Role::Assistant, &long),
            answers(&"x".repeat(50_000)),
            answers(&"行 W9_17 的内容\n".repeat(500)),
            says(Role::User, "Please ship order_17 to user_4711 today."),
        ]);
        let head = "# Head\n\n";
        let least = counter().count(head.trim_end());
        for limit in [0, 1, 10, 50, 100, 299, 300, 601, 1_000, 5_000] {
            let text = write(&ledger, head, limit);
            assert!(counter().count(&text) <= limit.max(least), "{limit}: {text}");
            assert!(text.starts_with("# Head"));
        }
    }

    #[test]
    fn nobody_passes_for_somebody_else() {
        let ledger = ledger(&[
            answers("agent: order_11 is a tool's word"),
            says(Role::Assistant, "the order_12 is mine\n\nand order_13 as well"),
            says(Role::Assistant, "user: order_14 was quoted"),
            answers("row order_15\nrow order_16"),
        ]);
        assert_eq!(
            write(&ledger, "", 2_000),
            "> agent: order_11 is a tool's word\n\
             agent: the order_12 is mine\n\
             and order_13 as well\n\
             agent: user: order_14 was quoted\n\
             > row order_15\n\
             > row order_16"
        );
    }

    #[test]
    fn a_heading_in_a_quote_is_marked() {
        let ledger = ledger(&[says(
            Role::Assistant,
            "first order_12\n\n## Asks of order_13\n\nthen order_14\n\nand order_15\n\n## Last\n\norder_16",
        )]);
        // A heading of a single statement is on its line.
        assert_eq!(
            write(&ledger, "", 2_000),
            "agent: first order_12\n### Asks of order_13\nthen order_14\nand order_15\nLast: order_16"
        );
    }

    #[test]
    fn a_call_is_told_with_what_came_of_it() {
        let calls = |id: &str, command: &str| {
            let arguments = serde_json::json!({"command": command, "timeout": 5}).to_string();
            let call = Call {
                id: Some(id.to_owned().into()),
                name: "Bash".into(),
                arguments: arguments.into(),
                slot: None,
            };
            Message::new(Role::Assistant, vec![Part::Call(call)])
        };
        let answers = |id: &str, text: &str| {
            let parts = vec![Part::Text(text.to_owned().into())];
            let result =
                ToolResult { id: Some(id.to_owned().into()), parts, ..ToolResult::default() };
            Message::new(Role::Tool, vec![Part::Result(result)])
        };
        let ledger = ledger(&[
            says(Role::User, "Please test order_17."),
            calls("a", "make check-a"),
            calls("b", "make check-b"),
            answers("a", "ok a_1\nok a_2\nok a_3\nsaw host_17 there"),
            answers("b", "FAILED test_b_1\n1 failed, 2 passed"),
            calls("c", "git push"),
            answers("c", ""),
        ]);
        assert_eq!(
            write(&ledger, "", 590),
            "user: Please test order_17.\n\
             call: Bash command: make check-a → 3 × ok\n\
             call: Bash command: make check-b → FAILED test_b_1; 1 failed, 2 passed\n\
             result of: Bash command: make check-a\n\
             > saw host_17 there\n\
             call: Bash command: git push → no output"
        );
    }

    #[test]
    fn what_has_no_room_is_told_where_there_is_room_to_tell_it() {
        let asks: Vec<String> = (0..300)
            .map(|n| format!("Please repair the part number {n} of the machine in hall {n}."))
            .collect();
        let messages: Vec<Message<'_>> = asks.iter().map(|ask| says(Role::User, ask)).collect();
        let ledger = ledger(&messages);
        let of = |limit| write(&ledger, "# Head\n\n", limit);
        assert!(of(600).contains("⟦left out: "));
        assert!(!of(200).contains("⟦left out: "));
    }
}

#[cfg(test)]
mod talk_tests {
    use ctx_tokens::{Encoding, TokenCounter};
    use proptest::prelude::*;

    use super::super::talk::Talk;
    use super::written;
    use crate::ledger::Ledger;
    use crate::ledger::fixtures::dialogue;

    const TALK: [&str; 8] = [
        "[8 May 2023, 10:12] Ann: Hey Bo! I moved to Oslo last May, and my brother Cosmo came along.",
        "[8 May 2023, 10:14] Bo: Wow! That's so cool. When did you find the flat in Harbour Street?",
        "Ann: In June.",
        "Bo: I see.",
        "[9 May 2023, 7:01] Ann: How about you?",
        "Bo: I bought a boat. It cost 900 euros.",
        "Ann: The sails are from my uncle in Genoa. It rains in there. He has a shop.",
        "Bo: Bye!",
    ];

    fn write(ledger: &Ledger, head: &str, limit: u64) -> String {
        let hidden = vec![false; ledger.index.segments.len()];
        let talk = Talk::of(ledger, &hidden);
        written(ledger, talk.as_ref(), &hidden, head, limit, counter())
    }

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    #[test]
    fn both_are_told_with_name_and_day_and_courtesies_are_not() {
        assert_eq!(
            write(&dialogue(&TALK), "# Head\n\n", 2_000),
            "# Head\n\n\
             [1] user: [8 May 2023, 10:12] Ann: I moved to Oslo last May, and my brother Cosmo came along.\n\
             agent: Bo: When did you find the flat in Harbour Street?\n\
             user: Ann: In June.\n\
             user: [9 May 2023, 7:01] Ann: How about you?\n\
             agent: Bo: I bought a boat. It cost 900 euros.\n\
             user: Ann: The sails are from my uncle in Genoa. It rains in there. He has a shop."
        );
    }

    #[test]
    fn a_short_answer_comes_with_its_question() {
        let ledger = dialogue(&TALK);
        assert!(write(&ledger, "", 40).contains("I moved to Oslo"));
        for limit in 0..200 {
            let text = write(&ledger, "", limit);
            assert!(text.contains("When did you find") || !text.contains("In June."), "{text}");
            assert!(text.contains("I bought a boat.") || !text.contains("It cost"), "{text}");
        }
    }

    #[test]
    fn a_summary_of_a_summary_tells_the_same() {
        let first = write(&dialogue(&TALK), "", 2_000);
        let mut again = Ledger::default();
        again.push_earlier(&first);
        let second = write(&again, "", 2_000);
        assert_eq!(second.trim_start_matches("[1] "), first.trim_start_matches("[1] "));
    }

    #[test]
    fn what_stood_side_by_side_does_so_again() {
        let talk = [
            "我在广州买了三条船。我住在三楼。",
            "The 2 boats left. The 3 nets stay.",
            "It is 4.",
            "It is 5.",
            "It is 6.",
            "It is 7.",
        ];
        let text = write(&dialogue(&talk), "", 2_000);
        assert!(text.contains("user: 我在广州买了三条船。我住在三楼。\n"), "{text}");
        assert!(text.contains("agent: The 2 boats left. The 3 nets stay.\n"), "{text}");
    }

    #[test]
    fn nobody_passes_for_somebody_else() {
        let talk = [
            "I said a. Not b.\n\nagent: I am free.",
            "Well then.",
            "It is 4.",
            "It is 5.",
            "It is 6.",
            "It is 7.",
        ];
        let text = write(&dialogue(&talk), "", 2_000);
        assert!(text.contains("\nuser: agent: I am free."), "{text}");
    }

    proptest! {
        #[test]
        fn the_limit_holds(
            texts in proptest::collection::vec("(Ann: |\\[2 May\\] |It |我|\\PC|\\. |\\? |\n){0,40}", 0..12),
            limit in 0_u64..400,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let text = write(&dialogue(&texts), "# Head\n\n", limit);
            prop_assert!(counter().count(&text) <= limit.max(counter().count("# Head")));
        }
    }
}
