//! The cumulative summary of a session: the summaries of its compactions, the newest last.

use std::path::PathBuf;

use chrono::SecondsFormat;

use crate::error::StoreError;
use crate::{Facts, Figures, SessionId, SharedFolder, Store};

impl Store {
    /// Where the summaries of a session are.
    pub fn summary_path(&self, session: &SessionId) -> PathBuf {
        self.snapshots().join(summary_name(session))
    }
}

fn summary_name(session: &SessionId) -> String {
    format!("{session}.md")
}

impl Store {
    /// Appends the summary of `messages` messages. The newest one is not repeated, so that a
    /// pipeline may be run again. `figures` are for the audit log. `true` when something was
    /// written.
    pub fn append_summary(
        &self,
        session: &SessionId,
        messages: u64,
        text: &str,
        figures: Figures,
    ) -> Result<bool, StoreError> {
        self.prepare()?;
        let folder = SharedFolder::lock(&self.snapshots())?.staging_in(self.tmp());
        let file = folder.read(&summary_name(session))?;
        let said = format!(" messages\n\n{}\n", for_people(text.trim_end()));
        if file.bytes().ends_with(said.as_bytes()) {
            return Ok(false);
        }
        let heading = if file.bytes().is_empty() {
            format!("# {session}\n")
        } else {
            String::new()
        };
        let time = self.now().to_rfc3339_opts(SecondsFormat::Micros, true);
        let entry = format!("{heading}\n# {time}: {messages}{said}");
        let mut facts = Facts {
            bytes: Some(entry.len() as u64),
            count: Some(messages),
            ..Facts::of(session)
        };
        let operation = self.begin("summary", &facts)?;
        file.append(entry.as_bytes())?;
        facts.figures = figures;
        self.done(&operation, &facts)?;
        Ok(true)
    }
}

/// The text without control characters: a file name in it must not drive a terminal.
fn for_people(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    text.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use chrono::{TimeZone, Utc};

    use crate::{Actor, Figures, SessionId, Store, Summing};

    fn store(root: &Path) -> Store {
        let actor = Actor {
            tool: "ctx-test".to_owned(),
            flags: Vec::new(),
        };
        let clock = || {
            Utc.with_ymd_and_hms(2026, 1, 2, 3, 4, 5)
                .single()
                .expect("a time")
        };
        Store::open(root, actor, Box::new(clock)).expect("a store")
    }

    #[test]
    fn summaries_follow_each_other_and_are_not_repeated() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir.path().join("s"));
        let session: SessionId = "demo".parse().expect("an id");
        let append = |messages, text| {
            let figures = Figures {
                summing: Some(Summing::default()),
                ..Figures::default()
            };
            let appended = store.append_summary(&session, messages, text, figures);
            appended.expect("written")
        };
        assert!(append(7, "alpha\n"));
        assert!(!append(7, "alpha"));
        assert!(append(9, "two"));
        let path = store.snapshots().join(format!("{session}.md"));
        assert_eq!(
            fs::read_to_string(&path).expect("reads"),
            "# demo\n\n# 2026-01-02T03:04:05.000000Z: 7 messages\n\nalpha\n\n\
             # 2026-01-02T03:04:05.000000Z: 9 messages\n\ntwo\n"
        );
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let audit = fs::read_to_string(store.audit_log()).expect("reads");
        assert_eq!(audit.matches("\"op\":\"summary\"").count(), 4, "{audit}");
        assert_eq!(audit.matches("\"method\":\"none\"").count(), 2, "{audit}");
        assert!(!audit.contains("alpha"), "{audit}");
    }

    /// A file name in a summary cannot drive the terminal of whoever looks at it.
    #[test]
    fn control_characters_do_not_get_into_the_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir.path().join("s"));
        let session: SessionId = "demo".parse().expect("an id");
        let text = "files: a\u{1b}[31m\u{9b}1mb\r\tc\nnext";
        for is_new in [true, false] {
            let appended = store
                .append_summary(&session, 1, text, Figures::default())
                .expect("written");
            assert_eq!(appended, is_new);
        }
        let path = store.snapshots().join(format!("{session}.md"));
        let found = fs::read_to_string(&path).expect("reads");
        assert!(found.ends_with("files: a [31m 1mb  c\nnext\n"), "{found:?}");
    }

    #[test]
    fn what_people_wrote_there_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = store(&dir.path().join("s"));
        let session: SessionId = "demo".parse().expect("an id");
        let append = |text| {
            let appended = store.append_summary(&session, 1, text, Figures::default());
            appended.expect("written");
        };
        append("one");
        let path = store.snapshots().join(format!("{session}.md"));
        fs::write(&path, b"my notes \xff").expect("writes");
        append("one");
        let bytes = fs::read(&path).expect("reads");
        assert!(bytes.starts_with(b"my notes \xff\n# 2026"), "{bytes:?}");
    }
}
