//! Tests of `ctx-offload`.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ctx_testkit::Case;
use tempfile::TempDir;

use crate::rollback::Mounted;
use crate::snapshot::CTX_SNAPSHOT;
use crate::tool_path;

const CTX_OFFLOAD: &str = env!("CARGO_BIN_EXE_ctx-offload");

fn offload(dir: &Path) -> Case {
    Case::new(CTX_OFFLOAD).within(dir)
}

fn gc(dir: &Path) -> Case {
    Case::new(tool_path("ctx-gc")).within(dir)
}

fn call(id: &str) -> String {
    format!(
        "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"id\":\"{id}\",\"type\":\"function\",\"function\":{{\"name\":\"read\",\"arguments\":\"{{}}\"}}}}]}}\n"
    )
}

fn result(id: &str, content: &str) -> String {
    format!("{{\"role\":\"tool\",\"tool_call_id\":\"{id}\",\"content\":\"{content}\"}}\n")
}

const USER: &str = "{\"role\":\"user\",\"content\":\"Look.\"}\n";

/// Returns a text of 1,002 tokens.
fn log(word: &str) -> String {
    format!("{word} line\\n").repeat(334)
}

/// Returns the SHA-256 of a text, as `sha256sum` prints it.
fn sha256(json: &str) -> String {
    let text: String = serde_json::from_str(&format!("\"{json}\"")).expect("a string");
    ctx_store::OffloadName::of(text.as_bytes(), ctx_store::Form::TEXT).sha256
}

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn dir(&self) -> &Path {
        self.0.path()
    }

    /// Returns the folder of session demo.
    fn folder(&self) -> PathBuf {
        let real = self.dir().canonicalize().expect("a path");
        real.join(".local/state/ctx/offloaded/demo")
    }

    fn file(&self, json: &str) -> PathBuf {
        self.folder().join(format!("{}.txt", sha256(json)))
    }

    fn reference(&self, json: &str) -> String {
        let path = self.file(json);
        let bytes = 334 * json.split("\\n").next().map_or(0, |line| line.len() + 1);
        format!("Tool result (read, {bytes} bytes) is at: {}", path.display())
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.dir().join(name), bytes).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir().join(name)).expect("a file")
    }

    /// Moves both results out of [`session`], and returns the new session.
    fn offloaded(&self) -> String {
        let out = format!(
            "{USER}{}{}{}{}{USER}",
            call("a"),
            result("a", &self.reference(&log("one"))),
            call("b"),
            result("b", &self.reference(&log("two"))),
        );
        offload(self.dir())
            .args(["-s", "demo", "--min-tokens", "500"])
            .stdin(session())
            .stdout(out.clone())
            .run();
        out
    }
}

/// Returns a session with two large results and two small ones.
fn session() -> String {
    [
        USER.to_owned(),
        call("a"),
        result("a", &log("one")),
        call("b"),
        result("b", &log("two")),
        USER.to_owned(),
    ]
    .concat()
}

#[test]
fn large_results_go_into_files_and_come_back() {
    let place = Place::new();
    place.write("s.jsonl", session());
    let counter = ctx_tokens::Encoding::O200kBase.counter();
    let references = ["one", "two"].map(|word| place.reference(&log(word)));
    let freed = 2 * 1002 - references.map(|text| counter.count(&text)).iter().sum::<u64>();
    offload(place.dir())
        .args(["-v", "-s", "demo", "--min-tokens", "500", "s.jsonl", "-o", "new.jsonl"])
        .stderr(&format!("ctx-offload: s.jsonl: 2 results offloaded, {freed} tokens freed\n"))
        .run();
    assert_eq!(place.read("new.jsonl"), place.offloaded());
    let path = place.file(&log("one"));
    assert_eq!(fs::read_to_string(&path).expect("a file"), "one line\n".repeat(334));
    let mode = path.metadata().expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    offload(place.dir())
        .args(["-v", "-s", "demo", "--restore", "new.jsonl"])
        .stdout(session())
        .stderr("ctx-offload: new.jsonl: 2 results restored, 0 left unchanged\n")
        .run();
    let events = fs::read_to_string(place.folder().join("../../context/events.jsonl"));
    let events = events.expect("an audit log");
    assert_eq!(events.matches("\"op\":\"offload\",\"phase\":\"done\"").count(), 2);
    assert!(events.contains("\"flags\":[\"session\",\"min-tokens\",\"output\"]"), "{events}");
    assert!(!events.contains("line"));
}

#[test]
fn small_results_and_other_messages_stay() {
    let place = Place::new();
    let large = log("large");
    let input = format!(
        "{{\"role\":\"user\",\"content\":\"{large}\"}}\n{}{}not json\n",
        call("a"),
        result("a", "small")
    );
    offload(place.dir())
        .args(["-s", "demo", "--min-tokens", "0"])
        .stdin(input.clone())
        .stdout(input)
        .stderr("ctx-offload: warning: <stdin>:4: 1 bad line kept in place; the first: not JSON: expected ident at column 2\n")
        .run();
    assert!(!place.folder().exists(), "nothing was taken out");
}

#[test]
fn a_dry_run_shows_and_makes_nothing() {
    let place = Place::new();
    let [one, two] = ["one", "two"].map(|word| place.file(&log(word)).display().to_string());
    offload(place.dir())
        .args(["-n", "-s", "demo", "--min-tokens", "500"])
        .stdin(session())
        .stdout(format!(
            "would offload line 3: 1002 tokens, 3006 bytes: {one}\nwould offload line 5: 1002 tokens, 3006 bytes: {two}\n"
        ))
        .run();
    assert!(!place.dir().join(".local").exists());
    let out = place.offloaded();
    fs::remove_file(&two).expect("removed");
    offload(place.dir())
        .args(["-n", "-q", "-s", "demo", "--restore"])
        .stdin(out)
        .code(3)
        .stdout(format!("would restore line 3: {one}\nwould not restore line 5: {two}\n"))
        .run();
}

/// L11: a dry run refuses what the real run refuses.
#[test]
fn a_dry_run_asks_whether_an_agent_is_at_work() {
    let place = Place::new();
    let path = place.dir().join("s.jsonl");
    let session = session();
    fs::write(&path, &session).expect("written");
    let in_place = ["--min-idle", "1h", "-o", "s.jsonl", "s.jsonl"];
    for more in [&["-n"][..], &["-n", "--restore"], &[]] {
        offload(place.dir())
            .args(more.iter().copied().chain(in_place))
            .code(4)
            .stderr_has(
                "; a running agent would not notice a change by this tool; stop the agent and try again with --min-idle 0s, or wait until the file has not changed for 1h\n",
            )
            .run();
    }
    assert_eq!(fs::read_to_string(&path).expect("reads"), session);
    offload(place.dir())
        .args(["-n", "-o", "s.jsonl", "s.jsonl"])
        .stdout("nothing would be offloaded: no result has 2000 tokens; --min-tokens N sets this limit\n")
        .run();
}

#[test]
fn the_oldest_go_first_until_it_is_enough() {
    let place = Place::new();
    let out = session().replace(&log("one"), &place.reference(&log("one")));
    offload(place.dir())
        .args(["-s", "demo", "--min-tokens", "500", "--enough", "800"])
        .stdin(session())
        .stdout(out)
        .run();
}

#[test]
fn the_last_replies_and_what_follows_are_protected() {
    let place = Place::new();
    let out = session().replace(&log("one"), &place.reference(&log("one")));
    for (protected, expected) in [("1", &out), ("2", &session())] {
        // Messages that are not replies are not counted.
        let tail = "{\"type\":\"progress\"}\n{\"role\":\"system\",\"content\":\"s\"}\n";
        offload(place.dir())
            .args(["-s", "demo", "--min-tokens", "500", "--protect-last", protected])
            .stdin(session() + tail)
            .stdout(expected.clone() + tail)
            .run();
    }
}

#[test]
fn the_form_of_the_reference_is_a_template() {
    let place = Place::new();
    let path = place.file(&log("one")).display().to_string();
    let args = ["-s", "demo", "--min-tokens", "500", "--enough", "1"];
    let template = "[{tokens} tokens, {bytes} bytes, {sha256}]\n{path}";
    let reference = format!("[1002 tokens, 3006 bytes, {}]\\n{path}", sha256(&log("one")));
    let out = session().replace(&log("one"), &reference);
    offload(place.dir())
        .args(args)
        .args(["--reference", template])
        .stdin(session())
        .stdout(out.clone())
        .run();
    offload(place.dir())
        .args(["-s", "demo", "--restore", "--reference", template])
        .stdin(out)
        .stdout(session())
        .run();
    offload(place.dir())
        .args(["-s", "demo", "--reference", "gone"])
        .code(2)
        .stderr_has("{path} must occur exactly once")
        .run();
}

/// If a file cannot be read, its reference stays.
#[test]
fn a_reference_that_cannot_be_read_stays() {
    let place = Place::new();
    let out = place.offloaded();
    let [one, two] = ["one", "two"].map(|word| place.file(&log(word)));
    let away = place.dir().join("away");
    fs::rename(&one, &away).expect("moved");
    fs::write(&two, "other").expect("damaged");
    offload(place.dir())
        .args(["-s", "demo", "--restore", "-o", "new.jsonl"])
        .stdin(out.clone())
        .code(3)
        .stderr(&format!(
            "ctx-offload: warning: <stdin>:3: left as it is: {one}: no such file or directory; check the path\n\
             ctx-offload: warning: <stdin>:5: left as it is: {two} is damaged: the sha256 of its content does not match its name\n",
            one = place.dir().join(".local/state/ctx/offloaded/demo").join(one.file_name().expect("a name")).display(),
            two = place.dir().join(".local/state/ctx/offloaded/demo").join(two.file_name().expect("a name")).display(),
        ))
        .run();
    assert_eq!(place.read("new.jsonl"), out);
    // One of the files is available again: its result is put back, and the other reference stays.
    fs::rename(&away, &one).expect("moved");
    offload(place.dir())
        .args(["-q", "-s", "demo", "--restore", "new.jsonl"])
        .code(3)
        .stdout(session().replace(&log("two"), &place.reference(&log("two"))))
        .run();
}

/// If the store is missing, for example because its disk is not mounted, every reference stays.
#[test]
fn without_its_store_every_reference_stays() {
    let place = Place::new();
    let out = place.offloaded();
    let (state, away) = (place.dir().join(".local/state"), place.dir().join("away"));
    fs::rename(&state, &away).expect("moved");
    offload(place.dir())
        .args(["-q", "-s", "demo", "--restore"])
        .stdin(out.clone())
        .code(3)
        .stdout(out.clone())
        .run();
    fs::rename(&away, &state).expect("moved");
    offload(place.dir()).args(["-s", "demo", "--restore"]).stdin(out).stdout(session()).run();
}

#[test]
fn what_older_versions_took_out_is_put_back() {
    let place = Place::new();
    let older = place.offloaded().replace("result (read, 3006 bytes) is", "result is");
    assert!(older.contains("\"Tool result is at: /"), "{older}");
    offload(place.dir())
        .args(["-s", "demo", "--restore"])
        .stdin(older.clone())
        .stdout(session())
        .run();
    // The restored result is not moved out again.
    offload(place.dir())
        .args(["-s", "demo", "--min-tokens", "20"])
        .stdin(older.clone())
        .stdout(older)
        .run();
}

/// A reference names the call, so that a reader knows what the file contains without opening it.
#[test]
fn a_reference_names_the_call_without_secrets() {
    let place = Place::new();
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz012345";
    let command = format!("deploy --token {key} --to eu");
    let arguments = serde_json::json!({ "command": command }).to_string();
    let call = serde_json::json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": arguments}}]});
    offload(place.dir())
        .args(["-s", "demo", "--min-tokens", "500"])
        .stdin(format!("{USER}{call}\n{}", result("a", &log("one"))))
        .stdout_has("\"Tool result (Bash deploy --token [REDACTED] --to eu, 3006 bytes) is at: /")
        .run();
}

#[test]
fn a_path_that_leads_elsewhere_is_left_as_it_is() {
    let place = Place::new();
    place.offloaded();
    let folder = place.folder();
    let folder = folder.display();
    let hash = sha256(&log("one"));
    for path in [
        "/etc/passwd".to_owned(),
        "../../etc/passwd".to_owned(),
        format!("{folder}/../../../../../etc/passwd"),
        format!("{folder}/../other/{hash}.txt"),
        format!("{folder}/sources.jsonl"),
        format!("/elsewhere/offloaded/demo/{hash}.txt"),
    ] {
        let input = [call("a"), result("a", &format!("Tool result is at: {path}"))].concat();
        offload(place.dir())
            .args(["-s", "demo", "--restore"])
            .stdin(input.clone())
            .stdout(input)
            .code(1)
            .stderr_has(&format!(
                "ctx-offload: warning: <stdin>:2: 1 reference left unchanged; the first: {path} is not in {folder}\n\
                 ctx-offload: warning: <stdin>: nothing was restored; the references are to files outside this session's folder; "
            ))
            .run();
    }
}

#[test]
fn no_link_in_the_store_is_followed() {
    let place = Place::new();
    let out = place.offloaded();
    let path = place.file(&log("one"));
    place.write("outside", "one line\n".repeat(334));
    fs::remove_file(&path).expect("removed");
    symlink(place.dir().join("outside"), &path).expect("a link");
    offload(place.dir())
        .args(["-s", "demo", "--restore"])
        .stdin(out)
        .code(3)
        .stdout(session().replace(&log("one"), &place.reference(&log("one"))))
        .stderr_has("is a symbolic link")
        .run();

    let (folder, moved) = (place.folder(), place.dir().join("moved"));
    fs::rename(&folder, &moved).expect("moved");
    symlink(&moved, &folder).expect("a link");
    offload(place.dir())
        .args(["-s", "demo", "--min-tokens", "500"])
        .stdin(session().replace("one", "six"))
        .code(2)
        .stderr_has("offloaded/demo is not a folder")
        .run();
    assert_eq!(fs::read_dir(moved).expect("a folder").count(), 4);
}

#[test]
fn tags_and_zones_pass_through() {
    let place = Place::new();
    let tagged = Case::new(tool_path("ctx-split"))
        .within(place.dir())
        .args(["--keep-messages", "1"])
        .stdin(session())
        .stdout_any()
        .run();
    let out = offload(place.dir())
        .args(["-s", "demo", "--min-tokens", "500"])
        .stdin(tagged.stdout)
        .stdout_any()
        .run();
    // The file keeps its current bytes. The tail of the stream is announced as before.
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let bytes = result("a", &place.reference(&log("one"))).len() - 1;
    assert!(
        text.contains(&format!(
            "{{\"_ctx\":{{\"zone\":\"old\",\"line\":3,\"group\":2,\"bytes\":{bytes}}},"
        )),
        "{text}"
    );
    let expected = place.offloaded();
    Case::new(tool_path("ctx-split"))
        .args(["--strip", "--only", "old"])
        .stdin(out.stdout)
        .stdout(expected.strip_suffix(USER).expect("the last message"))
        .run();
}

#[test]
fn anthropic_blocks_are_changed_alone() {
    let place = Place::new();
    let record = |content: &str| {
        format!(
            "{{\"role\":\"user\",\"content\":\"go\"}}\n\
             {{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"n\",\"input\":{{}}}}]}}\n\
             {{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":{content}}}, {{\"type\":\"text\",\"text\":\"{}\"}}]}}\n",
            log("said")
        )
    };
    let part = format!("[{{\"type\":\"text\",\"text\":\"{}\"}}]", log("part"));
    let path = place.folder().join(format!("{}.part.txt", sha256(&log("part"))));
    let reference = format!("\"Tool result (n, 3340 bytes) is at: {}\"", path.display());
    offload(place.dir())
        .args(["-s", "demo", "--min-tokens", "500"])
        .stdin(record(&part))
        .stdout(record(&reference))
        .run();
    assert_eq!(fs::read_to_string(path).expect("a file"), "part line\n".repeat(334));
    offload(place.dir())
        .args(["-s", "demo", "--restore"])
        .stdin(record(&reference))
        .stdout(record(&part))
        .run();
}

#[test]
fn a_handle_a_path_and_a_hash_show_the_original() {
    let place = Place::new();
    place.offloaded();
    let text = "one line\n".repeat(334);
    let hash = sha256(&log("one"));
    let path = place.file(&log("one")).display().to_string();
    let handle = format!("⟦ctx:{} 3006 bytes 1002 tokens⟧", &hash[..12]);
    for wanted in [&hash, &hash[..8], path.as_str(), handle.as_str()] {
        for session in [&["-s", "demo"][..], &[]] {
            offload(place.dir())
                .args(session.iter().copied())
                .args(["--show", wanted])
                .stdout(text.clone())
                .run();
        }
    }
    offload(place.dir())
        .args(["--show", "/etc/passwd"])
        .code(2)
        .stderr("ctx-offload: /etc/passwd: not an offloaded file in this store; name the store with --store\n")
        .run();
    offload(place.dir())
        .args(["--show", "123456789abc"])
        .code(2)
        .stderr("ctx-offload: no text with sha256 123456789abc… was found; the original was not offloaded and is in no snapshot; name its session as FILE, or its store with --store\n")
        .run();
}

#[test]
fn a_result_in_a_snapshot_is_shown_too() {
    let place = Place::new();
    Case::new(CTX_SNAPSHOT)
        .within(place.dir())
        .args(["-q", "-s", "demo"])
        .stdin(session())
        .stdout(session())
        .run();
    let handle = format!("⟦ctx:{} 3006 bytes 1002 tokens⟧", &sha256(&log("two"))[..12]);
    offload(place.dir())
        .args(["-s", "demo", "--show", &handle])
        .stdout("two line\n".repeat(334))
        .run();
    offload(place.dir())
        .args(["-s", "other", "--show", &handle])
        .code(2)
        .stderr("ctx-offload: no session \"other\" in the store; ctx-snapshot --list shows all snapshots\n")
        .run();
}

/// A restore that restores nothing exits with 1, and says which name would match.
#[test]
fn a_restore_of_nothing_names_the_session_that_would() {
    let place = Place::new();
    let out = place.offloaded();
    place.write("s.jsonl", &out);
    for args in [&["-s", "dmeo"][..], &[]] {
        offload(place.dir())
            .args(args.iter().copied().chain(["--restore", "s.jsonl"]))
            .code(1)
            .stdout(out.clone())
            .stderr_has("ctx-offload: warning: s.jsonl: nothing was restored; the results were moved out under a different session name: -s demo\n")
            .run();
    }
    offload(place.dir())
        .args(["-s", "demo", "--restore"])
        .stdin(USER)
        .stdout(USER)
        .code(1)
        .stderr("ctx-offload: warning: <stdin>: nothing was restored; the session contains no offloaded results\n")
        .run();
}

#[test]
fn an_ambiguous_hash_is_refused_with_a_list() {
    let place = Place::new();
    fs::create_dir_all(place.folder()).expect("a folder");
    // Only the names of the files are checked here, so their content does not matter.
    let names = ["0", "1"].map(|last| format!("abcdef{}{last}", "0".repeat(57)));
    for name in &names {
        fs::write(place.folder().join(format!("{name}.txt")), "x").expect("written");
    }
    fs::set_permissions(place.folder().join("../.."), fs::Permissions::from_mode(0o700))
        .expect("chmod");
    offload(place.dir())
        .args(["--show", "abcdef"])
        .code(2)
        .stderr(&format!(
            "ctx-offload: abcdef is ambiguous: {}, {}; give more digits\n",
            names[0], names[1]
        ))
        .run();
}

#[test]
fn stdin_needs_a_name() {
    offload(Place::new().dir())
        .stdin(session())
        .code(2)
        .stderr("ctx-offload: a session from stdin has no name; name it with -s ID\n")
        .run();
}

/// C4: nothing goes out of a session if the disk has no room for it.
///
/// The files are written before the session: if they cannot be written, the session is unchanged.
#[test]
#[allow(clippy::print_stderr)] // A skipped test must say so.
fn a_full_disk_changes_nothing() {
    let Some(disk) = Mounted::new("64k") else {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    };
    let store = disk.0.path().join("store");
    let store = store.to_str().expect("text");
    let place = Place::new();
    place.write("s.jsonl", session());
    let args = ["-s", "demo", "--min-tokens", "500", "--store", store, "s.jsonl"];
    offload(place.dir()).args(args).args(["--enough", "1"]).stdout_any().run();
    let filler = disk.0.path().join("filler");
    let mut file = File::create(&filler).expect("creates");
    while file.write_all(&[0; 4096]).is_ok() {}
    drop(file);
    for output in [&[][..], &["-o", "s.jsonl"]] {
        offload(place.dir())
            .args(args)
            .args(output.iter().copied())
            .code(2)
            .stderr_has("No space left on device")
            .run();
    }
    assert_eq!(place.read("s.jsonl"), session());
    fs::remove_file(filler).expect("removed");
    offload(place.dir()).args(args).args(["-o", "s.jsonl"]).run();
    offload(place.dir())
        .args(["-s", "demo", "--restore", "--store", store, "s.jsonl"])
        .stdout(session())
        .run();
}

/// Sets the time of last use to a month ago.
fn age(path: &Path) {
    let then = SystemTime::now() - Duration::from_secs(30 * 86_400);
    let file = File::open(path).expect("a file");
    file.set_modified(then).expect("a time");
}

#[test]
fn gc_removes_only_what_nothing_names() {
    let place = Place::new();
    place.write("s.jsonl", session());
    let args = ["-s", "demo", "--min-tokens", "500", "s.jsonl", "-o", "s.jsonl"];
    offload(place.dir()).args(args).run();
    Case::new(CTX_SNAPSHOT)
        .within(place.dir())
        .args(["-q", "-s", "demo", "s.jsonl"])
        .stdout_any()
        .run();
    let [one, two] = ["one", "two"].map(|word| place.file(&log(word)));
    place.write("s.jsonl", session().replace("one", "six"));
    offload(place.dir()).args(args).run();
    let six = place.file(&log("six"));
    place.write("s.jsonl", USER);
    for path in [&one, &two, &six] {
        age(path);
    }
    let hash = sha256(&log("six"));
    // The snapshot names the other files.
    gc(place.dir())
        .args(["-n", "--keep-last", "1"])
        .stdout_has(&format!("would remove demo/{hash}.txt: no session refers to it\n"))
        .run();
    gc(place.dir())
        .args(["-n", "--json", "--keep-last", "1"])
        .stdout_has(&format!(
            "{{\"id\":\"demo/{hash}.txt\",\"keep\":false,\"reasons\":[],\"kind\":\"offloaded\",\"action\":\"remove\"}}\n"
        ))
        .run();
    gc(place.dir()).stdout(format!("removed demo/{hash}.txt: no session refers to it\n")).run();
    assert!(one.exists() && two.exists() && !six.exists());
    gc(place.dir())
        .args(["-n", "--undelete", &hash[..8]])
        .stdout(format!("would restore demo/{hash}.txt\n"))
        .run();
    gc(place.dir()).args(["--undelete", &hash[..8]]).stdout(format!("demo/{hash}.txt\n")).run();
    assert_eq!(fs::read_to_string(&six).expect("a file"), "six line\n".repeat(334));

    age(&six);
    gc(place.dir()).stdout_any().run();
    gc(place.dir()).args(["-n", "--purge"]).stdout(format!("would purge demo/{hash}.txt\n")).run();
    gc(place.dir())
        .args(["-n", "--purge", "--json"])
        .stdout(format!(
            "{{\"id\":\"demo/{hash}.txt\",\"keep\":false,\"reasons\":[],\"kind\":\"offloaded\",\"action\":\"purge\"}}\n"
        ))
        .run();
    gc(place.dir()).args(["--purge"]).stdout(format!("purged demo/{hash}.txt\n")).run();
    gc(place.dir())
        .args(["--undelete", &hash[..8]])
        .code(2)
        .stderr(&format!("ctx-gc: nothing in the trash matches {:?}\n", &hash[..8]))
        .run();
}

#[test]
fn gc_leaves_all_where_a_transcript_is_not_known() {
    let place = Place::new();
    place.offloaded();
    let path = place.file(&log("one"));
    age(&path);
    gc(place.dir())
        .args(["-v"])
        .stderr("ctx-gc: the offloaded files of demo are kept, because not every transcript that may refer to them can be searched: one transcript was written to a pipe\n")
        .run();
    assert!(path.exists());
}

#[test]
fn a_forgotten_session_takes_its_folder_along() {
    let place = Place::new();
    place.offloaded();
    let mut names = ["one", "two"].map(|word| format!("delete demo/{}.txt\n", sha256(&log(word))));
    names.sort();
    let would = names.concat().replace("delete", "would delete");
    gc(place.dir()).args(["-n", "--forget", "-s", "demo"]).stdout(would).run();
    gc(place.dir())
        .args(["--forget", "-s", "demo"])
        .stdout(names.concat().replace("delete", "deleted"))
        .run();
    assert!(!place.folder().exists());
}

/// A planted reference: anyone who writes to a session can make any number of results look like
/// references to a large one. The result is only put back where it was taken from.
#[test]
fn a_planted_reference_multiplies_nothing() {
    let place = Place::new();
    let large = log("large");
    let planted = format!("Tool result is at: {}", place.file(&large).display());
    let exchange = |id: &str, content: &str| call(id) + &result(id, content);
    let mut session = USER.to_owned() + &exchange("a", &large) + &exchange("b", &large);
    for number in 0..200 {
        session += &exchange(&format!("p{number}"), &planted);
    }
    // The planted reference even has the id of an offloaded result.
    session += &exchange("a", &planted);
    fs::write(place.dir().join("s.jsonl"), &session).expect("written");
    let small = offload(place.dir())
        .args(["-q", "-s", "demo", "--min-tokens", "1000", "s.jsonl"])
        .stdout_any()
        .run()
        .stdout;
    let restored = offload(place.dir())
        .args(["-v", "-s", "demo", "--restore"])
        .stdin(small)
        .code(3)
        .stdout_any()
        .stderr(&format!(
            "ctx-offload: warning: <stdin>:7: 201 texts left unchanged that ctx-offload did not write, or not this often; \
             the first names {}: ctx-offload --show prints such a file\n\
             ctx-offload: <stdin>: 2 results restored, 201 left unchanged\n",
            place.file(&large).display()
        ))
        .run()
        .stdout;
    assert_eq!(String::from_utf8_lossy(&restored), session);
}
