//! Preferences: how the user wants things, beyond the one request.

use super::{Pattern, Speaker};

/// Conditions and offers ("if you prefer …", "would you like …") prefer nothing.
pub(super) const VETO: &str = r"(?i)^(?:if|whether|(?:would|do|does|did|should|could|can|may) (?:you|we|I|they)|let me know|feel free)\b";

#[rustfmt::skip]
pub(super) const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "I prefer",
        speaker: Speaker::User,
        hints: &["prefer", "favor", "favour", "rather"],
        says: r"(?i)\b(?:I|we)(?:'d| would| do| really| personally| also| generally| usually| always| strongly| much)* (?:prefer|favou?r)\b|\b(?:I|we)(?:'d| would) (?:much )?rather\b",
        not: r"(?i)\b(?:rather than)\b|\bprefer not to (?:say|share|disclose)\b",
        why: "the plain word, of the speaker; a model that says \"I prefer\" tells nothing about the user",
    },
    Pattern {
        name: "I like",
        speaker: Speaker::User,
        hints: &["like", "love", "hate", "enjoy", "can't stand"],
        says: r"(?i)\bI (?:(?:do|don't|do not|also|really|still|never|generally|usually|always) )*(?:like|love|hate|dislike|enjoy|can't stand)\b",
        not: r"(?i)\bI(?:'d| would| should) (?:\w+ )?(?:like|love|hate)\b|\bI (?:do |really )?(?:like|love) (?:it|this|that|the idea|your idea)(?: (?:so far|better now))?[.!]?$|\b(?:looks?|sounds?|feels?|something|just|more|was|is|seems?) like\b",
        why: "\"I'd like to\" is a request, \"looks like\" and \"it is likely\" are other words, \"I like it\" is applause",
    },
    Pattern {
        name: "I usually",
        speaker: Speaker::User,
        hints: &["usually", "normally", "typically", "generally", "mostly", "tend to"],
        says: r"(?i)\b(?:I|we) (?:usually|normally|typically|generally|mostly|tend to) (?:use|write|work|do|run|keep|put|name|call|start|go|choose|avoid|test|deploy|commit)\b",
        not: "",
        why: "a habit, told with a verb of doing",
    },
    Pattern {
        name: "user prefers",
        speaker: Speaker::Anyone,
        hints: &["prefer", "like", "hates", "wants"],
        says: r"(?i)\b(?:the )?(?:user|customer|client|team|he|she|they) (?:\w+ )?(?:prefers?|likes|dislikes|hates|always wants?|never wants?)\b|\b(?:since|as|because|noted:|noted that|remember that) you (?:\w+ )?(?:prefer|like|dislike)\b",
        not: r"(?i)\b(?:if|whether|when|does|do|which|what|whatever|whichever) (?:the )?(?:user|customer|client|team|he|she|they|you) (?:\w+ )?(?:prefers?|likes|like)\b|\bas you (?:like|prefer)(?:[.,!]|$)",
        why: "a model's note about the user; \"whichever you prefer\" offers",
    },
    Pattern {
        name: "my preference",
        speaker: Speaker::User,
        hints: &["preference", "favorite", "favourite", "preferred"],
        says: r"(?i)\bmy (?:\w+ )?(?:preference|favou?rite|preferred)\b|\b(?:personal|code|coding|style|user|team) preferences?[*_]*(?: is| are)?[:：]? \S",
        not: r"(?i)\b(?:no|without|any) (?:\w+ )?preferences?\b|\bpreferences? (?:pane|panel|file|dialog|menu|page|window|screen|table)\b",
        why: "the noun when it is somebody's; the Preferences window is nobody's",
    },
    Pattern {
        name: "always",
        speaker: Speaker::User,
        hints: &["always", "never"],
        says: r"(?i)(?:^|[,;:，] ?|\b(?:please|must|should|and|but|also|to|just|you|shall|instead|so) )[*_]*(?:always|never) (?:\w+ly )?(?:use|run|add|put|write|keep|make|do|ask|check|commit|push|test|include|prefer|format|start|call|name|import|mention|reply|answer|respond|create|delete|remove|change|edit|touch|rewrite|mock|skip|log|return|show|say|explain|update|document|lint|build|deploy|read|look|wait|be|assume|guess|leave|force|squash|rebase|merge|install|send|give|tell|have|try|verify|ensure|follow|store|print|work|amend|hardcode|introduce|modify|generate|squash|set|avoid|let)\b",
        not: r"(?i)\b(?:will|would|can|could|may|might|is|are|was|were|has|have|had|it|that|this|which|who|they|he|she|I|we|code|function|almost|as|nearly|not|need to|has to|seems? to) (?:\w+ )?(?:always|never)\b|\bnever mind\b|\balways[- ]on\b",
        why: "an order without an end; \"it never works\", \"has always been\", \"never mind\", \"always-on\" describe",
    },
    Pattern {
        name: "from now on",
        speaker: Speaker::User,
        hints: &["from now on", "from here on", "going forward", "future", "by default", "ever", "every time", "habit", "stop "],
        says: r"(?i)\b(?:from now on|from here on|going forward|in (?:the )?future,? (?:please|always|never|use|don't|do)|by default,? (?:please|I|use|don't)|don't ever|do not ever|every time you|whenever you|make it a habit|stop (?:using|adding|asking|writing|doing|putting))\b",
        not: r"(?i)\b(?:whenever|every time) you (?:want|like|are ready|can|have time|get)\b",
        why: "an order for later times",
    },
    Pattern {
        name: "喜欢",
        speaker: Speaker::Anyone,
        hints: &["喜欢"],
        says: r"喜欢",
        not: r"(?:希望|祝|愿|相信|保证|包)(?:你|您|大家|他|她)?(?:们)?(?:会|能|也|都|一定)*喜欢|(?:如果|要是|若|假如|只要|看|随)(?:你|您)?(?:不)?喜欢|(?:你|您)(?:们)?(?:可能|也许|或许|应该|一定|肯定|会|也|还|都|是不是|是否|最|比较|更)*(?:不)?喜欢(?:什么|哪|怎|吃什么|的话|吗|不)?|喜欢(?:的话|吗|不喜欢|什么|哪|谁|与否|就好)|(?:受|深受)[^，。；]{0,8}喜欢|(?:大家|人们|游客|很多人|好多人|许多人|孩子们?|小朋友们?)(?:都|们|也|很|最|比较)*喜欢",
        why: "wishes (希望您喜欢), guesses about the other (您可能会喜欢) and what everybody likes are no preference of the user",
    },
    Pattern {
        name: "偏好",
        speaker: Speaker::Anyone,
        hints: &["偏好", "倾向", "偏爱", "更愿意", "宁愿", "宁可"],
        says: r"(?:我|用户|客户|他|她|您|你|个人|团队|更|比较|风格|语言|编码)[^，。；]{0,6}偏好|偏好(?:是|为|使用|用|于|[：:])|更?倾向于?(?:用|使用|选)|偏爱|更愿意|宁愿|宁可",
        not: r"(?:没有?|无|有)(?:什么|特别|任何|特殊|其他|别的|没有)*(?:的)?偏好|偏好(?:设置|面板|窗口|页|吗|什么|文件|如何)|(?:根据|按照?|按|取决于|依)(?:你|您|用户|个人)?的?(?:个人)?偏好|(?:告诉|说明|说说|提供)[^，。；]{0,6}偏好",
        why: "偏好设置 is a window, \"有什么偏好\" asks, \"根据您的偏好\" offers",
    },
    Pattern {
        name: "习惯",
        speaker: Speaker::Anyone,
        hints: &["习惯"],
        says: r"(?:我|我们|用户|客户|他|她|本人|团队|个人|一直|一向|平时|通常)[^，。；]{0,6}习惯|习惯(?:了|用|于|使用|上|是|把|先|在|早|晚|[：:])",
        not: r"习惯性|(?:好|坏|不良|良好|饮食|生活|卫生|阅读|当地|风俗|传统)(?:的)?习惯|(?:你|您)(?:们)?(?:的|可能|会|是否|还|有)*习惯|习惯(?:吗|就好|成自然)",
        why: "advice (好习惯) and customs (当地习惯) are not the user's way",
    },
    Pattern {
        name: "总是",
        speaker: Speaker::User,
        hints: &[],
        says: r"(?:^|[，；：,;:] ?|请|要|必须|务必|应该|记得)(?:总是|始终|一律|永远|一定要|务必|以后都?|今后都?|每次都?|从现在起|从今以后|往后)(?:请|要|得|必须|应|先|用|使用|不要|别|不|给|把|按|在)|(?:永远|绝对?|千万|一律|从来?|以后都?)(?:不要|别|不许|不准|不能|不用)",
        not: r"(?:它|他|她|程序|系统|代码|接口|服务|测试|页面)(?:总是|始终|永远|每次都?|从来?不)",
        why: "an order without an end; of a thing it describes",
    },
];

#[cfg(test)]
mod tests {
    use ctx_transcript::Role;

    use crate::rules::MemoryKind;
    use crate::rules::find;
    use crate::rules::tests::check;

    #[test]
    #[allow(clippy::too_many_lines)] // A table.
    fn preferences_and_their_look_alikes() {
        check(
            MemoryKind::Preference,
            &[
                (
                    "I prefer",
                    &[
                        "I prefer tabs.",
                        "I'd prefer direct flights, please.",
                        "We generally prefer small commits",
                        "I'd rather keep it in one file",
                    ],
                ),
                (
                    "I like",
                    &[
                        "I like short answers",
                        "I don't like mocks",
                        "I really hate trailing blanks",
                    ],
                ),
                (
                    "I usually",
                    &["I usually use vim", "We normally keep one test per file"],
                ),
                (
                    "user prefers",
                    &[
                        "The user prefers plain text.",
                        "Noted: you prefer aisle seats",
                        "The customer always wants a window seat.",
                    ],
                ),
                (
                    "my preference",
                    &[
                        "My preference is tabs",
                        "my favourite editor is vim",
                        "Code preferences: no macros",
                    ],
                ),
                (
                    "always",
                    &[
                        "Always run the tests first.",
                        "please never use force push",
                        "Do it, but never touch main",
                        "You should always wait for feedback",
                    ],
                ),
                (
                    "from now on",
                    &[
                        "From now on, answer in English",
                        "Stop adding comments everywhere",
                        "going forward no emojis",
                    ],
                ),
                (
                    "喜欢",
                    &[
                        "我喜欢简短的回答",
                        "我不喜欢用宏",
                        "我喜欢北京欢乐谷，周边有什么酒店吗？",
                    ],
                ),
                (
                    "偏好",
                    &[
                        "我的偏好是深色主题",
                        "用户偏好中文回答",
                        "我更倾向于用 SQLite",
                    ],
                ),
                (
                    "习惯",
                    &["我习惯先写测试", "我们团队的习惯是用空格缩进", "习惯用 vim"],
                ),
                (
                    "总是",
                    &[
                        "请始终使用中文",
                        "以后不要用 emoji",
                        "千万别改 main 分支",
                        "每次都要先跑测试",
                    ],
                ),
            ],
            &[
                "It looks like rain.",
                "it is likely",
                "Would you like me to go on?",
                "I'd like to change my flight",
                "Something like this",
                "If you prefer, I can wait.",
                "Let me know whichever you prefer",
                "which do you prefer?",
                "I feel like it is broken",
                "I like it!",
                "Actually, never mind.",
                "an always-on service",
                "I have always been here",
                "It never works",
                "This will never happen",
                "Session data is never condensed",
                "The function always returns null",
                "it also always seems to be this same hash",
                "Open the Preferences window",
                "I have no preference",
                "We need to always update it",
                "rather than that",
                "希望您喜欢",
                "她喜欢什么颜色",
                "It usually works",
                "您可能会喜欢故宫",
                "你喜欢什么？",
                "如果喜欢就买",
                "很受大家喜欢",
                "偏好设置在菜单里",
                "您有什么偏好吗？",
                "这是个好习惯",
                "了解当地习惯",
                "习惯性地点了",
                "它总是报错",
            ],
        );
    }

    #[test]
    fn what_a_model_says_of_itself_is_no_preference() {
        for sentence in [
            "I prefer the second fix.",
            "Always run the tests first.",
            "I like this approach a lot",
        ] {
            assert!(
                find(MemoryKind::Preference, sentence, Role::User).is_some(),
                "{sentence}"
            );
            assert!(
                find(MemoryKind::Preference, sentence, Role::Assistant).is_none(),
                "{sentence}"
            );
        }
    }
}
