//! Checks metrics against the rules of the text format and those that `promtool check metrics`
//! enforces.

use std::collections::{BTreeMap, BTreeSet};

/// Units and words that promtool does not allow in a metric's name.
const NOT_IN_A_NAME: [&str; 14] = [
    "_counter_",
    "_gauge_",
    "_histogram_",
    "_summary_",
    "_milliseconds_",
    "_ms_",
    "_minutes_",
    "_hours_",
    "_kilobytes_",
    "_kib_",
    "_percent_",
    "_sec_",
    "_s_",
    "_b_",
];

/// The name, the labels and the value of a sample.
type Sample = (String, Vec<(String, String)>, f64);

#[derive(Default)]
struct Family {
    kind: String,
    samples: Vec<Sample>,
}

/// Checks all rules. Panics at the first violation.
#[track_caller]
pub(super) fn check(text: &str) {
    assert!(text.is_empty() || text.ends_with('\n'), "the last line has no line end");
    let (mut families, mut series) = (BTreeMap::<&str, Family>::new(), BTreeSet::new());
    let (mut helped, mut current) = ("", "");
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("a help text");
            assert!(!families.contains_key(name) && !words.trim().is_empty(), "{line}");
            helped = name;
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type");
            assert_eq!(name, helped, "TYPE is not preceded by its HELP");
            check_name(name, kind);
            let family = Family { kind: kind.to_owned(), ..Family::default() };
            assert!(families.insert(name, family).is_none(), "{name} occurs twice");
            current = name;
        } else {
            let sample = sample(line);
            assert!(series.insert((sample.0.clone(), sample.1.clone())), "twice: {line}");
            let family = families.get_mut(current).expect("the sample has no TYPE");
            let suffix =
                sample.0.strip_prefix(current).expect("the sample belongs to another family");
            let is_fit = match family.kind.as_str() {
                "histogram" => ["_bucket", "_sum", "_count"].contains(&suffix),
                _ => suffix.is_empty(),
            };
            assert!(is_fit, "{line}");
            family.samples.push(sample);
        }
    }
    for (name, family) in &families {
        assert!(!family.samples.is_empty(), "{name} has no sample");
        check_samples(name, family);
    }
}

fn check_name(name: &str, kind: &str) {
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    assert!(is_plain && name.starts_with("ctx_"), "{name}");
    assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
    assert_eq!(name.ends_with("_total"), kind == "counter", "{name}: {kind}");
    for suffix in ["_count", "_sum", "_bucket"] {
        assert!(!name.ends_with(suffix), "{name}");
    }
    let within = format!("{name}_");
    for word in NOT_IN_A_NAME {
        assert!(!within.contains(word), "{name}");
    }
}

fn check_samples(name: &str, family: &Family) {
    let is_histogram = family.kind == "histogram";
    for (_, labels, value) in &family.samples {
        let has_le = labels.iter().any(|(label, _)| label == "le");
        assert!(is_histogram || !has_le, "{name}");
        assert!(value.is_finite() && *value >= 0.0, "{name}: {value}");
    }
    if is_histogram {
        let of = |suffix: &str| {
            let full = format!("{name}{suffix}");
            let samples = family.samples.iter();
            samples.filter(|sample| sample.0 == full).collect::<Vec<_>>()
        };
        let buckets = of("_bucket");
        let values: Vec<f64> = buckets.iter().map(|sample| sample.2).collect();
        assert!(values.is_sorted(), "{name}: buckets add up");
        let last = buckets.last().expect("buckets");
        assert_eq!(last.1, [("le".to_owned(), "+Inf".to_owned())]);
        let count = of("_count")[0].2;
        assert!((last.2 - count).abs() < 0.5 && of("_sum").len() == 1, "{name}");
    }
}

/// Parses a sample, such as `name{label="value",…} 1`.
fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).expect("a name and a value");
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, quoted) = rest.split_once("=\"").expect("a label");
            let (value, after) = unquoted(quoted);
            labels.push((label.to_owned(), value));
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').expect("a space before the value");
    let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
    (name.to_owned(), labels, value)
}

/// Returns the value of a label, and the text after its closing quote.
fn unquoted(text: &str) -> (String, &str) {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, c @ ('\\' | '"'))) => value.push(c),
                other => panic!("no escape: {other:?}"),
            },
            c => {
                assert!(!c.is_control(), "a control character");
                value.push(c);
            }
        }
    }
    panic!("the label has no closing quote: {text}")
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::check;

    /// The checker accepts valid metrics and rejects what promtool rejects.
    #[test]
    fn what_promtool_refuses_is_refused() {
        check("");
        check(
            "# HELP ctx_a_total A.\n# TYPE ctx_a_total counter\nctx_a_total{x=\"a\\\\\\\"b\"} 1\n",
        );
        for wrong in [
            "ctx_a 1\n",
            "# TYPE ctx_a gauge\nctx_a 1\n",
            "# HELP ctx_a A.\n# TYPE ctx_a gauge\nctx_a 1",
            "# HELP ctx_a A.\n# TYPE ctx_a counter\nctx_a 1\n",
            "# HELP ctx_a A.\n# TYPE ctx_a gauge\n",
            "# HELP ctx_a A.\n# TYPE ctx_a gauge\nctx_b 1\n",
            "# HELP ctx_a A.\n# TYPE ctx_a gauge\nctx_a 1\nctx_a 2\n",
            "# HELP ctx_a A.\n# TYPE ctx_a gauge\nctx_a{x=\"\\e\"} 1\n",
            "# HELP ctx_a A.\n# TYPE ctx_a gauge\nctx_a one\n",
            "# HELP ctx_a_ms A.\n# TYPE ctx_a_ms gauge\nctx_a_ms 1\n",
            "# HELP ctx_a_count A.\n# TYPE ctx_a_count gauge\nctx_a_count 1\n",
            "# HELP ctx_a A.\n# TYPE ctx_a histogram\nctx_a_bucket{le=\"1\"} 1\nctx_a_sum 1\nctx_a_count 1\n",
        ] {
            assert!(catch_unwind(|| check(wrong)).is_err(), "{wrong}");
        }
    }
}
