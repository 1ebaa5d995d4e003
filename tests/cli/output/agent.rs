//! Tools write outputs while an agent appends to the session.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{place, read};
use crate::tool_path;

/// Appends numbered lines like an agent until it is stopped; returns their number.
fn agent(path: &Path, is_held: bool, begun: &Barrier, stop: &AtomicBool) -> usize {
    let open = || OpenOptions::new().append(true).open(path).expect("opens");
    let mut held = is_held.then(open);
    begun.wait();
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let line = format!("{{\"role\":\"user\",\"content\":\"agent {count}.\"}}\n");
        let write = |mut file: &File| file.write_all(line.as_bytes()).expect("writes");
        held.as_mut().map_or_else(|| write(&open()), |file| write(file));
        count += 1;
        std::thread::sleep(Duration::from_micros(500));
    }
    count
}

/// Whatever a tool does to a session to which an agent appends, through an open descriptor or by
/// opening it for each line, every line is there once in the end.
#[test]
fn no_line_of_an_agent_is_lost() {
    let calls = [
        ("ctx-offload", &["--min-tokens", "50"][..]),
        ("ctx-prune", &["--clear", "--protect-last", "1"]),
        ("ctx-split", &["--strip"]),
        ("ctx-count", &["--annotate"]),
        ("ctx-check", &["-q", "--repair"]),
    ];
    for (name, flags) in calls {
        for is_held in [true, false] {
            let dir = place();
            let path = dir.path().join("s.jsonl");
            let (begun, stop) = (Barrier::new(2), AtomicBool::new(false));
            let (count, codes) = std::thread::scope(|scope| {
                let agent = scope.spawn(|| agent(&path, is_held, &begun, &stop));
                begun.wait();
                let run = || {
                    let status = Command::new(tool_path(name))
                        .args(flags)
                        .args(["s.jsonl", "-o", "s.jsonl"])
                        .current_dir(dir.path())
                        .env("HOME", dir.path())
                        .stderr(Stdio::null())
                        .status();
                    status.expect("runs").code()
                };
                let codes = [0; 6].map(|_| run());
                stop.store(true, Ordering::Relaxed);
                (agent.join().expect("no panic"), codes)
            });
            let found = read(dir.path(), "s.jsonl");
            for n in 0..count {
                let line = format!("agent {n}.\"");
                assert_eq!(found.matches(&line).count(), 1, "{name}: {n} of {count}");
            }
            for code in codes {
                assert!(code == Some(4) || (!is_held && code == Some(0)), "{name}: {codes:?}");
            }
        }
    }
}
