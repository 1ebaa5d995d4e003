//! The line on the terminal, and the thread that draws it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Counts, Snapshot};

/// A shorter run ends before anyone could read the line.
const DELAY: Duration = Duration::from_secs(1);
/// The time between two drawings.
const TICK: Duration = Duration::from_millis(100);
/// On a narrower terminal there is no room for a bar next to the figures.
const LEAST_FOR_BAR: u16 = 70;

pub(super) struct Line {
    bar: ProgressBar,
    is_drawn: Arc<AtomicBool>,
    drawer: Mutex<Option<Drawer>>,
}

/// The thread that draws, until its sender is gone.
struct Drawer {
    thread: JoinHandle<()>,
    goes_on: Sender<()>,
}

impl Line {
    /// Draws from now on, as soon as it is worth it. Without a thread nothing is drawn.
    pub(super) fn start(counts: Arc<Counts>, colour: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        let is_drawn = Arc::new(AtomicBool::new(false));
        let (goes_on, ended) = channel();
        let thread = {
            let (bar, is_drawn) = (bar.clone(), is_drawn.clone());
            Builder::new().spawn(move || {
                let mut wait = DELAY;
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    wait = TICK;
                    is_drawn.store(true, Ordering::SeqCst);
                    draw(&bar, &counts.snapshot(Instant::now()), colour);
                }
                if is_drawn.load(Ordering::SeqCst) {
                    bar.finish_and_clear();
                }
            })
        };
        let drawer = thread.ok().map(|thread| Drawer { thread, goes_on });
        Self { bar, is_drawn, drawer: Mutex::new(drawer) }
    }

    /// Takes the line away, and draws no more.
    pub(super) fn end(&self) {
        let mut drawer = self.drawer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Drawer { thread, goes_on }) = drawer.take() {
            drop(goes_on);
            let _ = thread.join();
            self.is_drawn.store(false, Ordering::SeqCst);
        }
    }

    /// Takes the line away while something else is written.
    pub(super) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        if self.is_drawn.load(Ordering::SeqCst) { self.bar.suspend(write) } else { write() }
    }
}

fn draw(bar: &ProgressBar, snapshot: &Snapshot, colour: bool) {
    let columns = rustix::termios::tcgetwinsize(std::io::stderr());
    let has_room = columns.is_ok_and(|size| size.ws_col >= LEAST_FOR_BAR);
    let template = match snapshot.share {
        Some(_) if has_room && colour => "{msg} {wide_bar:.cyan} {prefix}",
        Some(_) if has_room => "{msg} {wide_bar} {prefix}",
        _ => "{spinner} {wide_msg}",
    };
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("█░"));
    let Snapshot { what, share, figures } = snapshot;
    if share.is_some() && has_room {
        bar.set_prefix(figures.clone());
        bar.set_message(what.clone());
    } else if figures.is_empty() {
        bar.set_message(what.clone());
    } else {
        bar.set_message(format!("{what}: {figures}"));
    }
    let (position, length) = share.unwrap_or((0, 1));
    bar.set_length(length);
    bar.set_position(position);
    bar.tick();
}
