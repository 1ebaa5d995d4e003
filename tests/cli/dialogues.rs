//! Dialogues without tools: the summary keeps more of their facts than a window of the same budget.
//! The dialogues and their lists of facts were written for this test; a fact is kept if the output
//! has it literally.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_engine::message_counter::{MessageCounter, PER_MESSAGE, PRIMING};
use ctx_testkit::Case;
use ctx_tokens::Encoding;

const CTX_SUMMARIZE: &str = env!("CARGO_BIN_EXE_ctx-summarize");

struct Dialogue {
    name: String,
    session: String,
    facts: Vec<String>,
}

fn dialogues() -> Vec<Dialogue> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/dialogues");
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    paths.sort();
    let dialogue = |path: PathBuf| {
        let facts = fs::read_to_string(path.with_extension("facts")).expect("its facts");
        Dialogue {
            name: path.display().to_string(),
            session: fs::read_to_string(&path).expect("a dialogue"),
            facts: facts.lines().map(str::to_owned).collect(),
        }
    };
    paths.into_iter().map(dialogue).collect()
}

/// Returns the text of each message.
fn texts(session: &str) -> Vec<String> {
    let text = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
        record["content"].as_str().expect("a text").to_owned()
    };
    session.lines().map(text).collect()
}

fn tokens(text: &str) -> u64 {
    PER_MESSAGE + MessageCounter::new(Encoding::O200kBase).text(text)
}

fn all_tokens(texts: &[String]) -> u64 {
    PRIMING + texts.iter().map(|text| tokens(text)).sum::<u64>()
}

/// Returns the latest messages that fit.
fn window(texts: &[String], budget: u64) -> String {
    let mut left = budget - PRIMING;
    let fits = |text: &&String| {
        let needed = tokens(text);
        let fits = needed <= left;
        left = left.saturating_sub(needed);
        fits
    };
    let kept: Vec<&str> = texts.iter().rev().take_while(fits).map(String::as_str).collect();
    kept.join("\n")
}

fn summarized(session: &str, budget: u64) -> Vec<String> {
    let done = Case::new(CTX_SUMMARIZE)
        .stdin(session)
        .args(["-q", "--budget", &budget.to_string()])
        .stdout_any()
        .run();
    texts(&String::from_utf8_lossy(&done.stdout))
}

#[test]
#[allow(clippy::print_stderr)] // The figures are for docs/benchmarks.md.
fn more_facts_are_kept_than_by_a_window() {
    let dialogues = dialogues();
    assert_eq!(dialogues.len(), 8);
    for (percent, margin) in [(50, 1.25), (30, 1.3), (15, 1.5)] {
        let (mut all, mut ours, mut theirs) = (0, 0, 0);
        for Dialogue { name, session, facts } in &dialogues {
            let texts = texts(session);
            let budget = all_tokens(&texts) * percent / 100;
            let output = summarized(session, budget);
            assert!(all_tokens(&output) <= budget, "{name}");
            let (output, window) = (output.join("\n"), window(&texts, budget));
            let kept = |text: &str| facts.iter().filter(|fact| text.contains(*fact)).count();
            assert_eq!(kept(session), facts.len(), "{name}");
            all += facts.len();
            ours += kept(&output);
            theirs += kept(&window);
        }
        eprintln!("{percent} %: {ours} of {all} facts, a window {theirs}");
        let ratio = ours as f64 / theirs as f64;
        assert!(ratio >= margin, "{percent} %: {ratio}");
    }
}
