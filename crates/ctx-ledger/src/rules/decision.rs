//! Decisions: what somebody settled, not what is open or could be chosen.

use super::{Pattern, Speaker};

/// A sentence that begins so decides nothing: conditions, offers, requests to choose.
pub(super) const VETO: &str = r"(?i)^(?:if|whether|once|until|unless|when|should|would|could)\b|^(?:如果|假如|要是|是否|等|若)";

#[rustfmt::skip]
pub(super) const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "decided",
        speaker: Speaker::Anyone,
        hints: &["decided"],
        says: r"(?i)\bdecided\b",
        not: r"(?i)(?:n't|\b(?:not|never|hardly|be|being|until|unless|is|are|gets?|once|who|what|if|whether|how|when|before|nobody|no one)) (?:\w+ ){0,2}decided\b|\bdecided (?:by|at runtime|yet|whether)\b",
        why: "said of a person; \"is decided by\" describes a program, \"not decided\" is open",
    },
    Pattern {
        name: "decision",
        speaker: Speaker::Anyone,
        hints: &["decision"],
        says: r"(?i)^[*_]*(?:(?:key|final|design|architecture|team|user|our|the|my) )*decisions?[*_]*(?: is| was)?(?: (?:to|that)\b|[*_]*[:：][*_]* *\S)",
        not: "",
        why: "a label or an opening, as in notes; the noun elsewhere (\"a separate design decision\") decides nothing",
    },
    Pattern {
        name: "chose",
        speaker: Speaker::Anyone,
        hints: &["chose", "picked", "selected"],
        says: r"(?i)\b(?:I|we|you|they|he|she|user|team|client|'ve|have|has|had|was|were|therefore|so|finally) (?:\w+ )?(?:chose|chosen|picked|selected)\b",
        not: r"(?i)\b(?:why|which|what|how|that|whatever|whichever|if|when) (?:\w+ ){0,3}(?:chose|chosen|picked|selected)\b|(?:n't|\b(?:not|never|no|nobody)) (?:\w+ )?(?:chose|chosen|picked|selected)\b|\bpicked up\b|\b(?:sure|think|thought|believe|believed) I (?:\w+ )?(?:chose|picked|selected)\b|\b(?:was|were|has|have) (?:been )?(?:randomly |automatically )?(?:chosen|picked|selected) (?:by|at random)\b",
        why: "needs somebody who chose; \"the chosen file\", \"why we chose\", \"selected by\" are look-alikes",
    },
    Pattern {
        name: "opted",
        speaker: Speaker::Anyone,
        hints: &["opt", "settled on", "agreed"],
        says: r"(?i)\b(?:opt(?:ed|ing)? (?:for|to)|settled on|agreed (?:to|on|that|with)|solution agreed|we agreed)\b",
        not: r"(?i)\b(?:not|n't|never|yet|until|unless|once|be|if|when) (?:\w+ )?(?:opt(?:ed)? (?:for|to)|settled on|agreed (?:to|on|that|with))",
        why: "verbs that only end a deliberation",
    },
    Pattern {
        name: "we will use",
        speaker: Speaker::Anyone,
        hints: &["'ll", " will", " shall", "going to"],
        says: r"(?i)\b(?:we|our team)(?:'ll| will| shall| are going to|'re going to) (?:now |just |instead |only |stop |no longer )?(?:use|using|adopt|keep|drop|replace|standardi[sz]e on|stick (?:with|to)|migrate to|move to|rely on|store|target|support)\b",
        not: r"(?i)\bwe(?:'ll| will) use (?:the |this |that |these |a )?(?:``|\S+) (?:commands?|tools?|functions?|option|utility|script)\b|\bwe(?:'ll| will) (?:use|keep) (?:it|this|that|these|them)? ?(?:to|for now)\b",
        why: "\"I'll use grep\" tells the next step and is no decision; \"we will use\" with a plain command neither",
    },
    Pattern {
        name: "go with",
        speaker: Speaker::Anyone,
        hints: &[" with"],
        says: r"(?i)\b(?:let's|let us|we'll|we will|I'll|I will|we|I|I'm|we're|gonna|going to|like to|want to|please|ok|okay|yes),? (?:\w+ )?(?:go|going|went|stick|sticking) with\b",
        not: r"(?i)(?:n't|\b(?:not|never|should|could|can|which|what|if|how)) (?:I |we |you |to )?(?:go|stick|going) with\b|\b(?:go|going) with (?:you|me|him|her|them|the flow)\b|\b(?:I'd|would) (?:\w+ )?go with\b",
        why: "needs a speaker: \"goes with\" and \"comes with\" speak of things; \"I'd go with\" is advice",
    },
    Pattern {
        name: "going with",
        speaker: Speaker::Anyone,
        hints: &["going with"],
        says: r"(?i)^[*_]*(?:(?:so|then|ok|okay|now),? )?going with\b",
        not: r"(?i)\bgoing with (?:you|me|him|her|them|the flow|it|this|that)\b",
        why: "a sentence that opens so tells a choice; elsewhere it needs a speaker",
    },
    Pattern {
        name: "proceed",
        speaker: Speaker::User,
        hints: &["proceed with"],
        says: r"(?i)\b(?:please|let's|let us|like to|want to)(?: just)? proceed with\b|^(?:yes|ok|okay|sure),? proceed with\b",
        not: r"(?i)(?:n't|\bnot) (?:\w+ )?(?:like to|want to) proceed with\b",
        why: "the user's consent settles a proposed step; the model's \"confirm if you'd like to proceed\" asks for it",
    },
    Pattern {
        name: "let's use",
        speaker: Speaker::Anyone,
        hints: &["let's", "let us"],
        says: r"(?i)\blet(?:'s| us) (?:just |only |not |instead |simply )?(?:use|adopt|keep|drop|stick to|call it|name it|avoid|skip|ship|make it|do (?:it|that|this|[A-F]\b|\d)|leave it|move to|standardi[sz]e on)\b",
        not: r"(?i)\blet's (?:just |simply )?use (?:the |this |that |these |a |our )?(?:``|\S+)(?: \S+)? (?:commands?|tools?|functions?|utility|script|flag|option to)\b|\blet's (?:keep|skip) (?:going|looking|searching|scrolling|reading|trying|to|ahead|in mind|an eye)\b|\blet's use (?:``|\S+|the \S+) to\b",
        why: "\"let's use the find_file command\" tells a step",
    },
    Pattern {
        name: "switch to",
        speaker: Speaker::Anyone,
        hints: &["switch"],
        says: r"(?i)\b(?:let's|let us|we'll|we will|I'll|I will|we|I|we've|I've|we're|like to|want to|then|instead|now|please)[,:]? (?:\w+ )?switch(?:ed|ing)? (?:over |back )?(?:\w+ ){0,2}to\b|^switch (?:over |back )?to\b",
        not: r"(?i)\b(?:can|could|may|might|if|when|should|cannot|can't) (?:you |we |I )?switch (?:\w+ )?to\b|\bswitch(?:ed|ing)? (?:over |back )?(?:\w+ ){0,2}to (?:a |the |your |that |this |another |my )?(?:new |other |main |feature |git )*(?:(?:branch|tab|window|directory|folder|file|view)\b|'|``)",
        why: "git says \"Switched to branch\", people switch tabs; a decision names who switches",
    },
    Pattern {
        name: "option",
        speaker: Speaker::User,
        hints: &["option", "approach", "plan", "variant", "alternative", "solution", "choice", "方案", "选项"],
        says: r"(?i)(?:^|\b(?:do|take|use|pick|choose|want|go|prefer|like|with|say) )(?:for |with )?(?:option|approach|plan|variant|alternative|solution|choice) (?:#|number |no\. ?)?(?:[A-F]|\d)\b|^(?:选|用|就)?(?:方案|选项)[一二三四1-9A-F]",
        not: r"(?i)\b(?:option|approach|plan|variant|alternative|solution|choice) \w+ or\b|\b(?:about|explain|describe|what is|than) (?:option|approach|plan|variant|alternative|solution|choice)|^(?:方案|选项)[一二三四1-9A-F] ?[：:]|^(?:option|approach|plan|variant|alternative|solution|choice) \w+ ?(?:[:(-]|is|would|has|looks|seems|requires|needs)",
        why: "the user's answer to offered options; \"Option 1: …\" is the offer",
    },
    Pattern {
        name: "instead of",
        speaker: Speaker::User,
        hints: &["instead of", "rather than", "and not", ", not"],
        says: r"(?i)^(?:ok|okay|yes|no|please|just|so|and|then|better)?,? ?(?:please )?(?:use|take|keep|make it|call it|name it) .{1,80}\b(?:instead of|rather than|and not|, not)\b",
        not: "",
        why: "the user's word on one thing against another",
    },
    Pattern {
        name: "决定",
        speaker: Speaker::Anyone,
        hints: &["决定"],
        says: r"决定",
        not: r"(?:不|无法|未|没|没有|还没|尚未|难以|很难|不能|不好|如何|怎么|怎样|自行|自己|帮我|帮忙|替我|请|取|先|再|后|来|可以|让我|让您|让你|你|您|是否|以|待|需要|应该)(?:做出?)?决定|决定(?:性|权|因素|论|是否|要不要|用哪|选哪|哪|怎|如何|于|着)|由[^，。；]{1,20}决定|(?:这|它|其|大小|质量|结构|因素|参数|速度|值|数|性|配置|类型)(?:也|都|就|将|会|直接|往往)?决定了?|(?:的|个|项|大|艰难)决定(?:很|是|，|。|$)",
        why: "\"X 决定了 Y\" determines, \"由…决定\" and \"取决\" depend, \"不/未/无法决定\" is open, \"你决定\" hands it over",
    },
    Pattern {
        name: "选择",
        speaker: Speaker::Anyone,
        hints: &["选择", "选定"],
        says: r"(?:我|我们|咱们|团队|用户|客户|最终|最后|最后还是|因此|所以|于是|综合|还是|决定|一致|暂时|目前|先|方案|数据库|框架)[^，。；]{0,8}选择|选择(?:了|使用|采用|用|以|将|把)|^选择|选定",
        not: r"(?:请|可|可以|可供|供|如果|若|无法|不能|没有|没|未|不|多种|多个|任意|自由|让|帮|需要|应该|应当|会|能|点击|进行|重新|随机|手动|自动|建议|推荐|你|您|的|怎么|如何|哪|什么|是|要|想|别无|支持|允许)(?:您|你|我|我们|用户|来|去|们|被)?选择(?:了|使用|采用|用)?|选择(?:题|器|框|项|性|符|排序|恐惧|权|困难|哪|什么|是否|合适|列表|文件|一|其中|以下|下列|您|你|了吗)|(?:单|多|单项|多项|不定项)选择|[“「『\x22']选择[”」』\x22']",
        why: "the noun (选择题, 选择器, 不错的选择) and offers (请选择, 可以选择) are far more frequent than a choice made",
    },
    Pattern {
        name: "确定",
        speaker: Speaker::Anyone,
        hints: &["确定"],
        says: r"确定(?:了|下来|好|为|使用|采用|用|把|将|以|选|走|要|在|[：:] ?\S)|(?:已|已经|最终|最后|我们|就这么|就这样|方案|版本|时间|名称|接口|现在)[^，。；不]{0,6}确定",
        not: r"(?:不|无法|未|没|没有|还没|尚未|不能|难以|不太|不是很|很难|是否|待|如何|怎么|请|你|您|以|来|才能|需要|为了|便于|要|先|再|后|可以|能|帮我|能否|并不|非)(?:来)?确定(?:了|好|为|用|要)?|确定(?:性|吗|么|按钮|键|是否|要不要|一下|哪|什么|如何|程度|无误|的)|(?:点击|点|按|单击|按下)[“「『\x22']?确定|[“「『\x22'【\[]确定[”」』\x22'】\]]",
        why: "the button 确定, \"不确定\" and \"需要确定\" are look-alikes; a decision says what was settled",
    },
    Pattern {
        name: "方案",
        speaker: Speaker::Anyone,
        hints: &["方案", "决定", "结论", "决策", "选型", "就"],
        says: r"^[*_]*(?:最终|最后)?(?:方案|决定|结论|决策|选型)(?:是|为|[*_]*[：:][*_]*) ?\S|就(?:这么|这样|按这个)?(?:定|办)了?(?:吧|了|。|！|，|$)",
        not: r"^[*_]*方案(?:是|为)(?:什么|否)|方案[：:][*_]* ?(?:$|[一二三1-9A-F])",
        why: "a label as in notes, and the idiom 就这么定了",
    },
    Pattern {
        name: "设为",
        speaker: Speaker::Anyone,
        hints: &["设为", "设置为", "设成", "设定为", "改成", "改为", "定为"],
        says: r"(?:设(?:置|定)?[为成]|改[成为]|定为) ?(?:``|[\x22“「]?[A-Za-z0-9])",
        not: r"(?:如果|可以|能否|是否|建议|应该|可|要不要|不|默认|被|会|已经?|请|自动)[^，。；]{0,6}(?:设(?:置|定)?[为成]|改[成为]|定为)",
        why: "a value that something is set to; what is so by default or could be set is none",
    },
    Pattern {
        name: "改用",
        speaker: Speaker::Anyone,
        hints: &[],
        says: r"(?:^|我们|我|就|那|那就|统一|最终|最后|后来|现在|决定|还是|一律|全部|以后|一致|，)(?:改用|改为使用|换成|换用|采用|选用|敲定|定为|定下来|弃用|放弃使用|不再使用|沿用|就用|就选|就定(?:了|为|在|下来)|就按|统一用)|那?就(?:用|选|定|按)(?:它|这个|那个|方案|这家|那家|第|[A-Za-z0-9`])",
        not: r"(?:如果|可以|能否|是否|建议|应该|可|要不要|不)(?:改用|换成|换用|采用|选用|就用)",
        why: "verbs of a settled change with no word for deciding; proposals (建议改用, 可以换成) are none",
    },
];

#[cfg(test)]
mod tests {
    use ctx_transcript::Role;

    use crate::rules::MemoryKind;
    use crate::rules::find;
    use crate::rules::tests::check;

    #[test]
    fn consent_is_the_users() {
        let asks = "Let's proceed with checking the next reservation";
        assert!(find(MemoryKind::Decision, asks, Role::Assistant).is_none());
    }

    #[test]
    #[allow(clippy::too_many_lines)] // A table.
    fn decisions_and_their_look_alikes() {
        check(
            MemoryKind::Decision,
            &[
                (
                    "decided",
                    &[
                        "We decided to keep SQLite.",
                        "I have decided on port 8080",
                        "It was the team that decided: no ORM.",
                    ],
                ),
                (
                    "decision",
                    &[
                        "**Decision**: use plain files",
                        "Decision: keep the old API for a year",
                        "The final decision is to drop Python 3.8",
                        "Key decisions: one binary per tool",
                    ],
                ),
                (
                    "chose",
                    &[
                        "User chose option 2 - quick fix",
                        "I've chosen rustls over openssl",
                        "So we picked tar, not zip.",
                    ],
                ),
                (
                    "opted",
                    &[
                        "We opted for a flat layout",
                        "Tested with 50, settled on limit=100",
                        "They agreed to prefix the field",
                        "After discussion we agreed on MIT.",
                    ],
                ),
                (
                    "we will use",
                    &[
                        "We will use Postgres for the queue.",
                        "We'll stick with tabs",
                        "we're going to drop Windows support",
                    ],
                ),
                (
                    "go with",
                    &[
                        "let's go with option 1.",
                        "I'll go with the morning flights.",
                        "Let’s go with Flight HAT212 for the return.",
                    ],
                ),
                (
                    "going with",
                    &["Going with SQLite instead.", "So, going with rustls"],
                ),
                (
                    "设为",
                    &["模型窗口设为 128000", "把超时改成 30 秒", "端口设置为8080"],
                ),
                (
                    "proceed",
                    &[
                        "Yes, please proceed with canceling both reservations.",
                        "Okay, let's proceed with option one",
                        "Yes, I would like to proceed with this change.",
                    ],
                ),
                (
                    "let's use",
                    &[
                        "Let's use UTC everywhere",
                        "let's not use threads; let's keep one binary",
                        "Let's call it ctx",
                        "OK let's do B",
                    ],
                ),
                (
                    "switch to",
                    &[
                        "Let's switch to ureq.",
                        "We've switched to edition 2024",
                        "Switch to tabs",
                        "I want to switch to the nonstop flight.",
                    ],
                ),
                (
                    "option",
                    &[
                        "Option 2",
                        "do option B please",
                        "选方案二",
                        "take approach 1, but rename it",
                        "1. i like option 3",
                    ],
                ),
                (
                    "instead of",
                    &[
                        "use rustls instead of openssl",
                        "No, keep it in one file, not two",
                    ],
                ),
                (
                    "方案",
                    &[
                        "最终方案：用 Rust",
                        "**决策**：不做缓存",
                        "就这么定了",
                        "好，就这样办吧",
                    ],
                ),
                (
                    "决定",
                    &[
                        "我们决定用 Rust 重写",
                        "不确定用什么，但决定先做 A",
                        "团队决定下周发布。",
                    ],
                ),
                (
                    "选择",
                    &[
                        "最终选择了 PostgreSQL",
                        "我们选择 MIT 许可证",
                        "数据库选择使用 SQLite",
                    ],
                ),
                (
                    "确定",
                    &[
                        "已确定端口为 8080",
                        "接口名称最终确定用 v2",
                        "版本确定为 1.2",
                        "方案确定下来了",
                    ],
                ),
                (
                    "改用",
                    &[
                        "后来改用 tokio",
                        "那就用方案A",
                        "统一采用 UTF-8",
                        "好吧，换成 Redis",
                    ],
                ),
            ],
            &[
                // English.
                "It is undecided.",
                "We have not decided yet.",
                "The order is decided by the config.",
                "Until it is decided, wait.",
                "which did you choose?",
                "Did you decide?",
                "Why we chose it is unclear",
                "the chosen file is empty",
                "Choose a file.",
                "a separate design decision",
                "Decisions are hard.",
                "The reason for cancellation is a personal decision",
                "I'll use grep to search",
                "We'll use the `find_file` command to look.",
                "Let's use the search_dir command.",
                "This cable goes with that one.",
                "I can go with you",
                "I'd go with rustls",
                "I cannot proceed with it",
                "I don't want to proceed with it",
                "If we go with A, it breaks.",
                "Should we go with A or B?",
                "Switched to branch 'main'",
                "Use gh pr checkout to switch to the branch",
                "You can switch to the other tab.",
                "Let's keep looking.",
                "Going with you is fine.",
                "窗口默认设为 128000",
                "可以把超时改成 30 秒",
                "Option 1: do nothing",
                "What is option 2 about",
                "Would you like to proceed with option 1?",
                "I selected nothing? ",
                "He picked up the phone.",
                "I’m really sure I selected insurance when booking",
                "Please decide.",
                "Nobody decided anything",
                "Choose option A or B",
                "Which is used instead of that",
                "方案一：不做",
                "就定期检查",
                // Chinese.
                "不确定",
                "无法决定用哪个",
                "我还没决定",
                "这取决于配置",
                "性能由磁盘决定",
                "参数大小决定了内存占用",
                "由你决定",
                "决定性的因素",
                "选择题",
                "请选择一个文件",
                "这是不错的选择",
                "您可以选择其中一个",
                "下拉选择器坏了",
                "好多人都选择他家的选择题",
                "点击“确定”按钮",
                "请确定时间",
                "需要确定一下",
                "你确定吗？",
                "不太确定为什么",
                "建议改用 Redis",
                "可以换成别的",
                "如果决定用 A，就改配置",
                "决定用哪个呢",
            ],
        );
    }
}
