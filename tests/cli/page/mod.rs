//! `ctx-stats --html`: the page, and what people do with it.

mod browser;
mod driven;
mod written;

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::bench::good;

/// Returns a folder with an example that was compacted, has grown, was compacted again, and was
/// rolled back.
fn used() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let session = include_str!("../../../examples/session.jsonl");
    fs::write(dir.path().join("s.jsonl"), session).expect("written");
    let more: String = session.lines().skip(1).take(40).flat_map(|line| [line, "\n"]).collect();
    fs::write(dir.path().join("more"), more).expect("written");
    good(
        dir.path(),
        "ctx-compact -q --keep-turns 3 s.jsonl; cat more >> s.jsonl; ctx-compact -q --keep-turns 1 s.jsonl; ctx-rollback -q --undo s.jsonl",
    );
    dir
}

/// Returns a session that tries to be more than text: in names, calls, results and messages.
fn hostile() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let text = concat!(
        "<script>alert(1)</script></title></style>",
        "\\\"><img src=x onerror=alert(2)>",
        "<svg onload=alert(3)> \\u202e gnp.exe \\u0000 \\u001b[2J \\u2028 &lt;b&gt; '",
    );
    let mut lines = vec![
        format!("{{\"role\":\"system\",\"content\":\"{text}\"}}"),
        format!("{{\"role\":\"user\",\"content\":\"Never {text}\"}}"),
    ];
    for id in 0..4 {
        lines.push(format!("{{\"role\":\"assistant\",\"content\":\"{text}\",\"tool_calls\":[{{\"id\":\"c{id}\",\"type\":\"function\",\"function\":{{\"name\":\"<img src=y onerror=alert(4)>\",\"arguments\":\"{{\\\"path\\\":\\\"</code><script>alert(5)</script>\\\"}}\"}}}}]}}"));
        lines.push(format!(
            "{{\"role\":\"tool\",\"tool_call_id\":\"c{id}\",\"content\":\"{}\"}}",
            text.repeat(20)
        ));
    }
    lines.extend((0..4).map(|_| "{\"role\":\"assistant\",\"content\":\"ok\"}".to_owned()));
    fs::write(dir.path().join("<b onclick=x>\"'.jsonl"), lines.join("\n") + "\n").expect("written");
    dir
}

/// Returns the page of all sessions of a folder.
fn page(dir: &TempDir) -> PathBuf {
    good(dir.path(), "ctx-stats --html *.jsonl -o page.html");
    dir.path().join("page.html")
}
