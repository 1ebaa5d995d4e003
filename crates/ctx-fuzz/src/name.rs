//! Ids, dates, time spans and numbers from user input or file names: whatever is accepted is
//! written back in the same form.

use std::path::Path;
use std::str::FromStr;

use ctx_format::Handle;
use ctx_policy::duration::{FixedSpan, calendar};
use ctx_policy::parse_count;
use ctx_policy::share::Share;
use ctx_store::{SessionId, SnapshotId, Stamp};

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(id) = SessionId::from_str(&text) {
        assert_eq!(id.as_str(), text, "an id equals its text");
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        assert!(text.bytes().all(is_plain), "an id is a plain file name");
        assert!(!text.starts_with(['.', '-']), "an id that is a flag or hidden");
    }
    if let Some(stamp) = Stamp::parse(&text) {
        assert_eq!(stamp.to_string(), text, "a time is written in one way");
    }
    if let Some(id) = SnapshotId::parse(&text) {
        assert_eq!(id.to_string(), text, "an id is written in one way");
    }
    if let Ok(id) = SessionId::of_path(Path::new(text.as_ref())) {
        let again = SessionId::from_str(id.as_str());
        assert_eq!(again.ok(), Some(id), "the id of a file is an id");
    }
    let _ = FixedSpan::from_str(&text);
    let _ = calendar(&text);
    let _ = Share::from_str(&text);
    let _ = parse_count(&text);
    if let Some((body, handle)) = Handle::split(&text) {
        assert!(text.starts_with(body), "the body of a note is its beginning");
        let _ = handle.behind(body);
    }
}
