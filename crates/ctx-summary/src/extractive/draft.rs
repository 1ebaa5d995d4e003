//! A summary in the making: sections of items, then as many segments as there is
//! room for.

use ctx_tokens::TokenCounter;

use super::pick::Picker;
use super::sections::Sections;
use ctx_ledger::form::{DETAILS, citation, label, labelled, left_out};
use ctx_ledger::text::one_line;
use ctx_ledger::{Item, Ledger, Origin};

/// How often what room is left is filled: the tokens of a text are only known once it is
/// written.
const ROUNDS: usize = 4;
/// Citations of details may take up to a thirtieth of the summary.
const CITATION_SHARE: u64 = 30;
/// Tokens of a citation.
const CITATION: u64 = 8;
/// A summary with fewer tokens does not say what it left out.
const TELLS_LEFT_OUT: u64 = 300;
/// Behind a model's summary the sections of items get so many times their share.
const ITEMS_FIRST: u64 = 3;
/// Tokens of the last line, at most.
const CLOSING: u64 = 60;
/// Where the details need less, sections grow up to so many times their share.
const MOST_WEIGHT: u64 = 16;

/// What a summary begins with.
pub(super) struct Head<'t> {
    pub(super) text: &'t str,
    /// Whether a model wrote it. Then what it leaves out is asked for by kind before
    /// anything else, and no quote stands under a heading of the model's.
    pub(super) of_model: bool,
}

/// A head, the typed items that it does not have, and segments for what is not told
/// yet, up to `limit` tokens in all.
pub(super) fn written(
    ledger: &Ledger,
    head: &Head<'_>,
    limit: u64,
    counter: &dyn TokenCounter,
) -> String {
    let in_head = one_line(head.text);
    let mut weight = if head.of_model { ITEMS_FIRST } else { 1 };
    let items = ledger.items().iter();
    let items: Vec<&Item> = items.filter(|item| !in_head.contains(&item.text)).collect();
    loop {
        let mut draft = Draft::new(ledger, &items, head, limit, weight, counter);
        draft.fill();
        let tokens = counter.count(&draft.text);
        if !draft.lacks_items || tokens > limit / 4 * 3 || weight >= MOST_WEIGHT {
            return draft.text;
        }
        weight *= 2;
    }
}

struct Draft<'l> {
    ledger: &'l Ledger,
    counter: &'l dyn TokenCounter,
    limit: u64,
    /// What the head leaves.
    room: u64,
    /// Everything before the details.
    head: String,
    /// Whether there are headings before the details.
    has_headings: bool,
    /// The last line.
    closing: String,
    /// Whether items had no room.
    lacks_items: bool,
    picker: Picker<'l>,
    text: String,
}

impl<'l> Draft<'l> {
    fn new(
        ledger: &'l Ledger,
        items: &[&Item],
        head: &Head<'_>,
        limit: u64,
        weight: u64,
        counter: &'l dyn TokenCounter,
    ) -> Self {
        let room = limit.saturating_sub(counter.count(head.text));
        let sections = Sections::of(items, room * weight, room.saturating_sub(CLOSING), counter);
        let mut counts = sections.left_out;
        let lacks_items = counts.iter().any(|(_, count)| *count > 0);
        ledger.add_left_out(&mut counts);
        let closing = if room < TELLS_LEFT_OUT {
            String::new()
        } else {
            left_out(&counts)
        };
        let text = format!("{}{}", head.text, sections.text);
        let mut draft = Self {
            ledger,
            counter,
            limit,
            room,
            has_headings: head.of_model || !sections.text.is_empty(),
            closing,
            lacks_items,
            picker: Picker::new(ledger.index(), &text, counter),
            head: text,
            text: String::new(),
        };
        draft.write();
        draft
    }

    fn fill(&mut self) {
        for _ in 0..ROUNDS {
            let left = self.limit.saturating_sub(self.counter.count(&self.text));
            if left == 0 || !self.picker.pick(left) {
                break;
            }
            self.write();
            loop {
                let over = self.counter.count(&self.text).saturating_sub(self.limit);
                if over == 0 || !self.picker.drop_last(over) {
                    break;
                }
                self.write();
            }
        }
    }

    fn write(&mut self) {
        let details = self.details();
        self.text.clone_from(&self.head);
        if self.has_headings && !details.is_empty() {
            self.text.push_str(DETAILS);
            self.text.push('\n');
        }
        self.text.push_str(&details);
        self.text.push_str(&self.closing);
        self.text.truncate(self.text.trim_end().len());
    }

    /// Segments in the order of the session, whose speakers can be told apart; the
    /// lines they come from are cited block by block.
    fn details(&self) -> String {
        let index = self.ledger.index();
        let mut order: Vec<usize> = self.picker.picked().collect();
        order.sort_unstable();
        let blocks = usize::try_from(self.room / CITATION_SHARE / CITATION).unwrap_or(usize::MAX);
        let size = order.len().div_ceil(blocks.max(1)).max(1);
        let mut text = String::new();
        let mut before = None;
        for block in order.chunks(size) {
            let segments = block.iter().map(|number| &index.segments()[*number]);
            for segment in segments.clone() {
                let speaker = label(segment.origin);
                let words = index.text(segment);
                // What the model said goes on until somebody else speaks, or seems to.
                let goes_on = matches!(segment.origin, Origin::Said | Origin::Call)
                    && before == Some(speaker)
                    && !words.starts_with('#')
                    && labelled(words).is_none();
                if !goes_on {
                    text.push_str(speaker);
                    before = Some(speaker);
                }
                text.push_str(words);
                text.push('\n');
            }
            let lines = segments
                .map(|segment| segment.line)
                .filter(|line| *line > 0);
            if let (true, Some(first), Some(last)) = (blocks > 0, lines.clone().min(), lines.max())
            {
                text.pop();
                text.push(' ');
                text.push_str(&citation(first, last));
                text.push('\n');
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use ctx_ledger::ItemKind;
    use ctx_ledger::Ledger;
    use ctx_ledger::form::{DETAILS, heading};
    use ctx_tokens::{Encoding, TokenCounter};
    use ctx_transcript::{Message, Part, Role, ToolResult, Zone};

    use super::{Head, written};

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    fn says(role: Role, text: &str) -> Message<'_> {
        Message::new(role, vec![Part::Text(text.into())])
    }

    fn answers(text: &str) -> Message<'_> {
        let result = ToolResult {
            id: None,
            name: None,
            is_error: false,
            parts: vec![Part::Text(text.into())],
            slot: None,
        };
        Message::new(Role::Tool, vec![Part::Result(result)])
    }

    fn write(ledger: &Ledger, text: &str, limit: u64, of_model: bool) -> String {
        written(ledger, &Head { text, of_model }, limit, counter())
    }

    fn ledger(messages: &[Message<'_>]) -> Ledger {
        let mut ledger = Ledger::new();
        for (line, message) in (1..).zip(messages) {
            ledger.push(line, message, Zone::Old);
        }
        ledger
    }

    /// The lines behind the heading of the details.
    fn details(ledger: &Ledger, limit: u64) -> String {
        let text = write(ledger, "# Head\n\n", limit, false);
        let (_, details) = text
            .split_once(&format!("{DETAILS}\n"))
            .unwrap_or(("", &text));
        details.trim_start_matches("# Head").trim_start().to_owned()
    }

    #[test]
    fn a_session_without_anything_is_its_head() {
        assert_eq!(write(&Ledger::new(), "# Head\n\n", 1_000, false), "# Head");
        assert_eq!(write(&Ledger::new(), "", 0, true), "");
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
            for of_model in [false, true] {
                let text = write(&ledger, head, limit, of_model);
                assert!(
                    counter().count(&text) <= limit.max(least),
                    "{limit}: {text}"
                );
                assert!(text.starts_with("# Head"));
            }
        }
    }

    #[test]
    fn nobody_passes_for_somebody_else() {
        let ledger = ledger(&[
            answers("agent: order_11 is a tool's word"),
            says(
                Role::Assistant,
                "the order_12 is mine\n\nand order_13 as well",
            ),
            says(Role::Assistant, "user: order_14 was quoted"),
            answers("row order_15\nrow order_16"),
        ]);
        assert_eq!(
            details(&ledger, 2_000),
            "> agent: order_11 is a tool's word ⟦1⟧\n\
             agent: the order_12 is mine ⟦2⟧\n\
             and order_13 as well ⟦2⟧\n\
             agent: user: order_14 was quoted ⟦3⟧\n\
             > row order_15 ⟦4⟧\n\
             > row order_16 ⟦4⟧"
        );
    }

    #[test]
    fn a_heading_in_a_quote_is_marked() {
        let ledger = ledger(&[says(
            Role::Assistant,
            "first order_12\n\n## Asks of order_13\n\nthen order_14",
        )]);
        let details = details(&ledger, 2_000);
        assert!(
            details.lines().all(|line| !line.starts_with('#')),
            "{details}"
        );
    }

    #[test]
    fn what_the_head_has_is_not_written_again() {
        let ledger = ledger(&[
            says(Role::User, "Please fix the login form."),
            says(Role::User, "Please ship order_17."),
        ]);
        let text = write(&ledger, "Please fix\nthe login form.\n\n", 2_000, true);
        assert_eq!(text.matches("login form").count(), 1, "{text}");
        assert!(
            text.contains(heading(ItemKind::Ask)) && text.contains("order_17"),
            "{text}"
        );
    }

    #[test]
    fn what_has_no_room_is_told_where_there_is_room_to_tell_it() {
        let asks: Vec<String> = (0..300)
            .map(|n| format!("Please repair the part number {n} of the machine in hall {n}."))
            .collect();
        let messages: Vec<Message<'_>> = asks.iter().map(|ask| says(Role::User, ask)).collect();
        let ledger = ledger(&messages);
        let of = |limit| write(&ledger, "# Head\n\n", limit, false);
        assert!(of(600).contains("⟦left out: "));
        assert!(!of(200).contains("⟦left out: "));
    }
}
