//! A pseudo-terminal for tests of what programs print on a terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A pseudo-terminal to which programs write, and on which a test types keys.
pub struct Terminal {
    keys: File,
    /// The programs' side. The terminal exists as long as this side is open.
    side: Option<File>,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

/// The longest wait for output.
const PATIENCE: Duration = Duration::from_secs(20);

impl Terminal {
    /// Creates an empty terminal with this number of columns.
    pub fn new(columns: u16) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&controller).expect("granted");
        unlockpt(&controller).expect("unlocked");
        let name = ptsname(&controller, Vec::new()).expect("a name");
        let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let side = OpenOptions::new().read(true).write(true).open(path);
        let side = side.expect("the other side");
        let columns_and_rows = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&side, columns_and_rows).expect("a size");
        let keys = File::from(controller);
        let mut screen = keys.try_clone().expect("a handle");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let reader = {
            let shown = shown.clone();
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                // Reading fails when the programs' side is closed, which is the end of the output.
                while let Ok(count @ 1..) = screen.read(&mut buffer) {
                    let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                    shown.extend_from_slice(&buffer[..count]);
                }
            })
        };
        Self { keys, side: Some(side), shown, reader: Some(reader) }
    }

    /// Returns the terminal as a stream for a program.
    pub fn stream(&self) -> Stdio {
        let side = self.side.as_ref().expect("it is open");
        Stdio::from(side.try_clone().expect("a handle"))
    }

    /// Types keys on the terminal.
    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("typed");
    }

    /// Returns what has been written so far, including escape sequences.
    pub fn shown(&self) -> String {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// Waits until `text` appears after the first `after` bytes, and returns the position of its
    /// end.
    pub fn wait_for(&self, text: &str, after: usize) -> usize {
        let begun = Instant::now();
        loop {
            let shown = self.shown();
            if let Some(at) = shown.get(after..).and_then(|rest| rest.find(text)) {
                return after + at + text.len();
            }
            assert!(begun.elapsed() < PATIENCE, "{text:?} does not come: {:?}", shown.get(after..));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns everything that was written, once the programs have ended.
    pub fn ended(mut self) -> String {
        self.side = None;
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no panic");
        }
        self.shown()
    }
}
