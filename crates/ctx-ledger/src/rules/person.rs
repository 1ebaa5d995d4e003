//! Facts about people that a memory keeps: who the user is, and who answers for what.

use super::{Pattern, Speaker};

/// Conditions, and names of things in code.
pub(super) const VETO: &str = r"(?i)^(?:if|whether|suppose|assume|when|imagine)\b|^(?:如果|假如|假设|要是)|\b(?:variable|function|class|field|column|struct)\b";

#[rustfmt::skip]
pub(super) const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "who I am",
        speaker: Speaker::User,
        hints: &["my ", "call me", "i work", "i'm ", "i am "],
        says: r"(?i)\bmy (?:first |last |full |user ?)?(?:name|id|email|e-mail|phone(?: number)?|handle|team|role|job|timezone|time zone|birthday|date of birth|zip code|address|boss|manager|colleague|company)(?: address)? (?:is|are)\b.{2,}|\b(?:please )?call me [A-Z]\w+|\bI work (?:at|as|for|on|in|with)\b.{3,}|\bI(?:'m| am) (?:a|an|the|one of the) (?:[\w-]+ ){0,4}(?:engineer|developer|designer|manager|maintainer|owner|author|lead|admin|administrator|analyst|scientist|student|teacher|lawyer|doctor|writer|translator|beginner|newcomer|founder)\b",
        not: r"(?i)\bmy (?:name|id) is (?:wrong|missing|not)\b",
        why: "the user's word on who is speaking: needed whenever they come back",
    },
    Pattern {
        name: "who the user is",
        speaker: Speaker::Anyone,
        hints: &["user's ", "the user is", "maintain", "responsible", "in charge", "owns the"],
        says: r"(?i)\bthe user's (?:name|id|email|team|role|job|timezone|time zone|company) is\b.{2,}|\bthe user is (?:a|an|the|one of the) (?:[\w-]+ ){0,4}(?:engineer|developer|designer|manager|maintainer|owner|author|lead|admin|analyst|scientist|student|teacher|beginner|newcomer|founder)\b|\b[A-Z][a-z]+ (?:maintains|is (?:responsible for|in charge of|the (?:maintainer|owner|author|lead) of)|owns the)\b",
        not: r"\b(?:It|This|That|Which|What|Each|Function|Method|Module|File|Git|Node|Thread|Process|Class) (?:maintains|is|owns)\b",
        why: "what a summary tells of people",
    },
    Pattern {
        name: "我是",
        speaker: Speaker::User,
        hints: &["我叫", "我的", "我是", "我在", "负责"],
        says: r"我叫[^，。；]{2,10}(?:[，。；]|$)|我的(?:名字|姓名|邮箱|电话|手机号?|用户名|账号|工号|时区|职位|团队|老板|同事)(?:是|叫|为|[：:])[^，。；]{2,}|我是(?:一名|一个|个|这个项目的|团队的)?[^，。；]{0,8}(?:工程师|开发者|开发人员|设计师|经理|维护者|负责人|作者|学生|老师|医生|新手|创始人)|我在[^，。；]{2,12}(?:工作|上班|任职)|由[^，。；]{2,8}负责",
        not: r"我叫(?:一|个|了|辆|车|他|她|你|下|来|不|外卖)|我的(?:名字|账号)(?:是不|错|忘)",
        why: "who the user is; 我叫一辆车 calls something",
    },
];

#[cfg(test)]
mod tests {
    use ctx_transcript::Role;

    use crate::rules::{MemoryKind, kept};

    /// 16: facts about people outlive the session.
    #[test]
    fn who_the_user_is_is_kept() {
        let is = |sentence, role| kept(MemoryKind::Fact, sentence, role);
        for sentence in [
            "Sure, my user ID is mia_li_3668.",
            "My name is Ada, and I work on the parser.",
            "I'm a backend engineer, new to Rust.",
            "Please call me Sam.",
            "我叫王小明，",
            "我的邮箱是 ada@example.org",
            "我是這個項目的維護者",
            "部署由小李负责。",
        ] {
            assert!(is(sentence, Role::User), "{sentence}");
        }
        assert!(is("The user's name is Ada.", Role::Assistant));
        assert!(is("Ana maintains the parser crate.", Role::Assistant));
        for sentence in [
            "My name is wrong on the ticket.",
            "我叫一辆出租车。",
            "If my name is Ada, greet me.",
            "I'm a bit lost.",
        ] {
            assert!(!is(sentence, Role::User), "{sentence}");
        }
        assert!(!is("My name is Claude.", Role::Assistant));
        assert!(!is("This maintains a list.", Role::Assistant));
    }
}
