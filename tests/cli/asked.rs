//! What the user asked for is done, or it is an error.

use ctx_testkit::{Act, Case, Server};
use serde_json::json;

use crate::compact::{CTX_COMPACT, messages};

const CTX_SUMMARIZE: &str = env!("CARGO_BIN_EXE_ctx-summarize");
const NO_SERVER: &str = "no LLM server is set; set --llm-url or CTX_LLM_URL\n";

/// A preview used to show a summary that is made without a model, and a run to fail.
#[test]
fn a_preview_for_a_model_without_a_server_fails_as_a_run_does() {
    for (tool, name, more) in [
        (CTX_COMPACT, "ctx-compact", &["--keep-messages", "4"][..]),
        (CTX_SUMMARIZE, "ctx-summarize", &[]),
    ] {
        for flags in [&["--method", "llm"][..], &["--method", "llm", "-n"]] {
            let case = Case::new(tool).args([flags, more].concat()).stdin(messages(0, 30));
            case.stderr(&format!("{name}: {NO_SERVER}")).code(2).run();
        }
    }
    Case::new(CTX_COMPACT)
        .args(["--method", "llm", "-n", "--on-failure", "extractive", "--keep-messages", "4"])
        .stdin(messages(0, 30))
        .stdout_has("<stdin>: would be compacted: ")
        .stderr("ctx-compact: warning: no LLM server is set; set --llm-url or CTX_LLM_URL; the extractive summary is used\n")
        .run();
}

/// As a filter, the tool used to reduce any session to the tokens of a forgotten `k`.
#[test]
fn a_budget_without_its_k_is_refused_in_a_filter_too() {
    Case::new(CTX_COMPACT)
        .args(["--budget", "100"])
        .stdin(messages(0, 2_000))
        .stderr("ctx-compact: --budget 100 is too small for any session; did you mean 100k?\n")
        .code(2)
        .run();
}

/// A session that is not due used to be compacted even if that freed one token.
#[test]
fn a_small_gain_is_none_where_nothing_is_due() {
    let session = messages(0, 30);
    let compacted = |flags: &[&str]| {
        let flags = [&["--method", "rule", "--keep-messages", "27", "s.jsonl"], flags].concat();
        Case::new(CTX_COMPACT).file("s.jsonl", &session).args(flags)
    };
    compacted(&["--set", "target.min_gain=40%"])
        .stderr_has("ctx-compact: warning: s.jsonl: no gain: ")
        .code(1)
        .run();
    compacted(&["--set", "target.min_gain=false"]).stdout_has("s.jsonl: compacted: ").run();
    // A session that is due is compacted whatever the gain is.
    compacted(&["--set", "target.min_gain=40%", "--trigger-messages", "29"])
        .stdout_has("s.jsonl: compacted: ")
        .run();
}

/// The model of the session used to be neither asked for nor known.
#[test]
fn the_sessions_own_model_is_asked_where_the_server_lists_it() {
    let answer = json!({"choices": [{"message": {"content": "## Goal\nWait."}}]}).to_string();
    let lines: Vec<_> = messages(0, 30).lines().map(str::to_owned).collect();
    let document = format!("{{\"model\":\"own\",\"messages\":[{}]}}", lines.join(","));
    for (listed, asked) in [("own", Some("own")), ("other", None)] {
        let list = json!({"data": [{"id": listed}, {"id": "third"}]}).to_string();
        let server = Server::new([Act::ok(&list), Act::ok(&answer)]);
        Case::new(CTX_COMPACT)
            .file("s.json", &document)
            .args(["--method", "llm", "--llm-url", &server.url, "--keep-messages", "4", "s.json"])
            .stdout_has("s.json: compacted: ")
            .run();
        let requests = server.requests();
        let body: serde_json::Value =
            serde_json::from_str(requests[1].lines().next_back().expect("a body")).expect("JSON");
        assert_eq!(body["model"].as_str(), asked, "{requests:?}");
    }
}

/// A server that ignores the limit of its answer used to get a summary of any length accepted.
#[test]
fn a_summary_is_no_longer_than_its_limit() {
    let lines = |count| (0..count).map(|n| format!("- The import of month {n} is done.\n"));
    let said = |count| {
        let text = format!("## Goal\n{}", lines(count).collect::<String>());
        Act::ok(&json!({"choices": [{"message": {"content": text}}]}).to_string())
    };
    for (count, code, told) in [
        (16, 0, "the model's answer is longer than 100 tokens; lines left out at its end: "),
        (90, 2, "the answer is longer than 100 tokens; --on-failure extractive writes"),
    ] {
        let server = Server::new([said(count), said(count)]);
        Case::new(CTX_COMPACT)
            .args(["--method", "llm", "--llm-url", &server.url, "--llm-window", "64k"])
            .args(["--keep-messages", "4", "--summary-tokens", "100"])
            .args(["--set", "summary.max_share=1"])
            .stdin(messages(0, 90))
            .stdout_any()
            .stderr_has(told)
            .code(code)
            .run();
    }
}

/// An id used to be taken as a path that does not exist.
#[test]
fn a_session_is_named_by_its_id_or_the_beginning_of_it() {
    let id = |n: u32| format!("45ba035{n}-1111-4111-8111-111111111111");
    let file = |n| format!(".claude/projects/p/{}.jsonl", id(n));
    let pi = "2026-11-21T10-00-00-000Z_7f78a542-1111-7111-8111-111111111111.jsonl";
    let dir = Case::new(CTX_COMPACT)
        .file(&file(1), messages(0, 4))
        .file(&file(2), messages(0, 6))
        .file(&format!(".pi/agent/sessions/p/{pi}"), messages(0, 8))
        .args(["--show-preset", "turns"])
        .stdout_any()
        .run();
    let count =
        |named: &str| Case::new(env!("CARGO_BIN_EXE_ctx-count")).within(dir.dir()).args([named]);
    for (named, messages, path) in
        [(&*id(1), "4 ", &*file(1)), ("45ba0352", "6 ", &*file(2)), ("7f78a542", "8 ", pi)]
    {
        count(named).stdout_has(messages).stdout_has(path).run();
    }
    count("45ba")
        .stderr("ctx-count: FILE \"45ba\": 2 sessions have ids that begin with this; ctx-ls -l shows them\n")
        .code(2)
        .run();
    let none = "45ba035c-2222-4111-8111-111111111111";
    count(none)
        .stderr_has("no such file, and no agent's session has this id; ctx-ls lists the ids of the sessions in the agents' folders")
        .code(2)
        .run();
    Case::new(env!("CARGO_BIN_EXE_ctx-rollback"))
        .within(dir.dir())
        .args(["--undo", "45ba0352"])
        .stderr_has("nothing to undo: no tool has replaced the file")
        .code(2)
        .run();
}

/// A preset used to work only in ctx-compact, so each step of a pipeline had to repeat it in flags.
#[test]
fn a_preset_sets_what_no_flag_sets_in_each_step_of_a_pipeline() {
    let words = "word ".repeat(4_000);
    let call =
        json!([{"id": "a", "type": "function", "function": {"name": "exec", "arguments": "{}"}}]);
    let exchange = [
        json!({"role": "assistant", "content": null, "tool_calls": call}),
        json!({"role": "tool", "tool_call_id": "a", "content": words}),
    ];
    let session =
        format!("{}{}\n{}\n{}", messages(0, 2), exchange[0], exchange[1], messages(2, 60));
    let run = |tool: &str, args: &str| {
        let dir = CTX_COMPACT.strip_suffix("ctx-compact").expect("a folder");
        let case = Case::new(format!("{dir}{tool}")).args(["-q"]).args(args.split(' '));
        String::from_utf8(case.stdin(&*session).stdout_any().run().stdout).expect("UTF-8")
    };
    for (tool, preset, flags) in [
        ("ctx-split", "--preset sanbot", "--keep-messages 20"),
        ("ctx-split", "--preset turns --keep-messages 9", "--keep-messages 9"),
        ("ctx-split", "--preset turns", "--keep-turns 6"),
        (
            "ctx-prune",
            "--preset openclaw --last-call 2020-01-01T00:00:00Z",
            "--trim --allow-tool exec",
        ),
        ("ctx-prune", "--preset pomelobot", "--trim --max-chars 99k"),
        ("ctx-extract", "--preset sanbot", "--zone all"),
    ] {
        assert_eq!(run(tool, preset), run(tool, flags), "{tool} {preset}");
    }
    let offloaded = run("ctx-offload", "--preset synapse -s x");
    assert!(offloaded.contains("Tool result is at: /"), "{offloaded}");
    Case::new(CTX_SUMMARIZE)
        .args(["--preset", "sanbot", "--budget", "3k"])
        .stdin(session)
        .stdout_has("## 会话摘要")
        .stderr_has("no LLM server is set; the rule summary is used\n")
        .run();
}
