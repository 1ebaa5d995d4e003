use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use tempfile::TempDir;

use super::{AgentFolder, Finds, Mark, find, is_of_helper, is_session_name};

fn tree(files: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for file in files {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, file).expect("written");
    }
    dir
}

fn names(dir: &Path, finds: &Finds) -> Vec<String> {
    let paths = finds.files.iter().map(|it| it.path.strip_prefix(dir).expect("below"));
    paths.map(|path| path.display().to_string()).collect()
}

#[test]
fn sessions_are_found_in_order_and_helpers_only_when_asked_for() {
    let dir = tree(&[
        "b/2.jsonl",
        "b/1.jsonl",
        "a/agent-x.jsonl",
        "a/1/subagents/y.jsonl",
        "a/x.txt",
        ".c/3.jsonl",
    ]);
    let paths = [dir.path().to_owned()];
    let finds = find(&paths, &[], false);
    assert_eq!(names(dir.path(), &finds), ["b/1.jsonl", "b/2.jsonl"]);
    assert_eq!((finds.helpers, finds.failed.len(), finds.unreadable.len()), (2, 0, 0));
    let finds = find(&paths, &[], true);
    assert_eq!(finds.files.len(), 4);
}

#[test]
fn links_are_followed_once_and_loops_are_told() {
    let dir = tree(&["p/1.jsonl"]);
    let at = |name: &str| dir.path().join(name);
    symlink(at("p"), at("q")).expect("a link");
    symlink(dir.path(), at("p/loop")).expect("a link");
    symlink(at("gone"), at("p/nowhere.jsonl")).expect("a link");
    let _socket = UnixListener::bind(at("p/s.jsonl")).expect("a socket");
    let finds = find(&[dir.path().to_owned()], &[], false);
    assert_eq!(names(dir.path(), &finds), ["p/1.jsonl"]);
    let loops =
        finds.unreadable.iter().filter(|(_, error)| error.to_string().contains("that contains it"));
    assert!(loops.count() >= 1, "{:?}", finds.unreadable);
    assert!(finds.unreadable.iter().any(|(path, _)| path.ends_with("nowhere.jsonl")));
}

#[test]
fn of_an_agents_place_only_sessions_are_taken() {
    let dir = tree(&[
        "main/sessions/1.jsonl",
        "main/logs/2.jsonl",
        "sessions/3.jsonl.zst",
        "sessions/3.jsonl",
        "sessions/4.jsonl.zst",
        "state/5/events.jsonl",
        "state/5/files/6.jsonl",
    ]);
    let places = [
        AgentFolder { agent: "copilot", folder: dir.path().join("state") },
        AgentFolder { agent: "openclaw", folder: dir.path().join("main") },
        AgentFolder { agent: "codex", folder: dir.path().join("sessions") },
        AgentFolder { agent: "pi", folder: dir.path().join("not there") },
    ];
    let finds = find(&[], &places, false);
    assert_eq!(
        names(dir.path(), &finds),
        [
            "state/5/events.jsonl",
            "main/sessions/1.jsonl",
            "sessions/3.jsonl",
            "sessions/4.jsonl.zst"
        ]
    );
    let agents: Vec<_> = finds.files.iter().map(|it| (it.agent, it.is_packed)).collect();
    let copilot = (Some("copilot"), false);
    assert_eq!(
        agents,
        [copilot, (Some("openclaw"), false), (Some("codex"), false), (Some("codex"), true)]
    );
    let named = [dir.path().join("main/logs/2.jsonl")];
    let finds = find(&named, &places, false);
    assert_eq!(finds.files[0].agent, Some("openclaw"), "what is named is listed");
}

#[test]
fn only_the_chats_of_qwen_code_are_sessions() {
    let sessions = ["-w/chats/1.jsonl", "-w/chats/archive/2.jsonl"];
    let others = ["-w/chats/1.ledger.jsonl", "-w/subagents/1/agent-3.jsonl", "-w/usage.jsonl"];
    let dir = tree(&[&sessions[..], &others].concat());
    let places = [AgentFolder { agent: "qwen", folder: dir.path().to_owned() }];
    assert_eq!(names(dir.path(), &find(&[], &places, true)), sessions);
}

#[test]
fn the_snapshots_of_a_store_are_no_sessions_unless_it_is_named() {
    let dir = tree(&["1.jsonl", "kept/memory/2.jsonl"]);
    let store = dir.path().join("kept");
    fs::create_dir(store.join("context")).expect("made");
    fs::write(store.join("FORMAT"), "{\"format\":1}\n").expect("written");
    let finds = find(&[dir.path().to_owned()], &[], false);
    assert_eq!(names(dir.path(), &finds), ["1.jsonl"]);
    let finds = find(&[store], &[], false);
    assert_eq!(names(dir.path(), &finds), ["kept/memory/2.jsonl"]);
}

#[test]
fn what_is_named_and_cannot_be_read_has_failed() {
    let dir = tree(&[]);
    let named = [dir.path().join("no"), "/dev/null".into()];
    let finds = find(&named, &[], false);
    assert_eq!((finds.files.len(), finds.failed.len()), (0, 2));
    drop(File::create(dir.path().join("x")).expect("a file"));
    let finds = find(&[dir.path().join("x")], &[], false);
    assert_eq!(finds.files.len(), 1, "whatever its name");
}

#[test]
fn what_has_just_changed_is_not_settled() {
    let mark = Mark { modified: (1_000, 500_000_000), ..Mark::default() };
    let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    assert!(!mark.is_settled(at(900)), "in the future");
    assert!(!mark.is_settled(at(1_002)));
    assert!(mark.is_settled(at(1_003)));
    assert_eq!(mark.age(at(1_001)), Some(Duration::from_millis(500)));
}

fn folders(variables: &[(&str, &str)]) -> Vec<(&'static str, PathBuf)> {
    let places = AgentFolder::usual(|name| {
        let set = variables.iter().find(|(own, _)| *own == name);
        set.map(|(_, value)| value.into())
    });
    places.into_iter().map(|it| (it.agent, it.folder)).collect()
}

#[test]
fn places_are_below_the_home_unless_a_variable_names_them() {
    let usual = [
        ("claude-code", "/h/.claude/projects"),
        ("codex", "/h/.codex/sessions"),
        ("codex", "/h/.codex/archived_sessions"),
        ("copilot", "/h/.copilot/session-state"),
        ("gemini", "/h/.gemini/tmp"),
        ("kimi", "/h/.kimi-code/sessions"),
        ("oh-my-pi", "/h/.omp/agent/sessions"),
        ("openclaw", "/h/.openclaw/agents"),
        ("pi", "/h/.pi/agent/sessions"),
        ("qwen", "/h/.qwen/projects"),
    ];
    let usual: Vec<_> = usual.map(|(agent, dir)| (agent, dir.into())).into();
    assert_eq!(folders(&[("HOME", "/h"), ("CODEX_HOME", "")]), usual);
    let moved = folders(&[
        ("HOME", "/h"),
        ("CLAUDE_CONFIG_DIR", "/c"),
        ("CODEX_HOME", "/x"),
        ("COPILOT_HOME", "/i"),
        ("GEMINI_CLI_HOME", "/g"),
        ("KIMI_CODE_HOME", "/k"),
        ("OPENCLAW_HOME", "/o"),
        ("PI_CODING_AGENT_DIR", "~/p"),
        ("QWEN_HOME", "/q"),
    ]);
    let dirs: Vec<_> = moved.iter().map(|(_, dir)| dir.to_str()).collect();
    let expected = [
        "/c/projects",
        "/x/sessions",
        "/x/archived_sessions",
        "/i/session-state",
        "/g/.gemini/tmp",
        "/k/sessions",
        "/h/.omp/agent/sessions",
        "/o/.openclaw/agents",
        "/h/p/sessions",
        "/q/projects",
    ];
    assert_eq!(dirs, expected.map(Some));
    let named = folders(&[
        ("OPENCLAW_STATE_DIR", "/s"),
        ("PI_CODING_AGENT_SESSION_DIR", "/t"),
        ("QWEN_RUNTIME_DIR", "/r"),
        ("QWEN_HOME", "/q"),
    ]);
    let expected = [("openclaw", "/s/agents"), ("pi", "/t"), ("qwen", "/r/projects")];
    assert_eq!(named, expected.map(|(agent, dir)| (agent, dir.into())));
}

#[test]
fn sessions_and_helpers_are_told_by_their_names() {
    for (path, is_session, is_helper) in [
        ("p/0a1b.jsonl", true, false),
        ("p/agent-7.jsonl", true, true),
        ("p/0a1b/subagents/agent-7.jsonl", true, true),
        ("p/0a1b/tool-results/x.txt", false, false),
        ("chats/session-1.json", true, false),
        ("exports/ses_1.json", true, false),
        ("chats/0a1b/x.jsonl", true, true),
        ("chats/archive/0a1b.jsonl", true, false),
        ("logs.json", false, false),
        ("wd_x_1/session_1/agents/main/wire.jsonl", true, false),
        ("wd_x_1/session_1/agents/agent-1/wire.jsonl", true, true),
        ("s/rollout-1.jsonl.zst", true, false),
    ] {
        let path = Path::new(path);
        assert_eq!(is_session_name(path), is_session, "{path:?}");
        assert_eq!(is_of_helper(path), is_helper, "{path:?}");
    }
}
