//! Which key goes to which server.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Api, Endpoint, Key, Vendor};

/// The user's own key, which goes to whatever server he names.
const OWN: &str = "CTX_LLM_KEY";
/// The file whose first line it is.
const OWN_FILE: &str = "CTX_LLM_KEY_FILE";

/// The key for a server.
#[derive(Debug)]
pub enum ChosenKey {
    /// It is sent.
    Sent(Key),
    /// There is none.
    Missing,
    /// The vendor's key in this variable is there, and the server is another's.
    Withheld(&'static str),
}

/// A key file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct KeyFileError {
    /// The file.
    pub path: PathBuf,
    why: String,
}

impl ChosenKey {
    /// The key of a server: from the environment or a file named there, so that no list of
    /// processes and no shell history shows it. The user's own key for this goes to whatever
    /// server he names; a vendor's, which is there for other programs, too, only to that
    /// vendor. `variable` reads a variable of the environment.
    pub fn of(
        endpoint: &Endpoint,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, KeyFileError> {
        let key = |name| variable(name)?.to_str().and_then(Key::new);
        if let Some(key) = key(OWN) {
            return Ok(Self::Sent(key));
        }
        if let Some(path) = variable(OWN_FILE).filter(|path| !path.is_empty()) {
            return first_line(Path::new(&path)).map(Self::Sent);
        }
        if let Some(vendor) = endpoint.vendor() {
            return Ok(key(variable_of(vendor)).map_or(Self::Missing, Self::Sent));
        }
        let usual = variable_of(match endpoint.api() {
            Api::OpenAi => Vendor::OpenAi,
            Api::Anthropic => Vendor::Anthropic,
        });
        // Servers on this machine seldom want a key.
        Ok(if !endpoint.is_loopback() && key(usual).is_some() {
            Self::Withheld(usual)
        } else {
            Self::Missing
        })
    }
}

fn variable_of(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::OpenAi => "OPENAI_API_KEY",
        Vendor::Anthropic => "ANTHROPIC_API_KEY",
    }
}

fn first_line(path: &Path) -> Result<Key, KeyFileError> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read: {error}"));
    let key = text.and_then(|text| {
        let line = text.lines().next().unwrap_or_default();
        Key::new(line).ok_or_else(|| "the first line is empty".to_owned())
    });
    key.map_err(|why| KeyFileError {
        path: path.to_owned(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Write;

    use super::ChosenKey;
    use crate::Endpoint;

    /// What is chosen for a server where these variables are set: `=` and the header that
    /// carries the key, or what else there is to tell.
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
