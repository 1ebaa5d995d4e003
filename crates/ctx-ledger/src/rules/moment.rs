//! What holds for a moment only, or says nothing when it is read alone: no memory keeps it,
//! though a summary of the same session may.

use std::sync::LazyLock;

use regex::Regex;

use super::MemoryKind;
use super::table::compile;

/// Of any kind: leads to what follows, lines of a pasted list, what stopped being needed.
const ANY: &str = concat!(
    r"(?i)[:：][*_]*$|^\d+ ?[-–] |\bsomething else\b|\bmust be (?:coming|something)\b",
    r"|\bno longer (?:needed|necessary|available)\b|\b(?:the commits?|what) (?:we|I) just (?:made|did)\b|\b(?:our|my) changes\b",
    r"|^[*_]*(?:along the way|(?:the )?user (?:identified|asked|reported|shared|noticed|showed)|the (?:issue indicates|transcript shows|output (?:shows|has)))\b|\b(?:either|shouldn't)[*_.]*$",
    r"|^[*_]*(?:you can (?:now )?(?:see|test|run|try|find)|I (?:misread|see|need to (?:re)?think|was wrong)|it seems|now,? let)\b",
);

/// Of decisions: what is said to the other side, steps, and what lacks its other half.
const DECISION: &str = concat!(
    r"(?i)^[*_]*(?:(?:yes|no|sure|okay|ok),? )?you can\b|^[*_]*(?:I need to|I have to)\b",
    r"|^[*_]*(?:this (?:avoids|ensures|prevents|guarantees|way|was proposed))\b|^(?:all )?(?:existing|other) tests\b",
    r"|\b(?:separate|different) (?:commit|bug fix)\b|\b(?:problem|issue|cause|bug) is (?:likely|probably|perhaps|maybe)\b|^need to\b|\bsame (?:problem|issue|fix|bug)\b.{0,20}\b(?:as before|regardless|still)\b|\bthe fix is (?:still )?(?:the same|working|fully|complete|backward)\b",
    r"|^this is the (?:cleanest|simplest|safest|best|right|correct)\b",
    // What a linter wants is over once it is done.
    r"|\bunused (?:variables?|imports?|parameters?)\b|\bmissing imports?\b|\bundefined: ",
);

/// Of facts: labels without what they label, output, states of the work.
const FACT: &str = concat!(
    r"(?i)^[*_`]*(?:files?|locations?|paths?|cwd|rgb|relative path|output|url|branch|commit|missing import)[*_`]*[:：]",
    r"|^(?:= |[*_]*(?:\w*error|fatal|warning|panic|traceback)\b[:：])|\w=\S+, \w+=",
    r"|\b(?:being modified|previous session|prior session|this session|core fix|is created|are created|working now|up to date|untracked|now shows?|test output|is correct since|despite my|is wrong|conflict|was already|created: http|already exists?|demonstrating|dead code)\b",
    r"|^[*_]*(?:but|so|the key one|one|both tests|lists|verifies|the interface|\d+ fixed|main agent)\b|\bremoved by\b| - copied\b|\bworks?[*_.]*$|\bthis file\b",
    // Names with nothing said of them: "`a.go` - during revert", "**x_test.go** — `TestX`".
    r"|^[*_]*`[^`]+`[*_]* (?:-|–|—) (?:`[^`]*`|[\w*()-]+(?: [\w*()-]+)?)[.]?$",
);

/// Of preferences: what must be so because it is seen to be, and what is asked.
const PREFERENCE: &str = r"(?i)\b(?:there (?:must|has to) be|must be (?:some|any)(?:thing| way)|must have been)\b|^[*_]*each \w+ must include\b|\bI (?:like|love|hate)[.!]?$|\bstay as is\b|^should be\b|^最好|(?:帮我|给我|求|您?帮)[^。；]{0,16}(?:找|推荐)|想找|想预约|推荐[^。；]{0,6}(?:吧|呗|下)";

/// Of a cause or a remedy: it has to name something of the code or of the machine.
const UNNAMED: &str = r"(?i)^[*_]*the (?:fix|solution|problem)\b[^`0-9/_]*$";

/// Whether a sentence says something for longer than the moment; of what is called a decision
/// (`is_named`) only the form is looked at.
pub(super) fn outlives(kind: MemoryKind, sentence: &str, is_named: bool) -> bool {
    static ANY_KIND: LazyLock<Regex> = LazyLock::new(|| compile(ANY));
    static OF_DECISIONS: LazyLock<Regex> = LazyLock::new(|| compile(DECISION));
    static OF_FACTS: LazyLock<Regex> = LazyLock::new(|| compile(FACT));
    static NAMES_NOTHING: LazyLock<Regex> = LazyLock::new(|| compile(UNNAMED));
    static OF_PREFERENCES: LazyLock<Regex> = LazyLock::new(|| compile(PREFERENCE));
    let of_kind = match kind {
        MemoryKind::Decision => &OF_DECISIONS,
        MemoryKind::Fact => &OF_FACTS,
        MemoryKind::Preference => &OF_PREFERENCES,
        MemoryKind::Runtime => return true,
    };
    if ANY_KIND.is_match(sentence) {
        return false;
    }
    if kind == MemoryKind::Decision && (is_named || NAMES_NOTHING.is_match(sentence)) {
        return is_named;
    }
    !of_kind.is_match(sentence)
}

#[cfg(test)]
mod tests {
    use ctx_transcript::Role;

    use crate::rules::{MemoryKind, find, kept};

    /// 16: what is over with the moment, or cannot be read alone, is found and not kept.
    #[test]
    fn the_moment_is_no_memory() {
        for (kind, sentence) in [
            (MemoryKind::Fact, "**Location:** `src/cli/args.ts`"),
            (MemoryKind::Fact, "RGB: `r=0, g=215, b=255`"),
            (MemoryKind::Fact, "`docs/color.md` is untracked."),
            (MemoryKind::Fact, "`.git/REVERT_HEAD` - during revert"),
            (
                MemoryKind::Fact,
                "Error: ENOENT: no file at /a/b/package.json",
            ),
            (
                MemoryKind::Decision,
                "16 - **Themes**: we decided to keep them.",
            ),
        ] {
            assert!(find(kind, sentence, Role::User).is_some(), "{sentence}");
            assert!(!kept(kind, sentence, Role::User), "{sentence}");
        }
        for sentence in [
            "You can use the gift card instead.",
            "This ensures that no log is overwritten.",
            "I need to change it to `_` since it is no longer used.",
            "The fix is to raise the limit:",
        ] {
            assert!(
                !kept(MemoryKind::Decision, sentence, Role::Assistant),
                "{sentence}"
            );
        }
        let asks = "I'm sure there must be something you can do.";
        assert!(!kept(MemoryKind::Preference, asks, Role::User));
    }

    #[test]
    fn what_lasts_is_kept() {
        for (kind, sentence) in [
            (
                MemoryKind::Fact,
                "**`src/list/data.go`** - Data fetching and branch filtering",
            ),
            (
                MemoryKind::Fact,
                "Log location: `.app/logs/<id>.log`, JSON, level by `APP_LEVEL`",
            ),
            (MemoryKind::Decision, "We decided to keep SQLite."),
            (MemoryKind::Preference, "Both types must stay in sync."),
        ] {
            assert!(kept(kind, sentence, Role::User), "{sentence}");
        }
    }
}
