//! Facts: statements that name a project, a place or a setting.
//!
//! Nearly every sentence of a coding session names a file. A fact also *states*
//! something ([`states`]); the next step of somebody ("now let me read a.rs"), a
//! request ("fix a.rs"), and a line that only leads to a list are none ([`VETO`]).

use std::sync::LazyLock;

use regex::Regex;

use super::{Pattern, Speaker};

/// Steps, requests, reports of what was just done, leads to what follows.
pub(super) const VETO: &str = concat!(
    r#"(?i)^[*_"“(\[]*(?:[*_]*(?:ok|okay|alright|great|good|perfect|excellent|now|next|first|second|then|finally|so|and|but|also|actually|wait|hmm|sure|yes|no|step \d+)[*_]*[,.!:]?\s+)*"#,
    r"(?:let me|let's|let us|lets|I'll|I will|I'm|I am|I need|I should|I can|I could|I would|I'd|I see|I think|I believe|I want|we'll|we will|we need|we should|we can|we could|you can|you could|you should|you may|can you|could you|please|if|when|once|after|before|to|try|",
    r"run|running|check|checking|look|looking|see|open|add|update|fix|create|edit|implement|remove|make|read|reading|find|search|write|verify|ensure|test|do|don't|change|replace|move|delete|rename|extract|refactor|apply|install|call|set|pass|return|modify|consider|use|keep|store|follow|copy|put|place|commit|push|review|investigate|explore|examine|analyze|understand|determine|confirm|",
    r"added|updated|fixed|created|edited|implemented|removed|changed|replaced|moved|deleted|renamed|extracted|refactored|modified|I've|I have|we've|we have|I \w+ed|I (?:bet|had|was|found|just|already|also|still)|we (?:had|were|found|see|are now)|was \w+ing|was in|had|just|now that|\w+ed|there (?:might|may|could|should)|it (?:might|may|could|looks|seems)|this (?:might|may|could|should|will)|perhaps|maybe|probably)\b",
    r"|\b(?:let me|let's|I'll|I will|next step|in progress|in the middle of|started|ongoing|trying to|likely|probably|perhaps|maybe|might|seems?|should|could|would|successfully|current task|has been|have been|needs (?:to|the|fix)|we can|you can|I \w+ed)\b|\(READ\b",
    // "a.go - added tests": what was done to it, not what it is.
    r"|(?: - | — | – |:[*_]* )[*_]*(?:now )?(?:add|updat|fix|creat|edit|implement|remov|chang|replac|mov|delet|renam|extract|refactor|modif|integrat|document|instrument|test|switch|convert|clean|simplif|improv|enhanc|revert|adjust|verif|pass|us|check|populat|preserv|fetch)(?:ed|es|e|s|y|ies|ied)?\b",
    // A finding of a review, a member of an object: of the moment, and read beside the code.
    r#"|^[*_`]*[\w./-]+\.\w+:\d+|^\w+: ?["']"#,
    r"|[:：][*_]*$",
    r"|^(?:好的?[，,！!。]?|现在|接下来|首先|然后|下面|接着)*(?:让我|我来|我会|我将|我先|我去|我要|请|帮我|麻烦|能不能|可以|你可以|您可以|把|运行|查看|检查|修改|添加|删除|创建|看看|看一下|如果|试试|在[^，。]{1,60}(?:里|中|上|下面?|处)(?:加|添加|新增|插入|改|修改|删|创建|写))",
);

/// Whether a sentence says that something is so.
pub(super) fn states(sentence: &str) -> bool {
    static STATES: LazyLock<Regex> = LazyLock::new(|| {
        super::table::compile(concat!(
            r"(?i)\b(?:is|are|was|were|'s|has|have|had|uses?|used|lives?|contains?|defines?|defined|located|stored?|stores|reads|writes|requires?|needs|runs|depends|supports?|handles|calls|returns|points|sets|defaults?|exports|provides|implements|holds|keeps|listens?|serves?|means|exists?|belongs|includes?|builds|targets|goes|comes|expects?|ships|maps|wraps|checks|creates|manages|generates|loads|starts|connects|lists)\b",
            r"|:[*_`]* |[：→]|->| [—–-] |是|在|为|位于|使用|采用|包含|存放|放在|依赖|支持|读取|写入|定义|负责|基于|运行|监听|需要|叫|用",
        ))
    });
    STATES.is_match(sentence)
}

#[rustfmt::skip]
pub(super) const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "port",
        speaker: Speaker::Anyone,
        hints: &["port", ":", "端口"],
        says: r"(?i)\bports? ?(?:number ?)?(?:is |are |to |: ?|= ?|=)?\d{2,5}\b|\b(?:localhost|0\.0\.0\.0|\d{1,3}(?:\.\d{1,3}){3}):\d{2,5}\b|端口号?[^0-9，。]{0,4}\d{2,5}",
        not: "",
        why: "a number beside the word port, or behind a host",
    },
    Pattern {
        name: "environment",
        speaker: Speaker::Anyone,
        hints: &["_", "$", "environment variable", "环境变量"],
        says: r"\$\{?[A-Z][A-Z0-9_]{2,}|\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|(?i:\benvironment variables? `?\w)|环境变量",
        not: r"\b[A-Z0-9_]+\(",
        why: "capitals with an underscore are a variable or a constant, both configuration; plain capitals are words",
    },
    Pattern {
        name: "version",
        speaker: Speaker::Anyone,
        hints: &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        says: r"(?i)\bversions? (?:is |of |: ?|= ?|>=? ?)?v?\d|\bv\d+\.\d+|\b(?:python|node(?:\.js)?|go|golang|rust|ruby|java|jdk|php|django|rails|react|postgres(?:ql)?|mysql|redis|npm|kubernetes|ubuntu|debian|macos|android|ios|msrv|edition) ?(?:>=? ?|v)?\d+(?:\.\d+)*\b|[\w-]@\^?\d+\.\d+|版本[^0-9，。]{0,4}v?\d",
        not: r"(?i)\bgo \d+ (?:lines?|times?|steps?)",
        why: "a number beside the word or beside a known product; \"4.5 分\" and prices have neither",
    },
    Pattern {
        name: "setting",
        speaker: Speaker::Anyone,
        hints: &["=", "config", "setting", "配置", "默认"],
        says: r#"(?:^|[\s`(（，,"'“])-{0,2}[A-Za-z][\w.-]*=(?:["'][^"']+["']|[\w./:@-]+)|(?i:\b(?:config(?:uration)?|setting)s? (?:file |is |are |lives |in |at |uses |key |option |value |has ))|配置(?:文件|项|了|为|是|在|[：:])|默认(?:值|配置|端口|路径|使用|用|为|是)"#,
        not: r"[=!<>]=|https?://\S+|(?:酒店|标准|高|房间|顶级|豪华|人员|设施)配置",
        why: "key=value without blanks, or the word configuration with what it is; comparisons and queries of URLs are look-alikes",
    },
    Pattern {
        name: "project",
        speaker: Speaker::Anyone,
        hints: &["project", "repo", "codebase", "workspace", "package", "crate", "library", "backend", "frontend", "database", "github", "gitlab", "bitbucket", "written in", "项目", "仓库", "代码库", "数据库", "框架", "分支", "域名", "技术栈"],
        says: r"(?i)\bin (?:this|our) (?:project|repo|repository|codebase)\b|\b(?:project|repo|repository|codebase|monorepo|workspace|package|crate|library|backend|frontend|database)(?:'s)? (?:name |root |language |directory |license )?(?:is|uses|lives|runs|targets|named|called|depends on|consists of|requires|has)\b|\b(?:github|gitlab|bitbucket)\.(?:com|org)[/:][\w-]+/[\w.-]+|\bwritten in (?:rust|go|python|typescript|javascript|java|c\+\+|c#|ruby|kotlin|swift)\b|项目(?:名称?|名字|叫|是|用|使用|采用|基于|位于|在|路径|目录|代号|地址|结构|依赖)|(?:仓库|代码库|数据库|框架|主分支|分支|域名|技术栈)(?:是|为|用|使用|叫|在|地址|位于|[：:])",
        not: r"(?i)\bacross the \w+\b|\b(?:another|any|some|each|every|a) (?:project|repo|repository|package|crate|library|workspace) (?:is|has|uses|that)\b|项目是(?:什么|哪)",
        why: "the word project (repository, database, …) with a verb that describes it",
    },
    Pattern {
        name: "path",
        speaker: Speaker::Anyone,
        hints: &["/", "\\", ".", "~", "dockerfile", "makefile", "gemfile", "readme", "路径", "目录"],
        says: concat!(
            r#"(?:^|[\s`"'(（，：:=“])(?:~|\.{1,2}|\$\w+|[A-Z]:)?[/\\][A-Za-z0-9_.][\w.@+-]*(?:[/\\][\w.@+*<>{}-]+)+"#,
            r#"|(?:^|[\s`"'(（，：:=“])~/[\w.]"#,
            r"|\b[\w.@-]+(?:/[\w.@-]+)*/[\w@-]+\.[A-Za-z][A-Za-z0-9]{0,7}\b",
            r"|\b(?:src|lib|cmd|crates|docs|tests?|pkg|internal|config|bin|app|scripts|node_modules|vendor|\.github|\.\w+)/[\w./-]*\w",
            r"|\b[\w-]+\.(?:toml|ya?ml|json|jsonl|ini|conf|cfg|lock|env|properties|xml|csv|db|sqlite)\b|\b(?:Dockerfile|Makefile|Cargo\.toml|package\.json|go\.mod|pyproject\.toml|Gemfile|CMakeLists\.txt|CLAUDE\.md|AGENTS\.md|README(?:\.md)?)\b|\.gitignore\b|\.env\b",
            r"|\b[\w-]+\.(?:rs|go|py|tsx?|jsx?|java|kt|swift|c|h|cpp|hpp|cs|rb|sh|bash|sql|html|css|scss|vue|md|txt|proto|tf)\b",
            r"|(?:路径|目录)(?:是|为|在|位于|[：:])",
        ),
        not: r"(?i)\b(?:node|next|vue|nuxt|express|three|react|d3|chart|alpine|ember)\.js\b|\b(?:asp|vb)\.net\b|https?://\S+|\b(?:and/or|yes/no|n/a|tcp/ip|i/o|w/o|24/7)\b|\be\.g\b|\bi\.e\b",
        why: "absolute, home and relative paths and names of files; and/or, Node.js and addresses on the web are look-alikes",
    },
];

#[cfg(test)]
mod tests {
    use crate::rules::MemoryKind;
    use crate::rules::tests::check;

    #[test]
    #[allow(clippy::too_many_lines)] // A table.
    fn facts_and_their_look_alikes() {
        check(
            MemoryKind::Fact,
            &[
                (
                    "port",
                    &[
                        "The API listens on port 8080.",
                        "It is at localhost:3000",
                        "服务端口是 8080",
                    ],
                ),
                (
                    "environment",
                    &[
                        "CTX_HOME is where the store lives",
                        "The key comes from $OPENAI_KEY",
                        "环境变量里有密钥，用于登录",
                    ],
                ),
                (
                    "version",
                    &[
                        "The MSRV is version 1.89",
                        "CI uses Python 3.11",
                        "当前版本是 2.0",
                        "It depends on left-pad@1.3.0",
                    ],
                ),
                (
                    "setting",
                    &[
                        "Timeouts: `max_wait=30`",
                        "The config file has two sections",
                        "配置文件是 YAML 格式",
                        "默认使用 UTF-8",
                    ],
                ),
                (
                    "project",
                    &[
                        "The project is called ctx-tools.",
                        "Our repo uses trunk-based work",
                        "We use tabs in this repo",
                        "项目名称是 ctx",
                        "仓库地址：内部服务器",
                        "The code is at github.com/a/b and public",
                    ],
                ),
                (
                    "path",
                    &[
                        "The parser lives in src/parser.rs.",
                        "Logs are in /var/log/app",
                        "`Cargo.toml` defines the workspace",
                        "main.go: the entry",
                        "数据在 /data/db 目录",
                        "The cache is ~/.cache/x",
                        "路径：见下",
                    ],
                ),
            ],
            &[
                // Steps, requests, reports, leads.
                "Let me look at src/parser.rs.",
                "Now I'll edit `Cargo.toml`",
                "Fix main.go",
                "Can you open src/a.rs",
                "I've updated src/a.rs",
                "Verified it with src/a.rs: fine",
                "**Move it to `a.rs`** - it is there",
                "Just re-added a.rs, it is here",
                "Store it as a.json, that is safe",
                "The a.rs file has been updated",
                "The test a.rs needs the fix",
                "We are now in a.rs",
                "consistency across the codebase is important",
                "The a.rs script has been successfully removed.",
                "The file src/a.rs contains:",
                "Perfect! Now let me check the config file is right",
                "Run it on port 8080",
                "请打开 /data/db",
                "让我看看 src/a.rs 在不在",
                "If the port is 8080, stop",
                "在 src/main.rs 里加一行",
                "It should be in the src/ directory",
                "`a/b.go` - Added tests for it",
                "**src/a.rs**: updated the parser",
                "It is likely in `src/a.rs`",
                // No statement.
                "src/parser.rs",
                "cmd/cleanup.go:115",
                "**`review.go:211` - Unused `base` is there.**",
                "path: '/a/b/package.json'",
                // Look-alikes of paths and settings.
                "It is yes and/or no",
                "Node.js is fine",
                "This is e.g. a test",
                "The value a == b is true",
                "See https://example.com/a?b=c is down",
                "评分是 4.5 分",
                "人均消费为 75 元",
                "地址是北京市东城区",
                "这家酒店配置是最好的",
                "It is 24/7",
                "The price is 200 dollars",
                "A go 3 steps is it",
                // Questions.
                "Is the port 8080?",
                "配置文件在哪里？",
            ],
        );
    }
}
