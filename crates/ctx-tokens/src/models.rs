//! A table of models with their encodings and context windows.

use std::sync::LazyLock;

use crate::Encoding;

/// The properties of all models whose names begin with the same prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// The prefix of the models' names.
    pub prefix: &'static str,
    /// The encoding to use for these models.
    pub encoding: Encoding,
    /// The size of the context window in tokens. The window includes the output if the vendor
    /// counts input and output together.
    pub window: u64,
    /// Whether `encoding` is the models' actual encoding. If the actual encoding is unpublished or
    /// not built in, token counts are estimates.
    pub exact: bool,
    /// Whether the weights of the models are public. If they are, a server may run the models with
    /// a smaller context window.
    pub open: bool,
}

impl Model {
    /// All entries in the table, sorted by vendor. If a name begins with several of the prefixes,
    /// the longest prefix counts. `models.txt` in this crate's source lists where the numbers come
    /// from.
    pub fn all() -> &'static [Self] {
        &TABLE.models
    }

    /// The date on which the table was made, such as `2026-11-23`.
    pub fn listed_on() -> &'static str {
        TABLE.day
    }

    /// All short names, each with the full name of the model: `("sonnet", "claude-sonnet-5")`.
    pub fn short_names() -> &'static [(&'static str, &'static str)] {
        &TABLE.short_names
    }
}

/// The parsed content of `models.txt`.
struct Table {
    models: Vec<Model>,
    short_names: Vec<(&'static str, &'static str)>,
    day: &'static str,
}

static TEXT: &str = include_str!("../models.txt");

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let lines = || TEXT.lines().filter(|line| !line.starts_with('#'));
    let day = TEXT.lines().find_map(|line| line.strip_prefix("# Made on "));
    Table {
        models: lines().filter_map(entry).collect(),
        short_names: lines().filter_map(|line| line.split_once(" = ")).collect(),
        day: day.and_then(|rest| rest.get(..10)).unwrap_or_default(),
    }
});

/// Parses a line of the table that describes a model.
fn entry(line: &'static str) -> Option<Model> {
    let mut words = line.split_whitespace();
    let prefix = words.next()?;
    let encoding = words.next()?;
    Some(Model {
        prefix,
        encoding: encoding.trim_start_matches('~').parse().ok()?,
        window: words.next()?.parse().ok()?,
        exact: !encoding.starts_with('~'),
        open: words.next() == Some("open"),
    })
}

/// Returns the entry for a model; `None` if no prefix of the model's name is in the table.
///
/// Case is ignored, and so are a vendor before the name (`openai/gpt-4o`,
/// `us.anthropic.claude-opus-5`) and the parts that identify a fine-tuned model (`ft:gpt-4o:acme`).
///
/// ```
/// let model = ctx_tokens::model("us.anthropic.claude-opus-5-v1:0").expect("in the table");
/// assert_eq!((model.window, model.exact), (1_000_000, false));
/// assert!(ctx_tokens::model("parrot-7b").is_none());
/// ```
pub fn model(name: &str) -> Option<&'static Model> {
    let name = name.to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or(&name);
    let mut name = name.strip_prefix("ft:").unwrap_or(name);
    loop {
        let models = Model::all().iter();
        let known = models.filter(|model| name.starts_with(model.prefix));
        if let Some(model) = known.max_by_key(|model| model.prefix.len()) {
            return Some(model);
        }
        let (vendor, rest) = name.split_once('.')?;
        if !vendor.chars().all(|c| c.is_ascii_alphabetic()) {
            return None;
        }
        name = rest;
    }
}

/// Returns the full name for a short name: the name of the newest model in a family.
///
/// Use this function only for names typed by a person. Servers and files use full names: there,
/// `mistral` is the name of a particular old model.
///
/// ```
/// assert_eq!(ctx_tokens::full_name("Sonnet"), Some("claude-sonnet-5"));
/// assert_eq!(ctx_tokens::full_name("gpt-5"), None);
/// ```
pub fn full_name(short: &str) -> Option<&'static str> {
    let mut names = Model::short_names().iter();
    let (_, full) = names.find(|(name, _)| name.eq_ignore_ascii_case(short))?;
    Some(full)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Model, TEXT, full_name, model};
    use crate::Encoding;

    #[test]
    fn the_longest_prefix_wins() {
        for (name, encoding, window) in [
            ("gpt-4", Encoding::Cl100kBase, 8_192),
            ("gpt-4-0613", Encoding::Cl100kBase, 8_192),
            ("gpt-4-32k-0613", Encoding::Cl100kBase, 32_768),
            ("gpt-4-turbo-2024-04-09", Encoding::Cl100kBase, 128_000),
            ("gpt-4o-mini", Encoding::O200kBase, 128_000),
            ("gpt-4.1-nano", Encoding::O200kBase, 1_047_576),
            ("gpt-5.2-codex", Encoding::O200kBase, 400_000),
            ("gpt-5.4-mini", Encoding::O200kBase, 400_000),
            ("gpt-5.4-pro", Encoding::O200kBase, 1_050_000),
            ("gpt-oss-20b", Encoding::O200kHarmony, 131_072),
            ("o3-mini", Encoding::O200kBase, 200_000),
            ("text-davinci-003", Encoding::P50kBase, 4_097),
        ] {
            let found = model(name).expect(name);
            assert_eq!((found.encoding, found.window), (encoding, window), "{name}");
            assert!(found.exact, "{name}");
        }
    }

    #[test]
    fn models_without_a_published_tokenizer_are_estimates() {
        for (name, window) in [
            ("claude-3-5-sonnet-20241022", 200_000),
            ("claude-haiku-4-5-20251001", 200_000),
            ("claude-opus-4-6", 1_000_000),
            ("gemini-2.5-pro", 1_048_576),
            ("gemini-1.5-pro-002", 2_097_152),
            ("qwen3-coder-480b-a35b-instruct", 262_144),
            ("kimi-k2.6", 262_144),
            ("gpt-6-sol", 1_050_000),
        ] {
            let found = model(name).expect(name);
            assert_eq!((found.exact, found.window), (false, window), "{name}");
        }
    }

    #[test]
    fn vendor_case_and_fine_tuning_are_passed_over() {
        assert_eq!(model("openai/GPT-4o"), model("gpt-4o"));
        assert_eq!(model("ft:gpt-4.1-mini-2025-04-14:acme::B1"), model("gpt-4.1"));
        assert_eq!(model("us.anthropic.claude-opus-5-v1:0"), model("claude-opus-5"));
        assert_eq!(model("Qwen/Qwen3-32B"), model("qwen3"));
        assert_eq!(model("llama"), None);
        assert_eq!(model("my.own-gpt-4o"), None);
        assert_eq!(model(""), None);
    }

    #[test]
    fn servers_may_shorten_the_windows_of_public_weights() {
        let open = |name| model(name).expect(name).open;
        assert!(open("gpt-oss-20b") && open("qwen3-32b") && open("llama-3.3-70b-instruct"));
        assert!(!open("gpt-5.5") && !open("claude-opus-5") && !open("gemini-3.8-flash"));
    }

    /// A short name is matched as a whole. On a server, the same word may be the name of another
    /// model.
    #[test]
    fn a_short_name_is_the_newest_of_its_family() {
        for (short, full) in Model::short_names() {
            let newest = model(full).expect(full);
            assert_eq!(newest.prefix, *full, "{short}");
            assert_eq!(full_name(&short.to_uppercase()), Some(*full));
        }
        for (name, window) in [("mistral", 32_768), ("deepseek", 131_072), ("grok", 131_072)] {
            assert_eq!(model(name).expect(name).window, window);
            let newest = full_name(name).and_then(model).expect(name);
            assert!(newest.window > window, "{name}");
        }
        assert_eq!(full_name("sonnet-4-5"), None);
        assert_eq!(full_name(""), None);
    }

    #[test]
    fn the_table_is_sound() {
        let prefixes: HashSet<&str> = Model::all().iter().map(|model| model.prefix).collect();
        assert_eq!(prefixes.len(), Model::all().len(), "each prefix occurs once");
        let shorts: HashSet<&str> = Model::short_names().iter().map(|(short, _)| *short).collect();
        assert_eq!(shorts.len(), Model::short_names().len(), "each short name occurs once");
        let lines = TEXT.lines();
        let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(entries.count(), prefixes.len() + shorts.len(), "every line can be read");
        for entry in Model::all() {
            assert!(entry.window >= 1_024, "{}", entry.prefix);
            assert_eq!(model(entry.prefix), Some(entry));
        }
        let day = Model::listed_on().split('-').map(str::parse::<u16>);
        assert!(day.clone().all(|part| part.is_ok()) && day.count() == 3);
    }
}
