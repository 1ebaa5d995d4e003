//! How agents write their sessions.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::lines::{EXCHANGE, numbered};

/// How an agent writes its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Opens the file for each line.
    Opening,
    /// Opens it for each half of a line.
    OpeningForHalves,
    /// Holds it open, for so many lines at a time.
    Holding(usize),
    /// Holds it open, and for the most part is in the middle of a line.
    HoldingHalves,
    /// Two that know nothing of each other open it, each for a whole exchange.
    Two,
    /// Reads all of it and writes it over, with one line more.
    WritingOver,
    /// The same next to it, and renames.
    Renaming,
    /// Copies it, appends an exchange to the copy line by line, and renames the copy.
    Copying,
}

/// The numbers of the lines that an agent knows to be written. The agent holds this while it
/// changes the session, so the holder sees it between two changes.
pub(super) type Journal = Mutex<Vec<usize>>;

/// What the agents and the harness know of each other.
#[derive(Default)]
pub(super) struct Signals {
    /// The agents are to end.
    pub(super) stop: AtomicBool,
    /// How long the last try took, in milliseconds. Agents rest longer where tools take
    /// longer: on a busy machine nothing would go through otherwise.
    pub(super) took: AtomicU32,
}

/// Between two writes.
pub(super) const PAUSE: Duration = Duration::from_millis(1);
/// In the middle of a line.
const HALF_PAUSE: Duration = Duration::from_millis(20);
/// Between two times of holding the file or of writing all of it, which nothing
/// but a pause lets anybody else come in between of.
const LONG_PAUSE: Duration = Duration::from_millis(250);

impl Agent {
    /// How many write at once.
    pub(super) fn writers(self) -> usize {
        if self == Self::Two { 2 } else { 1 }
    }

    /// Writes whole exchanges until it is stopped.
    pub(super) fn write(self, path: &Path, writer: usize, journal: &Journal, signals: &Signals) {
        let mut held: Option<File> = None;
        let mut exchange = 0;
        while !signals.stop.load(Ordering::SeqCst) {
            let first = (exchange * self.writers() + writer) * EXCHANGE;
            let numbers = first..first + EXCHANGE;
            match self {
                Self::Two => {
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
                        self.write_line(path, number, &mut held, journal);
                        std::thread::sleep(PAUSE);
                    }
                }
            }
            exchange += 1;
            let took = Duration::from_millis(signals.took.load(Ordering::SeqCst).into());
            self.rest(exchange, took, &mut held);
        }
    }

    fn write_line(self, path: &Path, number: usize, held: &mut Option<File>, journal: &Journal) {
        let line = numbered(number);
        let (start, end) = line.split_at(line.len() / 2);
        // Read before, so that others come in between.
        let rewrites = matches!(self, Self::WritingOver | Self::Renaming);
        let new = if rewrites { with(path, &line) } else { Vec::new() };
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
            Self::Opening | Self::Two | Self::Copying => append(&mut open(path), &line),
        }
        journal.push(number);
    }

    /// Pauses of many lengths, so that other processes are met at many points.
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
            // There are tools that only replace a session which is at rest.
            Self::Opening | Self::Two if exchange.is_multiple_of(16) => {
                std::thread::sleep(2 * pause);
            }
            Self::Two => std::thread::sleep(4 * PAUSE),
            Self::Opening | Self::OpeningForHalves | Self::HoldingHalves => {}
        }
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
