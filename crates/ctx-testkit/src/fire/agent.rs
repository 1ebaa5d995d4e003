//! Simulated agents that write their sessions in different ways.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::formats::Format;
use super::lines::EXCHANGE;

/// The way in which an agent writes its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Opens and closes the file for each line.
    Opening,
    /// Opens and closes the file for each half of a line.
    OpeningForHalves,
    /// Holds the file open for this number of lines at a time.
    Holding(usize),
    /// Holds the file open, and is usually in the middle of a line.
    HoldingHalves,
    /// Opens and closes the file for each exchange, and writes it at once.
    Exchanges,
    /// Two independent agents open the file, each for a whole exchange.
    Two,
    /// Reads the whole file, and overwrites it with its content and one more line. A document is
    /// written from the lines that the agent remembers.
    WritingOver,
    /// Writes the whole content and one more line into a new file, and renames that file. A document
    /// is written from the lines that the agent remembers.
    Renaming,
    /// Copies the file, appends an exchange to the copy line by line, and renames the copy.
    Copying,
}

/// The numbers of the lines that an agent has written. The agent holds the lock while it changes
/// the session, so a reader that holds it sees the session between two changes.
pub(super) type Journal = Mutex<Vec<usize>>;

/// The signals between the agents and the test.
#[derive(Default)]
pub(super) struct Signals {
    /// Tells the agents to stop.
    pub(super) stop: AtomicBool,
    /// How long the last attempt took, in milliseconds. Agents pause longer if the tools take
    /// longer, because otherwise no attempt would succeed on a busy machine.
    pub(super) took: AtomicU32,
}

/// The pause between two writes.
pub(super) const PAUSE: Duration = Duration::from_millis(1);
/// The pause in the middle of a line.
const HALF_PAUSE: Duration = Duration::from_millis(20);
/// The pause after the file was held open or completely rewritten, so that other processes get a
/// chance.
const LONG_PAUSE: Duration = Duration::from_millis(250);

impl Agent {
    /// Returns the number of agents that write at the same time.
    pub(super) fn writers(self) -> usize {
        if self == Self::Two { 2 } else { 1 }
    }

    /// Writes whole exchanges until the test stops the agent.
    pub(super) fn write(
        self,
        format: &Format,
        path: &Path,
        writer: usize,
        journal: &Journal,
        signals: &Signals,
    ) {
        let numbered = |number| format.record(number) + "\n";
        let mut held: Option<File> = None;
        let mut exchange = 0;
        while !signals.stop.load(Ordering::SeqCst) {
            let first = (exchange * self.writers() + writer) * EXCHANGE;
            let numbers = first..first + EXCHANGE;
            match self {
                Self::Exchanges | Self::Two => {
                    let mut journal = journal.lock().expect("no panic");
                    let lines: String = numbers.clone().map(numbered).collect();
                    append(&mut open(path), &lines);
                    journal.extend(numbers);
                }
                Self::Copying => {
                    let copy = path.with_extension("copy");
                    fs::copy(path, &copy).expect("copies");
                    for number in numbers.clone() {
                        append(&mut open(&copy), &numbered(number));
                        std::thread::sleep(PAUSE);
                    }
                    let mut journal = journal.lock().expect("no panic");
                    fs::rename(copy, path).expect("renames");
                    journal.extend(numbers);
                }
                _ => {
                    for number in numbers {
                        self.write_line(format, path, number, &mut held, journal);
                        std::thread::sleep(PAUSE);
                    }
                }
            }
            exchange += 1;
            let took = Duration::from_millis(signals.took.load(Ordering::SeqCst).into());
            self.rest(exchange, took, &mut held);
        }
    }

    fn write_line(
        self,
        format: &Format,
        path: &Path,
        number: usize,
        held: &mut Option<File>,
        journal: &Journal,
    ) {
        let line = format.record(number) + "\n";
        let (start, end) = line.split_at(line.len() / 2);
        // The file is read before the lock is taken, so that other processes can change it in
        // between.
        let rewrites = matches!(self, Self::WritingOver | Self::Renaming);
        let new = match (rewrites, format.is_document) {
            (false, _) => Vec::new(),
            (true, false) => with(path, &line),
            (true, true) => format.up_to(number).into_bytes(),
        };
        let mut journal = journal.lock().expect("no panic");
        match self {
            Self::OpeningForHalves => {
                append(&mut open(path), start);
                std::thread::sleep(HALF_PAUSE);
                append(&mut open(path), end);
            }
            Self::Holding(_) => append(held.get_or_insert_with(|| open(path)), &line),
            Self::HoldingHalves => {
                let file = held.get_or_insert_with(|| open(path));
                append(file, start);
                std::thread::sleep(HALF_PAUSE);
                append(file, end);
            }
            Self::WritingOver => fs::write(path, new).expect("writes"),
            Self::Renaming => rename_over(path, &new),
            Self::Opening | Self::Exchanges | Self::Two | Self::Copying => {
                append(&mut open(path), &line);
            }
        }
        journal.push(number);
    }

    /// Pauses for varying times, so that other processes run at many different points.
    fn rest(self, exchange: usize, took: Duration, held: &mut Option<File>) {
        let length = u32::try_from(exchange % 5 + 1).expect("small");
        let pause = LONG_PAUSE * length / 5 + took * length / 2;
        match self {
            Self::Holding(lines) => {
                if (exchange * EXCHANGE).is_multiple_of(lines) && held.take().is_some() {
                    std::thread::sleep(pause);
                }
            }
            Self::WritingOver | Self::Renaming | Self::Copying => std::thread::sleep(pause),
            // Some tools replace a session only if it has not changed for a while.
            Self::Opening | Self::Exchanges | Self::Two if exchange.is_multiple_of(16) => {
                std::thread::sleep(2 * pause);
            }
            Self::Exchanges | Self::Two => std::thread::sleep(4 * PAUSE),
            Self::Opening | Self::OpeningForHalves | Self::HoldingHalves => {}
        }
    }
}

fn open(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    options.open(path).expect("opens")
}

/// Appends with a single write, as agents do.
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
