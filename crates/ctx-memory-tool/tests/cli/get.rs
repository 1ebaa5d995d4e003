//! The content that a ref identifies is printed unchanged.

use crate::field::Field;

/// JSON with spaces and escapes that no library would write.
const LINE: &str = "{ \"role\": \"user\",\t\"content\": \"the port is 8443, \\u00e9\" }";

/// `get` prints the bytes of a record, of a paragraph, and of a whole offloaded result.
#[test]
fn it_prints_what_a_ref_names() {
    let field = Field::new().with_memory();
    let id = field.snapshot("demo", &["{\"role\":\"user\",\"content\":\"go\"}", LINE]);
    let offloaded = field.offload("one\ntwo");
    let refs = field.refs(&["8443"]);
    assert_eq!(refs, [format!("{id}:2")]);
    field.call(&["get", &refs[0]]).stdout(format!("{LINE}\n")).run();
    field
        .call(&["get", "memory/summary/master.md:3", &offloaded])
        .stdout("- The harbour is in Vila do Porto.\none\ntwo")
        .run();
}

/// A session that is a single JSON document may have several messages on one line.
#[test]
fn a_message_of_a_document_has_a_ref_of_its_own() {
    let field = Field::new();
    let document = "[{\"role\":\"user\",\"content\":\"zephyr\"},{\"role\":\"assistant\",\"content\":\"quartz\"}]";
    let id = field.snapshot("demo", &[document]);
    let refs = field.refs(&["quartz"]);
    assert_eq!(refs, [format!("{id}:1.2")]);
    let done = field.call(&["get", &refs[0]]).stdout_has("quartz").run();
    assert!(!String::from_utf8_lossy(&done.stdout).contains("zephyr"));
}

/// A packed snapshot is found and printed like a plain one.
#[test]
fn a_packed_snapshot_is_read() {
    let field = Field::new();
    let id = field.snapshot("demo", &[LINE]);
    let store = field.store();
    let entries = store.catalog(None).expect("listed").entries;
    assert!(store.pack(&entries).failed.is_empty());
    assert!(!field.root().join(format!("memory/session-summaries/{id}.jsonl")).exists());
    assert_eq!(field.refs(&["8443"]), [format!("{id}:1")]);
    let packed = format!("\"path\":\"store/memory/session-summaries/{id}.jsonl.zst\"");
    field.call(&["search", "8443"]).stdout_has(&packed).run();
    field.call(&["get", &format!("{id}:1")]).stdout(format!("{LINE}\n")).run();
}

/// Whatever the ref is, only searchable content can be printed.
#[test]
fn no_ref_leads_out_of_the_store() {
    let field = Field::new().with_memory();
    std::fs::write(field.dir.path().join("secret.md"), "secret\n").expect("written");
    let link = field.root().join("memory/extracted/link.md");
    std::os::unix::fs::symlink("../../../secret.md", link).expect("a link");
    for reference in [
        "../secret.md:1",
        "memory/extracted/../../../secret.md:1",
        "memory/extracted/link.md:1",
        "/etc/passwd:1",
        "FORMAT:1",
        "memory/extracted/decisions.md:2",
        "no-such-snapshot:1",
    ] {
        field
            .call(&["get", reference])
            .code(2)
            .stderr(&format!(
                "ctx-memory: {reference}: the store has no such ref; the text may have been removed or changed since the search; search again\n"
            ))
            .run();
    }
    field.call(&["search", "secret", "-q"]).code(1).run();
    field
        .call(&["get", "x", "memory/summary/master.md:1"])
        .code(3)
        .stdout("# Known\n")
        .stderr("ctx-memory: x: not a ref; copy the `ref` (NAME:LINE) from a result of ctx-memory search\n")
        .run();
}
