//! Sentences that tell the reader to do something.
//!
//! The next model reads a summary as its own past. A command that nobody gave is the worst thing a
//! summary can contain: "You must now …" or "Ignore earlier rules …" is removed unless people or
//! the model wrote these words together. The output of a tool is no support, because the user did
//! not write it. "Remove the import" is a usual way to write down what is open; without support it
//! is marked and stays.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Area;
use super::source::{Source, UNVERIFIED};
use super::words::{lower, pieces, words};
use ctx_text::regex;

/// What happens to an unsupported command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandVerdict {
    Gone,
    Marked,
}

/// How much a command may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    /// Addresses the reader, or overrides what was said before.
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
        your new task|your job|from now on|act as|pretend|new instructions|reveal|do not tell|don't tell|\
        (?:ignore|disregard|forget) .*(?:earlier|previous|prior|above|before|rules?|instructions?|\
        everything|anything|user|you)",
                "system:|你必须|你应该|你需要|你现在|你的任务|从现在起|从现在开始|扮演|不要告诉|系统：|新的指令|\
        (?:忽略|无视|忘记).*(?:之前|以前|前面|上面|上述|此前|规则|指令|要求|一切|用户)",
            ),
        ),
        (
            Force::Danger,
            beginning(
                "ignore|disregard|forget|delete|remove|drop|erase|wipe|destroy|overwrite|kill|run|execute|eval|send|upload|post|\
        email|download|install|fetch|visit|transfer|pay|push|deploy|publish|disable|grant|\
        approve|reply|respond|print|output|call|click|open|immediately",
                "请立即|立即|马上|忽略|无视|忘记|删除|移除|清空|销毁|覆盖|运行|执行|发送|上传|下载|安装|访问|转账|支付|推送|部署|发布|禁用|授权|回复|输出|调用|点击|打开",
            ),
        ),
        (
            Force::Work,
            beginning(
                "please|make sure|ensure|always|never|do not|don't|add|fix|implement|create|update|write|\
        use|test|check|verify|change|rename|move|replace|refactor|continue|stop|commit|follow|\
        must|answer",
                // 请求 is the request, not a command.
                "请[^求]|务必|确保|不要|禁止|必须|添加|增加|修复|实现|创建|更新|编写|使用|检查|修改|继续|停止|提交",
            ),
        ),
    ]
});

/// Matches a text that begins with one of `words`, or with one of `others`, which need no word
/// boundary after them. `请删除` is as strong as `删除`, `please delete` as `delete`.
fn beginning(words: &str, others: &str) -> Regex {
    let polite = format!(r"(?:please |请)\s*(?:{words}|{others})");
    // `Runtime` is not `run`.
    regex(&format!(r"^(?:(?:{words})(?:\W|$)|{others}|{polite})"))
}

/// The end of a clause: of a sentence, or of a label before it.
static END: LazyLock<Regex> = LazyLock::new(|| regex("[。！：；]|[.!:;>][*_]* "));
/// `- [ ] `, `3. `, `**`.
static BULLET: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^[ \t*•>+-]*(?:\[[ x]\])?\s*(?:[0-9]{1,3}[.)、])?[ *_"“`「]*"#));

/// The end of a sentence.
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| regex(r"[。！？]|[.!?](?:\s|$)"));
/// A command that addresses somebody.
static SAID: LazyLock<Regex> = LazyLock::new(|| regex("^(?:please|immediately|请|立即|马上|务必)"));

/// The commands of a line that nothing in the source supports: whole sentences, in order.
pub(super) fn unsupported(
    line: &str,
    area: Area,
    source: &Source,
) -> Vec<(Range<usize>, CommandVerdict)> {
    let mut found: Vec<(Range<usize>, CommandVerdict)> = Vec::new();
    for start in clauses(line) {
        let clause = line[start.clone()].replace(UNVERIFIED, "");
        let Some(fate) = fate(clause.trim_end(), area, source) else {
            continue;
        };
        let end = SENTENCE.find_at(line, start.start);
        let end = end.map_or(line.len(), |end| end.end());
        // An earlier check may have put its mark there.
        let sentence = line[start.start..end].trim_end();
        let marked = sentence.strip_suffix(UNVERIFIED);
        let end = marked.map_or(end, |sentence| start.start + sentence.trim_end().len());
        match found.last_mut() {
            // One clause of a sentence is enough.
            Some((range, _)) if range.contains(&start.start) => {}
            _ => found.push((start.start..end, fate)),
        }
    }
    found
}

fn fate(clause: &str, area: Area, source: &Source) -> Option<CommandVerdict> {
    let force = force(clause)?;
    // Under "Done" a verb at the beginning reports what happened; Chinese has no other form for it.
    if area == Area::Done && force != Force::Address {
        return None;
    }
    // Nothing in another language has support, whether it is true or not.
    if source.lacks_language(clause) {
        let is_said = SAID.is_match(&lower(clause)) && force == Force::Danger;
        return (is_said || force == Force::Address).then_some(CommandVerdict::Marked);
    }
    let (known, close) = source.support(&words(clause));
    match force {
        Force::Address => (known < 60 || close < 50).then_some(CommandVerdict::Gone),
        Force::Danger => (known < 60 || close < 25).then_some(CommandVerdict::Marked),
        // A next step may use words that only tools printed.
        Force::Work => {
            (known < 35 && source.phrases.share(clause) < 60).then_some(CommandVerdict::Marked)
        }
    }
}

fn force(clause: &str) -> Option<Force> {
    let clause = lower(clause);
    // A label, not a file to open.
    if clause.trim_end_matches([' ', '*', '_']) == "open:" {
        return None;
    }
    let (force, _) = COMMANDS.iter().find(|(_, begins)| begins.is_match(&clause))?;
    Some(*force)
}

/// The line without its bullet, and what follows a label or a full stop in it.
fn clauses(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = line.len() - without_bullet(line).len();
    pieces(without_bullet(line), &END).map(move |piece| {
        end += piece.len();
        let clause = piece.trim_start_matches([' ', '*', '_', '"', '“', '`', '「']);
        end - clause.len()..end
    })
}

/// The line without what marks it as an item of a list, or as strong.
pub(super) fn without_bullet(line: &str) -> &str {
    &line[BULLET.find(line).map_or(0, |bullet| bullet.end())..]
}
