//! The offloaded texts that a session names by their paths or by handles.

use ctx_store::{OffloadedFile, SessionId, Store, StoreError};
use ctx_summary::ledger::score::After;

use super::original::sessions;

/// What the new session refers to, as far as it could be read.
#[derive(Debug, Default)]
pub struct Referred {
    /// The texts.
    pub texts: Vec<String>,
    /// Why others could not be read: they are lost.
    pub failed: Vec<StoreError>,
}

/// Of the offloaded files of one session, or of all, those that `after` names.
pub fn referred(
    store: &Store,
    session: Option<&SessionId>,
    after: &After,
) -> Result<Referred, StoreError> {
    let handles = after.handles().into_iter();
    let hashes: Vec<String> = handles.map(|handle| handle.hash.to_string()).collect();
    let mut found = Referred::default();
    for session in sessions(store, session)? {
        let named = store.offload_folder(&session)?.files_in(after.as_str());
        let is_named = |file: &&OffloadedFile| {
            named.contains(*file) || hashes.iter().any(|hash| file.begins_with(hash))
        };
        for file in store.offloaded_files(&session)?.iter().filter(is_named) {
            match store.read_offloaded(file) {
                Ok(content) => found.texts.push(content.text),
                Err(error) => found.failed.push(error),
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use ctx_engine::score::read_after;
    use ctx_engine::{Invalid, Session};
    use ctx_format::{Handle, Options, Saved};
    use ctx_store::{Actor, Content, Form, Store};

    use super::referred;

    fn result(content: &str) -> String {
        format!("{{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"{content}\"}}\n")
    }

    fn session(text: &str) -> Session {
        let reader = std::io::Cursor::new(text.to_owned());
        let session = Session::open(Box::new(reader), &Options::default(), Invalid::Keep);
        session.expect("from memory")
    }

    #[test]
    fn offloaded_texts_are_found_by_their_paths_and_by_handles() {
        let dir = tempfile::tempdir().expect("a folder");
        let actor = Actor { tool: "test".into(), flags: Vec::new() };
        let clock = Box::new(chrono::Utc::now);
        let store = Store::open(&dir.path().join("store"), actor, clock).expect("a store");
        let offload = |session: &str, text: &str| {
            let session = session.parse().expect("an id");
            let mut writer = store.offload(&session);
            let content = Content { form: Form::TEXT, text: text.to_owned() };
            let file = writer.put(&content, None).expect("written");
            writer.finish(&[None]).expect("durable");
            store.offload_folder(&session).expect("a path").path_of(&file.name)
        };
        let path = offload("demo", "by path");
        offload("other", "by handle");
        offload("demo", "not named");
        let handle = Handle::of("by handle", "", Saved::Yes);
        let after = result(&format!("see {path}")) + &result(&handle.to_string());
        let after = read_after(&mut session(&after), None).expect("read");
        let texts = |id: Option<&str>| {
            let id = id.map(|id| id.parse().expect("an id"));
            let found = referred(&store, id.as_ref(), &after).expect("a store");
            (found.texts, found.failed.len())
        };
        let named = |texts: &[&str]| (texts.iter().map(|text| (*text).to_owned()).collect(), 0);
        assert_eq!(texts(None), named(&["by path", "by handle"]));
        assert_eq!(texts(Some("other")), named(&["by handle"]));
        assert_eq!(texts(Some("nobody")), named(&[]));
        std::fs::write(&path, "damaged").expect("written");
        assert_eq!(texts(Some("demo")), (Vec::new(), 1));
    }
}
