//! Ten generations: a session grows, is compacted, and grows again. Requests, constraints, causes,
//! decisions and the state in a summary are still there at the end, in the words of the session, as
//! `ctx-score --evidence` looks for them.

use std::fs;

use ctx_testkit::Case;
use serde_json::{Value, json};

use crate::compact::CTX_COMPACT;
use crate::summarize_budget::talk::{Event, session};

const CTX_SCORE: &str = env!("CARGO_BIN_EXE_ctx-score");
const CTX_SUMMARIZE: &str = env!("CARGO_BIN_EXE_ctx-summarize");

const KINDS: [&str; 5] = ["intent", "constraint", "cause", "decision", "state"];

/// A piece of work: the request, the rule, the finding, the decision with its reason, and the
/// progress.
type Work = [&'static str; 5];

const ENGLISH: [Work; 10] = [
    [
        "Bookings are added twice when the form is sent again, please repair it.",
        "Never touch the folder legacy/.",
        "The form has no idempotency key, so a second click makes a second row.",
        "I use the unique index of the database instead of a lock in Redis, because Redis is restarted every night.",
        "The migration 0042_unique_booking is applied, but the staging server still runs the old image.",
    ],
    [
        "Now translate the invoices into Polish.",
        "Amounts must keep the decimal point.",
        "The renderer reads the locale from the browser, not from the customer.",
        "I take the locale of the customer, because the accountant prints them all from one machine.",
        "The Polish template is in place; the tests of the PDF are still red.",
    ],
    [
        "Why does the nightly export take three hours?",
        "The export must not read from the primary.",
        "It sorts forty million rows, since the index on exported_at is missing.",
        "I add a partial index rather than partition the table, because partitions break the dump of the replica.",
        "The export takes eleven minutes now; the threshold of the alert is unchanged.",
    ],
    [
        "Add a rate limit to the public search.",
        "Partners of the tier gold must have no limit.",
        "The gateway counts by address, and all of an office share one.",
        "I count by API token instead of address, because offices sit behind one proxy.",
        "The limiter is behind the flag search_limit, switched off in production.",
    ],
    [
        "The mobile app logs people out on Sundays, look into it.",
        "Do not force anybody to sign in again.",
        "The signing key is rotated on Sunday at 02:00, and the app never fetches the new one.",
        "I publish both keys for a week instead of rotating less often, because the auditors ask for weekly keys.",
        "Both keys are published; the cleanup job is not written yet.",
    ],
    [
        "Move the avatars to the object store.",
        "Old links must work for a year.",
        "A tenth of the avatars has no owner any more.",
        "I redirect in nginx rather than in the application, because the application is asleep at night.",
        "Half of the avatars are copied; the copy goes on with scripts/avatars.sh.",
    ],
    [
        "Write a page for the status of deliveries.",
        "It must work without JavaScript.",
        "The carrier sends its events out of order.",
        "I sort by the sequence number of the carrier instead of the time, because its clocks differ.",
        "The page is merged; its link in the footer is missing.",
    ],
    [
        "Upgrade the queue to version 4.",
        "No message may be lost meanwhile.",
        "Version 4 refuses headers with capital letters.",
        "I rename the headers in a proxy instead of in 31 services, because only the proxy can be rolled back in a minute.",
        "The consumers are upgraded; the producers of billing are not.",
    ],
    [
        "Make the search forgive typing errors.",
        "Names of medicines must match exactly.",
        "The analyzer stems the names of medicines.",
        "I keep two fields instead of one analyzer, because medicines must not be stemmed.",
        "The second field is filled; the weights are a guess.",
    ],
    [
        "Close the old admin pages.",
        "Support must keep the refund button until March.",
        "Seven of the pages are still opened daily.",
        "I hide the pages by role instead of deleting them, because support works with them until March.",
        "The role is rolled out; the pages of the reports are still open to all.",
    ],
];

const CHINESE: [Work; 10] = [
    [
        "表单重复提交时订单会出现两次，请修好。",
        "不要改动 legacy 目录。",
        "表单没有幂等键，所以第二次点击会再写一行。",
        "我用数据库的唯一索引而不用 Redis 的锁，因为 Redis 每晚都会重启。",
        "迁移脚本已经执行，但预发环境还在运行旧镜像。",
    ],
    [
        "现在把发票翻译成波兰语。",
        "金额必须保留小数点。",
        "渲染程序读的是浏览器的语言，而不是客户的语言。",
        "我采用客户的语言，因为会计在同一台电脑上打印所有发票。",
        "波兰语模板已经放好，PDF 的测试还没有通过。",
    ],
    [
        "夜间导出为什么要三个小时？",
        "导出不能读主库。",
        "它要给四千万行排序，因为缺少导出时间的索引。",
        "我加一个部分索引而不是分区，因为分区会弄坏从库的备份。",
        "导出现在只要十一分钟，报警阈值还没有改。",
    ],
    [
        "给公开搜索加上限流。",
        "金牌伙伴不能被限流。",
        "网关按地址计数，而整个办公室共用一个地址。",
        "我按令牌计数而不按地址，因为办公室都在同一个代理后面。",
        "限流器放在开关后面，生产环境里是关闭的。",
    ],
    [
        "手机应用每到周日就把人踢下线，请查一查。",
        "不要让任何人重新登录。",
        "签名密钥在周日凌晨两点轮换，应用却从不去取新的。",
        "我让两把密钥并存一周而不是减少轮换，因为审计要求每周换密钥。",
        "两把密钥都已发布，清理任务还没有写。",
    ],
    [
        "把头像搬到对象存储。",
        "旧链接必须再用一年。",
        "十分之一的头像已经没有主人。",
        "我在网关里重定向而不在应用里，因为应用夜里会休眠。",
        "头像已经复制了一半，剩下的还在复制。",
    ],
    [
        "写一个查看配送状态的页面。",
        "页面不能依赖脚本。",
        "承运商发来的事件顺序是乱的。",
        "我按承运商的序号排序而不按时间，因为各处的时钟不一致。",
        "页面已经合并，页脚里的链接还没有加。",
    ],
    [
        "把队列升级到第四版。",
        "期间不能丢任何消息。",
        "第四版拒绝带大写字母的消息头。",
        "我在代理里改名而不去改三十一个服务，因为只有代理能在一分钟内回退。",
        "消费者已经升级，计费的生产者还没有。",
    ],
    [
        "让搜索能容忍错别字。",
        "药品名称必须完全匹配。",
        "分词器会截短药品的名称。",
        "我保留两个字段而不用一个分词器，因为药品名不能截短。",
        "第二个字段已经填好，权重只是猜的。",
    ],
    [
        "关掉旧的管理页面。",
        "客服必须把退款按钮用到三月。",
        "有七个页面每天还有人打开。",
        "我按角色隐藏页面而不是删除，因为客服要用到三月。",
        "角色已经上线，报表页面还对所有人开放。",
    ],
];

/// Returns the output of a tool that is too long to keep.
fn output(seed: usize) -> String {
    let line = |at: usize| {
        let (job, worker) = (seed * 10_000 + at * 7_919 % 1_000, (at * 31 + seed) % 97);
        format!("worker-{worker} handled job {job} in {} ms\n", at * 37 % 900)
    };
    (0..80).map(line).collect()
}

/// Returns the messages about a piece of work, between calls whose results fill the context.
fn piece(number: usize, work: &Work) -> [Event; 6] {
    let [wanted, rule, cause, decision, state] = work;
    let call = |at: usize| {
        let seed = number * 10 + at;
        Event::Call(format!("tail logs/{seed}.log"), output(seed))
    };
    [
        Event::User(format!("{wanted} {rule}")),
        call(0),
        call(1),
        Event::Reply(format!("{cause} {decision}")),
        call(2),
        Event::Reply((*state).to_owned()),
    ]
}

/// Returns the records of each piece. A call is two records.
fn pieces(dialect: &str, works: &[Work]) -> Vec<String> {
    let events = works.iter().enumerate().flat_map(|(number, work)| piece(number, work));
    let said = session(dialect, None, &events.collect::<Vec<_>>());
    let lines: Vec<_> = said.split_inclusive('\n').collect();
    lines.chunks(9).map(<[_]>::concat).collect()
}

fn questions(works: &[Work]) -> String {
    let of_piece = |(number, work): (usize, &Work)| {
        let question = |(kind, said): (&str, &'static str)| json!({"id": format!("{number} {kind}"), "category": kind, "question": said, "evidence": [[said]]});
        KINDS.into_iter().zip(*work).map(question).collect::<Vec<_>>()
    };
    let all: Vec<_> = works.iter().enumerate().flat_map(of_piece).collect();
    json!({ "questions": all }).to_string()
}

/// Returns the facts that a session still has, each as a number and a kind.
fn told(works: &[Work], said: &str, now: &str) -> Vec<String> {
    let done = Case::new(CTX_SCORE)
        .file("said.jsonl", said)
        .file("now.jsonl", now)
        .file("q.json", questions(works))
        .args(["--evidence", "q.json", "--list", "questions"])
        .args(["said.jsonl", "now.jsonl"])
        .stdout_any()
        .run();
    let list = String::from_utf8(done.stdout).expect("UTF-8");
    let kept = list.lines().filter_map(|line| line.strip_prefix("+\t"));
    kept.map(|line| line.split('\t').next().expect("an id").to_owned()).collect()
}

/// Makes each generation with `next`, from the previous generation and a new piece. Checks that all
/// facts of a generation are in all later ones, and that the first generation with a piece has its
/// facts.
fn live(works: &[Work], dialect: &str, mut next: impl FnMut(&str) -> String) {
    let mut said = String::new();
    let mut known: Vec<String> = Vec::new();
    let as_chat = pieces("chat", works);
    for (number, piece) in pieces(dialect, works).iter().enumerate() {
        said += &as_chat[number];
        let now = next(piece);
        let told = told(works, &said, &now);
        known.retain(|earlier| !told.contains(earlier));
        assert_eq!(known, [""; 0], "lost in generation {}:\n{now}", number + 1);
        known = told;
        assert_eq!(known.len(), 5 * (number + 1), "{known:?}:\n{now}");
    }
}

const BUDGET: [&str; 3] = ["-q", "--budget", "2000"];

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

/// Runs `ctx-summarize` as a filter.
fn summarized() -> impl FnMut(&str) -> String {
    let mut now = String::new();
    move |piece| {
        let done =
            Case::new(CTX_SUMMARIZE).stdin(now.clone() + piece).args(BUDGET).stdout_any().run();
        now = text(done.stdout);
        now.clone()
    }
}

/// Runs `ctx-compact` in place, with a store that has the earlier generations; `grown` appends a
/// piece to the session.
fn compacted(grown: fn(&str, &str) -> String) -> impl FnMut(&str) -> String {
    let home = Case::new(CTX_COMPACT).file("s.jsonl", "").args(["-V"]);
    let home = home.stdout_any().run();
    move |piece| {
        let now = grown(&text(home.read("s.jsonl")), piece);
        fs::write(home.dir().join("s.jsonl"), now).expect("writes");
        Case::new(CTX_COMPACT)
            .within(home.dir())
            .args(BUDGET)
            .args(["--force", "--min-idle", "0s", "s.jsonl"])
            .run();
        text(home.read("s.jsonl"))
    }
}

/// Returns messages as lines of Claude Code. The parent of each line is the line before, or the
/// last one that a compaction kept.
fn of_claude_code(log: &str, piece: &str) -> String {
    let mut log = log.to_owned();
    let value = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let last = log.lines().last().map(|line| value(line)["uuid"].clone());
    let boundary = log.lines().rfind(|line| line.contains("compact_boundary"));
    let boundary = boundary.map(value).unwrap_or_default();
    let kept = boundary["compactMetadata"]["preservedMessages"]["uuids"].as_array();
    let mut parent = kept.and_then(|kept| kept.last().cloned()).or(last).unwrap_or_default();
    for record in piece.lines() {
        let message = value(record);
        let number = log.lines().count();
        let line = json!({
            "parentUuid": parent,
            "isSidechain": false,
            "sessionId": "s",
            "type": message["role"],
            "message": message,
            "uuid": format!("u{number}"),
            "timestamp": format!("2026-01-01T{:02}:{:02}:00.000Z", number / 60, number % 60),
        });
        parent = line["uuid"].clone();
        log += &(line.to_string() + "\n");
    }
    log
}

#[test]
fn ten_summaries_in_a_row_tell_what_the_first_told() {
    live(&ENGLISH, "chat", summarized());
}

#[test]
fn ten_summaries_in_a_row_tell_it_in_chinese() {
    live(&CHINESE, "chat", summarized());
}

#[test]
fn ten_compactions_in_place_tell_what_the_first_told() {
    live(&ENGLISH, "chat", compacted(|log, piece| log.to_owned() + piece));
}

#[test]
fn ten_compactions_of_an_agents_own_file_tell_it() {
    live(&ENGLISH, "anthropic", compacted(of_claude_code));
}
