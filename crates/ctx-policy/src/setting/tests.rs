use std::time::Duration;

use ctx_select::share::Share;
use serde_json::{Value, json};

use super::Setting;

#[test]
fn numbers_are_whole_and_not_negative() {
    assert_eq!(u64::read(&json!(8000)), Some(8000));
    assert_eq!(u64::read(&json!(8000.0)), Some(8000));
    for bad in [
        json!(-1),
        json!(0.5),
        json!("80"),
        json!(null),
        json!(1e300),
    ] {
        assert_eq!(u64::read(&bad), None, "{bad}");
    }
    assert_eq!(u64::parse("8k"), Some(8_000));
    assert_eq!(u64::parse("2M"), Some(2_000_000));
    for bad in ["", "k", "-1", "1.5", "99999999999999999999", "é"] {
        assert_eq!(u64::parse(bad), None, "{bad}");
    }
}

#[test]
fn shares_are_numbers_or_percent() {
    assert_eq!(Share::read(&json!(0.8)), Some(Share::of_percent(80)));
    assert_eq!(Share::read(&json!("80%")), Some(Share::of_percent(80)));
    assert_eq!(Share::read(&json!(1)), Some(Share::WHOLE));
    for bad in [json!(0), json!(1.2), json!(-0.5), json!(true)] {
        assert_eq!(Share::read(&bad), None, "{bad}");
    }
    assert_eq!(Share::of_percent(29).show(), json!(0.29));
}

#[test]
fn factors_are_at_least_one() {
    assert_eq!(f64::read(&json!(1.2)), Some(1.2));
    assert_eq!(f64::parse("1"), Some(1.0));
    for bad in ["0.9", "11", "NaN", "inf", "x"] {
        assert_eq!(f64::parse(bad), None, "{bad}");
    }
}

#[test]
fn times_have_a_unit() {
    for (text, seconds, shown) in [
        ("5m", 300, "5m"),
        ("300s", 300, "5m"),
        ("90s", 90, "90s"),
        ("1h", 3_600, "1h"),
        ("24h", 86_400, "1d"),
        ("0s", 0, "0s"),
    ] {
        let time = Duration::parse(text).expect(text);
        assert_eq!(time.as_secs(), seconds, "{text}");
        assert_eq!(time.show(), json!(shown));
    }
    assert_eq!(Duration::parse("250ms").expect("ms").show(), json!("250ms"));
    for bad in ["", "5", "m", "5 weeks", "-5m", "99999999999999999999h"] {
        assert_eq!(Duration::parse(bad), None, "{bad}");
    }
}

#[test]
fn switches_go_off() {
    for off in [json!(false), json!("off"), json!("")] {
        assert_eq!(Option::<u64>::read(&off), Some(None), "{off}");
    }
    assert_eq!(Option::<u64>::parse("off"), Some(None));
    assert_eq!(Option::<u64>::read(&json!(5)), Some(Some(5)));
    assert_eq!(Option::<u64>::read(&json!(true)), None);
    assert_eq!(Option::<u64>::show(&None), json!(false));
}

#[test]
fn lists_are_of_one_kind() {
    let list = |value: Value| Vec::<String>::read(&value);
    assert_eq!(list(json!([])), Some(Vec::new()));
    assert_eq!(list(json!(["a", 1])), None);
    assert_eq!(list(json!("a")), None);
    assert_eq!(
        Vec::<String>::parse(" a, b ,"),
        Some(vec!["a".to_owned(), "b".to_owned()])
    );
}
