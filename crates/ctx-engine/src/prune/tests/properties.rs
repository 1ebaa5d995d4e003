//! Tests properties that hold for every session: all numbers are correct, the changed messages
//! match the changed records, and pruning twice equals pruning once. [`pruned`] checks the first
//! two.

use std::ops::Range;

use ctx_format::{Dialect, Saved, dialect};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::rules::pruned;
use crate::prune::{Options, Trim};
use ctx_policy::{Rule, ToolFilter};

/// Returns texts of several kinds, some of them with a handle from an earlier run.
fn text() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        3 => "[a-z ,.é中\"\\\\]{0,12}",
        3 => "(some |words |of |a |result |日本 |\n){10,60}",
        1 => "(error: no\n|fine\n|\x1b\\[31m){20,60}",
        1 => Just("Qk1 ".to_owned() + &"aB3+".repeat(100)),
    ];
    let old = "\n⟦ctx:[0-9a-f]{12} 12345 bytes (7|3000) tokens⟧";
    let new = "\n⟦ctx: (ls, )?all 12345 bytes(, if saved)?: ctx-offload --show [0-9a-f]{8}⟧";
    (plain, prop_oneof![4 => Just(String::new()), 1 => old, 1 => new])
        .prop_map(|(text, handle)| text + &handle)
}

/// Returns reasoning that is never empty, so that dropping it always frees tokens.
fn thought() -> impl Strategy<Value = String> {
    text().prop_map(|text| format!("hm {text}"))
}

/// Returns the content of a result, in either dialect.
fn content() -> impl Strategy<Value = Value> {
    let part = || text().prop_map(|text| json!({"type": "text", "text": text}));
    let other = prop_oneof![
        Just(json!({"type": "image", "source": {}})),
        Just(json!({"type": "new", "of": 1})),
    ];
    prop_oneof![
        6 => text().prop_map(Value::from),
        2 => vec(part(), 0..3).prop_map(Value::from),
        1 => (part(), other).prop_map(|(part, other)| json!([part, other])),
        1 => Just(Value::Null),
    ]
}

fn id() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("c0"), Just("c1"), Just("c2")]
}

fn call() -> impl Strategy<Value = (&'static str, &'static str, Value)> {
    let tool = prop_oneof![Just("read"), Just("edit"), Just("ls")];
    let arguments = (text(), text(), any::<bool>()).prop_map(|(one, two, deep)| {
        if deep {
            json!({"path": "a", "list": [one, {"deep": two}], "n": 1})
        } else {
            json!({"path": one, "note": two})
        }
    });
    (id(), tool, arguments)
}

fn chat() -> impl Strategy<Value = Value> {
    let calls = vec(call(), 0..3).prop_map(|calls| {
        let call = |(id, name, arguments): (&str, &str, Value)| {
            let arguments = arguments.to_string();
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        };
        Value::from(calls.into_iter().map(call).collect::<Vec<_>>())
    });
    let said = prop_oneof![Just(String::new()), text()];
    let reasoning = prop_oneof![
        3 => Just(json!({})),
        2 => thought().prop_map(|text| json!({"reasoning_content": text})),
        1 => thought().prop_map(|text| json!({"reasoning": text, "reasoning_content": {"a": 1}})),
    ];
    let reply = (said, reasoning, calls).prop_map(|(said, reasoning, calls)| {
        let mut reply = reasoning;
        reply["role"] = json!("assistant");
        reply["content"] = json!(said);
        reply["tool_calls"] = calls;
        reply
    });
    prop_oneof![
        1 => text().prop_map(|text| json!({"role": "system", "content": text})),
        2 => text().prop_map(|text| json!({"role": "user", "name": "u", "content": text})),
        4 => reply,
        4 => (id(), content()).prop_map(|(id, content)| {
            json!({"role": "tool", "tool_call_id": id, "name": "ls", "content": content})
        }),
        1 => Just(json!({"type": "progress"})),
    ]
}

fn anthropic() -> impl Strategy<Value = Value> {
    let block = prop_oneof![
        2 => thought().prop_map(|text| json!({"type": "thinking", "thinking": text, "signature": "s"})),
        1 => Just(json!({"type": "redacted_thinking", "data": "x"})),
        1 => Just(json!({"type": "new"})),
        1 => text().prop_map(|text| json!({"type": "text", "text": text})),
        2 => call().prop_map(|(id, name, input)| {
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }),
    ];
    let reply = vec(block, 0..4).prop_map(|blocks| json!({"role": "assistant", "content": blocks}));
    let result = (id(), content()).prop_map(
        |(id, content)| json!({"type": "tool_result", "tool_use_id": id, "content": content}),
    );
    let results = (vec(result, 1..3), any::<bool>()).prop_map(|(mut blocks, more)| {
        if more {
            blocks.push(json!({"type": "text", "text": "and?"}));
        }
        json!({"role": "user", "content": blocks})
    });
    let said = text().prop_map(|text| json!({"role": "user", "content": text}));
    prop_oneof![1 => said, 3 => reply, 3 => results]
}

fn policy() -> impl Strategy<Value = Options> {
    let trim = (10_usize..80).prop_map(|max_chars| Trim { max_chars, ..Trim::default() });
    let rules = [Rule::Reasoning, Rule::Empty, Rule::Superseded, Rule::Duplicates, Rule::Noise];
    let drop = proptest::sample::subsequence(rules.to_vec(), 0..=rules.len());
    let clear = proptest::option::of(Just("[gone]".to_owned()));
    let trim = proptest::option::of(trim);
    // If fewer characters stayed, a shortened call would have a different name.
    let argument_chars = proptest::option::of(200_usize..260);
    (trim, clear, drop, argument_chars, 0_usize..3).prop_map(
        |(trim, clear, drop, argument_chars, protect_last)| Options {
            trim,
            clear,
            drop,
            argument_chars,
            window_messages: None,
            references: Vec::new(),
            protect_last,
            tools: ToolFilter::default(),
            user_first: false,
            saved: Saved::Perhaps,
        },
    )
}

const MESSAGES: Range<usize> = 0..16;

fn lines(messages: &[Value]) -> Vec<String> {
    messages.iter().map(Value::to_string).collect()
}

fn by_name(name: &str) -> &'static dyn Dialect {
    dialect::by_name(name).expect("a dialect")
}

fn once_is_enough(name: &str, policy: &Options, messages: &[Value]) -> Result<(), TestCaseError> {
    let (left, freed) = pruned(by_name(name), policy, &lines(messages), &[]);
    // Each string in the arguments gets shorter, but the JSON as a whole may not.
    let mut texts = freed.iter().filter(|freed| freed.rule != Rule::Arguments);
    prop_assert!(texts.all(|freed| freed.after < freed.before), "{freed:?}");
    let left: Vec<String> = left.into_iter().flatten().collect();
    let (twice, freed) = pruned(by_name(name), policy, &left, &[]);
    prop_assert_eq!(twice.into_iter().flatten().collect::<Vec<_>>(), left);
    prop_assert_eq!(freed, []);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn chat_is_pruned_as_foretold(messages in vec(chat(), MESSAGES), policy in policy()) {
        once_is_enough("chat", &policy, &messages)?;
    }

    #[test]
    fn anthropic_is_pruned_as_foretold(
        messages in vec(anthropic(), MESSAGES),
        policy in policy(),
    ) {
        once_is_enough("anthropic", &policy, &messages)?;
    }

    #[test]
    fn a_window_is_counted_too(
        messages in vec(chat(), MESSAGES),
        policy in policy(),
        window in 0_u64..12,
        user_first: bool,
    ) {
        let policy = Options { window_messages: Some(window), user_first, ..policy };
        pruned(by_name("chat"), &policy, &lines(&messages), &[0, 3]);
    }
}
