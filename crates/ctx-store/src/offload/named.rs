//! Which offloaded files a transcript names: found by the beginning of their
//! hash, whatever stands around it.

use std::collections::HashMap;
use std::io::{self, Read};

use super::OffloadedFile;

/// How many digits of its hash name a file: a path has all 64, a handle has 8, one of an
/// older version 12.
const DIGITS: u32 = 8;
const MASK: u64 = (1 << (4 * DIGITS)) - 1;

/// A search for files that no transcript names.
pub(super) struct Search {
    unnamed: HashMap<u64, Vec<OffloadedFile>>,
}

impl Search {
    pub(super) fn new(files: Vec<OffloadedFile>) -> Self {
        let mut unnamed: HashMap<u64, Vec<OffloadedFile>> = HashMap::new();
        for file in files {
            let key = file.name.sha256().bytes().filter_map(digit);
            let key = key.take(DIGITS as usize).fold(0, |key, d| key << 4 | d);
            unnamed.entry(key).or_default().push(file);
        }
        Self { unnamed }
    }

    /// Drops the files that `reader` names.
    pub(super) fn look_through(&mut self, reader: &mut impl Read) -> io::Result<()> {
        let mut buffer = vec![0; 128 * 1024];
        // The last digits as a number, and how many digits stand behind each other.
        let (mut window, mut run) = (0, 0_u32);
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            for byte in &buffer[..read] {
                let Some(digit) = digit(*byte) else {
                    run = 0;
                    continue;
                };
                window = (window << 4 | digit) & MASK;
                run = (run + 1).min(DIGITS);
                if run == DIGITS {
                    self.unnamed.remove(&window);
                }
            }
        }
    }

    /// What nothing named.
    pub(super) fn unreferenced(self) -> Vec<OffloadedFile> {
        let mut files: Vec<OffloadedFile> = self.unnamed.into_values().flatten().collect();
        files.sort();
        files
    }
}

fn digit(byte: u8) -> Option<u64> {
    match byte {
        b'0'..=b'9' => Some(u64::from(byte - b'0')),
        b'a'..=b'f' => Some(u64::from(byte - b'a' + 10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Search;
    use crate::{Form, OffloadName, OffloadedFile};

    fn file(text: &str) -> OffloadedFile {
        OffloadedFile {
            session: "demo".parse().expect("an id"),
            name: OffloadName::of(text.as_bytes(), Form::TEXT),
        }
    }

    #[test]
    fn a_name_is_found_wherever_it_stands() {
        let hash = file("x").name.sha256().to_owned();
        let half = 128 * 1024 - 4;
        for (text, named) in [
            (
                format!("Tool result is at: /s/offloaded/demo/{hash}.txt"),
                true,
            ),
            (format!("⟦ctx:{} 12 bytes⟧", &hash[..12]), true),
            (format!("ctx-offload --show {}⟧", &hash[..8]), true),
            (format!("\\u00e9{}", &hash[..8]), true),
            (format!("{}{}", " ".repeat(half), &hash[..8]), true),
            (format!("{}-", &hash[..7]), false),
            (format!("{}-{}", &hash[..4], &hash[4..8]), false),
            (hash[..8].to_uppercase(), false),
            (String::new(), false),
        ] {
            let mut search = Search::new(vec![file("x"), file("y")]);
            search.look_through(&mut text.as_bytes()).expect("reads");
            let left = search.unreferenced();
            assert_eq!(!left.contains(&file("x")), named, "{}", text.trim());
            assert!(left.contains(&file("y")));
        }
    }
}
