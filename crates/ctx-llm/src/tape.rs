//! Recorded model answers, which allow a run to be repeated without the model.
//!
//! A tape is a directory with one file for each question. Each file is named `SHA256.json` after
//! the hash of its question:
//!
//! ```json
//! {"answer":{"cut":false,"text":"…"},
//!  "ctx_llm":1,
//!  "request":{"max_tokens":600,"message":"…","model":"small","system":"…"}}
//! ```
//!
//! The hash is computed from the JSON text of `request`, with its keys in the order shown and
//! without whitespace between tokens. The request contains neither the address nor the key, and the
//! caller has already redacted its text. If the model gave no answer, the file has a member
//! `"error":{"kind":"too-long","message":"…"}` instead of `answer`. The kinds of errors are
//! `too-long`, `refused` and `empty`. Network failures are not recorded. If the server was asked
//! for the model's context window, the response is stored in `window.json`. If it lists the session's
//! own model, the name is in `model.json`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Result;
use crate::{Completion, LlmError, Question, TapeError};

/// A directory of recorded answers from one model.
#[derive(Debug)]
pub struct Tape {
    /// The directory that holds the recorded answers.
    pub dir: PathBuf,
    model: Option<String>,
    /// The names of the files written in this run. A repeated question gets the same answer again,
    /// as it would in a replay.
    recorded: RefCell<HashSet<String>>,
}

const VERSION: u64 = 1;
const WINDOW_FILE: &str = "window.json";
const MODEL_FILE: &str = "model.json";

impl Tape {
    /// Creates a tape in `dir` for answers from `model`. The directory is created when the first
    /// answer is recorded.
    pub fn new(dir: impl Into<PathBuf>, model: Option<&str>) -> Self {
        Self { dir: dir.into(), model: model.map(str::to_owned), recorded: RefCell::default() }
    }

    /// Calls `ask` and records the answer. If the same question was already asked in this run,
    /// returns the recorded answer.
    pub fn record(
        &self,
        question: &Question<'_>,
        ask: impl FnOnce() -> Result<Completion>,
    ) -> Result<Completion> {
        let request = self.request(question);
        let name = file_name(&request);
        if self.recorded.borrow().contains(&name) {
            return self.replay(question);
        }
        let outcome = ask();
        let mut file = json!({"ctx_llm": VERSION, "request": request});
        match &outcome {
            Ok(completion) => file["answer"] = json!(completion),
            Err(error) => match error_to_json(error) {
                Some(value) => file["error"] = value,
                None => return outcome,
            },
        }
        self.write(&name, &file)?;
        self.recorded.borrow_mut().insert(name);
        outcome
    }

    /// Records the context window that the server reports, because the length of the questions
    /// depends on it.
    pub fn record_window(&self, ask: impl FnOnce() -> Option<u64>) -> Result<Option<u64>> {
        let window = ask();
        self.write(WINDOW_FILE, &json!({"ctx_llm": VERSION, "window": window}))?;
        Ok(window)
    }

    /// Records that the server lists the session's own model, because questions are for this model.
    pub fn record_model(&self, model: &str, ask: impl FnOnce() -> bool) -> Result<bool> {
        let is_listed = ask();
        let mut models = self.models();
        models.retain(|recorded| recorded != model);
        models.extend(is_listed.then(|| model.to_owned()));
        self.write(MODEL_FILE, &json!({"ctx_llm": VERSION, "models": models}))?;
        Ok(is_listed)
    }

    /// Returns true if the server listed this model at the time of recording.
    pub fn replay_model(&self, model: &str) -> bool {
        self.models().iter().any(|recorded| recorded == model)
    }

    /// The sessions' own models that the server listed.
    fn models(&self) -> Vec<String> {
        let models = self.setting(MODEL_FILE, "models");
        models.and_then(|models| serde_json::from_value(models).ok()).unwrap_or_default()
    }

    /// The recorded context window, if any.
    pub fn replay_window(&self) -> Option<u64> {
        self.setting(WINDOW_FILE, "window")?.as_u64()
    }

    fn setting(&self, file: &str, name: &str) -> Option<Value> {
        let mut file: Value = serde_json::from_slice(&fs::read(self.dir.join(file)).ok()?).ok()?;
        Some(file[name].take())
    }

    /// Returns the recorded answer to a question, without sending a request.
    pub fn replay(&self, question: &Question<'_>) -> Result<Completion> {
        let request = self.request(question);
        let name = file_name(&request);
        let path = self.dir.join(&name);
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => TapeError::Missing(path.display().to_string()),
            _ => self.io_error(&name, &error),
        })?;
        let damaged = || LlmError::Tape(TapeError::Damaged(path.display().to_string()));
        let file = serde_json::from_slice::<Value>(&bytes).map_err(|_| damaged())?;
        if file["ctx_llm"] != json!(VERSION) || file["request"] != request {
            return Err(damaged());
        }
        if let Ok(completion) = Completion::deserialize(&file["answer"]) {
            return Ok(completion);
        }
        Err(error_from_json(&file["error"]).unwrap_or_else(damaged))
    }

    fn request(&self, question: &Question<'_>) -> Value {
        json!({
            "model": self.model,
            "system": question.instructions,
            "message": question.text,
            "max_tokens": question.max_tokens,
        })
    }

    /// Writes a file under a temporary name and then renames it, so that an interrupted run does
    /// not leave an incomplete file.
    fn write(&self, name: &str, file: &Value) -> Result<()> {
        let write = || {
            // The answers quote the session, so only the owner may read the files.
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
            let mut temporary = tempfile::Builder::new().prefix(".ctx-").tempfile_in(&self.dir)?;
            serde_json::to_writer_pretty(&mut temporary, file)?;
            temporary.write_all(b"\n")?;
            temporary.as_file().sync_all()?;
            temporary.persist(self.dir.join(name))?;
            Ok(())
        };
        write().map_err(|error: io::Error| self.io_error(name, &error).into())
    }

    fn io_error(&self, name: &str, error: &io::Error) -> TapeError {
        TapeError::Io(self.dir.join(name).display().to_string(), error.to_string())
    }
}

fn file_name(request: &Value) -> String {
    let digest = digest(&SHA256, request.to_string().as_bytes());
    let digits: Vec<String> = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat() + ".json"
}

fn error_to_json(error: &LlmError) -> Option<Value> {
    Some(match error {
        LlmError::TooLong(message) => json!({"kind": "too-long", "message": message}),
        LlmError::Refused(message) => json!({"kind": "refused", "message": message}),
        LlmError::Empty { finish } => json!({"kind": "empty", "message": finish}),
        _ => return None,
    })
}

fn error_from_json(value: &Value) -> Option<LlmError> {
    let message = value["message"].as_str().map(str::to_owned);
    Some(match value["kind"].as_str()? {
        "too-long" => LlmError::TooLong(message?),
        "refused" => LlmError::Refused(message?),
        "empty" => LlmError::Empty { finish: message },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Tape;
    use crate::{Completion, LlmError, Question, TapeError};

    fn question(text: &str) -> Question<'_> {
        Question { instructions: "sum up", text, max_tokens: 9, part: (1, 1) }
    }

    fn said(text: &str) -> Completion {
        Completion { text: text.to_owned(), cut: true }
    }

    #[test]
    fn a_recorded_answer_is_replayed() {
        let dir = tempfile::tempdir().expect("a directory");
        let tape = Tape::new(dir.path().join("new/answers"), Some("m"));
        let outcome = tape.record(&question("a"), || Ok(said("yes")));
        assert_eq!(outcome, Ok(said("yes")));
        // A question repeated in the same run gets the same answer, without another request.
        let again = tape.record(&question("a"), || Err(LlmError::HostNotFound));
        assert_eq!(again, Ok(said("yes")));
        let later = Tape::new(&tape.dir, Some("m"));
        assert_eq!(later.replay(&question("a")), Ok(said("yes")));
        let names: Vec<_> = fs::read_dir(&tape.dir).expect("files").collect();
        assert_eq!(names.len(), 1);
        // A new run sends the request again.
        let second = later.record(&question("a"), || Ok(said("no")));
        assert_eq!(second, Ok(said("no")));
        assert_eq!(later.replay(&question("a")), Ok(said("no")));
    }

    #[test]
    fn another_question_or_model_is_missing() {
        let dir = tempfile::tempdir().expect("a directory");
        let tape = Tape::new(dir.path(), Some("m"));
        tape.record(&question("a"), || Ok(said("yes"))).expect("recorded");
        let missing = |outcome| {
            matches!(outcome, Err::<Completion, _>(LlmError::Tape(TapeError::Missing(_))))
        };
        assert!(missing(tape.replay(&question("b"))));
        assert!(missing(Tape::new(dir.path(), None).replay(&question("a"))));
        assert!(missing(Tape::new("/nowhere", None).replay(&question("a"))));
    }

    #[test]
    fn a_no_of_the_model_is_an_answer_and_a_broken_line_is_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let tape = Tape::new(dir.path(), None);
        for (text, error) in [
            ("a", LlmError::TooLong("9 > 8".to_owned())),
            ("b", LlmError::Refused("no".to_owned())),
            ("c", LlmError::Empty { finish: None }),
        ] {
            let outcome = tape.record(&question(text), || Err(error.clone()));
            assert_eq!(outcome, Err(error.clone()));
            assert_eq!(tape.replay(&question(text)), Err(error));
        }
        let broken = tape.record(&question("d"), || Err(LlmError::HostNotFound));
        assert_eq!(broken, Err(LlmError::HostNotFound));
        assert_eq!(fs::read_dir(dir.path()).expect("files").count(), 3);
    }

    #[test]
    fn a_changed_file_is_damaged() {
        let dir = tempfile::tempdir().expect("a directory");
        let tape = Tape::new(dir.path(), None);
        tape.record(&question("a"), || Ok(said("yes"))).expect("recorded");
        let path = fs::read_dir(dir.path())
            .expect("files")
            .next()
            .expect("a file")
            .expect("readable")
            .path();
        let text = fs::read_to_string(&path).expect("text");
        for changed in [
            text.replace("sum up", "obey"),
            text.replace("\"text\"", "\"txt\""),
            text[..text.len() / 2].to_owned(),
        ] {
            fs::write(&path, changed).expect("written");
            let outcome = tape.replay(&question("a"));
            assert!(matches!(outcome, Err(LlmError::Tape(TapeError::Damaged(_)))), "{outcome:?}");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_an_error() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        fs::write(&file, "x").expect("written");
        let outcome = Tape::new(&file, None).record(&question("a"), || Ok(said("yes")));
        assert!(matches!(outcome, Err(LlmError::Tape(TapeError::Io(..)))), "{outcome:?}");
    }
}
