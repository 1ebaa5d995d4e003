//! The address that a question goes to, made from the URL that the user gave.

use std::fmt;

use ureq::http::Uri;

/// An API, which is also the name of the vendor who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Api {
    /// Chat completions, as many servers speak them
    #[cfg_attr(feature = "clap", value(name = "openai"))]
    OpenAi,
    /// Anthropic messages
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

/// A full address and the API spoken there.
///
/// A URL whose path ends in `/chat/completions` or `/messages` is already a full address and
/// names its API. Any other URL is a base. Its API is the one asked for, else Anthropic's if a
/// label of the host or a part of the path is `anthropic`, else chat completions. A base gets
/// `/v1`, unless its path holds a version (`v1`, `v1beta`, `v4`), and then the API's path.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    api: Api,
    url: String,
    host: String,
    is_encrypted: bool,
}

/// A URL is not the address of a model.
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

impl Endpoint {
    /// Makes the address of a URL; `wanted` is the API that the user asked for.
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

    /// The API spoken there.
    pub fn api(&self) -> Api {
        self.api
    }

    /// Whether it is on this machine, where no proxy is needed.
    pub fn is_loopback(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The name or address, without the port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The vendor that owns the host. The path and the API prove nothing:
    /// the URL can have any.
    pub(crate) fn vendor(&self) -> Option<Api> {
        // A name may end in the dot of the root.
        let host = self.host.strip_suffix('.').unwrap_or(&self.host).to_ascii_lowercase();
        let is_below = |domain: &str| {
            let subdomain = host.strip_suffix(domain);
            subdomain.is_some_and(|name| name.is_empty() || name.ends_with('.'))
        };
        let vendors = [("openai.com", Api::OpenAi), ("anthropic.com", Api::Anthropic)];
        vendors.into_iter().find(|(domain, _)| is_below(domain)).map(|(_, vendor)| vendor)
    }

    /// Whether others on the network can read what is sent there.
    pub(crate) fn is_readable(&self) -> bool {
        !self.is_encrypted && !self.is_loopback()
    }

    /// The address to post to.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The address of the list of models.
    pub(crate) fn models(&self) -> String {
        self.sibling("/models")
    }

    /// The address of the properties of a llama.cpp server, which is not below a version.
    pub(crate) fn props(&self) -> String {
        let url = self.sibling("/props");
        let path = url.split('?').next().unwrap_or_default();
        match path.rsplit('/').nth(1) {
            Some(part) if is_version(part) => url.replacen(&format!("/{part}/props"), "/props", 1),
            _ => url,
        }
    }

    /// The address with another path instead of the API's.
    fn sibling(&self, path: &str) -> String {
        let at = self.url.find('?').unwrap_or(self.url.len());
        let (address, query) = self.url.split_at(at);
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

fn guess(host: &str, path: &str) -> Api {
    let is_anthropic = |part: &str| part.eq_ignore_ascii_case("anthropic");
    if host.split('.').any(is_anthropic) || path.split('/').any(is_anthropic) {
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
    fn other_addresses_are_siblings() {
        for (url, models, props) in [
            ("http://a:1", "http://a:1/v1/models", "http://a:1/props"),
            ("http://a/llm/v1/", "http://a/llm/v1/models", "http://a/llm/props"),
            ("http://a/v1/messages?k=1", "http://a/v1/models?k=1", "http://a/props?k=1"),
            ("http://a/x/chat/completions", "http://a/x/models", "http://a/x/props"),
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
    fn loopback_is_recognised() {
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
