//! Hostile input, one test for each kind: nothing crashes or hangs, nothing is lost, and errors are
//! reported.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use ctx_testkit::Case;

use crate::bench::{bash, good};

const USER: &str = "{\"role\":\"user\",\"content\":\"x\"}\n";

fn tool(name: &str) -> Case {
    Case::new(crate::tool_path(name))
}

/// Splits a session and strips the tags again, which must return the input.
fn stays_the_same(input: &[u8], stderr: &str) {
    let tagged = tool("ctx-split").stdin(input).stdout_any().stderr(stderr).run().stdout;
    tool("ctx-split").args(["--strip"]).stdin(tagged).stdout(input).run();
}

/// H1: a line of deeply nested brackets is a bad line, and nothing crashes.
#[test]
fn h1_a_million_brackets_are_one_opaque_line() {
    let bomb = format!("{}{}\n", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let inside = format!("{{\"role\":\"user\",\"content\":{}}}\n", bomb.trim_end());
    let input = format!("{USER}{bomb}{inside}{USER}");
    stays_the_same(
        input.as_bytes(),
        "ctx-split: warning: <stdin>:2: 1 bad line kept in place; the first: JSON, but not an object\n",
    );
    // ctx-check says what is wrong with both lines.
    for (tool_name, code) in [("ctx-check", 1), ("ctx-count", 0), ("ctx-extract", 0)] {
        tool(tool_name).stdin(input.clone()).stdout_any().stderr_has("").code(code).run();
    }
}

/// H1: values are nested so deeply that a recursive search would overflow the stack. What a
/// conversion leaves out is named by the path of a level that a person can read.
#[test]
fn h1_a_conversion_names_what_is_nested_deeply() {
    let nested = format!("{}{}", "[".repeat(40_000), "]".repeat(40_000));
    let line = format!("{{\"role\":\"user\",\"content\":\"x\",\"z\":{nested}}}\n");
    for to in [
        "anthropic",
        "claude-code",
        "codex",
        "copilot",
        "gemini",
        "kimi",
        "opencode",
        "pi",
        "qwen",
        "responses",
    ] {
        let lost =
            format!("1 value has no place in the dialect (messages[0].z{})", "[0]".repeat(63));
        tool("ctx-convert")
            .args(["-v", "--to", to])
            .stdin(line.clone())
            .stdout_any()
            .stderr_has(&lost)
            .run();
    }
}

/// H2: a line of 256 MiB in 200 MB of memory.
#[test]
fn h2_a_line_without_end_needs_bounded_memory() {
    let dir = tempfile::tempdir().expect("a folder");
    let split = crate::tool_path("ctx-split");
    // 256 MiB in one line, through two processes of 200 MB each.
    let script = format!(
        "ulimit -v 200000; export TMPDIR=.; {{ printf '%s' '{}'; head -c 268435456 /dev/zero | tr '\\0' a; printf '\\n%s' '{}'; }} \
         | {split} -q --keep-messages 0 | {split} --strip | cksum",
        USER.trim_end().to_owned() + "\n",
        USER.trim_end(),
        split = split.display(),
    );
    let expected = "{ printf '%s' \"$1\"; head -c 268435456 /dev/zero | tr '\\0' a; printf '\\n%s' \"$2\"; } | cksum";
    let run = |script: &str| {
        let output = Command::new("bash")
            .args(["-eo", "pipefail", "-c", script, "bash", USER, USER.trim_end()])
            .current_dir(dir.path())
            .output()
            .expect("bash");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(run(&script), run(expected));
}

/// H2: a request of two million short lines. It used to need a hundred times its bytes.
#[test]
fn h2_a_text_of_many_lines_needs_bounded_memory() {
    let dir = tempfile::tempdir().expect("a folder");
    let lines = "x\\n".repeat(2_000_000);
    let long = format!("{{\"role\":\"user\",\"content\":\"{lines}\"}}\n");
    let reply = "{\"role\":\"assistant\",\"content\":\"y\"}\n";
    let session = format!("{long}{}", format!("{reply}{USER}").repeat(4));
    fs::write(dir.path().join("s.jsonl"), session).expect("written");
    for tool in ["ctx-compact --force --keep-messages 2", "ctx-extract"] {
        let done = bash(dir.path(), &format!("ulimit -v 250000; {tool} < s.jsonl > new.jsonl"));
        assert_eq!(done.code, 0, "{tool}: {}", done.stderr);
    }
}

/// H3: every kind of broken line that agents are known to write.
#[test]
fn h3_every_kind_of_bad_line_stays_and_is_counted() {
    let lines: [(&[u8], &str); 6] = [
        (b"not json\n", "not JSON: expected ident at column 2"),
        (b"[1]\n", "JSON, but not an object"),
        (b"{\"a\":1}{\"b\":2}\n", "more than one object on the line"),
        (b"{\"a\":\"\xff\"}\n", "not UTF-8"),
        (b"\0\0\0\n", "NUL bytes"),
        (b"{\"a\":\"..{\"type\":1}\n", "not JSON: expected `,` or `}` at column 11"),
    ];
    for (line, why) in lines {
        let input = [USER.as_bytes(), line, USER.as_bytes()].concat();
        let warning =
            format!("ctx-split: warning: <stdin>:2: 1 bad line kept in place; the first: {why}\n");
        stays_the_same(&input, &warning);
        let failure = format!(
            "ctx-split: <stdin>:2: {why}; --invalid keep keeps bad lines, --invalid drop leaves them out\n"
        );
        tool("ctx-split")
            .args(["--invalid", "fail"])
            .stdin(input.clone())
            .stdout_any()
            .stderr(&failure)
            .code(2)
            .run();
        let dropped = tool("ctx-split")
            .args(["-q", "--invalid", "drop"])
            .stdin(input)
            .stdout_any()
            .run()
            .stdout;
        tool("ctx-split").args(["--strip"]).stdin(dropped).stdout(USER.repeat(2)).run();
    }
    // A byte order mark, other line ends, blanks, and a last line that is still being written do
    // not make a line bad.
    for input in [
        "\u{feff}{\"role\":\"user\",\"content\":\"x\"}\r\n\r\n",
        "\n \n",
        "{\"role\":\"user\",\"content\":\"x\"}\n{\"ro",
    ] {
        stays_the_same(input.as_bytes(), "");
    }
}

/// H4: repeated names, numbers that fit no type, and halves of a surrogate keep their bytes.
#[test]
fn h4_odd_json_keeps_its_bytes() {
    let input = "{\"role\":\"user\",\"content\":\"\\ud800\",\"a\":1,\"a\":2,\"n\":123456789012345678901,\"e\":1E2,\"z\":-0,\"h\":1e400}\n";
    stays_the_same(input.as_bytes(), "");
    let store = tool("ctx-snapshot").args(["-s", "odd"]).stdin(input).stdout(input).run();
    tool("ctx-snapshot")
        .within(store.dir())
        .args(["-s", "odd", "--show", "latest"])
        .stdout(input)
        .run();
}

/// H5: compressed input is refused, and the message says what it is.
#[test]
fn h5_compressed_input_is_never_expanded() {
    // The first bytes of a zstd frame that would expand to gigabytes.
    let input = [b"\x28\xb5\x2f\xfd\xa4\x00\x00\x00\x80\x54\x00\x00".as_slice(), &[0u8; 64], b"\n"]
        .concat();
    tool("ctx-split")
        .stdin(input)
        .stderr(
            "ctx-split: <stdin>: this is a zstd file, so it cannot be read; zstd -dc unpacks it\n",
        )
        .code(2)
        .run();
}

/// H6: names of sessions that would lead to another folder are refused.
#[test]
fn h6_session_ids_are_no_paths() {
    let long = "x".repeat(129);
    for id in [
        "../../x",
        "/abs",
        "",
        ".",
        "..",
        "-rf",
        ".hidden",
        "a\n",
        "a b",
        "*",
        "é",
        "a/b",
        long.as_str(),
    ] {
        let done = tool("ctx-snapshot")
            .args(["--session".to_owned() + "=" + id])
            .stdin(USER)
            .stderr_has("session")
            .code(2)
            .run();
        let stored = done.dir().join(".local");
        assert!(!stored.exists(), "{id:?} left something behind");
    }
}

/// H7: links, FIFOs, devices and folders in place of a session are refused.
#[test]
fn h7_what_is_no_regular_file_is_refused_and_never_waited_for() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("real.jsonl"), USER).expect("a file");
    symlink(at("real.jsonl"), at("link.jsonl")).expect("a link");
    assert!(Command::new("mkfifo").arg(at("fifo.jsonl")).status().expect("mkfifo").success());
    for name in ["link.jsonl", "fifo.jsonl", "/dev/zero", "."] {
        tool("ctx-snapshot")
            .within(dir.path())
            .args(["-s", "x", name])
            .stderr_has(name)
            .code(2)
            .run();
    }
    // The live file that a rollback would replace.
    tool("ctx-snapshot").within(dir.path()).args(["-s", "x", "real.jsonl"]).stdout_has("x-").run();
    for name in ["link.jsonl", "fifo.jsonl"] {
        tool("ctx-rollback")
            .within(dir.path())
            .args(["-s", "x", "--snapshot", "latest", "--to", name])
            .stderr_has(name)
            .code(2)
            .run();
    }
}

/// H7: a tool that changes its input in place refuses links, FIFOs, devices and folders, whichever
/// flag requests the change.
#[test]
fn h7_what_cannot_be_changed_in_place_is_not_waited_for() {
    let dir = tempfile::tempdir().expect("a folder");
    let fifo = dir.path().join("fifo.jsonl");
    let made = Command::new("mkfifo").arg(fifo).status();
    assert!(made.expect("mkfifo").success());
    for (name, args) in [
        ("ctx-prune", &["--clear", "-i"][..]),
        ("ctx-prune", &["--clear", "-n", "-i"]),
        ("ctx-offload", &["-s", "x", "-i"]),
        ("ctx-offload", &["-s", "x", "--restore", "-i"]),
        ("ctx-summarize", &["--budget", "900", "-o", "fifo.jsonl"]),
        ("ctx-split", &["--keep-turns", "1", "-o", "fifo.jsonl"]),
        ("ctx-check", &["--repair", "-o", "fifo.jsonl"]),
        ("ctx-stats", &["-o", "fifo.jsonl"]),
        ("ctx-compact", &["--force"]),
    ] {
        tool(name)
            .within(dir.path())
            .args(args.iter().copied())
            .args(["fifo.jsonl"])
            .stderr(&format!("{name}: fifo.jsonl is a FIFO\n"))
            .code(2)
            .run();
    }
    for flag in ["-i", "-ni"] {
        tool("ctx-prune")
            .within(dir.path())
            .args(["--clear", flag, "/dev/zero"])
            .stderr("ctx-prune: /dev/zero is a device or a socket\n")
            .code(2)
            .run();
    }
    // A device at both ends of a filter is not changed in place.
    for input in ["", "-"] {
        let script = format!("\"$0\" --clear {input} < /dev/null -o /dev/null");
        let done = Command::new("sh")
            .args(["-c", &script])
            .arg(crate::tool_path("ctx-prune"))
            .env("HOME", dir.path())
            .status();
        assert!(done.expect("sh").success(), "{script}");
    }
}

/// H7: a FIFO, which may have no writer, and a device, which may have no end, are not read, except
/// through stdin and the pipe of a process substitution.
#[test]
fn h7_a_reader_waits_for_no_fifo_and_reads_no_device() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("s.jsonl"), USER).expect("a file");
    assert!(
        Command::new("mkfifo").arg(dir.path().join("fifo")).status().expect("mkfifo").success()
    );
    for (file, kind) in [("fifo", "FIFO"), ("/dev/zero", "device")] {
        let why = format!("{file}: cannot read: it is a {kind}");
        let read = [
            "count",
            "check",
            "convert",
            "extract",
            "offload",
            "split",
            "stats",
            "summarize",
            "prune --clear",
            "score s.jsonl",
        ];
        for line in read.map(|name| format!("ctx-{name} {file}")) {
            let done = bash(dir.path(), &line);
            let hint = format!("{why}; to read it anyway, redirect stdin: < {file}\n");
            assert!(done.code == 2 && done.stderr.ends_with(&hint), "{line}: {}", done.stderr);
        }
        for line in [
            "ctx-compact --config @ s.jsonl",
            "ctx-prune --config @ s.jsonl",
            "ctx-summarize --config @ s.jsonl",
            "ctx-summarize --method llm --llm-url http://127.0.0.1:9 --template @ s.jsonl",
        ] {
            let done = bash(dir.path(), &line.replace('@', file));
            let why = format!("it is a {kind}");
            assert!(done.code == 2 && done.stderr.contains(&why), "{line}: {}", done.stderr);
        }
    }
    for line in [
        "ctx-count <(cat s.jsonl)",
        "ctx-count < <(cat s.jsonl)",
        "cat s.jsonl | ctx-count /dev/stdin",
        "cat s.jsonl | ctx-count /proc/self/fd/0",
        "{ cat s.jsonl > fifo & } ; ctx-count < fifo",
        "ctx-count /dev/null",
        "ctx-prune --config <(echo '[keep]') --clear s.jsonl",
    ] {
        let done = bash(dir.path(), line);
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
    }
}

/// H7: a link in the store could lead anywhere, so no tool writes through it. The store itself may
/// be a link.
#[test]
fn h7_a_link_in_the_store_is_not_followed() {
    let dir = tempfile::tempdir().expect("a folder");
    let (root, other) = (dir.path().join("store"), dir.path().join("other"));
    let mut count = 0;
    let mut session = || {
        count += 1;
        let said = format!("We decided to use cache{count} for the files.");
        let line = format!("{{\"role\":\"user\",\"content\":\"{said}\"}}\n");
        fs::write(dir.path().join("s.jsonl"), line).expect("a file");
    };
    session();
    fs::create_dir(dir.path().join("real")).expect("made");
    symlink("real", &root).expect("a link");
    let lines = [
        "ctx-snapshot -s x s.jsonl",
        "ctx-extract --into-store -s x s.jsonl",
        "ctx-memory search decided",
    ];
    for line in lines {
        good(dir.path(), &format!("{line} --store store"));
    }
    for (folder, which) in [
        ("memory", &lines[..]),
        ("memory/session-summaries", &lines),
        ("memory/extracted", &lines[1..2]),
        ("memory/daily", &lines[1..2]),
        ("locks", &lines),
        ("context", &lines),
        ("tmp", &lines),
        ("index", &lines[2..]),
        ("index/search", &lines[2..]),
    ] {
        let path = root.join(folder);
        fs::rename(&path, &other).expect("moved");
        symlink(&other, &path).expect("a link");
        let list = || crate::bench::files(&other).len();
        let before = list();
        for line in which {
            session();
            let done = bash(dir.path(), &format!("{line} --store store"));
            let why = format!("store/{folder} is a symbolic link");
            assert!(done.code != 0 && done.stderr.contains(&why), "{line}: {}", done.stderr);
            assert_eq!(list(), before, "{line}: {folder}");
        }
        fs::remove_file(&path).expect("removed");
        fs::rename(&other, &path).expect("moved");
    }
}

/// H7: the file FORMAT, which a tool reads first in a store, may be a FIFO, a link or a file with
/// any content.
#[test]
fn h7_a_planted_format_is_refused_and_never_waited_for() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("s.jsonl"), USER).expect("a file");
    tool("ctx-snapshot").within(dir.path()).args(["-q", "-s", "x", "s.jsonl"]).stdout_any().run();
    let format = dir.path().join(".local/state/ctx/FORMAT");
    let plant = |text: &str| fs::write(&format, text).expect("written");
    let link = |to: &str| symlink(to, &format).expect("a link");
    let plants: [(&dyn Fn(), &str); 5] = [
        (
            &|| {
                let made = Command::new("mkfifo").arg(&format).status();
                assert!(made.expect("mkfifo").success());
            },
            "is not a regular file",
        ),
        (&|| link("/dev/zero"), "is a symbolic link"),
        (&|| link("s.jsonl"), "is a symbolic link"),
        (&|| plant(&format!("{{\"format\":1{}}}\n", " ".repeat(1 << 20))), "has an unknown format"),
        (&|| plant("{\"format\":2}\n"), "has an unknown format"),
    ];
    for (plant, why) in plants {
        fs::remove_file(&format).expect("removed");
        plant();
        for (name, args) in [
            ("ctx-snapshot", &["-l"][..]),
            ("ctx-compact", &["--force", "s.jsonl"]),
            ("ctx-gc", &["-n"]),
            ("ctx-rollback", &["--undo", "s.jsonl"]),
        ] {
            tool(name)
                .within(dir.path())
                .args(args.iter().copied())
                .stderr_has(&format!("{} {why}", format.display()))
                .code(2)
                .run();
        }
    }
}

/// Returns the only file of the store whose name has this end.
fn stored(dir: &Path, end: &str) -> std::path::PathBuf {
    let folder = dir.join(".local/state/ctx/memory/session-summaries");
    let names =
        fs::read_dir(folder).expect("the store").map(|entry| entry.expect("an entry").path());
    names.into_iter().find(|path| path.to_string_lossy().ends_with(end)).expect("a stored file")
}

/// H8: edited records of snapshots are reported and not believed.
#[test]
fn h8_metadata_that_was_tampered_with_is_not_believed() {
    let done = tool("ctx-snapshot").args(["-s", "x"]).stdin(USER).stdout(USER).run();
    let meta = stored(done.dir(), ".meta.json");
    let original = fs::read_to_string(&meta).expect("metadata");
    let tampered = [
        original.replace("x-2", "../../etc/x-2"),
        original.replace(&format!("\"bytes\":{}", USER.len()), "\"bytes\":9223372036854775808"),
        original.replace("\"format\":1", "\"format\":99"),
        "[]".to_owned(),
        String::new(),
    ];
    for text in tampered {
        assert_ne!(text, original);
        fs::set_permissions(&meta, fs::Permissions::from_mode(0o600)).expect("writable");
        fs::write(&meta, &text).expect("tampered");
        tool("ctx-snapshot")
            .within(done.dir())
            .args(["--verify"])
            .stdout_any()
            .stderr_has("")
            .code(1)
            .run();
        tool("ctx-rollback")
            .within(done.dir())
            .args(["-s", "x", "--snapshot", "latest", "--to", "out.jsonl"])
            .stderr_has("ctx-rollback: ")
            .code(2)
            .run();
        assert!(!done.dir().join("out.jsonl").exists());
        // A snapshot that cannot be read is not known to be old, so gc leaves it alone and reports
        // it.
        tool("ctx-gc")
            .within(done.dir())
            .stdout_any()
            .stderr_has("ctx-gc: snapshot x-")
            .code(3)
            .run();
        assert!(meta.exists());
    }
}

#[test]
fn a_closed_pipe_is_silent() {
    for name in ["ctx-split", "ctx-count"] {
        let mut child = Command::new(crate::tool_path(name))
            .args(if name == "ctx-count" { ["--annotate"].as_slice() } else { &[] })
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().expect("piped");
        // The tool may exit before everything is written.
        let _ = stdin.write_all(USER.repeat(20_000).as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{name}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
    }
}
