//! Lines that tell the reader to do something.
//!
//! The next model reads a summary as its own past. A command in it that nobody
//! gave is the worst that a summary can hold, so a command stays only when its
//! words stand together in what people or the model wrote. What stands only in
//! the output of a tool is no support: whoever wrote that is not the user.

use std::sync::LazyLock;

use regex::Regex;

use super::Area;
use super::source::Source;
use super::words::{lower, pattern, pieces, words};

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

/// How commands begin, the strongest first.
static COMMANDS: LazyLock<[(Force, Regex); 3]> = LazyLock::new(|| {
    [
        (
            Force::Address,
            beginning(
                "you must|you should|you need to|you have to|you are now|you will now|your task|\
        your new task|your job|ignore|disregard|forget|from now on|act as|pretend|\
        new instructions|reveal|do not tell|don't tell",
                "system:|important:|你必须|你应该|你需要|你现在|你的任务|忽略|无视|忘记|从现在起|从现在开始|扮演|不要告诉|系统：|新的指令",
            ),
        ),
        (
            Force::Danger,
            beginning(
                "delete|remove|drop|erase|wipe|destroy|overwrite|kill|run|execute|eval|send|upload|post|\
        email|download|install|fetch|visit|transfer|pay|push|deploy|publish|disable|grant|\
        approve|reply|respond|print|output|call|click|open|immediately",
                "请立即|立即|马上|删除|移除|清空|销毁|覆盖|运行|执行|发送|上传|下载|安装|访问|转账|支付|推送|部署|发布|禁用|授权|回复|输出|调用|点击|打开",
            ),
        ),
        (
            Force::Work,
            beginning(
                "please|make sure|ensure|always|never|do not|don't|add|fix|implement|create|update|write|\
        use|test|check|verify|change|rename|move|replace|refactor|continue|stop|commit|follow|\
        must|answer",
                "请|务必|确保|不要|禁止|必须|添加|增加|修复|实现|创建|更新|编写|使用|检查|修改|继续|停止|提交",
            ),
        ),
    ]
});

/// A text that begins with one of these words, or with one of the others, which need no
/// end of a word behind them. `请删除` is as strong as `删除`, `please delete` as `delete`.
fn beginning(words: &str, others: &str) -> Regex {
    let polite = format!(r"(?:please |请)\s*(?:{words}|{others})");
    // `Runtime` is not `run`.
    pattern(&format!(r"^(?:(?:{words})(?:\W|$)|{others}|{polite})"))
}

/// The end of a clause: of a sentence, or of a label before it.
static END: LazyLock<Regex> = LazyLock::new(|| pattern("[。！：；]|[.!:;>] "));
/// `- [ ] `, `3. `, `**`.
static BULLET: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^[ \t*•>+-]*(?:\[[ x]\])?\s*(?:[0-9]{1,3}[.)、])?[ *_"“`「]*"#));

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
        let support = source.support(&words(clause));
        match force {
            Force::Address | Force::Danger => support.words < 60 || support.pairs < 50,
            Force::Work => support.words < 50,
        }
    })
}

fn force(clause: &str) -> Option<Force> {
    let clause = lower(clause);
    let mut commands = COMMANDS.iter();
    let (force, _) = commands.find(|(_, begins)| begins.is_match(&clause))?;
    Some(*force)
}

/// The line without its bullet, and what follows a label or a full stop in it.
fn clauses(line: &str) -> impl Iterator<Item = &str> {
    let clauses = pieces(without_bullet(line), &END);
    clauses.map(|clause| clause.trim_start_matches([' ', '*', '_', '"', '“', '`', '「']))
}

/// The line without what marks it as an item of a list, or as strong.
pub(super) fn without_bullet(line: &str) -> &str {
    &line[BULLET.find(line).map_or(0, |bullet| bullet.end())..]
}
