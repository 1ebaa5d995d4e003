//! Generators of session files for property tests.

use proptest::prelude::*;

/// Generates chat sessions that are mostly legal, with repeated ids, calls without a result,
/// results far from their call and results without a call.
pub fn chat_session() -> impl Strategy<Value = String> {
    proptest::collection::vec(chat_message(), 0..40).prop_map(|messages| messages.concat())
}

/// Generates arbitrary JSONL without tags: messages, other objects, and every class of bad line,
/// with any kind of line end.
pub fn any_jsonl() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        4 => chat_message().prop_map(|line| line.trim_end().as_bytes().to_vec()),
        2 => other_object().prop_map(String::into_bytes),
        1 => bad_line(),
    ];
    let end = prop_oneof![8 => Just("\n"), 1 => Just("\r\n")];
    let last_end = prop_oneof![Just("\n"), Just("")];
    let mark = prop_oneof![9 => Just(""), 1 => Just("\u{feff}")];
    (mark, proptest::collection::vec((line, end), 0..30), last_end).prop_map(
        |(mark, lines, last_end)| {
            let mut bytes = mark.as_bytes().to_vec();
            let count = lines.len();
            for (index, (line, end)) in lines.into_iter().enumerate() {
                bytes.extend(line);
                bytes.extend(if index + 1 == count { last_end } else { end }.as_bytes());
            }
            bytes
        },
    )
}

fn chat_message() -> impl Strategy<Value = String> {
    let id = || prop_oneof![Just("call_0"), Just("call_1"), Just("c2")];
    let word = || "[a-z ,.é中]{0,12}";
    prop_oneof![
        3 => word().prop_map(|text| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n")),
        1 => word().prop_map(|text| format!("{{\"role\": \"system\", \"content\": \"{text}\"}}\n")),
        2 => word().prop_map(|text| format!("{{\"role\":\"assistant\",\"content\":\"{text}\",\"n\":1E2}}\n")),
        3 => id().prop_map(|id| format!("{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{}]}}\n", call(id))),
        1 => (id(), id()).prop_map(|(one, two)| {
            format!("{{\"role\":\"assistant\",\"tool_calls\":[{},{}]}}\n", call(one), call(two))
        }),
        4 => (id(), word()).prop_map(|(id, text)| {
            format!("{{\"role\":\"tool\",\"tool_call_id\":\"{id}\",\"content\":\"{text}\"}}\n")
        }),
    ]
}

fn call(id: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{}}\"}}}}"
    )
}

fn other_object() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{}".to_owned()),
        Just(" { } ".to_owned()),
        Just("{\"type\":\"progress\",\"data\":{\"_ctx\":1}}".to_owned()),
        Just(
            "{\"a\":1,\"a\":2,\"n\":123456789012345678901,\"e\":1e400,\"s\":\"\\ud800\"}"
                .to_owned()
        ),
        "[a-z]{1,5}".prop_map(|key| format!("\t{{ \"{key}\" : [ -0 , \"\\u4e2d\" ] }}")),
    ]
}

fn bad_line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(b"  ".to_vec()),
        Just(b"not json".to_vec()),
        Just(b"[1, 2]".to_vec()),
        Just(b"{\"a\":1}{\"b\":2}".to_vec()),
        Just(b"{\"a\":\"x{\"type\":\"y\"}".to_vec()),
        Just(b"\0\0\0".to_vec()),
        Just(b"{\"a\":\"\xff\"}".to_vec()),
        Just(b"{\"role\":\"user\",\"cont".to_vec()),
        proptest::collection::vec(any::<u8>().prop_filter("no line end", |b| *b != b'\n'), 0..20),
    ]
}
