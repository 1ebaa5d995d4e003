//! Tests of `ctx-memory inject`.

use std::fs;

use ctx_testkit::Case;

use crate::field::Field;

const SUMMARIES: &str = "# demo\n\n# 2026-01-02T03:04:05.000000Z: 7 messages\n\nolder\n\n\
                         # 2026-01-03T03:04:05.000000Z: 9 messages\n\nso far: two files\n";

/// Returns a store with text for each layer, and a base prompt.
fn memory() -> Field {
    let field = Field::new();
    field.put("FORMAT", "{\"format\":1}\n");
    field.put("memory/summary/soul.md", "Be kind.\n");
    field.put("memory/extracted/preferences.md", "# Preferences\n\n- Tabs. (user, a:1)\n");
    field.put("memory/extracted/decisions.md", "# Decisions\n\n- SQLite. (user, a:2)\n");
    field.put(
        "memory/extracted/runtime.md",
        "# Runtime\n\n- Bash: make (assistant, a:3)\n- Bash: make test (assistant, a:5)\n",
    );
    field.put("memory/session-summaries/demo.md", SUMMARIES);
    fs::write(field.dir.path().join("base.md"), "You are a tester.\n").expect("written");
    field
}

fn inject(field: &Field, args: &[&str]) -> Case {
    field.call(&[&["inject"], args].concat())
}

const ALL: &str = "You are a tester.\n\nBe kind.\n\n# Preferences\n\n- Tabs. (user, a:1)\n\n\
                   # Decisions\n\n- SQLite. (user, a:2)\n\n# Runtime\n\n\
                   - Bash: make (assistant, a:3)\n- Bash: make test (assistant, a:5)\n\nso far: two files\n";

/// The context contains base, soul, memory, runtime and summary, in this order; an empty part
/// leaves no gap.
#[test]
fn the_layers_stand_in_their_order() {
    let field = memory();
    inject(&field, &["--base", "base.md", "-s", "demo"]).stdout(ALL).run();
    inject(&field, &["--without", "memory", "--without", "runtime"]).stdout("Be kind.\n").run();
    field.put("memory/summary/master.md", "Master.\n");
    inject(&field, &["--without", "runtime"]).stdout("Be kind.\n\nMaster.\n").run();
}

/// Without a store, the context is empty.
#[test]
fn without_a_memory_there_is_nothing() {
    inject(&Field::new(), &[]).run();
}

/// A session is named by the beginning of its id. A session that is not in the store, or of which
/// the store has no summary, is named on stderr.
#[test]
fn a_session_that_is_named_is_known() {
    let field = memory();
    let args = ["--without", "memory", "--without", "runtime", "-s"];
    let inject = |session| inject(&field, &[&args[..], &[session]].concat());
    inject("dem").code(2).stderr_has("ctx-memory: no session \"dem\" in the store; ").run();
    let id = field.snapshot("session-one", &["{}"]);
    inject("sess")
        .stdout("Be kind.\n")
        .stderr("ctx-memory: warning: the store has no summary of session-one\n")
        .run();
    assert!(id.starts_with("session-one-"));
}

/// With a budget, lines are removed from runtime first, and a warning says so.
#[test]
fn a_budget_is_kept_and_what_gave_way_is_said() {
    let field = memory();
    let args = ["--base", "base.md", "-s", "demo", "--max-tokens", "63"];
    inject(&field, &args)
        .stdout_has("⟦3 lines left out⟧\n- Bash: make test (assistant, a:5)\n\nso far: two files\n")
        .stderr("ctx-memory: warning: 3 lines of runtime left out because of --max-tokens\n")
        .run();
    inject(&field, &["--base", "base.md", "--max-tokens", "2"])
        .stderr("ctx-memory: the base prompt alone has 5 tokens, more than the budget of 2; raise --max-tokens, or shorten the base prompt\n")
        .code(2)
        .run();
}

/// The context is added to a transcript as one system message, and replaces an earlier one. All
/// other bytes are unchanged.
#[test]
fn a_transcript_gets_one_system_message() {
    let field = memory();
    let system = "{\"role\": \"system\",  \"content\":\"be brief\"}\n";
    let rest = "{\"role\":\"user\",\"content\":\"hi\", \"n\":1E2}\n{\"content\":\"ho\",\"role\":\"assistant\"}\n";
    let ours = "{\"role\":\"system\",\"name\":\"ctx_memory\",\"content\":\"Be kind.\\n\\nso far: two files\"}\n";
    let args = ["--without", "memory", "--without", "runtime", "-s", "demo", "--transcript", "-"];
    let first = format!("{system}{ours}{rest}");
    inject(&field, &args).stdin(format!("{system}{rest}")).stdout(first.clone()).run();
    inject(&field, &args).stdin(first.clone()).stdout(first).run();
    inject(&field, &args).stdin(rest).stdout(format!("{ours}{rest}")).run();
    inject(&field, &args).stdin(system.trim_end()).stdout(format!("{system}{ours}")).run();
}

/// A session whose system prompt is not a record is refused, and the message names its format.
#[test]
fn a_session_without_system_records_is_refused() {
    let field = memory();
    let anthropic = "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}\n\
        {\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}]}\n\
        {\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"x\"}]}\n";
    inject(&field, &["--transcript", "-"])
        .stdin(anthropic)
        .stderr_has("in the anthropic format")
        .code(2)
        .run();
}

/// A symbolic link among the memory files is not followed.
#[test]
fn what_is_no_file_of_the_store_is_not_read() {
    let field = memory();
    let (secret, soul) =
        (field.dir.path().join("secret"), field.root().join("memory/summary/soul.md"));
    fs::write(&secret, "secret").expect("written");
    fs::remove_file(&soul).expect("removed");
    std::os::unix::fs::symlink(secret, &soul).expect("a link");
    inject(&field, &[]).stderr_has("soul.md").code(2).run();
}
