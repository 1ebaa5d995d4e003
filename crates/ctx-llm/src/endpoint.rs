//! Derives a model's address from the user's URL, and chooses the key to send. The key never
//! appears in a message.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use derive_more::{Debug, Display};
use ureq::http::{HeaderValue, Uri};

use crate::LlmError;
use crate::error::Result;

/// The API that a server offers, named after the vendor that designed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Api {
    /// The chat completions API, which many servers support
    #[cfg_attr(feature = "clap", value(name = "openai"))]
    OpenAi,
    /// The messages API of Anthropic
    Anthropic,
}

impl Api {
    fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/chat/completions",
            Self::Anthropic => "/messages",
        }
    }
}

/// The full URL to send questions to, and the API that the server offers there.
///
/// If the path of a URL ends with `/chat/completions` or `/messages`, the URL is a complete
/// address, and the path determines the API. Any other URL is a base URL, and the API's path is
/// appended to it. If the user did not request an API, the Anthropic API is used if a host name
/// label or a path segment is `anthropic`; otherwise, the chat completions API is used. `/v1` is
/// inserted before the API's path unless the base URL already contains a version (`v1`, `v1beta`,
/// `v4`).
#[derive(Clone, PartialEq, Eq, Debug, Display)]
#[debug("Endpoint({api:?}, {self})")]
// Shown without its query, which may contain a key.
#[display("{}", url.split('?').next().unwrap_or_default())]
pub struct Endpoint {
    /// The API at this address.
    pub api: Api,
    /// The URL to send questions to.
    pub(crate) url: String,
    /// The name or the IP address of the host, without the port.
    pub host: String,
    pub(crate) is_encrypted: bool,
}

/// The reason why a URL cannot be used as a model's address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The URL is not an absolute `http` or `https` URL.
    #[error("the LLM URL must begin with http:// or https:// and name a host")]
    NotHttp,
    /// The URL contains credentials, as in `https://user:password@host/`.
    #[error("the LLM URL contains a user name or password")]
    Credentials,
    /// The path of the URL belongs to an API other than the requested one.
    #[error("the path of the LLM URL belongs to an API other than the requested one")]
    OtherApi,
}

impl Endpoint {
    /// Creates the endpoint for a URL. `wanted` is the API that the user requested, if any.
    pub fn new(url: &str, wanted: Option<Api>) -> Result<Self, EndpointError> {
        let uri: Uri = url.trim().parse().map_err(|_| EndpointError::NotHttp)?;
        let scheme = uri.scheme_str().ok_or(EndpointError::NotHttp)?;
        let authority = uri.authority().ok_or(EndpointError::NotHttp)?;
        let host = authority.host();
        if !matches!(scheme, "http" | "https") || host.is_empty() {
            return Err(EndpointError::NotHttp);
        }
        if authority.as_str().contains('@') {
            return Err(EndpointError::Credentials);
        }
        let base = uri.path().trim_end_matches('/');
        let named =
            [Api::OpenAi, Api::Anthropic].into_iter().find(|api| base.ends_with(api.path()));
        let (api, path) = match named {
            Some(api) if wanted.is_some_and(|wanted| wanted != api) => {
                return Err(EndpointError::OtherApi);
            }
            Some(api) => (api, base.to_owned()),
            None => {
                let api = wanted.unwrap_or_else(|| guess(host, base));
                let version = if base.split('/').any(is_version) { "" } else { "/v1" };
                (api, format!("{base}{version}{}", api.path()))
            }
        };
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        Ok(Self {
            api,
            url: format!("{scheme}://{authority}{path}{query}"),
            host: host.to_owned(),
            is_encrypted: scheme == "https",
        })
    }

    /// Returns true if the server is on this machine, so that no proxy is needed.
    pub fn is_loopback(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The vendor that owns the host. Only the host identifies the vendor, because any server can
    /// use the same path and API.
    pub(crate) fn vendor(&self) -> Option<Api> {
        // A host name may end with a dot, which denotes the root domain.
        let host = self.host.strip_suffix('.').unwrap_or(&self.host).to_ascii_lowercase();
        let is_below = |domain: &str| {
            host.strip_suffix(domain).is_some_and(|name| name.is_empty() || name.ends_with('.'))
        };
        let vendors = [("openai.com", Api::OpenAi), ("anthropic.com", Api::Anthropic)];
        vendors.into_iter().find(|(domain, _)| is_below(domain)).map(|(_, vendor)| vendor)
    }

    /// The address of a llama.cpp server's properties, whose path contains no version.
    pub(crate) fn props(&self) -> String {
        let url = self.sibling("/props");
        match url.split('?').next().unwrap_or_default().rsplit('/').nth(1) {
            Some(part) if is_version(part) => url.replacen(&format!("/{part}/props"), "/props", 1),
            _ => url,
        }
    }

    /// Returns the address with `path` in place of the API's path.
    pub(crate) fn sibling(&self, path: &str) -> String {
        let (address, query) = self.url.split_at(self.url.find('?').unwrap_or(self.url.len()));
        let base = address.strip_suffix(self.api.path()).unwrap_or(address);
        format!("{base}{path}{query}")
    }
}

fn guess(host: &str, path: &str) -> Api {
    let is_anthropic = |part: &str| part.eq_ignore_ascii_case("anthropic");
    let is_named = host.split('.').any(is_anthropic) || path.split('/').any(is_anthropic);
    if is_named { Api::Anthropic } else { Api::OpenAi }
}

/// Returns true for a version such as `v1`, `v4` or `v1beta`: a `v`, a digit, and then only letters
/// and digits.
fn is_version(part: &str) -> bool {
    let rest = part.strip_prefix('v').unwrap_or_default();
    rest.starts_with(|c: char| c.is_ascii_digit())
        && rest.chars().all(|c| c.is_ascii_alphanumeric())
}

/// The environment variable that holds the user's own key, which may be sent to any server.
const OWN_KEY: &str = "CTX_LLM_KEY";
/// The environment variable that holds the path of a file with the user's own key on the first
/// line.
const OWN_KEY_FILE: &str = "CTX_LLM_KEY_FILE";

/// The key for a server. `Key` does not implement `Display`, and its `Debug` output hides the text.
#[derive(Clone, Debug)]
#[debug("Key(hidden)")]
pub struct Key(String);

impl Key {
    /// Creates a key from `text`. Trims surrounding whitespace, because a key file may end with a
    /// newline. `None` if the key is empty.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key as a header value, marked as sensitive so that no library logs it.
    pub(crate) fn header(&self, prefix: &str) -> Result<HeaderValue> {
        let text = format!("{prefix}{}", self.0);
        let mut value = HeaderValue::from_str(&text).map_err(|_| LlmError::BadKey)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Removes the key from text sent by the server, because some servers quote the key in errors.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

/// The error returned if the key would be sent over an unencrypted network connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key would be sent to {host} in clear text, because the LLM URL begins with http://")]
pub struct KeyInClear {
    pub(crate) host: String,
}

/// The result of choosing a key for a server.
#[derive(Debug)]
pub enum ChosenKey {
    /// The key to send to the server.
    Sent(Key),
    /// No key is set for this server.
    Missing,
    /// The environment variable with this name holds a vendor's key, but the server does not belong
    /// to that vendor.
    Withheld(&'static str),
}

/// The reason why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct KeyFileError {
    /// The path of the key file.
    pub path: PathBuf,
    why: String,
}

impl ChosenKey {
    /// Chooses the key for a server. The key comes from an environment variable, or from a file
    /// that an environment variable names; `variable` returns the value of an environment variable.
    /// Unlike a key in a flag, a key from these sources does not show up in the process list or the
    /// shell history.
    ///
    /// The user's own key may be sent to any server. A vendor's key was set for other programs, so
    /// it may be sent only to that vendor.
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
        let usual = variable_of(endpoint.api);
        // A server on this machine rarely requires a key, so a withheld key is not reported.
        let is_withheld = !endpoint.is_loopback() && key(usual).is_some();
        Ok(if is_withheld { Self::Withheld(usual) } else { Self::Missing })
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
    use super::{Api, Endpoint, EndpointError};

    #[test]
    fn other_addresses_are_siblings() {
        for (url, models, props) in [
            ("http://a:1", "http://a:1/v1/models", "http://a:1/props"),
            ("http://a/llm/v1/", "http://a/llm/v1/models", "http://a/llm/props"),
            ("http://a/v1/messages?k=1", "http://a/v1/models?k=1", "http://a/props?k=1"),
            ("http://a/x/chat/completions", "http://a/x/models", "http://a/x/props"),
        ] {
            let endpoint = Endpoint::new(url, None).expect("an address");
            assert_eq!(
                (endpoint.sibling("/models"), endpoint.props()),
                (models.to_owned(), props.to_owned())
            );
        }
    }

    fn address(url: &str, asked: Option<Api>) -> (Api, String) {
        let endpoint = Endpoint::new(url, asked).expect(url);
        (endpoint.api, endpoint.url.clone())
    }

    #[test]
    fn a_base_gets_version_and_path() {
        for (url, api, whole) in [
            ("http://127.0.0.1:8080", Api::OpenAi, "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1/", Api::OpenAi, "http://127.0.0.1:8080/v1/chat/completions"),
            ("https://api.anthropic.com", Api::Anthropic, "https://api.anthropic.com/v1/messages"),
            (
                "https://models.example/api/anthropic",
                Api::Anthropic,
                "https://models.example/api/anthropic/v1/messages",
            ),
            (
                "https://models.example/v1beta/openai",
                Api::OpenAi,
                "https://models.example/v1beta/openai/chat/completions",
            ),
            (
                "https://models.example/?api-version=2",
                Api::OpenAi,
                "https://models.example/v1/chat/completions?api-version=2",
            ),
        ] {
            assert_eq!(address(url, None), (api, whole.to_owned()), "{url}");
        }
    }

    #[test]
    fn a_whole_address_stays_and_names_its_api() {
        let (api, url) = address("http://host/proxy/messages", None);
        assert_eq!((api, url.as_str()), (Api::Anthropic, "http://host/proxy/messages"));
        assert_eq!(
            Endpoint::new("http://host/v1/messages", Some(Api::OpenAi)),
            Err(EndpointError::OtherApi)
        );
    }

    #[test]
    fn the_api_asked_for_holds_for_a_base() {
        let (api, url) = address("http://127.0.0.1:1", Some(Api::Anthropic));
        assert_eq!((api, url.as_str()), (Api::Anthropic, "http://127.0.0.1:1/v1/messages"));
    }

    #[test]
    fn other_texts_are_refused() {
        for url in ["", "localhost:8080", "ftp://host", "/v1", "file:///etc/passwd", "http://"] {
            assert_eq!(Endpoint::new(url, None), Err(EndpointError::NotHttp), "{url}");
        }
        assert_eq!(Endpoint::new("https://me:pw@host/v1", None), Err(EndpointError::Credentials));
    }

    #[test]
    fn loopback_is_recognized() {
        let is_loopback = |url| Endpoint::new(url, None).expect(url).is_loopback();
        for url in ["http://localhost:1", "http://127.0.0.1", "http://[::1]:8080/v1"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["http://localhost.example", "http://10.0.0.1", "https://api.openai.com"] {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[test]
    fn the_query_is_not_shown() {
        let endpoint = Endpoint::new("https://host/v1?key=hidden", None).expect("an address");
        assert_eq!(endpoint.to_string(), "https://host/v1/chat/completions");
        assert!(!format!("{endpoint:?}").contains("hidden"));
    }

    #[test]
    fn a_host_is_its_vendors_only_below_the_domain() {
        for (host, vendor) in [
            ("api.openai.com", Some(Api::OpenAi)),
            ("EU.API.OpenAI.com", Some(Api::OpenAi)),
            ("api.anthropic.com.", Some(Api::Anthropic)),
            ("anthropic.com", Some(Api::Anthropic)),
            ("api.openai.com.example", None),
            ("notopenai.com", None),
            ("anthropic.example", None),
            ("127.0.0.1", None),
        ] {
            let endpoint = Endpoint::new(&format!("https://{host}"), None).expect(host);
            assert_eq!(endpoint.vendor(), vendor, "{host}");
        }
    }
}

#[cfg(test)]
mod key_tests {
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
        assert_eq!(error.to_string(), "the key contains characters not allowed in a header");
    }

    /// Returns the header that is sent to a server, or the reason why no key is sent. Each of
    /// `variables` is an environment variable in the form `NAME=KEY`.
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
