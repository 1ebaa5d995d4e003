//! Words that raise or lower the worth of a statement.
//!
//! The rules of the ledger decide what is an item, so they know many look-alikes. Words here only
//! change the rank of a statement a little, so a look-alike costs little, and they are tried on
//! every statement.

use std::sync::LazyLock;

use ctx_text::Matcher;
use regex::Regex;

/// Words of a rule.
pub(super) static RULE: LazyLock<Matcher> = LazyLock::new(|| {
    matcher(
        r"(?i)\b(?:must|never|do not|don['’]t|always|only|should|shall|need|without|keep|no)\b|不要|不能|不得|必须|务必|禁止|只能|只要|只需",
    )
});
/// Words that say why something is wanted, or what is wrong.
pub(super) static WHY: LazyLock<Matcher> = LazyLock::new(|| {
    matcher(
        r"(?i)\b(?:because|since|so that|reason|problem(?:atic)?|expect(?:ed)?|instead|otherwise|due to|shall)\b|因为|所以|原因|问题|期望|应该",
    )
});
/// Words of what was settled.
pub(super) static SETTLED: LazyLock<Matcher> = LazyLock::new(|| {
    matcher(
        r"(?i)\b(?:decided?|decision|agreed|change(?:d)? (?:our|my) minds?|instead of|rather than|let['’]s (?:go with|use|keep|not|do)|we (?:use|go with|chose|will use)|switch(?:ed)? to)\b|决定|改用|改为|选择|就用|采用",
    )
});
/// Words of findings, causes, decisions and results.
pub(super) static FINDING: LazyLock<Matcher> = LazyLock::new(|| {
    matcher(
        r"(?i)\b(?:because|since|so that|root cause|turns? out|found|bugs?|fix(?:ed|es)?|decided|chose|instead|rather|skip(?:ped)?|fail(?:s|ed|ing|ure)?|pass(?:es|ed|ing)?|wrong|mistaken|already|not|only|never|must|without|means|therefore|issue|problem|actually|still|committed|created|added|removed|changed|updated|implemented)\b|因为|所以|原因|决定|改为|已经|发现|修复|失败|通过|推荐|建议",
    )
});
/// Announcements of the model: the action shows it anyway.
pub(super) static PROMISE: LazyLock<Matcher> = LazyLock::new(|| {
    matcher(
        r"(?i)^(?:(?:now|ok(?:ay)?|great|good|perfect|next|first|then|alright)[,.!]? +)*(?:let me|let['’]s|let us|i['’]ll|i will|now i|i['’]m going to)\b|^(?:now|next|then)[,.]? (?:add|remove|modify|update|fix|create|write|run|check|implement|refactor|rename|replace|delete|move|test|verify|commit|push|build|look|read|find|search)\b|^(?:现在)?(?:让我|我来|我将|接下来我)",
    )
});
/// Questions and offers of the model: the user's answer says more.
pub(super) static OFFER: LazyLock<Matcher> = LazyLock::new(|| {
    matcher(
        r"(?i)[?？]\W*$|\b(?:please (?:provide|confirm|let me know|share)|let me know|(?:i['’]m|i am) (?:here|happy|glad) to|feel free|could you please|would you like|i can (?:assist|help)|i['’]d be happy|to (?:proceed|assist you|continue),? )\b|请(?:问|提供|告诉)|还有什么|希望",
    )
});
/// Words that are only polite.
pub(super) static COURTESY: LazyLock<Matcher> = LazyLock::new(|| {
    matcher(
        r"(?i)^(?:(?:hello|hi|hey|thanks?(?: you)?(?: (?:so|very) much)?|thank you for [a-z' ]+|of course|certainly|absolutely|i (?:understand|see)|great|perfect|good (?:morning|afternoon|evening)|you['’]re welcome|no (?:problem|worries)|sure|ok(?:ay)?|(?:can|could|would) you (?:please )?(?:help|assist)(?: me)?(?: with (?:that|this|it|these|those))?(?: please)?\?|i can (?:help|assist)(?: you)? with (?:that|this)|(?:now )?i (?:now )?have (?:a |the )?(?:clear|good|full|complete|better|whole)(?: and [a-z]+)? (?:picture|understanding|view|idea)(?: of [^.]*)?|you['’]re (?:absolutely |completely )?right|got it|good (?:question|point|catch|idea|call)|no response requested|done|understood|excellent|alright|wonderful|have a (?:great|nice|good) day)(?: (?:again|there))?[,.! ]*)+$|^(?:(?:你好|您好|谢谢|多谢|好的|不客气|再见|嗯|哦)[，。！!,. 您你了啊呀]*)+$",
    )
});
/// Names, paths, numbers and marked text.
pub(super) static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"`[^`]+`|[A-Za-z_][A-Za-z0-9_-]*[._/][A-Za-z0-9_./-]+|[a-z]+[A-Z][A-Za-z0-9]+|[A-Za-z]+_[A-Za-z0-9_]+|\b[0-9][0-9A-Za-z.:-]*",
    )
});

/// A line of a program, perhaps with its number in a listing.
pub(super) static CODE_LINE: LazyLock<Matcher> = LazyLock::new(|| {
    matcher(
        r"^(?:[0-9]+[ \t]*[→:|]?)?[ \t]*(?:(?:from \S+ )?import |(?:return|raise|assert|yield|await)\b|(?:if|elif|for|while|with|except|try|else|case|switch|match)\b.*[:{]$|else\b|@\w)",
    )
});

/// A line of a listing with its number before it, `12:    let x = f(y)`, that is no comment.
pub(super) static LISTED: LazyLock<Matcher> = LazyLock::new(|| matcher(r"^[0-9]+:[ \t]+[^#/*\s-]"));

/// A pattern with the word boundaries of ASCII: a word ends where Chinese begins.
pub(super) fn pattern(text: &str) -> Regex {
    ctx_text::regex(&text.replace(r"\b", r"(?-u:\b)"))
}

fn matcher(text: &str) -> Matcher {
    Matcher::new(&text.replace(r"\b", r"(?-u:\b)"))
}

#[cfg(test)]
mod tests {
    use super::CODE_LINE;

    #[test]
    fn lines_of_programs_are_no_words() {
        for line in [
            "from __future__ import annotations",
            "6  from __future__ import annotations",
            "30→    except (KeyError, ValueError) as error:",
            "for error, count in errors.most_common():",
            "return store",
        ] {
            assert!(CODE_LINE.is_match(line), "{line}");
        }
        for line in [
            "For each error there is a count:",
            "if it fails, look at the log",
            "24  def import_feed(store):",
            "5  NB-00422;C1;Northern Light",
        ] {
            assert!(!CODE_LINE.is_match(line), "{line}");
        }
    }
}
