//! hooks.md: behaviour that its console blocks do not show. The real client runs these hooks in
//! `tests/clients/run --kind hook`.

use std::fs;

use serde_json::{Value, json};

use super::{bare, file, home, session};

fn commands() -> Vec<String> {
    let settings: Value = serde_json::from_str(&file("hooks.md", "settings.json")).expect("JSON");
    ["PreCompact", "SessionEnd"]
        .map(|event| {
            let command = &settings["hooks"][event][0]["hooks"][0]["command"];
            command.as_str().expect("a command").to_owned()
        })
        .to_vec()
}

/// The hook prints nothing, because the client would take it for an instruction. An unwritable
/// store does not stop the client's compaction, as exit status 2 would.
#[test]
fn a_hook_is_silent_and_no_obstacle() {
    let home = home();
    let path = "/usr/local/bin:/usr/bin:/bin";
    let event = json!({"transcript_path": session(home.path()), "trigger": "auto"});
    fs::write(home.path().join("event.json"), event.to_string()).expect("written");
    for command in commands() {
        let done = bare(home.path(), path, &format!("({command}) < event.json"));
        assert_eq!((done.code, done.stdout + &done.stderr), (0, String::new()));
    }
    let decisions = ".local/state/ctx/memory/extracted/decisions.md";
    assert!(home.path().join(decisions).exists());

    let store = home.path().join("store");
    fs::write(&store, "not a folder").expect("written");
    for command in commands() {
        let line = format!("export CTX_HOME=$HOME/store; ({command}) < event.json");
        let done = bare(home.path(), path, &line);
        assert_eq!((done.code, &*done.stdout), (123, ""), "{}", done.stderr);
    }
}

/// The hooks work if the name of the session file contains blanks and quotes.
#[test]
fn any_name_of_a_file_will_do() {
    let home = home();
    let odd = home.path().join("a 'b' \"c\" $d.jsonl");
    fs::copy(session(home.path()), &odd).expect("copied");
    let event = json!({"transcript_path": odd});
    fs::write(home.path().join("event.json"), event.to_string()).expect("written");
    let line = format!("({}) < event.json", commands()[0]);
    let done = bare(home.path(), "/usr/local/bin:/usr/bin:/bin", &line);
    assert_eq!((done.code, done.stdout + &done.stderr), (0, String::new()));
}
