//! Where a question goes: one rule from the URL that the user gave to the
//! address and the API behind it.

use std::fmt;

use ureq::http::Uri;

use super::Vendor;

/// The two ways of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Api {
    /// Chat completions, as many servers speak them
    #[cfg_attr(feature = "clap", value(name = "openai"))]
    OpenAi,
    /// Anthropic messages
    Anthropic,
}

/// A full address and the API spoken there.
///
/// A URL whose path ends in `/chat/completions` or `/messages` is used as it
/// stands and names its API. Any other URL is a base: the API is the one asked
/// for, else Anthropic's where a label of the host or a part of the path is
/// `anthropic`, else chat completions; then `/v1` is added unless the path holds a
/// version already (`v1`, `v1beta`, `v4`), then the API's own path.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    api: Api,
    url: String,
    host: String,
    vendor: Option<Vendor>,
    is_clear: bool,
}

/// Why a URL is no address of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// Not an absolute `http` or `https` URL.
    #[error("the LLM URL must begin with http:// or https:// and name a host")]
    NotHttp,
    /// `https://user:password@host/`.
    #[error("the LLM URL holds a user name or password")]
    Credentials,
    /// The path is that of the other API.
    #[error("the LLM URL ends in the path of another API than the one asked for")]
    OtherApi,
}

impl Api {
    fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/chat/completions",
            Self::Anthropic => "/messages",
        }
    }
}

impl Endpoint {
    /// Applies the rule above.
    pub fn new(url: &str, asked: Option<Api>) -> Result<Self, EndpointError> {
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
        let given = uri.path().trim_end_matches('/');
        let (api, path) = match whole_address(given) {
            Some(api) if asked.is_some_and(|asked| asked != api) => {
                return Err(EndpointError::OtherApi);
            }
            Some(api) => (api, given.to_owned()),
            None => {
                let api = asked.unwrap_or_else(|| guess(host, given));
                let has_version = given.split('/').any(is_version);
                let version = if has_version { "" } else { "/v1" };
                (api, format!("{given}{version}{}", api.path()))
            }
        };
        let query = uri.query().map(|query| format!("?{query}"));
        let query = query.unwrap_or_default();
        Ok(Self {
            api,
            url: format!("{scheme}://{authority}{path}{query}"),
            host: host.to_owned(),
            vendor: Vendor::of(host),
            is_clear: scheme == "http",
        })
    }

    /// The API spoken there.
    pub fn api(&self) -> Api {
        self.api
    }

    /// Whether it is on this machine: no proxy stands between.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// Its name or number, without the port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The vendor whose own server it is.
    pub fn vendor(&self) -> Option<Vendor> {
        self.vendor
    }

    /// Whether others on the way can read what is sent there.
    pub(super) fn can_be_read(&self) -> bool {
        self.is_clear && !self.is_loopback()
    }

    /// The address to post to.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The address of the list of models.
    pub(super) fn models(&self) -> String {
        self.beside("/models")
    }

    /// The address of what a llama.cpp server says of itself.
    pub(super) fn props(&self) -> String {
        let models = self.beside("/props");
        // It stands beside the versions, not below one.
        let path = models.split('?').next().unwrap_or_default();
        let version = path.rsplit('/').nth(1).filter(|part| is_version(part));
        match version {
            Some(version) => models.replacen(&format!("/{version}/props"), "/props", 1),
            None => models,
        }
    }

    /// An address beside the API's own.
    fn beside(&self, path: &str) -> String {
        let (address, query) = match self.url.split_once('?') {
            Some((address, query)) => (address, format!("?{query}")),
            None => (self.url.as_str(), String::new()),
        };
        let base = address.strip_suffix(self.api.path()).unwrap_or(address);
        format!("{base}{path}{query}")
    }
}

/// The address without its query, which may hold a key.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.split('?').next().unwrap_or_default())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({:?}, {self})", self.api)
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn whole_address(path: &str) -> Option<Api> {
    [Api::OpenAi, Api::Anthropic]
        .into_iter()
        .find(|api| path.ends_with(api.path()))
}

fn guess(host: &str, path: &str) -> Api {
    let named = |part: &str| part.eq_ignore_ascii_case("anthropic");
    if host.split('.').any(named) || path.split('/').any(named) {
        Api::Anthropic
    } else {
        Api::OpenAi
    }
}

/// `v1`, `v4`, `v1beta`: a `v`, a digit, and no punctuation.
fn is_version(part: &str) -> bool {
    let mut chars = part.chars();
    chars.next() == Some('v')
        && chars.next().is_some_and(|c| c.is_ascii_digit())
        && chars.all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::{Api, Endpoint, EndpointError};

    #[test]
    fn other_addresses_stand_beside_it() {
        for (url, models, props) in [
            ("http://a:1", "http://a:1/v1/models", "http://a:1/props"),
            (
                "http://a/llm/v1/",
                "http://a/llm/v1/models",
                "http://a/llm/props",
            ),
            (
                "http://a/v1/messages?k=1",
                "http://a/v1/models?k=1",
                "http://a/props?k=1",
            ),
            (
                "http://a/x/chat/completions",
                "http://a/x/models",
                "http://a/x/props",
            ),
        ] {
            let endpoint = Endpoint::new(url, None).expect("an address");
            assert_eq!(
                (endpoint.models(), endpoint.props()),
                (models.to_owned(), props.to_owned())
            );
        }
    }

    fn address(url: &str, asked: Option<Api>) -> (Api, String) {
        let endpoint = Endpoint::new(url, asked).expect(url);
        (endpoint.api(), endpoint.url().to_owned())
    }

    #[test]
    fn a_base_gets_version_and_path() {
        for (url, api, whole) in [
            (
                "http://127.0.0.1:8080",
                Api::OpenAi,
                "http://127.0.0.1:8080/v1/chat/completions",
            ),
            (
                "http://127.0.0.1:8080/v1/",
                Api::OpenAi,
                "http://127.0.0.1:8080/v1/chat/completions",
            ),
            (
                "https://api.anthropic.com",
                Api::Anthropic,
                "https://api.anthropic.com/v1/messages",
            ),
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
        assert_eq!(
            (api, url.as_str()),
            (Api::Anthropic, "http://host/proxy/messages")
        );
        assert_eq!(
            Endpoint::new("http://host/v1/messages", Some(Api::OpenAi)),
            Err(EndpointError::OtherApi)
        );
    }

    #[test]
    fn the_api_asked_for_holds_for_a_base() {
        let (api, url) = address("http://127.0.0.1:1", Some(Api::Anthropic));
        assert_eq!(
            (api, url.as_str()),
            (Api::Anthropic, "http://127.0.0.1:1/v1/messages")
        );
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for url in [
            "",
            "localhost:8080",
            "ftp://host",
            "/v1",
            "file:///etc/passwd",
            "http://",
        ] {
            assert_eq!(
                Endpoint::new(url, None),
                Err(EndpointError::NotHttp),
                "{url}"
            );
        }
        assert_eq!(
            Endpoint::new("https://me:pw@host/v1", None),
            Err(EndpointError::Credentials)
        );
    }

    #[test]
    fn this_machine_is_known() {
        let is_loopback = |url| Endpoint::new(url, None).expect(url).is_loopback();
        for url in [
            "http://localhost:1",
            "http://127.0.0.1",
            "http://[::1]:8080/v1",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://localhost.example",
            "http://10.0.0.1",
            "https://api.openai.com",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[test]
    fn the_query_is_not_shown() {
        let endpoint = Endpoint::new("https://host/v1?key=hidden", None).expect("an address");
        assert_eq!(endpoint.to_string(), "https://host/v1/chat/completions");
        assert!(!format!("{endpoint:?}").contains("hidden"));
    }
}
