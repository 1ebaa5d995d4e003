//! Measures how much memory a compaction holds per record, in bytes, so a busy machine does not
//! affect the result. This must be the only test in its program, because all allocations count.

mod common;

use std::io::{BufWriter, Write};

use ctx_engine::Invalid;
use ctx_engine::compact::{Content, Options, Outcome};
use ctx_format::Watch;
use ctx_policy::{Method, preset};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Returns the peak memory of a compaction of these lines, each extended by `pad` bytes.
fn peak(plan: &Options, pad: usize, lines: impl Iterator<Item = String>) -> usize {
    let file = tempfile::tempfile().expect("a file");
    let mut writer = BufWriter::new(&file);
    for line in lines {
        // Only a limited amount of waiting data is held in memory; all sessions here exceed this
        // limit.
        let pad = "x".repeat(pad);
        let line = line.replacen('{', &format!("{{\"pad\":\"{pad}\","), 1);
        writeln!(writer, "{line}").expect("written");
    }
    drop(writer);
    let content = Content::open(file, None, Invalid::Keep, Watch::default()).expect("a session");
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let done = common::compact(plan, content);
    let (report, _) = done.expect("compacted");
    assert_eq!(report.outcome, Outcome::Compacted);
    MEMORY.peak_usage() - before
}

/// Returns the memory per record in bytes, from sessions of two lengths, so that fixed costs do not
/// count.
fn slope(plan: &Options, [few, many]: [usize; 2], lines: fn(usize) -> String) -> usize {
    let pad = (20 << 20) / few;
    let [less, more] = [few, many].map(|count| peak(plan, pad, (0..count).map(lines)));
    more.saturating_sub(less) / (many - few)
}

fn said(number: usize) -> String {
    let role = ["user", "assistant"][number % 2];
    format!(r#"{{"role":"{role}","content":"hi"}}"#)
}

/// Returns one request, followed by any number of calls and results.
fn worked(number: usize) -> String {
    let id = number.div_ceil(2);
    match number {
        0 => said(0),
        _ if number % 2 == 1 => format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{id}","type":"function","function":{{"name":"ls","arguments":"{{}}"}}}}]}}"#
        ),
        _ => format!(r#"{{"role":"tool","tool_call_id":"c{id}","content":"a b"}}"#),
    }
}

/// Returns a Claude Code line.
fn logged(number: usize) -> String {
    let kind = ["user", "assistant"][number % 2];
    let parent = match number {
        0 => "null".to_owned(),
        _ => format!("\"{}\"", number - 1),
    };
    format!(
        r#"{{"type":"{kind}","uuid":"{number}","parentUuid":{parent},"sessionId":"s","version":"2.1.197","message":{{"role":"{kind}","content":"hi"}}}}"#
    )
}

/// A compaction of ten million messages used to take 1.1 GB, or 110 bytes per message.
#[test]
fn of_a_record_few_bytes_stay_in_memory() {
    let mut policy = preset("default").expect("a preset");
    // A ledger has a limit of its own, and its threads hold further data.
    policy.summary.method = Method::Rule;
    policy.keep.messages = Some(20);
    policy.keep.turns = None;
    policy.target.min_gain = None;
    let by_zones = common::options(policy);
    let log = by_zones.clone();
    let within_budget = Options { budget: Some(20_000), ..by_zones.clone() };
    // In memory, a record takes twelve or twenty bytes and a result about forty, and half as much
    // again while a table grows. Within a budget, some tables stop growing at 65,536 records.
    let shorter = [1 << 14, 1 << 16];
    let longer = [1 << 16, 1 << 17];
    for (plan, lengths, most) in [(by_zones, shorter, 32), (within_budget, longer, 64)] {
        let bytes = [slope(&plan, lengths, said), slope(&plan, lengths, worked)];
        let few = bytes.iter().all(|bytes| *bytes <= most);
        assert!(few, "{bytes:?} bytes a record, not {most}");
    }
    of_a_log_no_line_stays_in_memory(&log);
}

/// A log of 400 MB used to be held entirely in memory. The lines here are 8 kB long.
fn of_a_log_no_line_stays_in_memory(plan: &Options) {
    let [few, many] = [1 << 12, 1 << 13];
    let [less, more] = [few, many].map(|count| peak(plan, 8_000, (0..count).map(logged)));
    let bytes = more.saturating_sub(less) / (many - few);
    assert!(bytes < 2_000, "{bytes} bytes a line");
}
