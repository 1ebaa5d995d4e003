//! Runs every target on its corpus: on the inputs themselves, on their beginnings, and on altered
//! copies.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_fuzz::{TARGETS, run};

/// How many times each input is cut, and how many times it is altered.
const TIMES: usize = 100;

fn inputs(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let files = fs::read_dir(folder.join(target)).expect("a target has a corpus");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("reads").path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).expect("reads");
        (path, bytes)
    };
    files.into_iter().map(read).collect()
}

/// Knuth's 64-bit pseudo-random generator, which returns the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        const FACTOR: u64 = 6_364_136_223_846_793_005;
        const STEP: u64 = 1_442_695_040_888_963_407;
        self.0 = self.0.wrapping_mul(FACTOR).wrapping_add(STEP);
        usize::try_from(self.0 >> 33).expect("31 bits") % below
    }
}

/// Bytes that have a special meaning in one of the formats.
const MEANT: &[u8] = b"\0\n\r\"\\{}[]:,-. #=_\x80\xbf\xc3\xef\xff09azAZ";

fn altered(bytes: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=numbers.next(4) {
        let at = numbers.next(bytes.len());
        match numbers.next(4) {
            0 => bytes[at] = MEANT[numbers.next(MEANT.len())],
            1 => bytes.insert(at, MEANT[numbers.next(MEANT.len())]),
            2 if bytes.len() > 1 => {
                bytes.remove(at);
            }
            _ => {
                let end = (at + 1 + numbers.next(40)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
    bytes
}

fn on_its_corpus(target: &str) {
    let files = inputs(target);
    assert!(files.len() >= 5, "{target} has too small a corpus");
    let mut numbers = Numbers(11);
    for (path, bytes) in files {
        let holds = |bytes: &[u8]| {
            let ended = std::panic::catch_unwind(|| run(target, bytes));
            assert!(ended.is_ok(), "{}: {}", path.display(), bytes.escape_ascii());
        };
        holds(&bytes);
        if bytes.is_empty() {
            continue;
        }
        for _ in 0..TIMES {
            holds(&bytes[..numbers.next(bytes.len())]);
            holds(&altered(&bytes, &mut numbers));
        }
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            on_its_corpus(stringify!($name));
        })*

        #[test]
        fn every_target_is_tested_and_has_a_program() {
            let tested = [$(stringify!($name)),*];
            assert_eq!(TARGETS.map(|(name, _)| name), tested);
            let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets");
            for name in tested {
                let program = fs::read_to_string(programs.join(format!("{name}.rs")));
                let call = format!("ctx_fuzz::run(\"{name}\", bytes)");
                assert!(program.expect(name).contains(&call), "{name}");
            }
        }
    };
}

targets! { records splice dialect convert snapshot name config summary secret }
