//! The key of a server: which one is sent, and how it stays hidden.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use ureq::http::HeaderValue;

use crate::{Api, Endpoint, LlmError};

/// The user's own key, which may go to any server.
const OWN_KEY: &str = "CTX_LLM_KEY";
/// A file whose first line is the user's own key.
const OWN_KEY_FILE: &str = "CTX_LLM_KEY_FILE";

/// The secret that a server wants. It has no `Display`, and its `Debug` hides it.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// Trims the text, which may end in the newline of a key file; `None` if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The value of a header, marked so that no library logs it.
    pub(crate) fn header(&self, prefix: &str) -> Result<HeaderValue, LlmError> {
        let text = format!("{prefix}{}", self.0);
        let mut value = HeaderValue::from_str(&text).map_err(|_| LlmError::BadKey)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Removes the key from a server's text: some servers quote it in their errors.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

/// The key would cross a network unencrypted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key would go to {host} in clear text: the LLM URL begins with http://")]
pub struct KeyInClear {
    pub(crate) host: String,
}

/// The decision about the key for a server.
#[derive(Debug)]
pub enum ChosenKey {
    /// Send this key.
    Sent(Key),
    /// No key is set.
    Missing,
    /// This variable holds a vendor's key, but the server is not the vendor's.
    Withheld(&'static str),
}

/// A key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct KeyFileError {
    /// The file.
    pub path: PathBuf,
    why: String,
}

impl ChosenKey {
    /// Chooses the key for a server from the environment, which `variable` reads, or from a
    /// file named there. Neither shows up in a list of processes or in a shell's history.
    ///
    /// The user's own key goes to any server. A vendor's key is there for other programs too,
    /// so it only goes to that vendor.
    pub fn of(
        endpoint: &Endpoint,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, KeyFileError> {
        let key = |name| variable(name)?.to_str().and_then(Key::new);
        if let Some(key) = key(OWN_KEY) {
            return Ok(Self::Sent(key));
        }
        if let Some(path) = variable(OWN_KEY_FILE).filter(|path| !path.is_empty()) {
            return first_line(Path::new(&path)).map(Self::Sent);
        }
        if let Some(vendor) = endpoint.vendor() {
            return Ok(key(variable_of(vendor)).map_or(Self::Missing, Self::Sent));
        }
        let usual = variable_of(endpoint.api());
        // A server on this machine seldom wants a key.
        if !endpoint.is_loopback() && key(usual).is_some() {
            return Ok(Self::Withheld(usual));
        }
        Ok(Self::Missing)
    }
}

fn variable_of(vendor: Api) -> &'static str {
    match vendor {
        Api::OpenAi => "OPENAI_API_KEY",
        Api::Anthropic => "ANTHROPIC_API_KEY",
    }
}

fn first_line(path: &Path) -> Result<Key, KeyFileError> {
    let failed = |why| KeyFileError { path: path.to_owned(), why };
    let text = fs::read_to_string(path).map_err(|error| failed(format!("cannot read: {error}")))?;
    let line = text.lines().next().unwrap_or_default();
    Key::new(line).ok_or_else(|| failed("the first line is empty".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Write;

    use super::{ChosenKey, Key};
    use crate::Endpoint;

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
        let error = Key::new("sk-a\nb").expect("a key").header("").expect_err("two lines");
        assert_eq!(error.to_string(), "the key holds characters that no header can carry");
    }

    /// The result for a server with these variables: the header and the key, joined by `=`, or the
    /// error.
    fn chosen(url: &str, variables: &[(&str, &str)]) -> String {
        let endpoint = Endpoint::new(url, None).expect("a URL");
        let variable = |name: &str| {
            let mut all = variables.iter();
            all.find_map(|(key, value)| (*key == name).then(|| OsString::from(*value)))
        };
        match ChosenKey::of(&endpoint, variable) {
            Ok(ChosenKey::Sent(key)) => {
                let header = key.header("=").expect("a header");
                header.to_str().expect("ASCII").to_owned()
            }
            Ok(ChosenKey::Missing) => "missing".to_owned(),
            Ok(ChosenKey::Withheld(name)) => format!("withheld {name}"),
            Err(error) => error.to_string(),
        }
    }

    const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "o");
    const ANTHROPIC: (&str, &str) = ("ANTHROPIC_API_KEY", "a");

    #[test]
    fn a_vendors_key_goes_to_that_vendor_alone() {
        let both = [OPENAI, ANTHROPIC];
        assert_eq!(chosen("https://api.openai.com/v1", &both), "=o");
        assert_eq!(chosen("https://api.anthropic.com", &both), "=a");
        assert_eq!(chosen("https://api.anthropic.com", &[OPENAI]), "missing");
        let other = "https://llm.example/v1";
        assert_eq!(chosen(other, &both), "withheld OPENAI_API_KEY");
        assert_eq!(chosen(other, &[ANTHROPIC]), "missing");
        assert_eq!(chosen("http://127.0.0.1:8080", &both), "missing");
    }

    #[test]
    fn the_users_own_key_goes_anywhere_and_its_variable_before_its_file() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b" f \nmore\n").expect("written");
        let path = file.path().to_str().expect("UTF-8");
        let in_file = ("CTX_LLM_KEY_FILE", path);
        let other = "https://llm.example/v1";
        assert_eq!(chosen(other, &[in_file, OPENAI]), "=f");
        assert_eq!(chosen(other, &[in_file, ("CTX_LLM_KEY", "k")]), "=k");
        assert_eq!(chosen(other, &[("CTX_LLM_KEY", " "), in_file]), "=f");
        assert_eq!(chosen(other, &[("CTX_LLM_KEY_FILE", "")]), "missing");
        let empty = ("CTX_LLM_KEY_FILE", "/dev/null");
        assert_eq!(chosen(other, &[empty]), "the first line is empty");
        let none = ("CTX_LLM_KEY_FILE", "/no/such");
        assert!(chosen(other, &[none]).starts_with("cannot read: "));
    }
}
