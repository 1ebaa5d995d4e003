//! How people greet, thank and ask, and speak of themselves, of the other one and of times.

use std::sync::LazyLock;

use regex::Regex;

use super::super::patterns::pattern;

/// Nothing but politeness.
pub(super) static COURTESIES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:(?:hello|hi|hey|bye|goodbye|thanks|thank you|good (?:morning|afternoon|evening|night))(?:,? (?-i:[A-Z])\w+)?|thanks? (?:you )?(?:a lot|again|(?:so|very) much)|of course|certainly|absolutely|definitely|sure(?: thing)?|okay|ok|yes|yeah|yep|no|right|exactly|totally|true|great|perfect|cool|awesome|amazing|wow|oh|ah|aww?|(?:ha)+|hm+|mm+|lol|nice(?: one)?|really|good (?:luck|idea|point)|(?:you['’]re )?welcome|no (?:problem|worries|way)|got it|understood|i (?:see|know|understand|agree|(?:guess|think|hope) so)|excellent|alright|wonderful|congrat(?:s|ulations)|take care|talk (?:to you )?soon|see you(?: soon| later)?|catch you later|long time no see|sorry|same here|for sure|well|have a (?:great|nice|good) (?:day|one|time))(?: (?:there|again|everyone|all))?[,.!?…~ ]*)+$|^(?:(?:你好|您好|谢谢(?:你|您)?|多谢|好的?|行|嗯|哦|哇|哈+|不客气|不用客气|再见|拜拜|没问题|收到|是的?|对|真的|太好了|不会吧|可以)[，。！？!?,. 你您了啊呀吗呢的]*)+$",
    )
});
/// How words begin that are only kind.
pub(super) static KINDNESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:oh|wow|aww?|(?:ha)+|yeah|yes|well|hm+|mm+|gosh|thanks|ok(?:ay)?)[ ,!.]+)*(?:that['’]?s|that is|that (?:sounds|must|would)|sounds|so (?:happy|glad|proud|sorry|sweet|cool)|what a|how (?:nice|lovely|cool|sweet|wonderful|exciting|awful)|i['’]?m (?:so |really |very )?(?:glad|happy|proud|sorry|rooting)|i (?:bet|can (?:only )?imagine|hope|see|love (?:that|it|how))|glad|good for|good to|great to|nice to|lovely to|hope you|let me know|can['’]t wait|keep |you(?:['’]re|['’]ve got| are| got| should| make| always)|congrat|good luck|best of|no wonder|it['’]?ll be|thank you|thanks for|say hi|take care|no problem|enjoy|way to go)\b|^(?:哇|哈|嗯|哎|唉|啊|太|真|那真|听起来|听着|恭喜|加油|你真|希望你|祝)",
    )
});
pub(super) static ONESELF: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:i|i['’](?:m|ve|d|ll)|my|mine|we|we['’](?:re|ve|d|ll)|our|ours|me|us|myself)\b|我|咱",
    )
});
pub(super) static THE_OTHER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:you|your|yours|you['’](?:re|ve|d|ll))\b|[你您]"));
pub(super) static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:yesterday|today|tonight|tomorrow|ago|since|last|next|this (?:week|month|year|summer|weekend)|weekends?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|november|december|summer|winter|spring|autumn|years?|months?|weeks?|days?|birthday|christmas)\b|[昨今明前后]天|[上下]周|[上下]个|[去今明后]年|周[一二三四五六日末]|星期|[月号年]",
    )
});
pub(super) static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)[0-9]+(?:[.:,-][0-9]+)*|[二两三四五六七八九十百千万]+[个年月号点周天次遍岁块本人页]|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand)\b|《|“|[(（][^()（）]{1,12}[)）]",
    )
});
pub(super) static WANTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:want|need|would like|i['’]d like|prefer|must|never|don['’]t|only|without|decided|agreed|chose|take|instead|rather)\b|[想别选订改]|最好|不要|不能|还是|希望|必须|只要|决定|就去",
    )
});
/// A choice among offered options.
pub(super) static CHOICE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:let['’]s (?:go with|take|book)|i['’]ll (?:take|go with|have|book|try)|(?:book|take|choose|prefer) (?:the|that|this))\b|^(?:那|行|好的?)?[，]?我?(?:就|先|选|还是|那我)|[吧行][，。！]?$|感觉还是|比较(?:适?合|好)",
    )
});
/// The end of a question.
pub(super) static ASKS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?:[?？]["”』」)）!！]*|[吗呢][。.!！]?)$"#));
