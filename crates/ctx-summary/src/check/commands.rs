//! Lines that tell the reader to do something.
//!
//! The next model reads a summary as its own past. A command in it that nobody
//! gave is the worst that a summary can hold, so a command stays only when its
//! words stand together in what people or the model wrote. What stands only in
//! the output of a tool is no support: whoever wrote that is not the user.

use super::Area;
use super::source::Source;
use super::words::{is_chinese, words};

/// How much a command may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    /// Speaks to the reader, or sets aside what was said before.
    Address,
    /// Destroys, sends, installs or executes.
    Danger,
    /// Goes on with the work.
    Work,
}

const ADDRESS: &[&str] = &[
    "you must",
    "you should",
    "you need to",
    "you have to",
    "you are now",
    "you will now",
    "your task",
    "your new task",
    "your job",
    "ignore",
    "disregard",
    "forget",
    "from now on",
    "act as",
    "pretend",
    "system:",
    "new instructions",
    "important:",
    "reveal",
    "do not tell",
    "don't tell",
    "你必须",
    "你应该",
    "你需要",
    "你现在",
    "你的任务",
    "忽略",
    "无视",
    "忘记",
    "从现在起",
    "从现在开始",
    "扮演",
    "不要告诉",
    "系统：",
    "新的指令",
];
const DANGER: &[&str] = &[
    "delete",
    "remove",
    "drop",
    "erase",
    "wipe",
    "destroy",
    "overwrite",
    "kill",
    "run",
    "execute",
    "eval",
    "send",
    "upload",
    "post",
    "email",
    "download",
    "install",
    "fetch",
    "visit",
    "transfer",
    "pay",
    "push",
    "deploy",
    "publish",
    "disable",
    "grant",
    "approve",
    "reply",
    "respond",
    "print",
    "output",
    "call",
    "click",
    "open",
    "immediately",
    "请立即",
    "立即",
    "马上",
    "删除",
    "移除",
    "清空",
    "销毁",
    "覆盖",
    "运行",
    "执行",
    "发送",
    "上传",
    "下载",
    "安装",
    "访问",
    "转账",
    "支付",
    "推送",
    "部署",
    "发布",
    "禁用",
    "授权",
    "回复",
    "输出",
    "调用",
    "点击",
    "打开",
];
const WORK: &[&str] = &[
    "please",
    "make sure",
    "ensure",
    "always",
    "never",
    "do not",
    "don't",
    "add",
    "fix",
    "implement",
    "create",
    "update",
    "write",
    "use",
    "test",
    "check",
    "verify",
    "change",
    "rename",
    "move",
    "replace",
    "refactor",
    "continue",
    "stop",
    "commit",
    "follow",
    "must",
    "answer",
    "请",
    "务必",
    "确保",
    "不要",
    "禁止",
    "必须",
    "添加",
    "增加",
    "修复",
    "实现",
    "创建",
    "更新",
    "编写",
    "使用",
    "检查",
    "修改",
    "继续",
    "停止",
    "提交",
];

/// Whether a line is a command that nothing in the source supports.
pub(super) fn is_unsupported(line: &str, area: Area, source: &Source) -> bool {
    clauses(line).any(|clause| {
        let Some(force) = force(clause) else {
            return false;
        };
        // Under "Done" a verb at the beginning tells what happened; Chinese has no
        // other form for it.
        if area == Area::Done && force != Force::Address {
            return false;
        }
        let words = words(clause);
        let support = source.support(&words);
        match force {
            Force::Address | Force::Danger => support.words < 60 || support.pairs < 50,
            Force::Work => support.words < 50,
        }
    })
}

fn force(clause: &str) -> Option<Force> {
    let lower = clause.to_lowercase().replace('’', "'");
    let begins = |beginnings: &[&str]| {
        beginnings.iter().any(|begin| {
            lower.strip_prefix(begin).is_some_and(|rest| {
                // `Runtime` is not `run`.
                !begin.is_ascii()
                    || begin.ends_with(':')
                    || !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        })
    };
    // `请删除` is as strong as `删除`, `please delete` as `delete`.
    let bare = lower
        .strip_prefix("please ")
        .or(lower.strip_prefix('请'))
        .map(str::to_owned);
    let bare_begins = |beginnings: &[&str]| {
        bare.as_deref().is_some_and(|bare| {
            beginnings
                .iter()
                .any(|begin| bare.trim_start().starts_with(begin))
        })
    };
    if begins(ADDRESS) || bare_begins(ADDRESS) {
        return Some(Force::Address);
    }
    if begins(DANGER) || bare_begins(DANGER) {
        return Some(Force::Danger);
    }
    begins(WORK).then_some(Force::Work)
}

/// The line without its bullet, and what follows a label or a full stop in it.
fn clauses(line: &str) -> impl Iterator<Item = &str> {
    let line = without_bullet(line);
    let starts = std::iter::once(0).chain(line.char_indices().filter_map(|(at, c)| {
        let next = at + c.len_utf8();
        let ends = match c {
            '。' | '！' | '：' | '；' => true,
            '.' | '!' | ':' | ';' | '>' => line[next..].starts_with(' '),
            _ => false,
        };
        (ends && next < line.len()).then_some(next)
    }));
    let starts: Vec<usize> = starts.collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([line.len()]).collect();
    starts
        .into_iter()
        .zip(ends)
        .map(move |(start, end)| {
            line[start..end].trim_start_matches([' ', '*', '_', '"', '“', '`', '「'])
        })
        .filter(|clause| !clause.is_empty())
}

/// Without `- [ ] `, `3. `, `**`.
pub(super) fn without_bullet(line: &str) -> &str {
    let line = line.trim_start_matches([' ', '\t', '-', '*', '•', '>', '+']);
    let line = line
        .strip_prefix("[ ]")
        .or(line.strip_prefix("[x]"))
        .unwrap_or(line)
        .trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    let numbered = rest
        .strip_prefix(['.', ')', '、'])
        .filter(|_| digits > 0 && digits < 4);
    numbered
        .unwrap_or(line)
        .trim_start_matches([' ', '*', '_', '"', '“', '`', '「'])
}

/// Whether a text has Chinese in it.
pub(super) fn has_chinese(text: &str) -> bool {
    text.chars().any(is_chinese)
}
