//! Progress of a long run: libraries report it, and know nothing about terminals.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

/// Gets the progress of a run, from any thread and often, so it must be quick.
pub trait Observer: Send + Sync {
    /// Another part of the work begins.
    fn stage(&self, what: &str);
    /// So many bytes will be read from their beginning, once more or for the first time.
    fn reading(&self, bytes: u64);
    /// So many more of them are read.
    fn read(&self, bytes: u64);
    /// A model is asked; the answer takes as long as it takes.
    fn asking(&self, what: &str);
}

/// An observer of a run; none by default.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<dyn Observer>>);

impl Watch {
    /// Tells `observer`.
    pub fn of(observer: Arc<dyn Observer>) -> Self {
        Self(Some(observer))
    }

    /// Another part of the work begins.
    pub fn stage(&self, what: &str) {
        if let Some(observer) = &self.0 {
            observer.stage(what);
        }
    }

    /// A model is asked.
    pub fn asking(&self, what: impl FnOnce() -> String) {
        if let Some(observer) = &self.0 {
            observer.asking(&what());
        }
    }

    /// A reader of this many bytes that reports its progress.
    pub fn over<R: Read>(&self, reader: R, bytes: u64) -> Watched<R> {
        if let Some(observer) = &self.0 {
            observer.reading(bytes);
        }
        Watched { reader, watch: self.clone() }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.0.is_some() { "somebody" } else { "nobody" };
        f.debug_tuple("Watch").field(&who).finish()
    }
}

/// A reader with an observer.
pub struct Watched<R> {
    reader: R,
    watch: Watch,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if let Some(observer) = &self.watch.0 {
            observer.read(count as u64);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::{Arc, Mutex};

    use super::{Observer, Watch};

    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl Told {
        fn add(&self, what: String) {
            self.0.lock().expect("no panic").push(what);
        }
    }

    impl Observer for Told {
        fn stage(&self, what: &str) {
            self.add(what.to_owned());
        }
        fn reading(&self, bytes: u64) {
            self.add(format!("of {bytes}"));
        }
        fn read(&self, bytes: u64) {
            self.add(format!("{bytes}"));
        }
        fn asking(&self, what: &str) {
            self.add(format!("ask {what}"));
        }
    }

    fn run(watch: &Watch) -> String {
        let mut text = String::new();
        watch.stage("reading");
        let mut reader = watch.over(&b"four"[..], 4);
        reader.read_to_string(&mut text).expect("from memory");
        watch.asking(|| "part 1 of 2".to_owned());
        text
    }

    /// Reading is reported, and gives the same bytes with and without an observer.
    #[test]
    fn what_is_read_is_told() {
        let told = Arc::new(Told::default());
        assert_eq!(run(&Watch::of(told.clone())), "four");
        let told = told.0.lock().expect("no panic").clone();
        assert_eq!(told, ["reading", "of 4", "4", "0", "ask part 1 of 2"]);
        assert_eq!(run(&Watch::default()), "four");
    }
}
