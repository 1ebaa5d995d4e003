//! Renders the templates for the HTML page, metrics and other output.

use ctx_cli::{Listing, aligned, labelled, percent, short_bytes};
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value};

/// Renders the template. `escape` is applied to the values, because they may contain untrusted
/// text.
pub fn filled(template: &str, escape: fn(&str) -> String, values: Value) -> String {
    let filled = environment(escape).and_then(|it| it.render_str(template, values));
    filled.expect("the tests render every part of each template")
}

fn environment(escape: fn(&str) -> String) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    // Template lines that contain only tags produce no output.
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    environment.set_syntax(syntax.build()?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // A macro's result is already escaped.
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(move |out, _, value| {
        let shown = match f64::try_from(value.clone()) {
            // Whole numbers are printed without a decimal point.
            Ok(number) if value.is_number() => number.to_string(),
            _ if value.is_safe() => value.to_string(),
            _ => escape(&value.to_string()),
        };
        Ok(out.write_str(&shown)?)
    });
    environment.add_filter("n", number);
    environment.add_filter("counted", counted);
    environment.add_filter("percent", percent);
    environment.add_filter("bytes", short_bytes);
    environment
        .add_filter("aligned", |text: &str| Value::from_safe_string(aligned(rows(text).collect())));
    environment.add_filter("labelled", |text: &str| {
        let rows = text.lines().filter_map(|line| line.split_once('|'));
        let rows: Vec<(&str, String)> =
            rows.map(|(label, value)| (label, value.to_owned())).collect();
        Value::from_safe_string(labelled(&rows))
    });
    environment.add_filter("listing", |text: &str, heading: &str| {
        let mut listing = Listing::new(heading);
        rows(text).for_each(|row| listing.push(row));
        Value::from_safe_string(listing.text(None))
    });
    environment.add_filter("fixed", |number: f64, decimals: usize| format!("{number:.decimals$}"));
    Ok(environment)
}

/// Splits each line into cells at `|`. The last cell may itself contain a `|`.
fn rows(text: &str) -> impl Iterator<Item = Vec<String>> {
    let columns = text.lines().next().map_or(0, |line| line.split('|').count());
    text.lines().map(move |line| line.splitn(columns, '|').map(str::to_owned).collect())
}

/// Formats a number with thousands separators, such as `30,282`.
fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number with a noun, such as `1 token` or `30,282 tokens`.
fn counted(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {one}{plural}", number(count))
}

#[cfg(test)]
mod tests {
    use super::{counted, number};

    #[test]
    fn numbers_are_read_at_a_glance() {
        let grouped = [0, 999, 1_000, 123_456, 1_234_567].map(number);
        assert_eq!(grouped, ["0", "999", "1,000", "123,456", "1,234,567"]);
        assert_eq!([1, 2].map(|count| counted(count, "token")), ["1 token", "2 tokens"]);
    }
}
