use crate::share::Share;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Reader;

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(Reader(value)).ok()
}

fn wanted<T: DeserializeOwned + std::fmt::Debug>(value: &Value) -> String {
    T::deserialize(Reader(value)).expect_err("unfit").wanted
}

#[test]
fn numbers_are_whole_and_not_negative() {
    assert_eq!(read(&json!(8000)), Some(8000_u64));
    assert_eq!(read(&json!(8000.0)), Some(8000_u64));
    assert_eq!(read(&json!(u64::MAX)), Some(u64::MAX));
    for bad in [json!(-1), json!(0.5), json!("80"), json!(null), json!(1e300)] {
        assert_eq!(wanted::<u64>(&bad), "a whole number, 0 or more", "{bad}");
    }
}

#[test]
fn shares_are_numbers_or_percent() {
    assert_eq!(read(&json!(0.8)), Some(Share::of_percent(80)));
    assert_eq!(read(&json!("80%")), Some(Share::of_percent(80)));
    assert_eq!(read(&json!(1)), Some(Share::WHOLE));
    for bad in [json!(0), json!(1.2), json!(-0.5), json!(true)] {
        assert_eq!(read::<Share>(&bad), None, "{bad}");
    }
    assert_eq!(json!(Share::of_percent(29)), json!(0.29));
}

#[test]
fn switches_go_off() {
    for off in [json!(false), json!("off"), json!("")] {
        assert_eq!(read::<Option<u64>>(&off), Some(None), "{off}");
    }
    assert_eq!(read(&json!(5)), Some(Some(5_u64)));
    assert_eq!(
        wanted::<Option<u64>>(&json!(true)),
        "a whole number, 0 or more; or false to turn it off"
    );
}

#[test]
fn lists_are_of_one_kind() {
    assert_eq!(read(&json!([])), Some(Vec::<String>::new()));
    for bad in [json!(["a", 1]), json!("a")] {
        assert_eq!(wanted::<Vec<String>>(&bad), "a list in which each item is text");
    }
    assert_eq!(read::<Vec<Vec<String>>>(&json!([["a"]])), Some(vec![vec!["a".to_owned()]]));
}
