//! Prompt templates, which are Markdown files with a few placeholders.

use std::str::FromStr;
use std::sync::LazyLock;

use ctx_text::regex;
use regex::{Captures, Regex};

use crate::LISTS;
use crate::language::Language;

/// The values of a template's placeholders.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filling<'a> {
    /// The requested length of the summary, in tokens.
    pub target: u64,
    /// The points that the user wants to emphasize.
    pub instructions: &'a str,
    /// The earlier summary, if any.
    pub earlier: &'a str,
    /// The messages to summarize, as text.
    pub transcript: &'a str,
}

/// A prompt template for summaries.
///
/// Text before the first `---` line is the system prompt, and text after it is the message. Without
/// a `---` line, the whole text is the message. The placeholders are `{{target}}`
/// (tokens), `{{words}}` (the same length in words of prose), `{{technical-words}}` (the same
/// length in words of a text about code), `{{instructions}}`, `{{earlier}}` and
/// `{{transcript}}`, of which `{{transcript}}` is required.
/// If the value of a placeholder is empty, its paragraph is omitted, together with a preceding
/// paragraph that ends in a colon. If the first line has the form `<!-- target: 500 -->`, it is not
/// part of the prompt. The number in this line is the default length of the summary, in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The default length of a summary with this template, in tokens.
    pub target: Option<u64>,
    system: String,
    message: String,
    /// True if the model is asked to translate the headings, which are then not known in advance.
    translates: bool,
}

/// Why a template is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template does not contain the placeholder for the messages.
    #[error("the template lacks the placeholder {{{{transcript}}}}")]
    NoTranscript,
    /// The template contains an unknown placeholder, which is probably a typing error.
    #[error("the template has an unknown placeholder {{{{{0}}}}}")]
    Unknown(String),
}

/// The names and texts of the built-in templates.
const INSIDE: [(&str, &str); 3] = [
    (Template::DEFAULT, include_str!("../../../prompts/default.md")),
    ("sanbot", include_str!("../../../prompts/sanbot.md")),
    ("synapse", include_str!("../../../prompts/synapse.md")),
];
/// The default template in Chinese.
const CHINESE: &str = include_str!("../../../prompts/default.zh.md");
/// The template for summaries so short that headings would take up too much space.
const SMALL: &str = include_str!("../../../prompts/small.md");
const SMALL_CHINESE: &str = include_str!("../../../prompts/small.zh.md");
const SMALL_TARGET: u64 = 250;
/// The instruction about headings in the default template, and its replacement for languages other
/// than English.
const HEADINGS_STAY: &str = "the headings stay as they are";
const HEADINGS_CHANGE: &str = "translate the headings into that language, too";

impl Template {
    /// The name of the default template.
    pub const DEFAULT: &str = "default";

    /// Returns the names of the built-in templates.
    pub fn names() -> impl Iterator<Item = &'static str> {
        INSIDE.iter().map(|(name, _)| *name)
    }

    /// Returns the built-in template with this name, if any.
    pub fn by_name(name: &str) -> Option<Self> {
        let (_, text) = INSIDE.iter().find(|(known, _)| *known == name)?;
        text.parse().ok()
    }

    /// Returns the template for short summaries in this language, or `None` if a summary of
    /// `target` tokens is long enough for the default template.
    pub fn small_in(language: Language, target: u64) -> Option<Self> {
        let text = match language {
            Language::Chinese => SMALL_CHINESE,
            Language::English | Language::Other => SMALL,
        };
        (target < SMALL_TARGET).then(|| text.parse().ok())?
    }

    /// Returns the default template for this language, with headings in the same language.
    pub fn default_in(language: Language) -> Option<Self> {
        match language {
            Language::English => Self::by_name(Self::DEFAULT),
            Language::Chinese => CHINESE.parse().ok(),
            Language::Other => Self::by_name(Self::DEFAULT).map(|default| Self {
                system: default.system.replace(HEADINGS_STAY, HEADINGS_CHANGE),
                translates: true,
                ..default
            }),
        }
    }

    /// Changes the template so that it asks for all of its sections, even if they are empty.
    #[must_use]
    pub fn with_all_sections(mut self) -> Self {
        for [left_out, named] in LISTS.entries("empty sections").as_chunks().0 {
            self.system = self.system.replace(left_out, named);
        }
        self
    }

    /// Returns the headings that a summary must have, without `## `. The headings are taken from
    /// the system prompt, or from the message if there is no system prompt. Headings directly above
    /// a placeholder are not included.
    pub fn headings(&self) -> Vec<String> {
        if self.translates {
            return Vec::new();
        }
        let text = if self.system.is_empty() { &self.message } else { &self.system };
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
        let nexts = lines.iter().skip(1).chain([&""]);
        let headings = lines.iter().zip(nexts).filter(|(_, next)| !next.starts_with("{{"));
        let headings = headings.filter_map(|(line, _)| line.strip_prefix("## "));
        headings.map(|heading| heading.trim().to_owned()).collect()
    }

    /// Returns the prompt without the messages and the earlier summary.
    pub fn prompt(&self, instructions: &str, target: u64) -> String {
        let (system, message) = self.fill(&Filling { target, instructions, ..Filling::default() });
        format!("{system}\n{message}")
    }

    /// Returns the system prompt and the message with all placeholders filled.
    pub fn fill(&self, filling: &Filling<'_>) -> (String, String) {
        (fill(&self.system, filling), fill(&self.message, filling))
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.replace("\r\n", "\n");
        let (target, text) = target_of(&text);
        let (system, message) = text.split_once("\n---\n").unwrap_or(("", text));
        let is_unknown = |name: &&str| value(name, &Filling::default()).is_none();
        if let Some(unknown) = placeholders(text).find(is_unknown) {
            return Err(TemplateError::Unknown(unknown.to_owned()));
        }
        if !placeholders(text).any(|name| name == "transcript") {
            return Err(TemplateError::NoTranscript);
        }
        Ok(Self {
            target,
            system: system.trim().to_owned(),
            message: message.trim().to_owned(),
            translates: false,
        })
    }
}

/// Splits off the length on the first line of a template, if any.
fn target_of(text: &str) -> (Option<u64>, &str) {
    let said = || {
        let (line, rest) = text.split_once('\n')?;
        let target = line.strip_prefix("<!-- target:")?.strip_suffix("-->")?;
        Some((target.trim().parse().ok()?, rest))
    };
    said().map_or((None, text), |(target, rest)| (Some(target), rest))
}

/// Matches a placeholder. All names have been checked when the template was parsed.
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| regex(r"\{\{([^{}]*)\}\}"));

fn value(name: &str, filling: &Filling<'_>) -> Option<String> {
    Some(match name {
        "target" => filling.target.to_string(),
        // A model can tell how many words it has written, but not how many tokens.
        "words" => (filling.target * 3 / 4).next_multiple_of(10).to_string(),
        // Words among paths, identifiers and commands have about two tokens.
        "technical-words" => (filling.target / 2).next_multiple_of(10).to_string(),
        "instructions" => filling.instructions.trim().to_owned(),
        "earlier" => filling.earlier.trim().to_owned(),
        "transcript" => filling.transcript.trim().to_owned(),
        _ => return None,
    })
}

/// Returns the names between `{{` and `}}`, in order.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(name, _)| name.trim())
}

fn fill(text: &str, filling: &Filling<'_>) -> String {
    let is_empty = |name| value(name, filling).is_none_or(|value| value.is_empty());
    let mut kept: Vec<&str> = Vec::new();
    for paragraph in text.split("\n\n") {
        if placeholders(paragraph).any(is_empty) {
            if kept.last().is_some_and(|before| before.trim_end().ends_with([':', '：'])) {
                kept.pop();
            }
        } else {
            kept.push(paragraph);
        }
    }
    // Placeholders in the inserted values are not replaced.
    let named = |found: &Captures<'_>| value(found[1].trim(), filling).unwrap_or_default();
    PLACEHOLDER.replace_all(&kept.join("\n\n"), named).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Filling, HEADINGS_CHANGE, Template, TemplateError};
    use crate::{LISTS, Language};

    const FULL: Filling<'_> = Filling {
        target: 500,
        instructions: "the names",
        earlier: "it began",
        transcript: "[user]\nhi {{target}}",
    };

    #[test]
    fn templates_inside_are_filled() {
        for name in Template::names() {
            let template = Template::by_name(name).expect(name);
            let (system, message) = template.fill(&FULL);
            let length = ["500 tokens", "250 words"];
            assert!(length.iter().any(|length| system.contains(length)), "{name}");
            assert!(system.ends_with("attention to this: the names"), "{name}");
            assert!(message.contains("<earlier-summary>\nit began\n</earlier-summary>"));
            assert!(message.contains("<record>\n[user]\nhi {{target}}\n</record>"));
            let (system, message) =
                template.fill(&Filling { instructions: "", earlier: " ", ..FULL });
            assert!(system.ends_with("nothing else."), "{name}");
            assert!(message.starts_with("The record:\n\n<record>"), "{message}");
        }
        assert!(Template::by_name("other").is_none());
    }

    #[test]
    fn the_policies_headings_are_there() {
        let headings = |name| -> Vec<String> {
            let (system, _) = Template::by_name(name).expect(name).fill(&FULL);
            let lines = system.lines().filter_map(|line| line.strip_prefix("## "));
            lines.map(str::to_owned).collect()
        };
        assert_eq!(headings("sanbot"), ["任务目标", "已完成", "关键决策", "待处理"]);
        assert_eq!(
            headings("synapse"),
            [
                "Technical Context",
                "Project Overview",
                "Code Changes",
                "Debugging & Issues",
                "Current Status",
                "Pending Tasks",
                "User Preferences",
                "Key Decisions"
            ]
        );
    }

    #[test]
    fn the_default_one_has_headings_in_the_users_language() {
        let [english, chinese, other] = [Language::English, Language::Chinese, Language::Other]
            .map(|language| Template::default_in(language).expect("inside"));
        assert_eq!(Some(&english), Template::by_name(Template::DEFAULT).as_ref());
        assert_eq!((english.headings().len(), chinese.headings().len()), (10, 10));
        assert_eq!(chinese.headings()[0], "目标");
        assert_eq!(other.headings(), [""; 0]);
        assert!(other.prompt("", 500).contains(HEADINGS_CHANGE));
        let empty = LISTS.entries("empty sections");
        for (template, [left_out, named]) in
            [english, chinese.clone()].into_iter().zip(empty.as_chunks().0)
        {
            assert!(template.prompt("", 500).contains(left_out));
            assert!(template.with_all_sections().prompt("", 500).contains(named));
        }
        let (system, message) = chinese.fill(&Filling { instructions: "", earlier: "", ..FULL });
        assert!(system.contains("写大约 380 个字") && system.ends_with("不写别的。"));
        assert!(message.starts_with("记录：\n\n<record>"), "{message}");
    }

    #[test]
    fn sections_are_read_from_the_prompt() {
        let synapse = Template::by_name("synapse").expect("inside").headings();
        assert_eq!((synapse.len(), synapse[3].as_str()), (8, "Debugging & Issues"));
        let free: Template = "Sum up.\n## Facts\nWhat is true.\n\n## Record\n\n{{transcript}}"
            .parse()
            .expect("a template");
        assert_eq!(free.headings(), ["Facts"]);
        assert_eq!(free.prompt("", 5), "\nSum up.\n## Facts\nWhat is true.\n\n## Record");
    }

    #[test]
    fn a_template_of_the_user_may_be_one_message() {
        let template: Template =
            "Sum up in { {{ target }} } words:\r\n\r\n{{transcript}}".parse().expect("a template");
        let (system, message) = template.fill(&FULL);
        assert_eq!(system, "");
        assert_eq!(message, "Sum up in { 500 } words:\n\n[user]\nhi {{target}}");
    }

    #[test]
    fn a_template_says_how_long_a_summary_is() {
        let target = |name| Template::by_name(name).expect(name).target;
        assert_eq!(target(Template::DEFAULT), None);
        assert_eq!(target("sanbot"), Some(500));
        assert_eq!(target("synapse"), Some(8_000));
        for (first, target) in [
            ("<!-- target: 70 -->\n", Some(70)),
            ("<!--target:70-->\n", None),
            ("<!-- target: many -->\n", None),
            ("", None),
        ] {
            let template: Template =
                format!("{first}Sum up.\n\n{{{{transcript}}}}").parse().expect("a template");
            assert_eq!(template.target, target, "{first}");
            let prompt = template.prompt("", 5);
            assert_eq!(prompt.contains("<!--"), target.is_none() && !first.is_empty());
        }
    }

    #[test]
    fn slips_are_found() {
        assert_eq!("x".parse::<Template>(), Err(TemplateError::NoTranscript));
        let error = "{{transcript}} {{tagret}}".parse::<Template>().expect_err("a slip");
        assert_eq!(error.to_string(), "the template has an unknown placeholder {{tagret}}");
        assert_eq!(
            "x".parse::<Template>().expect_err("no transcript").to_string(),
            "the template lacks the placeholder {{transcript}}"
        );
    }
}
