use std::io::Read;

use ctx_transcript::Object;
use proptest::prelude::*;

use super::{Shrink, length};

fn shrunk(input: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    Shrink::new(input)
        .read_to_end(&mut output)
        .expect("from memory");
    output
}

fn shrunk_text(input: &str) -> String {
    String::from_utf8(shrunk(input.as_bytes())).expect("text")
}

/// The text at `key` of an object.
fn text(object: &str) -> Option<String> {
    let object = Object::parse(object).ok()?;
    object.text_of("k").map(std::borrow::Cow::into_owned)
}

#[test]
fn short_lines_stay_as_they_are() {
    for input in [
        "",
        "\n",
        "{\"a\":[1,\"x\\n\"]}\n{}",
        "no json \"\n{\"a\":\"b\n",
        "\u{feff}{}\r\n",
    ] {
        assert_eq!(shrunk_text(input), input);
    }
}

#[test]
fn a_long_string_keeps_its_begin_its_end_and_its_length() {
    let long = "é\\n\\u4e2d\\\"\\ud83d\\ude00x".repeat(500);
    let line = format!("{{\"k\":\"{long}\",\"n\":1}}\n");
    let short = shrunk_text(&line);
    assert!(short.len() < 450, "{}", short.len());
    let (whole, cut) = (text(&line).expect("a text"), text(&short).expect("a text"));
    assert_eq!(length(&cut), whole.len() as u64);
    let (begin, rest) = cut.split_once('\0').expect("a mark");
    let (_, end) = rest.split_once('\0').expect("its end");
    assert!(begin.len() > 50 && whole.starts_with(begin), "{begin}");
    assert!(whole.ends_with(end), "{end}");
}

#[test]
fn no_text_says_that_something_was_cut_out_of_it() {
    let short = r#"{"k":"a\u00009999999\u0000b"}"#;
    assert_eq!(length(&text(&shrunk_text(short)).expect("a text")), 11);
    let long = format!(r#"{{"k":"\u00009\u0000{}\u00009\u0000"}}"#, "x".repeat(900));
    assert_eq!(length(&text(&shrunk_text(&long)).expect("a text")), 906);
}

#[test]
fn what_is_no_json_is_none_afterwards() {
    let long = "x".repeat(900);
    for bad in ["\u{1}", "\\x", "\\u12", "\\u12g4", "\\", "\n"] {
        let line = format!("{{\"k\":\"{long}{bad}{long}\"}}");
        assert!(Object::parse(&line).is_err(), "{bad:?}");
        let short = shrunk_text(&line);
        let first = short.lines().next().expect("a line");
        assert!(Object::parse(first).is_err(), "{bad:?}");
    }
    let not_text = [b"{\"k\":\"\xff", long.as_bytes(), b"\"}\n"].concat();
    assert_eq!(shrunk(&not_text), not_text);
}

#[test]
fn a_line_that_nobody_reads_is_no_record() {
    let mut input = vec![b'x'; ctx_transcript::MAX_LINE + 9];
    input.extend_from_slice(b"\n{}\n");
    assert_eq!(shrunk(&input), b"\0\n{}\n");
    input.truncate(ctx_transcript::MAX_LINE + 9);
    assert_eq!(shrunk(&input), b"\0\n");
}

proptest! {
    /// Whatever a line is, its shrunk form is JSON if and only if it is, with the same members
    /// of the same length.
    #[test]
    fn the_structure_stays(parts in proptest::collection::vec(
        prop_oneof!["[a-zé\\\\\"{}:,0u\\x01]{0,9}", Just("lorem ipsum ".repeat(40))], 0..9)) {
        let line = format!("{{\"k\":\"{}\",\"a\":[\"{}\"]}}", parts.concat(), parts.join(","));
        let short = shrunk_text(&line);
        let (whole, cut) = (Object::parse(&line), Object::parse(&short));
        prop_assert_eq!(whole.is_ok(), cut.is_ok());
        if let (Ok(whole), Ok(cut)) = (whole, cut) {
            prop_assert_eq!(whole.members().len(), cut.members().len());
            let (whole, cut) = (whole.text_of("k"), cut.text_of("k"));
            prop_assert_eq!(whole.is_some(), cut.is_some());
            if let (Some(whole), Some(cut)) = (whole, cut) {
                prop_assert_eq!(whole.len() as u64, length(&cut));
            }
        }
    }
}
