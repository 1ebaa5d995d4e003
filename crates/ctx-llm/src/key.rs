//! A key that cannot be shown by accident.

use std::fmt;

use ureq::http::HeaderValue;

use super::LlmError;

/// The secret that a server wants. It has no `Display`, and its `Debug` hides it.
#[derive(Clone)]
pub struct Key(String);

/// A key that everybody on the way could read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key would go to {host} in clear text: the LLM URL begins with http://")]
pub struct KeyInClear {
    pub(super) host: String,
}

impl Key {
    /// Blanks around it (the newline of a key file) are cut; nothing left means no key.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// As a header, after `prefix`; marked so that no log of a library shows it.
    pub(super) fn header(&self, prefix: &str) -> Result<HeaderValue, LlmError> {
        let mut value =
            HeaderValue::from_str(&format!("{prefix}{}", self.0)).map_err(|_| LlmError::BadKey)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Text of a server with every copy of the key taken out: some servers quote
    /// it in their errors.
    pub(super) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::new("  sk-very-secret\n").expect("a key");
        assert_eq!(format!("{key:?}"), "Key(hidden)");
        let header = key.header("Bearer ").expect("a header");
        assert!(!format!("{header:?}").contains("secret"));
        assert_eq!(header.as_bytes(), b"Bearer sk-very-secret");
        assert_eq!(key.hide_in("bad key sk-very-secret."), "bad key [key].");
    }

    #[test]
    fn an_empty_key_is_none_and_a_broken_one_is_not_quoted() {
        assert!(Key::new(" \n").is_none());
        let error = Key::new("sk-a\nb")
            .expect("a key")
            .header("")
            .expect_err("two lines");
        assert_eq!(
            error.to_string(),
            "the key holds characters that no header can carry"
        );
    }
}
