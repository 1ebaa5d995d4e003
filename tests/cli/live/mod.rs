//! L2: live agents of six kinds append while every tool that writes runs, with `ctx-gc` alongside.
//! After each run every line that the kernel took from an agent is in the session or in a snapshot,
//! whole and once; in the end no file is left and `--verify` succeeds. In the same test a naive
//! replacement loses lines. If strace can trace, calls of the tools are delayed, so that agents
//! write between them.
//!
//! A few runs are part of `cargo test`. This runs thousands, and prints a table:
//!
//! ```text
//! CTX_LIVE_RUNS=25 cargo test --test cli live::all -- --ignored --nocapture
//! ```
//!
//! `live::all_formats` does the same with the agents that write in formats of their own.
//! `CTX_LIVE_ONLY=rollback` selects the tools with `rollback` in their names,
//! `CTX_LIVE_FORMAT=kimi` a format, and `CTX_LIVE_BIN=DIR` the tools of another build.

mod field;
mod tools;

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};

use ctx_testkit::{
    Agent, CHAT, COPILOT, Format, KIMI, OPENCODE, QWEN, replace_by_rename, under_watch,
};

use field::{Count, Field, before, gc_beside};
use tools::{DELAYS, OWN_FORMAT, TOOLS, Tool, can_delay};

/// The kinds of agents, with their names in the table.
const AGENTS: [(Agent, &str); 6] = [
    (Agent::Holding(8), "holds the file open"),
    (Agent::Opening, "opens and closes it"),
    (Agent::Two, "two at once"),
    (Agent::WritingOver, "writes it over in place"),
    (Agent::Renaming, "replaces it by rename"),
    (Agent::Copying, "replaces it through a copy"),
];

/// An agent that writes in its own format, as the agent itself does.
struct OwnFormat {
    format: &'static Format,
    agents: &'static [(Agent, &'static str)],
}

/// The new agents. Kimi Code also replaces its file when it repairs it. The Copilot CLI and Kimi
/// Code write what belongs together at once. Because others could do so, too, each also opens the
/// file for each line, and holds it open.
const OWN_FORMATS: [OwnFormat; 4] = [
    OwnFormat { format: &COPILOT, agents: &[EXCHANGES, AGENTS[1], AGENTS[0]] },
    OwnFormat { format: &KIMI, agents: &[EXCHANGES, AGENTS[4], AGENTS[1], AGENTS[0]] },
    OwnFormat { format: &OPENCODE, agents: &[AGENTS[3], AGENTS[4]] },
    OwnFormat { format: &QWEN, agents: &[AGENTS[1], EXCHANGES, AGENTS[0]] },
];
const EXCHANGES: (Agent, &str) = (Agent::Exchanges, "writes an exchange at once");

/// Runs a tool until it succeeds this many times while an agent writes.
fn meet(
    agent: Agent,
    format: &'static Format,
    tool: &Tool,
    times: usize,
    delay: Option<&str>,
) -> Count {
    let field = RefCell::new(Field::new(agent, format));
    let count = RefCell::new(Count::default());
    let (live, dir) = {
        let field = field.borrow();
        (field.live(), field.dir().to_owned())
    };
    let stop = AtomicBool::new(false);
    let told = std::thread::scope(|scope| {
        let stopped = OnDrop(&stop);
        let gc = scope.spawn(|| gc_beside(&dir, &stop));
        let told = under_watch(
            &live,
            agent,
            format,
            times,
            || attempt(agent, tool, delay, &field.borrow(), &mut count.borrow_mut()),
            |told| {
                let mut field = field.borrow_mut();
                field.look(tool, told, &mut count.borrow_mut());
            },
        );
        drop(stopped);
        if let Some(wrong) = gc.join().expect("no panic") {
            count.borrow_mut().say(wrong);
        }
        told
    });
    let mut count = count.into_inner();
    field.into_inner().end(tool, &told, &mut count);
    for what in &mut count.wrong {
        *what = format!("{}, {}, {agent:?}: {what}", tool.name, format.name);
    }
    count
}

/// Stops `ctx-gc` when it is dropped, also if the test fails.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs the tool once; returns whether it did its work.
fn attempt(
    agent: Agent,
    tool: &Tool,
    delay: Option<&str>,
    field: &Field,
    count: &mut Count,
) -> bool {
    let before = field.replacements();
    let output = tool.command(field.dir(), delay).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr);
    count.runs += 1;
    let is_through = match output.status.code() {
        Some(0) => !tool.replaces || field.replacements() > before,
        // Exit status 1 means that there was nothing to do.
        Some(1) => false,
        Some(4) => {
            count.refused += 1;
            false
        }
        // The agent had emptied the file and not yet written it.
        Some(2) if agent == Agent::WritingOver && said.contains("the format is not known") => {
            count.refused += 1;
            false
        }
        // An agent overwrote the new file at once, as it would have overwritten the old one.
        Some(5) if agent == Agent::WritingOver && said.contains("has overwritten") => true,
        _ => {
            count.say(format!("{}: {}: {said}", tool.name, output.status));
            false
        }
    };
    count.through += usize::from(is_through);
    is_through
}

/// Runs the control: the same agent with a naive replacement in place of a tool, until the agent
/// has written this many lines.
fn naive(agent: Agent, format: &'static Format, lines: usize) -> Count {
    let dir = tempfile::tempdir().expect("a folder");
    let live = dir.path().join("s.jsonl");
    std::fs::write(&live, before(format, 0)).expect("writes");
    let (runs, written, lost) = (Cell::new(0), Cell::new(0), Cell::new(0));
    under_watch(
        &live,
        agent,
        format,
        1,
        || {
            runs.set(runs.get() + 1);
            replace_by_rename(&live) && written.get() >= lines
        },
        |told| {
            let found = format.numbers(&std::fs::read(&live).expect("reads"));
            let missing = told.iter().filter(|number| !found.contains(number)).count();
            // The next export of a document contains again what was lost.
            lost.set(missing.max(lost.get()));
            written.set(told.len());
        },
    );
    Count {
        runs: runs.get(),
        through: runs.get(),
        lines: written.get(),
        lost: lost.get(),
        ..Count::default()
    }
}

/// A few runs of one kind of agent with its share of the tools, and the control.
fn sample(kind: usize) {
    let (agent, name) = AGENTS[kind];
    let mut wrong = Vec::new();
    for tool in TOOLS.iter().skip(kind).step_by(AGENTS.len()) {
        let count = meet(agent, &CHAT, tool, 2, None);
        say(name, tool.name, &count);
        wrong.extend(count.wrong);
    }
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    let count = naive(agent, &CHAT, 40);
    say(name, "naive", &count);
    assert!(count.lost > 0, "{name}: the naive way loses nothing");
}

#[allow(clippy::print_stderr)] // A failing test, or --nocapture, shows the text.
fn say(agent: &str, tool: &str, count: &Count) {
    let Count { runs, through, refused, lines, lost, misplaced, wrong } = count;
    eprintln!(
        "{tool:24} {agent:26} {runs} runs: {through} done, {refused} refused; \
         {lines} lines: {lost} lost, {misplaced} misplaced; {} faults {}",
        wrong.len(),
        wrong.join("; ")
    );
}

#[test]
fn an_agent_that_holds_the_file_loses_nothing() {
    sample(0);
}

#[test]
fn an_agent_that_opens_and_closes_the_file_loses_nothing() {
    sample(1);
}

#[test]
fn two_agents_at_once_lose_nothing() {
    sample(2);
}

#[test]
fn an_agent_that_writes_in_place_loses_nothing() {
    sample(3);
}

#[test]
fn an_agent_that_renames_loses_nothing() {
    sample(4);
}

#[test]
fn an_agent_that_replaces_through_a_copy_loses_nothing() {
    sample(5);
}

/// A few runs of an agent that writes in its own format, and the control.
fn sample_own(own: &OwnFormat) {
    let name = own.format.name;
    let mut wrong = Vec::new();
    for (tool, (agent, kind)) in OWN_FORMAT.iter().zip(own.agents.iter().cycle()) {
        let count = meet(*agent, own.format, tool, 2, None);
        say(&format!("{name} {kind}"), tool.name, &count);
        wrong.extend(count.wrong);
    }
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    let count = naive(own.agents[0].0, own.format, 40);
    say(name, "naive", &count);
    assert!(count.lost > 0, "{name}: the naive way loses nothing");
}

#[test]
fn the_copilot_cli_loses_nothing() {
    sample_own(&OWN_FORMATS[0]);
}

#[test]
fn kimi_code_loses_nothing() {
    sample_own(&OWN_FORMATS[1]);
}

#[test]
fn an_export_of_opencode_loses_nothing() {
    sample_own(&OWN_FORMATS[2]);
}

#[test]
fn qwen_code_loses_nothing() {
    sample_own(&OWN_FORMATS[3]);
}

/// Agents that replace their file do so between the system calls with which a tool replaces it.
#[test]
fn agents_that_replace_lose_nothing_while_a_tool_is_held_up() {
    if !can_delay() {
        return skip();
    }
    let mut wrong = Vec::new();
    let delays = [DELAYS[0], DELAYS[0], DELAYS[4]];
    for ((agent, name), delay) in AGENTS[3..].iter().zip(delays) {
        let tool = TOOLS.iter().find(|tool| tool.name == "ctx-rollback --undo");
        let count = meet(*agent, &CHAT, tool.expect("one of them"), 2, Some(delay));
        say(name, delay, &count);
        wrong.extend(count.wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The two halves of a line, written through two descriptors, stay together, and the lines stay in
/// order, however long a tool is delayed between the exchange and the carry-over.
#[test]
fn half_lines_stay_whole_while_a_tool_is_held_up() {
    if !can_delay() {
        return skip();
    }
    let tool = TOOLS.iter().find(|tool| tool.name == "ctx-compact default");
    let (agent, delay) = (Agent::OpeningForHalves, DELAYS[1]);
    let count = meet(agent, &CHAT, tool.expect("one of them"), 6, Some(delay));
    say("writes half lines", delay, &count);
    assert!(count.wrong.is_empty(), "{:#?}", count.wrong);
}

/// Runs every kind of agent with every tool, and the controls. This test is run by hand, because it
/// takes minutes.
#[test]
#[ignore = "takes minutes"]
fn all() {
    let mut all = Count::default();
    for (agent, name) in AGENTS {
        for tool in chosen() {
            let count = meet(agent, &CHAT, tool, times(), None);
            say(name, tool.name, &count);
            all.add(&count);
        }
    }
    say("all", "ours", &all);
    for (agent, name) in AGENTS {
        let count = naive(agent, &CHAT, 100);
        say(name, "naive", &count);
        assert!(count.lost > 0, "{name}: the naive way loses nothing");
    }
    assert!(all.wrong.is_empty(), "{:#?}", all.wrong);
}

/// Runs the agents that write in their own formats with every tool, also with delayed calls.
#[test]
#[ignore = "takes minutes"]
fn all_formats() {
    let mut all = Count::default();
    let delays = if can_delay() { &DELAYS[..] } else { &[] };
    let format = setting("CTX_LIVE_FORMAT");
    let is_chosen_format =
        |own: &&OwnFormat| format.as_ref().is_none_or(|it| it == own.format.name);
    for own in OWN_FORMATS.iter().filter(is_chosen_format) {
        let mut of_format = Count::default();
        let mut delays = delays.iter().cycle();
        for (agent, kind) in own.agents {
            for tool in OWN_FORMAT.iter().filter(|tool| is_chosen(tool)) {
                for delay in [None, delays.next().copied()] {
                    let count = meet(*agent, own.format, tool, times(), delay);
                    let name = format!("{} {}", tool.name, delay.unwrap_or_default());
                    say(&format!("{} {kind}", own.format.name), &name, &count);
                    of_format.add(&count);
                }
            }
        }
        say(own.format.name, "ours", &of_format);
        say(own.format.name, "naive", &naive(own.agents[0].0, own.format, 100));
        all.add(&of_format);
    }
    say("all formats", "ours", &all);
    assert!(all.wrong.is_empty(), "{:#?}", all.wrong);
}

/// Runs every kind of agent with every delayed call, and with all ways of replacing in turn.
#[test]
#[ignore = "takes minutes"]
fn all_held_up() {
    if !can_delay() {
        return skip();
    }
    let mut all = Count::default();
    let mut tools = chosen().filter(|tool| tool.replaces).cycle();
    for delay in DELAYS {
        for (agent, name) in AGENTS {
            let tool = tools.next().expect("one that replaces");
            let count = meet(agent, &CHAT, tool, times(), Some(delay));
            say(name, &format!("{} {delay}", tool.name), &count);
            all.add(&count);
        }
    }
    say("all", "ours, held up", &all);
    assert!(all.wrong.is_empty(), "{:#?}", all.wrong);
}

#[allow(clippy::print_stderr)] // A skipped test must say so.
fn skip() {
    eprintln!("live: skipped: strace is not here, or may not trace");
}

fn times() -> usize {
    let runs = setting("CTX_LIVE_RUNS").and_then(|runs| runs.parse().ok());
    runs.unwrap_or(25)
}

fn chosen() -> impl Iterator<Item = &'static Tool> + Clone {
    TOOLS.iter().filter(|tool| is_chosen(tool))
}

fn is_chosen(tool: &Tool) -> bool {
    setting("CTX_LIVE_ONLY").is_none_or(|only| tool.name.contains(&only))
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
