//! A pseudo-terminal, for what programs do on a terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A terminal with this many columns, on which programs write and keys are typed.
pub struct Terminal {
    keys: File,
    /// The side of the programs: as long as it is open, the terminal is there.
    side: Option<File>,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

/// What is waited for has to come within that.
const PATIENCE: Duration = Duration::from_secs(20);

impl Terminal {
    /// Nothing is on it.
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
                // Without another side there is an error, and that is the end.
                while let Ok(count @ 1..) = screen.read(&mut buffer) {
                    let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
                    shown.extend_from_slice(&buffer[..count]);
                }
            })
        };
        Self { keys, side: Some(side), shown, reader: Some(reader) }
    }

    /// It, for a stream of a program.
    pub fn stream(&self) -> Stdio {
        let side = self.side.as_ref().expect("it is open");
        Stdio::from(side.try_clone().expect("a handle"))
    }

    /// Types.
    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("typed");
    }

    /// What was written so far, escapes and all.
    pub fn shown(&self) -> String {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// Waits until `text` is written, after the first `after` bytes; returns where it ends.
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

    /// All that was written, when its programs have ended.
    pub fn ended(mut self) -> String {
        self.side = None;
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no panic");
        }
        self.shown()
    }
}
