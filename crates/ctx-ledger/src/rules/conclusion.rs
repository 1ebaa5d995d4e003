//! Conclusions: what somebody settled on with a reason, without a word for deciding.
//!
//! A summary quotes such sentences by their rank; a memory must know them by their form.

use super::{Pattern, Speaker};

/// Conditions, offers, and steps that are only announced.
pub(super) const VETO: &str = r"(?i)^[*_]*(?:if|whether|once|until|unless|when|should|would|could|can|let me|let's (?:see|look|check|run|start|first|try)|maybe|perhaps|I (?:think|wonder|guess))\b|^(?:如果|假如|要是|是否|等|若)|[:：][*_]*$";

#[rustfmt::skip]
pub(super) const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "chosen because",
        speaker: Speaker::Anyone,
        hints: &["because", "since ", "so that", "rather than", "instead of", "to avoid"],
        says: r"(?i)\b(?:I'll|I will|we'll|we will|I'm going to|I've|I have|we've|we have|I|we) (?:also |now |instead |just |simply |therefore )?(?:add|added|use|used|keep|kept|put|store|stored|place|placed|move|moved|make|made|leave|left|skip|skipped|drop|dropped|replace|replaced|return|avoid|avoided|split|name|named|rename|renamed|reuse|reused|implement|implemented|change|changed|switch|switched|write|wrote|removed?|set)\b.{8,}\b(?:because|since|so that|rather than|instead of|to avoid)\b",
        not: r"(?i)\b(?:check|read|look|see|find|search|view|examine|wonder|think|confused)\b.{0,60}\b(?:because|since)\b",
        why: "what the speaker does, with the reason that it is done so; a step of looking is none",
    },
    Pattern {
        name: "root cause",
        speaker: Speaker::Anyone,
        hints: &["cause", "fix", "issue", "problem", "bug", "solution", "reason"],
        says: r"(?i)\b(?:root cause|underlying (?:issue|problem|cause|bug)|(?:real|actual|core) (?:issue|problem|cause|bug)|the (?:fix|solution|problem|cause|bug)) (?:is|was)\b.{12,}|\bissues? to fix: ?.{8,}|\b(?:fails|failed|breaks|broke|crash(?:es|ed)) because\b.{8,}",
        not: r"(?i)\b(?:what|where|why|not sure|unclear|see (?:if|what)|find|understand|maybe|might|probably)\b.{0,40}\b(?:cause|fix|issue|problem|bug|solution|reason)\b|\bthe (?:problem|fix|bug|solution|reason) (?:is|was) (?:that )?(?:here|there|clear|simple|complete|working|done|in place)\b[.!]?$",
        why: "a cause or a remedy that was found; the search for one is none",
    },
    Pattern {
        name: "verdict",
        speaker: Speaker::Anyone,
        hints: &["cleanest", "simplest", "safest", "best ", "right ", "correct ", "better ", "speculative", "mistaken", "over-", "overkill", "could break", "false positive", "out of scope", "not worth", "by design", "intentional", "won't"],
        says: r"(?i)\b(?:cleanest|simplest|safest|best|right|correct|better) (?:fix|approach|solution|option|choice|place|way|design)\b.{0,40}\b(?:because|since|is|as|here)\b|\b(?:is|are|this is) (?:probably )?the (?:cleanest|simplest|safest|best|right|correct) (?:fix|approach|solution|option|choice|place|way)\b|\bspeculative\b|\b(?:was|were|been|is|are) mistaken\b|\bover-?(?:document|engineer|complicat)\w+|\boverkill\b|\b(?:could|would|will) break\b.{8,}|\bfalse positives?\b|\bout of scope\b|\bnot worth\b|\b(?:is|are|was) (?:by design|intentional)\b|\bwon't .{4,80}, but\b",
        not: r"(?i)\b(?:what|which|whether|not sure|is this|find) (?:is )?(?:the )?(?:cleanest|simplest|safest|best|right|correct|better)\b|\bright place to (?:look|start)\b|\bbest way to (?:find|check|see|test)\b",
        why: "a judgement on a way of doing it, which later work goes by",
    },
    Pattern {
        name: "done instead",
        speaker: Speaker::Anyone,
        hints: &["fixed", "changed", "switched", "replaced", "skipped", "resolved", "moved", "instead"],
        says: r"(?i)^[*_]*(?:fixed|resolved|solved|replaced|changed|switched|moved)\b.{0,80}\b(?:by|from|with|instead|to use|into)\b.{4,}|\bfixed by\b.{6,}|^[*_]*skipp(?:ed|ing)\b.{0,60}(?:[-–—(]|because|since)|\b(?:use|using|used) .{2,60} instead[.,!]|\bneed(?:s|ed)? to always\b",
        not: r"(?i)\bskipped? (?:\d+|tests?)\b",
        why: "what took the place of something, in notes and reports",
    },
    Pattern {
        name: "made so",
        speaker: Speaker::Anyone,
        hints: &["``", "it now", "no longer"],
        says: r"(?i)^[*_]*(?:added|created|introduced|made|implemented)\b.{0,60}``.{0,80}\b(?:that|so that|which|because|with shared|to (?:enable|avoid|ensure|handle|keep|prevent))\b|\bit now .{6,}|\bno longer .{6,}",
        not: r"(?i)\b(?:I|I've|we|you) (?:can|am|are|have)? ?no longer\b",
        why: "what code does since, as a report tells it",
    },
    Pattern {
        name: "so",
        speaker: Speaker::Anyone,
        hints: &["so ", "this ", "means", "without"],
        says: r"(?i)^so (?:\w+ing|we|the|this|that)\b.{10,}\b(?:covers?|means|avoids?|handles?|works?|must|never|always|without|already)\b|\bmeans (?:all|that|no|every|existing)\b.{10,}\bwithout\b|^this (?:avoids|ensures|prevents|guarantees|way)\b.{12,}",
        not: r"(?i)^so (?:the|this|that) (?:test|output|error|file) (?:shows|says|is)\b",
        why: "the consequence that a choice rests on",
    },
    Pattern {
        name: "推荐",
        speaker: Speaker::Anyone,
        hints: &["推荐", "当然是", "唯一", "根本原因", "原因是", "因此", "所以"],
        says: r"推荐(?:您|你)?(?:去|入住|选择|使用|用|采用)[^，。；]{2,}[，,。 ]{1,2}(?:因为|这家|该|它|他|是)|因为[^。；]{4,}推荐|当然是[^，。；]{2,}|唯一[^，。；]{0,10}(?:符合|满足|可行)|(?:根本)?原因(?:是|在于)[^，。；]{4,}|(?:因此|所以)[^。；]{0,12}(?:用|使用|采用|改|去掉|保留|不做|不再)",
        not: r"(?:能|可以|请|帮我|有(?:什么|没有)|求|给我)[^，。；]{0,4}推荐|(?:什么|查|找)[^，。；]{0,4}原因",
        why: "what was advised with a reason, or concluded; advice alone and a request for it settle nothing",
    },
];

#[cfg(test)]
mod tests {
    use ctx_transcript::Role;

    use crate::rules::{MemoryKind, kept};

    #[test]
    fn conclusions_and_their_look_alikes() {
        let is = |sentence| kept(MemoryKind::Decision, sentence, Role::Assistant);
        for sentence in [
            "I'll put the helpers into `paths` since it is a common dependency.",
            "The root cause is that the lock is taken twice.",
            "The loop fails because it stops at the first line.",
            "A reader of our own is the cleanest approach because no caller changes.",
            "The suggestion could break things that work today.",
            "The tool was mistaken about it: all cases are used.",
            "Skipped - all cases are used",
            "Fixed by using `CommitWithHooks` instead.",
            "Changed from `list.New(tree)` to `list.With(data)`.",
            "So updating one place covers all agents without any hook.",
            "Added a custom `Unmarshal` method that handles both formats.",
            "推荐您去北京饭店吧，这家店设施齐全。",
            "根本原因是锁被取了两次。",
        ] {
            assert!(is(sentence), "{sentence}");
        }
        for sentence in [
            "I'll read the file because I need its lines.",
            "Let me find the root cause.",
            "What is the root cause?",
            "Let's see what the real problem is here today.",
            "I'm not sure what the fix is for all of them.",
            "The tests pass now.",
            "Skipped 3 tests (slow)",
            "If we fixed it by hand, it would break again.",
            "请给我推荐一家酒店。",
        ] {
            assert!(!is(sentence), "{sentence}");
        }
    }
}
