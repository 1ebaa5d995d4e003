//! Models, their encodings and their context windows, as data.

use crate::Encoding;
use crate::Encoding::{Cl100kBase, O200kBase, O200kHarmony, P50kBase, R50kBase};

/// What is known of the models whose names begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// How the names begin.
    pub prefix: &'static str,
    /// The encoding that counts for them.
    pub encoding: Encoding,
    /// Context window in tokens: input and output together where the vendor shares it.
    pub window: u64,
    /// Whether the encoding is the model's own. If not, it stands in for one that is
    /// not published, and counts are estimates.
    pub exact: bool,
}

const fn exact(prefix: &'static str, encoding: Encoding, window: u64) -> Model {
    Model {
        prefix,
        encoding,
        window,
        exact: true,
    }
}

/// By `o200k_base`, since the vendor publishes no tokenizer.
const fn estimate(prefix: &'static str, window: u64) -> Model {
    Model {
        prefix,
        encoding: O200kBase,
        window,
        exact: false,
    }
}

/// The table; the longest prefix of a name wins.
///
/// Encodings of OpenAI's models: `tiktoken/model.py` of github.com/openai/tiktoken (0.14.0).
/// Windows: OpenAI's by `get_context_size` of tiktoken-rs 0.12.1, which follows
/// platform.openai.com/docs/models; those of GPT-5.5 and
/// GPT-5.6 by the lists of vendors that serve them (docs.oxen.ai, runware.ai/docs).
/// Anthropic's by platform.claude.com/docs/en/models/overview, for older models the
/// windows without the beta that widens them. Google's by ai.google.dev/gemini-api/docs/models.
pub static MODELS: &[Model] = &[
    // GPT-5 and after. GPT-6 has no published encoding yet.
    estimate("gpt-6", 1_050_000),
    exact("gpt-5", O200kBase, 400_000),
    exact("gpt-5.3-codex-spark", O200kBase, 128_000),
    exact("gpt-5.4", O200kBase, 1_050_000),
    exact("gpt-5.4-mini", O200kBase, 400_000),
    exact("gpt-5.4-nano", O200kBase, 400_000),
    exact("gpt-5.5", O200kBase, 1_050_000),
    exact("gpt-5.6", O200kBase, 1_050_000),
    // Reasoning.
    exact("o1", O200kBase, 200_000),
    exact("o1-mini", O200kBase, 128_000),
    exact("o1-preview", O200kBase, 128_000),
    exact("o3", O200kBase, 200_000),
    exact("o4-mini", O200kBase, 200_000),
    exact("codex-mini", O200kBase, 200_000),
    exact("gpt-oss", O200kHarmony, 131_072),
    // GPT-4.
    exact("gpt-4", Cl100kBase, 8_192),
    exact("gpt-4-32k", Cl100kBase, 32_768),
    exact("gpt-4-turbo", Cl100kBase, 128_000),
    exact("gpt-4-1106", Cl100kBase, 128_000),
    exact("gpt-4-0125", Cl100kBase, 128_000),
    exact("gpt-4o", O200kBase, 128_000),
    exact("chatgpt-4o", O200kBase, 128_000),
    exact("gpt-4.1", O200kBase, 1_047_576),
    exact("gpt-4.5", O200kBase, 128_000),
    // GPT-3.5 and before; `gpt-35` is how Azure spells it.
    exact("gpt-3.5", Cl100kBase, 16_385),
    exact("gpt-35", Cl100kBase, 16_385),
    exact("text-davinci-003", P50kBase, 4_097),
    exact("text-davinci-002", P50kBase, 4_097),
    exact("text-davinci-001", R50kBase, 2_049),
    exact("code-davinci-002", P50kBase, 8_001),
    exact("davinci", R50kBase, 2_049),
    exact("gpt2", R50kBase, 1_024),
    // Claude: no tokenizer is published for any of them.
    estimate("claude", 200_000),
    estimate("claude-2.0", 100_000),
    estimate("claude-instant", 100_000),
    estimate("claude-opus-4-6", 1_000_000),
    estimate("claude-opus-4-7", 1_000_000),
    estimate("claude-opus-4-8", 1_000_000),
    estimate("claude-opus-5", 1_000_000),
    estimate("claude-sonnet-4-6", 1_000_000),
    estimate("claude-sonnet-5", 1_000_000),
    estimate("claude-fable", 1_000_000),
    // Gemini: the input limit.
    estimate("gemini", 1_048_576),
    estimate("gemini-1.5-pro", 2_097_152),
];

/// The entry of a model, or `None` if its family is not in the table.
///
/// The case of letters does not matter. A vendor in front (`openai/gpt-4o`) and
/// the mark of a fine-tuned model (`ft:gpt-4o:acme`) are passed over.
pub fn model(name: &str) -> Option<&'static Model> {
    let name = name.to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or(&name);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    MODELS
        .iter()
        .filter(|model| name.starts_with(model.prefix))
        .max_by_key(|model| model.prefix.len())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{MODELS, model};
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
        ] {
            let found = model(name).expect(name);
            assert_eq!((found.exact, found.window), (false, window), "{name}");
        }
    }

    #[test]
    fn vendor_case_and_fine_tuning_are_passed_over() {
        assert_eq!(model("openai/GPT-4o"), model("gpt-4o"));
        assert_eq!(
            model("ft:gpt-4.1-mini-2025-04-14:acme::B1"),
            model("gpt-4.1")
        );
        assert_eq!(model("llama-3"), None);
        assert_eq!(model(""), None);
    }

    #[test]
    fn the_table_is_sound() {
        let prefixes: HashSet<&str> = MODELS.iter().map(|model| model.prefix).collect();
        assert_eq!(prefixes.len(), MODELS.len(), "a prefix stands twice");
        for entry in MODELS {
            assert!(entry.window >= 1_024, "{}", entry.prefix);
            assert_eq!(model(entry.prefix), Some(entry));
        }
    }
}
