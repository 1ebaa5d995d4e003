//! Tests that the tokens of messages add up to the same total, however messages are cut and
//! grouped.

use ctx_engine::count::{Share, Tally};
use ctx_engine::message_counter::{ByKind, MessageCounter, PRIMING};
use ctx_format::{Call, Message, Part, Role, ToolResult};
use ctx_tokens::Encoding;
use proptest::prelude::*;

fn id() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("call_[0-2]")
}

fn leaf() -> impl Strategy<Value = Part<'static>> {
    prop_oneof![
        "\\PC{0,30}".prop_map(|text| Part::Text(text.into())),
        "\\PC{0,30}".prop_map(|text| Part::Refusal(text.into())),
        "\\PC{0,30}".prop_map(|text| Part::Reasoning(text.into())),
        (id(), "[a-c]{1,2}", "\\PC{0,20}").prop_map(|(id, name, arguments)| Part::Call(Call {
            id: id.map(Into::into),
            name: name.into(),
            arguments: arguments.into(),
            slot: None,
        })),
        Just(Part::media("image", "{}")),
        Just(Part::Opaque(r#"{"type":"new"}"#.into())),
    ]
}

fn part() -> impl Strategy<Value = Part<'static>> {
    let result =
        (id(), proptest::option::of("[a-c]{1,2}"), proptest::collection::vec(leaf(), 0..3));
    prop_oneof![
        3 => leaf(),
        1 => result.prop_map(|(id, name, parts)| Part::Result(ToolResult {
            id: id.map(Into::into),
            name: name.map(Into::into),
            parts, ..ToolResult::default() })),
    ]
}

fn message() -> impl Strategy<Value = Message<'static>> {
    let role = prop_oneof![
        Just(Role::System),
        Just(Role::User),
        Just(Role::Assistant),
        Just(Role::Tool),
        Just(Role::Other)
    ];
    let name = proptest::option::of("[a-z]{1,8}");
    let parts = proptest::collection::vec(part(), 0..4);
    (role, name, parts).prop_map(|(role, name, parts)| Message {
        name: name.map(Into::into),
        ..Message::new(role, parts)
    })
}

fn tally(counter: &MessageCounter, messages: &[Message<'_>]) -> Tally {
    let mut tally = Tally::default();
    tally.begin();
    for message in messages {
        tally.message(counter, message);
    }
    tally
}

fn sum(rows: &[(String, Share)]) -> u64 {
    rows.iter().map(|(_, share)| share.tokens).sum()
}

proptest! {
    #[test]
    fn counts_add_up(messages in proptest::collection::vec(message(), 0..12), cut in 0usize..12) {
        for encoding in [Encoding::O200kBase, Encoding::Chars4] {
            let counter = MessageCounter::new(encoding);
            let whole = tally(&counter, &messages);
            let each: ByKind = messages.iter().map(|message| counter.message(message)).sum();
            prop_assert_eq!(whole.tokens.total(), each.total() + PRIMING);
            for rows in [whole.by_role(), whole.by_kind(), whole.by_tool()] {
                prop_assert_eq!(sum(&rows), whole.tokens.total());
            }
            let calls = whole.by_tool().iter().map(|(_, share)| share.count).sum::<u64>();
            let parts = messages.iter().flat_map(Message::calls).count();
            prop_assert_eq!(calls, parts as u64);

            let (before, after) = messages.split_at(cut.min(messages.len()));
            let mut merged = tally(&counter, before);
            merged.merge(&tally(&counter, after));
            prop_assert_eq!(merged.messages, messages.len() as u64);
            prop_assert_eq!(merged.tokens.total(), whole.tokens.total() + PRIMING);
        }
    }
}
