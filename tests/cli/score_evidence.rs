//! `ctx-score --evidence`: the questions that a session, before and after a change, can answer.

use ctx_testkit::Case;

const CTX_SCORE: &str = env!("CARGO_BIN_EXE_ctx-score");

const BEFORE: &str = r#"{"role":"system","content":"Refunds take nine days."}
{"role":"user","content":"The lamp of order W8123 is broken. I want the money back, no voucher."}
{"role":"assistant","content":"I looked it up:","tool_calls":[{"id":"c1","type":"function","function":{"name":"lookup","arguments":"{\"order\": \"W8123\",\n \"note\": \"\\u8d35\"}"}}]}
{"role":"tool","tool_call_id":"c1","content":"price 129.90\\npaid by card"}
{"role":"assistant","content":"只退运费不行，我们全额退款。"}
"#;

const AFTER: &str = r#"{"role":"system","content":"Refunds take nine days."}
{"role":"user","content":"Summary: I want the money back (no voucher). 我们全额退款"}
{"role":"assistant","content":"The lamp"}
{"role":"user","content":"of order W8123 is broken."}
"#;

const QUESTIONS: &str = r#"{
 "session": "lamp.jsonl", "cut": 5,
 "questions": [
  {"id": "q1", "category": "intent", "question": "What does the customer want?", "gold": "money", "where": [2],
   "evidence": [["I want the money back, no voucher"]]},
  {"id": "q2", "category": "cause", "question": "Why?", "evidence": [["The lamp of order W8123 is broken"]]},
  {"id": "q3", "category": "value", "question": "How much, and paid how?", "evidence": [["price 129.90"], ["in cash", "paid by card"]]},
  {"id": "q4", "category": "value", "question": "Which order was looked up?", "evidence": [["\"order\": \"W8123\", \"note\": \"贵\""]]},
  {"id": "q5", "category": "intent", "question": "退多少？", "evidence": [["我们全额退款"]]},
  {"id": "q6", "category": "value", "question": "How long\tdoes it take?", "evidence": [["nine days"]]}
 ]
}
"#;

fn score() -> Case {
    Case::new(CTX_SCORE)
        .file("before.jsonl", BEFORE)
        .file("after.jsonl", AFTER)
        .file("q.json", QUESTIONS)
        .args(["--evidence", "q.json"])
}

fn files() -> [&'static str; 2] {
    ["before.jsonl", "after.jsonl"]
}

#[test]
fn a_table_has_the_recall_by_category() {
    let done = score().args(files()).stdout_any().run();
    let shown = String::from_utf8(done.stdout).expect("UTF-8");
    // The questions come after the items, which do not depend on them.
    let (items, recall) = shown.split_once("\n\n").expect("two tables");
    assert!(items.ends_with(" items kept (weighted)"), "{items}");
    assert_eq!(
        recall,
        concat!(
            "questions answerable kept  share category\n",
            "        2          2    2 100.0% intent\n",
            "        1          1    0   0.0% cause\n",
            "        3          2    0   0.0% value\n",
            "        6          5    2  40.0% evidence recall\n",
        )
    );
}

#[test]
fn questions_are_listed_with_their_marks() {
    score()
        .args(["--list", "questions"])
        .args(files())
        .stdout(concat!(
            "+\tq1\tintent\tWhat does the customer want?\n",
            "-\tq2\tcause\tWhy?\n",
            "-\tq3\tvalue\tHow much, and paid how?\n",
            "-\tq4\tvalue\tWhich order was looked up?\n",
            "+\tq5\tintent\t退多少？\n",
            "?\tq6\tvalue\tHow long\\tdoes it take?\n",
        ))
        .run();
}

#[test]
fn all_that_a_session_can_answer_it_answers() {
    score()
        .args(["--list", "questions", "before.jsonl", "-"])
        .stdin(BEFORE)
        .stdout(concat!(
            "+\tq1\tintent\tWhat does the customer want?\n",
            "+\tq2\tcause\tWhy?\n",
            "+\tq3\tvalue\tHow much, and paid how?\n",
            "+\tq4\tvalue\tWhich order was looked up?\n",
            "+\tq5\tintent\t退多少？\n",
            "?\tq6\tvalue\tHow long\\tdoes it take?\n",
        ))
        .run();
}

#[test]
fn json_has_the_figures_and_each_mark() {
    let done = score().args(["--json"]).args(files()).stdout_any().run();
    let json = String::from_utf8(done.stdout).expect("UTF-8");
    let (_, evidence) = json.split_once(r#","evidence":"#).expect("the key");
    assert_eq!(
        evidence,
        concat!(
            r#"{"questions":6,"answerable":5,"kept":2,"share":0.4,"categories":{"#,
            r#""intent":{"questions":2,"answerable":2,"kept":2,"share":1.0},"#,
            r#""cause":{"questions":1,"answerable":1,"kept":0,"share":0.0},"#,
            r#""value":{"questions":3,"answerable":2,"kept":0,"share":0.0}},"marks":["#,
            r#"{"id":"q1","category":"intent","answerable":true,"kept":true},"#,
            r#"{"id":"q2","category":"cause","answerable":true,"kept":false},"#,
            r#"{"id":"q3","category":"value","answerable":true,"kept":false},"#,
            r#"{"id":"q4","category":"value","answerable":true,"kept":false},"#,
            r#"{"id":"q5","category":"intent","answerable":true,"kept":true},"#,
            r#"{"id":"q6","category":"value","answerable":false,"kept":false}]}}"#,
            "\n",
        )
    );
}

#[test]
fn an_agents_own_file_is_asked_for_what_is_sent() {
    let line = |id: &str, parent: &str, more: &str, text: &str| {
        format!(
            r#"{{"type":"user","uuid":"{id}","parentUuid":{parent},"sessionId":"s",{more}"message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    };
    let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"a","sessionId":"s","compactMetadata":{"trigger":"manual","preTokens":100}}"#;
    let log = line("a", "null", "", "The lamp of order W8123 is broken.")
        + boundary
        + "\n"
        + &line(
            "c",
            "\"b\"",
            r#""isCompactSummary":true,"#,
            "They want the money back, no voucher.",
        );
    score()
        .file("log.jsonl", &log)
        .args(["--list", "questions", "before.jsonl", "log.jsonl"])
        .stdout(concat!(
            "+\tq1\tintent\tWhat does the customer want?\n",
            "-\tq2\tcause\tWhy?\n",
            "-\tq3\tvalue\tHow much, and paid how?\n",
            "-\tq4\tvalue\tWhich order was looked up?\n",
            "-\tq5\tintent\t退多少？\n",
            "?\tq6\tvalue\tHow long\\tdoes it take?\n",
        ))
        .run();
}

#[test]
fn too_little_evidence_is_no() {
    score().args(["--list", "questions", "--min-evidence", "0.4"]).args(files()).stdout_any().run();
    score()
        .args(["--list", "lost", "--min-evidence", "0.5"])
        .args(["before.jsonl", "after.jsonl"])
        .stdout_any()
        .stderr("ctx-score: warning: the evidence recall is 0.400, which is below 0.5\n")
        .code(1)
        .run();
    score()
        .file("none.jsonl", "{\"role\":\"user\",\"content\":\"Hello\"}\n")
        .args(["--list", "questions", "--min-evidence", "0", "none.jsonl", "after.jsonl"])
        .stdout_has("?\tq1\t")
        .stderr("ctx-score: warning: none of the questions can be answered from BEFORE\n")
        .code(1)
        .run();
}

#[test]
fn a_file_that_has_no_questions_is_refused() {
    const SHAPE: &str = r#"it reads {"questions":[{"id":"…","category":"…","question":"…","evidence":[["a quote","or another"],["and one of these"]]}]}"#;
    for (text, why) in [
        (
            "{\"questions\":\n[{}]}",
            "q2.json:2: not a file of questions: missing field `id` at line 2 column 3",
        ),
        ("{\"questions\":[]}", "q2.json: no questions"),
    ] {
        Case::new(CTX_SCORE)
            .file("before.jsonl", BEFORE)
            .file("q2.json", text)
            .args(["--evidence", "q2.json", "before.jsonl", "before.jsonl"])
            .stderr(&format!("ctx-score: {why}; {SHAPE}\n"))
            .code(2)
            .run();
    }
    Case::new(CTX_SCORE)
        .args(["--list", "questions", "before.jsonl", "after.jsonl"])
        .stderr("ctx-score: --list questions needs --evidence FILE; name the file that has the questions\n")
        .code(2)
        .run();
}

/// Questions may come from stdin, as in the pipe that the manual shows.
#[test]
fn questions_may_come_through_stdin() {
    Case::new(CTX_SCORE)
        .file("before.jsonl", BEFORE)
        .args(["--evidence", "-", "--list", "questions", "before.jsonl", "before.jsonl"])
        .stdin(QUESTIONS)
        .stdout_has("+\tq1\t")
        .run();
}
