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
//! `CTX_LIVE_ONLY=rollback` selects the tools with `rollback` in their names, and
//! `CTX_LIVE_BIN=DIR` the tools of another build.

mod field;
mod tools;

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};

use ctx_testkit::{Agent, lost, replace_by_rename, under_watch};

use field::{Count, Field, gc_beside};
use tools::{DELAYS, TOOLS, Tool, can_delay};

/// The kinds of agents, with their names in the table.
const AGENTS: [(Agent, &str); 6] = [
    (Agent::Holding(8), "holds the file open"),
    (Agent::Opening, "opens and closes it"),
    (Agent::Two, "two at once"),
    (Agent::WritingOver, "writes it over in place"),
    (Agent::Renaming, "replaces it by rename"),
    (Agent::Copying, "replaces it through a copy"),
];

/// Runs a tool until it succeeds this many times while an agent writes.
fn meet(agent: Agent, tool: &Tool, times: usize, delay: Option<&str>) -> Count {
    let field = RefCell::new(Field::new(agent));
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
        *what = format!("{}, {agent:?}: {what}", tool.name);
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
        // An agent overwrote the new file at once, as it would have overwritten the old one.
        Some(5) if agent == Agent::WritingOver && said.contains("has overwritten it") => true,
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
fn naive(agent: Agent, lines: usize) -> Count {
    let dir = tempfile::tempdir().expect("a folder");
    let live = dir.path().join("s.jsonl");
    std::fs::write(&live, crate::compact::messages(0, 10)).expect("writes");
    let (runs, written) = (Cell::new(0), Cell::new(0));
    let told = under_watch(
        &live,
        agent,
        1,
        || {
            runs.set(runs.get() + 1);
            replace_by_rename(&live) && written.get() >= lines
        },
        |told| written.set(told.len()),
    );
    let bytes = std::fs::read(&live).expect("reads");
    Count {
        runs: runs.get(),
        through: runs.get(),
        lines: told.len(),
        lost: lost(&told, &[bytes]).len(),
        ..Count::default()
    }
}

/// A few runs of one kind of agent with its share of the tools, and the control.
fn sample(kind: usize) {
    let (agent, name) = AGENTS[kind];
    let mut wrong = Vec::new();
    for tool in TOOLS.iter().skip(kind).step_by(AGENTS.len()) {
        let count = meet(agent, tool, 2, None);
        say(name, tool.name, &count);
        wrong.extend(count.wrong);
    }
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    let count = naive(agent, 40);
    say(name, "naive", &count);
    assert!(count.lost > 0, "{name}: the naive way loses nothing");
}

#[allow(clippy::print_stderr)] // A failing test, or --nocapture, shows the text.
fn say(agent: &str, tool: &str, count: &Count) {
    let Count { runs, through, refused, lines, lost, misplaced, wrong } = count;
    eprintln!(
        "{tool:24} {agent:26} {runs} runs: {through} done, {refused} refused; \
         {lines} lines: {lost} lost, {misplaced} misplaced; {} faults",
        wrong.len()
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
        let count = meet(*agent, tool.expect("one of them"), 2, Some(delay));
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
    let count = meet(agent, tool.expect("one of them"), 6, Some(delay));
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
            let count = meet(agent, tool, times(), None);
            say(name, tool.name, &count);
            all.add(&count);
        }
    }
    say("all", "ours", &all);
    for (agent, name) in AGENTS {
        let count = naive(agent, 100);
        say(name, "naive", &count);
        assert!(count.lost > 0, "{name}: the naive way loses nothing");
    }
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
            let count = meet(agent, tool, times(), Some(delay));
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
    let only = setting("CTX_LIVE_ONLY").unwrap_or_default();
    TOOLS.iter().filter(move |tool| tool.name.contains(&only))
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
