//! Replacing under fire: an agent writes numbered lines into a session while
//! somebody replaces it again and again. Then the lines are counted.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How an agent writes its session.
#[derive(Clone, Copy, Debug)]
pub enum Agent {
    /// Opens the file for each line.
    Opening,
    /// Opens it for each half of a line.
    OpeningForHalves,
    /// Holds it open, for so many lines at a time.
    Holding(usize),
    /// Holds it open, and for the most part is in the middle of a line.
    HoldingHalves,
    /// Reads all of it and writes it over, with one line more.
    WritingOver,
    /// The same beside it, and renames.
    Renaming,
}

/// Between two writes.
const PAUSE: Duration = Duration::from_millis(1);
/// In the middle of a line.
const HALF_PAUSE: Duration = Duration::from_millis(20);
/// Between two times of holding the file or of writing all of it, which nothing
/// but a pause lets anybody else come in between of.
const LONG_PAUSE: Duration = Duration::from_millis(250);
/// Far more than are needed: only a try that meets the agent at a write fails.
const TRIES: usize = 5_000;
/// Lines of an exchange; an agent stops behind a whole one.
const EXCHANGE: usize = 4;

/// The line of that number: a question, a call, its result and an answer in turn.
pub fn numbered(number: usize) -> String {
    let words = "and some words more ".repeat(10);
    let id = number / EXCHANGE;
    let record = match number % EXCHANGE {
        0 => format!("\"role\":\"user\",\"content\":\"question {id} {words}\""),
        1 => format!(
            "\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"c{id}\",\"type\":\"function\",\"function\":{{\"name\":\"f\",\"arguments\":\"{{}}\"}}}}]"
        ),
        2 => format!("\"role\":\"tool\",\"tool_call_id\":\"c{id}\",\"content\":\"result {words}\""),
        _ => format!("\"role\":\"assistant\",\"content\":\"answer {id} {words}\""),
    };
    format!("{{\"n\":{number},{record}}}\n")
}

/// Lets an agent write until `replace` has gone through so many times; returns how
/// many lines it wrote.
pub fn under_fire(
    path: &Path,
    agent: Agent,
    times: usize,
    mut replace: impl FnMut() -> bool,
) -> usize {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let agent = scope.spawn(|| agent.write(path, &stop));
        let stopped = Stop(&stop);
        let mut through = 0;
        for _ in 0..TRIES {
            if through == times {
                break;
            }
            if replace() {
                through += 1;
            } else {
                std::thread::sleep(PAUSE);
            }
        }
        drop(stopped);
        let written = agent.join().expect("the agent ends");
        assert_eq!(through, times, "of {TRIES} tries not so many went through");
        written
    })
}

/// Stops the agent, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Agent {
    fn write(self, path: &Path, stop: &AtomicBool) -> usize {
        let mut held: Option<File> = None;
        let mut number = 0_usize;
        while !stop.load(Ordering::SeqCst) || !number.is_multiple_of(EXCHANGE) {
            let line = numbered(number);
            let (start, end) = line.split_at(line.len() / 2);
            match self {
                Self::Opening => append(&mut open(path), &line),
                Self::OpeningForHalves => {
                    append(&mut open(path), start);
                    std::thread::sleep(HALF_PAUSE);
                    append(&mut open(path), end);
                }
                Self::Holding(lines) => {
                    if number.is_multiple_of(lines) && held.take().is_some() {
                        std::thread::sleep(LONG_PAUSE);
                    }
                    append(held.get_or_insert_with(|| open(path)), &line);
                }
                Self::HoldingHalves => {
                    let file = held.get_or_insert_with(|| open(path));
                    append(file, start);
                    std::thread::sleep(HALF_PAUSE);
                    append(file, end);
                }
                Self::WritingOver => fs::write(path, with(path, &line)).expect("writes"),
                Self::Renaming => rename_over(path, &with(path, &line)),
            }
            number += 1;
            let writes_all = matches!(self, Self::WritingOver | Self::Renaming);
            if writes_all && number.is_multiple_of(EXCHANGE) {
                std::thread::sleep(LONG_PAUSE);
            }
            std::thread::sleep(PAUSE);
        }
        number
    }
}

fn open(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    options.open(path).expect("opens")
}

/// One write, as agents do.
fn append(file: &mut File, text: &str) {
    file.write_all(text.as_bytes()).expect("writes");
}

fn with(path: &Path, line: &str) -> Vec<u8> {
    let mut bytes = fs::read(path).expect("reads");
    bytes.extend_from_slice(line.as_bytes());
    bytes
}

fn rename_over(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("agent");
    fs::write(&new, bytes).expect("writes");
    fs::rename(new, path).expect("renames");
}

/// How not to do it, as a control: with what was read a moment ago in a new file
/// that takes the name of the old one.
pub fn replace_by_rename(path: &Path) -> bool {
    let old = fs::read(path).expect("reads");
    let new = path.with_extension("new");
    fs::write(&new, old).expect("writes");
    std::thread::sleep(Duration::from_millis(1));
    fs::rename(new, path).expect("renames");
    true
}

/// The other way not to do it: with what was read a moment ago in place of what
/// is there now.
pub fn replace_in_place(path: &Path) -> bool {
    let old = fs::read(path).expect("reads");
    std::thread::sleep(Duration::from_millis(1));
    fs::write(path, old).expect("writes");
    true
}

/// Which lines of an agent are nowhere in the live file and in snapshots.
pub fn lost(written: usize, files: &[Vec<u8>]) -> Vec<usize> {
    let mut found = vec![false; written];
    for number in files.iter().flat_map(|file| numbers(file)) {
        found[number] = true;
    }
    let all = found.into_iter().enumerate();
    all.filter_map(|(number, found)| (!found).then_some(number))
        .collect()
}

/// The numbers of the whole lines in a file; what is no line of an agent has none.
pub fn numbers(file: &[u8]) -> Vec<usize> {
    let text = String::from_utf8_lossy(file);
    let lines = text.split_inclusive('\n');
    lines
        .filter_map(|line| {
            let rest = line.strip_prefix("{\"n\":")?;
            let number = rest.split(',').next()?.parse().ok()?;
            (line == numbered(number)).then_some(number)
        })
        .collect()
}
