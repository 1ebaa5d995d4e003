//! Which sentence is a decision, a fact or a preference: tables of patterns,
//! each with its look-alikes and its reason.
//!
//! What only looks like a pattern is blanked out before the pattern is looked for. So
//! "不确定用什么，但决定先做 A" is still a decision, and "不确定" alone is none.

use std::borrow::Cow;
use std::sync::LazyLock;

use ctx_transcript::Role;
use regex::{Captures, Regex};
use serde::Serialize;

use crate::text;

mod conclusion;
mod decision;
mod demand;
mod fact;
mod moment;
mod person;
mod preference;
mod script;
mod table;

pub(crate) use script::simplified;
use table::Table;

/// What a session may tell that is worth remembering; each kind has a memory file of
/// its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum MemoryKind {
    /// What was settled
    Decision,
    /// Statements that name a project, a path or a setting
    Fact,
    /// How the user wants things
    Preference,
    /// Tool calls in short, and their errors
    Runtime,
}

impl MemoryKind {
    /// All kinds, in the order in which they are asked for.
    pub const ALL: [Self; 4] = [Self::Decision, Self::Fact, Self::Preference, Self::Runtime];

    /// Its word on the command line and in an item.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Fact => "fact",
            Self::Preference => "preference",
            Self::Runtime => "runtime",
        }
    }
}

/// Whose sentences a pattern is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// Whoever says it.
    Anyone,
    /// Only the user: "always run the tests" is a wish when the user says it,
    /// and a description when the model does.
    User,
}

/// One pattern of a table.
#[derive(Debug)]
pub struct Pattern {
    /// Its name, unique in its kind; a Chinese one when it is for Chinese only.
    pub name: &'static str,
    /// Whose sentences it is for.
    pub speaker: Speaker,
    /// Words in lower case, one of which is in every sentence that it matches, so
    /// that most sentences are done with before anything is compiled; empty for
    /// no such words.
    pub hints: &'static [&'static str],
    /// What it looks for.
    pub says: &'static str,
    /// Look-alikes, blanked out before; empty for none.
    pub not: &'static str,
    /// Why it is as it is.
    pub why: &'static str,
}

/// All patterns for sentences of one kind; none for [`MemoryKind::Runtime`], which is
/// read from calls and results.
pub fn patterns(kind: MemoryKind) -> &'static [Pattern] {
    match kind {
        MemoryKind::Decision => decision::PATTERNS,
        MemoryKind::Fact => fact::PATTERNS,
        MemoryKind::Preference => preference::PATTERNS,
        MemoryKind::Runtime => &[],
    }
}

/// The pattern of `kind` that `sentence`, said by `role`, holds.
pub fn find(kind: MemoryKind, sentence: &str, role: Role) -> Option<&'static Pattern> {
    find_stated(kind, &stated(sentence, kind)?, role)
}

/// The same of what is stated in a sentence.
fn find_stated(kind: MemoryKind, plain: &str, role: Role) -> Option<&'static Pattern> {
    static DECISION: LazyLock<Table> =
        LazyLock::new(|| Table::new(decision::PATTERNS, decision::VETO));
    static FACT: LazyLock<Table> = LazyLock::new(|| Table::new(fact::PATTERNS, fact::VETO));
    static PREFERENCE: LazyLock<Table> =
        LazyLock::new(|| Table::new(preference::PATTERNS, preference::VETO));
    let table = match kind {
        MemoryKind::Decision => &DECISION,
        MemoryKind::Fact => &FACT,
        MemoryKind::Preference => &PREFERENCE,
        MemoryKind::Runtime => return None,
    };
    let found = table.find(plain, role)?;
    let is_stated = kind != MemoryKind::Fact || fact::states(plain);
    (is_stated && !table.vetoes(plain)).then_some(found)
}

/// Whether a memory keeps `sentence` as one of `kind`: what [`find`] finds, and beyond it
/// conclusions with their reason as decisions, what a user demands as preferences, and who
/// people are as facts; not
/// what holds for the moment only.
pub fn kept(kind: MemoryKind, sentence: &str, role: Role) -> bool {
    static CONCLUSION: LazyLock<Table> =
        LazyLock::new(|| Table::new(conclusion::PATTERNS, conclusion::VETO));
    static DEMAND: LazyLock<Table> = LazyLock::new(|| Table::new(demand::PATTERNS, demand::VETO));
    static PERSON: LazyLock<Table> = LazyLock::new(|| Table::new(person::PATTERNS, person::VETO));
    let more = match kind {
        MemoryKind::Decision => Some(&CONCLUSION),
        MemoryKind::Preference => Some(&DEMAND),
        MemoryKind::Fact => Some(&PERSON),
        MemoryKind::Runtime => None,
    };
    let Some(plain) = stated(sentence, kind) else {
        return false;
    };
    let is_more =
        |more: &LazyLock<Table>| more.find(&plain, role).is_some() && !more.vetoes(&plain);
    let is_named = find_stated(kind, &plain, role).is_some();
    (is_named || more.is_some_and(is_more)) && moment::outlives(kind, sentence, is_named)
}

/// The part of a sentence that its speaker states: no question and, but for
/// facts, no code. `None` when nothing is left.
fn stated(sentence: &str, kind: MemoryKind) -> Option<String> {
    let plain = match kind {
        MemoryKind::Fact => Cow::Borrowed(sentence),
        _ => without_code(sentence),
    };
    let mut plain = simplified(&plain).replace('’', "'");
    if is_question(&plain) {
        // "我喜欢欢乐谷，它周边有什么酒店吗？": only the last clause asks. In
        // English the whole sentence does.
        let clause = plain
            .rfind(['，', '；', '。'])
            .filter(|_| !plain.is_ascii())?;
        plain.truncate(clause);
    }
    Some(plain)
}

fn is_question(sentence: &str) -> bool {
    let end = sentence.trim_end_matches([
        '"', '”', ')', '）', '*', '_', '。', '.', '!', '！', ' ', '」',
    ]);
    end.ends_with(['?', '？', '吗', '呢'])
}

/// Code in backticks says nothing about what its writer wants; what follows a last lone
/// backtick is text.
fn without_code(sentence: &str) -> Cow<'_, str> {
    static CODE: LazyLock<Regex> = LazyLock::new(|| table::compile("`[^`]*`|`"));
    CODE.replace_all(sentence, |code: &Captures<'_>| match code[0].len() {
        1 => "",
        _ => "``",
    })
}

/// A sentence as it is judged and quoted: on one line, at most
/// [`text::QUOTE_MAX`] characters.
pub fn quote(sentence: &str) -> String {
    text::cut(text::plain_line(sentence), text::QUOTE_MAX)
}

#[cfg(test)]
mod tests {
    use ctx_transcript::Role;

    use super::table::compile;
    use super::{find, patterns};
    use crate::rules::MemoryKind;

    /// Checks a table: `(name, sentences that match it)`, and sentences that match nothing.
    pub(super) fn check(kind: MemoryKind, right: &[(&str, &[&str])], wrong: &[&str]) {
        let name_of = |sentence: &str| find(kind, sentence, Role::User).map(|pattern| pattern.name);
        let right_ones = right.iter().flat_map(|(name, sentences)| {
            sentences.iter().map(|sentence| (*sentence, Some(*name)))
        });
        let all = right_ones.chain(wrong.iter().map(|sentence| (*sentence, None)));
        let failed: Vec<_> = all
            .filter(|(sentence, name)| name_of(sentence) != *name)
            .map(|(sentence, name)| format!("{sentence:?}: {:?}, not {name:?}", name_of(sentence)))
            .collect();
        assert!(failed.is_empty(), "{failed:#?}");
        let tested: Vec<_> = right.iter().map(|(name, _)| *name).collect();
        for pattern in patterns(kind) {
            let _ = (compile(pattern.says), compile(pattern.not));
            assert!(
                tested.contains(&pattern.name),
                "{} has no test",
                pattern.name
            );
            assert!(!pattern.why.is_empty());
        }
    }

    #[test]
    fn questions_state_nothing_but_their_first_clauses_do() {
        let is = |sentence| find(MemoryKind::Decision, sentence, Role::User).is_some();
        assert!(!is("Have we decided to use Redis?"));
        assert!(!is("我们决定用 Redis 了吗？"));
        assert!(!is("决定用哪个呢"));
        assert!(is("我们决定用 Redis，你觉得怎么样？"));
    }

    /// 16: the patterns are in simplified characters, what is said need not be.
    #[test]
    fn both_scripts_of_chinese_are_read() {
        let is = |kind, sentence| find(kind, sentence, Role::User).is_some();
        assert!(is(MemoryKind::Decision, "我們決定用 Rust 重寫"));
        assert!(is(MemoryKind::Decision, "最終選擇了 PostgreSQL"));
        assert!(is(MemoryKind::Preference, "我喜歡簡短的回答"));
        assert!(!is(MemoryKind::Decision, "我還沒決定"));
        assert!(!is(MemoryKind::Decision, "請選擇一個文件"));
    }

    #[test]
    fn code_in_backticks_is_not_said() {
        let is = |sentence| find(MemoryKind::Decision, sentence, Role::User).is_some();
        assert!(!is("The log says `we decided to stop`."));
        assert!(is("We decided on `sqlite`."));
        assert!(is("It`s so: we decided on sqlite."));
    }
}
