//! Demands: what a user requires, forbids or limits for the work at hand.

use super::{Pattern, Speaker};

/// What asks or tells of others requires nothing.
pub(super) const VETO: &str = r"(?i)^(?:whether|(?:would|do|does|did|should|could|can|may) (?:you|we|I|they)|let me know|feel free|I (?:think|guess|wonder)|how|what|why)\b";

#[rustfmt::skip]
pub(super) const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "must",
        speaker: Speaker::User,
        hints: &["do not", "don't", "dont", "never", "must", "always", "avoid", "make sure", "be sure", "ensure", "forbidden", "not allowed", "required to", "no more than", "at most", "only ", "cannot", "can not"],
        says: r"(?i)(?:^|[,;:] |\b(?:you|please|and|but|should|must) )(?:never|always)\b|\b(?:do not|don't|dont|must|mustn't|avoid|make sure|be sure|ensure|under no circumstances|not allowed|forbidden|required to|no more than|at most|only (?:use|change|touch|edit|if|when|after|enter)|you (?:cannot|can not|can only))\b",
        not: r"(?i)\b(?:I|we|they|it|you|that|which|this) (?:really |still |also )?(?:don't|do not|dont|never)\b|\bI(?:'ll| will|'d)? (?:\w+ )?(?:make sure|be sure|ensure|avoid|must)\b|\b(?:to|can|could) (?:make sure|ensure|avoid)\b|\b(?:don't|do not|dont) (?:know|think|see|understand|have|mind|remember|care|believe|recall|like|need|worry)\b|\bnever ?mind\b|\bmust (?:be (?:a|an|some)|have \w+)\b|\b(?:is|are|was|were|has|have|had|it|that|this|which|who|they|he|she|I|we|will|would|almost) (?:\w+ )?(?:always|never)\b",
        why: "an order or a limit; \"I don't know\" and \"it never works\" tell of something",
    },
    Pattern {
        name: "careful",
        speaker: Speaker::User,
        hints: &["careful", "in mind", "without ", "will not work", "in sync", "unchanged", "have to be", "should ", "has to"],
        says: r"(?i)\bbe careful\b.{4,}|\b(?:have|keep|bear) in mind\b.{4,}|\bwithout (?:changing|touching|breaking|modifying|any (?:changes?|new))\b|\bwill not work\b.{8,}|\b(?:stay|keep|remain) (?:in sync|unchanged)\b|\b(?:should|have to|has to) (?:always|never|not|only|stay|remain)\b",
        not: r"(?i)\bwhy\b.{0,40}\bshould\b",
        why: "a caution or a limit of the work",
    },
    Pattern {
        name: "I need the",
        speaker: Speaker::User,
        hints: &["need the", "want the", "want it", "want to keep"],
        says: r"(?i)\bI(?: really| only| just)? (?:need|want) the (?:cheapest|fastest|shortest|earliest|latest|smallest|same|most|least)\b|\bI(?: only| really)? want (?:it|them|this|that) to (?:be|stay|only)\b|\bI want to keep\b",
        not: "",
        why: "by what the user measures a result",
    },
    Pattern {
        name: "必须",
        speaker: Speaker::User,
        hints: &[],
        says: r"不要|不能|不得|不可(?:以|用)|不许|必须|务必|禁止|只能|切勿|千万|别再|别太|不超过|至少|最好(?:有|是|能|在|别|不)|(?:也行|也可以)|尽量|(?:控制|限制|保持)在?[^，。；]{1,12}(?:以内|以下|以上)",
        not: r"是不是|能不能|要不要|可不可|不能(?:理解|确定)|必须的(?:。|$)|不得不|(?:能|可以|会)不(?:能|可以)",
        why: "an order, a limit, a measure of the user's; in questions none",
    },
];

#[cfg(test)]
mod tests {
    use ctx_transcript::Role;

    use crate::rules::{MemoryKind, kept};

    #[test]
    fn demands_are_the_users() {
        let is = |sentence, role| kept(MemoryKind::Preference, sentence, role);
        for sentence in [
            "Do not change the names of existing functions.",
            "no don't set it, let's see if it keeps happening",
            "Address them but be careful not to break what works.",
            "Have in mind that the path has the user's home in it.",
            "Cancel it without changing the flights.",
            "Both types must stay in sync.",
            "I need the fastest return trip on the same day.",
            "还是找经济型的酒店，没健身房也行，别太贵了",
            "所有輸出必須是中文。",
        ] {
            assert!(is(sentence, Role::User), "{sentence}");
            assert!(!is(sentence, Role::Assistant), "{sentence}");
        }
        for sentence in [
            "I don't know why.",
            "Never mind that one.",
            "It never works here.",
            "I'll make sure to have it ready.",
            "The talk never flagged for an hour.",
            "It has no output, so that must have worked.",
            "Why should it never stop?",
            "我们要不要试试这个？",
            "I need the file.",
        ] {
            assert!(!is(sentence, Role::User), "{sentence}");
        }
    }
}
