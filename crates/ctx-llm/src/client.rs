//! Asking over HTTP.

use std::io::Read;
use std::thread::Builder;
use std::time::Duration;

use ureq::http::{HeaderMap, Response};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Proxy, RequestBuilder, Timeout};

use ctx_redact::redact;

use super::resolve::Resolve;
use super::retry::retry_after;
use super::window::{self, Told};
use super::{
    Api, Clock, Completion, Endpoint, Key, KeyInClear, LlmError, Question, Tries, Usage, wire,
};

/// Everything a client needs; the caller has read flags and environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to ask.
    pub endpoint: Endpoint,
    /// Model name; many local servers need none.
    pub model: Option<String>,
    /// The server's key.
    pub key: Option<Key>,
    /// Whether the key may go through a network without encryption.
    pub key_in_clear: bool,
    /// Until there is a connection.
    pub connect_timeout: Duration,
    /// Until one whole answer is there; each try has it anew.
    pub answer_timeout: Duration,
    /// How often to try.
    pub tries: Tries,
    /// A proxy between us and the server.
    pub proxy: Option<Proxy>,
}

/// Asks one server.
pub struct Client {
    settings: Settings,
    agent: Agent,
}

/// In bytes. A summary has some kilobytes; a server may put much around it.
const LARGEST_ANSWER: u64 = 8 * 1024 * 1024;
/// In bytes. Of an answer that is an error, only the message is read.
const LARGEST_ERROR: u64 = 64 * 1024;
/// What is asked besides, before a question that takes long, must be there within that.
const QUICK: Duration = Duration::from_secs(5);
/// A server's message is shown up to here, in characters.
const SHOWN_CHARS: usize = 300;

impl Client {
    /// Connects to nothing yet.
    pub fn new(settings: Settings) -> Result<Self, KeyInClear> {
        let endpoint = &settings.endpoint;
        if settings.key.is_some() && endpoint.can_be_read() && !settings.key_in_clear {
            let host = endpoint.host().to_owned();
            return Err(KeyInClear { host });
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirected POST would lose its body, or take it and the key to a host
            // nobody named.
            .max_redirects(0)
            .proxy(settings.proxy.clone())
            .user_agent(concat!("ctx-tools/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(settings.connect_timeout))
            .timeout_global(Some(settings.answer_timeout))
            .build();
        Ok(Self {
            agent: Agent::with_parts(config, DefaultConnector::new(), Resolve(Builder::new)),
            settings,
        })
    }

    /// Where it asks.
    pub fn endpoint(&self) -> &Endpoint {
        &self.settings.endpoint
    }

    /// Asks, again if that may help, and returns text or the reason why there is none. What that
    /// took is added to `usage`.
    pub fn ask(
        &self,
        question: &Question<'_>,
        clock: Clock<'_>,
        usage: &mut Usage,
    ) -> Result<Completion, LlmError> {
        let Settings {
            endpoint, model, ..
        } = &self.settings;
        let body = wire::request(endpoint, model.as_deref(), question).to_string();
        let begun = (clock.now)();
        let tries = &self.settings.tries;
        let outcome = tries.run(clock, || self.ask_once(&body, clock, usage));
        // A clock that was set back says nothing.
        usage.time += ((clock.now)() - begun).to_std().unwrap_or_default();
        outcome
    }

    /// The window that the server says its model has. One quick request, two to a llama.cpp
    /// server that tells but half; `None` whatever goes wrong.
    pub fn window(&self) -> Option<u64> {
        let Settings {
            endpoint, model, ..
        } = &self.settings;
        match window::of_models(&self.get(&endpoint.models())?, model.as_deref()) {
            Told::Window(window) => Some(window),
            Told::AtMost(trained) => {
                let running = self.get(&endpoint.props());
                let running = running.and_then(|body| window::of_props(&body));
                Some(running.map_or(trained, |running| running.min(trained)))
            }
            Told::Nothing => None,
        }
    }

    /// What stands at an address of the server, if it is there at once.
    fn get(&self, url: &str) -> Option<Vec<u8>> {
        let request = self.agent.get(url);
        let quick = QUICK.min(self.settings.answer_timeout);
        let request = request.config().timeout_global(Some(quick)).build();
        let mut response = self.authorized(request).ok()?.call().ok()?;
        let is_there = response.status().as_u16() == 200;
        let body = is_there.then(|| self.read(&mut response, LARGEST_ANSWER));
        body?.ok()
    }

    fn ask_once(
        &self,
        body: &str,
        clock: Clock<'_>,
        usage: &mut Usage,
    ) -> Result<Completion, LlmError> {
        usage.calls += 1;
        let request = self
            .agent
            .post(self.settings.endpoint.url())
            .header("content-type", "application/json");
        let mut response = self
            .authorized(request)?
            .send(body)
            .map_err(|error| self.failed(error))?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(self.refused(status, &mut response, clock));
        }
        let bytes = self.read(&mut response, LARGEST_ANSWER)?;
        *usage += Usage::of_answer(self.settings.endpoint.api(), &bytes);
        wire::answer(self.settings.endpoint.api(), &bytes)
            .map(|completion| Completion {
                text: self.clean(&completion.text),
                ..completion
            })
            .map_err(|error| self.shown(error))
    }

    fn authorized<B>(&self, request: RequestBuilder<B>) -> Result<RequestBuilder<B>, LlmError> {
        let (request, name, prefix) = match self.settings.endpoint.api() {
            Api::OpenAi => (request, "authorization", "Bearer "),
            Api::Anthropic => {
                let request = request.header("anthropic-version", "2023-06-01");
                (request, "x-api-key", "")
            }
        };
        Ok(match &self.settings.key {
            Some(key) => request.header(name, key.header(prefix)?),
            None => request,
        })
    }

    fn read(&self, response: &mut Response<Body>, limit: u64) -> Result<Vec<u8>, LlmError> {
        let mut bytes = Vec::new();
        response
            .body_mut()
            .as_reader()
            .take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| self.failed(error.into()))?;
        if bytes.len() as u64 > limit {
            return Err(LlmError::TooLarge(limit));
        }
        Ok(bytes)
    }

    /// An answer that is not 200.
    fn refused(&self, status: u16, response: &mut Response<Body>, clock: Clock<'_>) -> LlmError {
        let headers = response.headers().clone();
        if (300..400).contains(&status) {
            return LlmError::Redirect {
                status,
                location: host_of(&headers),
            };
        }
        // The status says enough when its body cannot be read.
        let body = self.read(response, LARGEST_ERROR).unwrap_or_default();
        let message = self.shorten(&wire::error_message(&body));
        match status {
            408 | 425 | 429 | 500.. => LlmError::Busy {
                status,
                message,
                retry_after: header(&headers, "retry-after")
                    .and_then(|value| retry_after(value, (clock.now)())),
            },
            401 if self.settings.key.is_none() => LlmError::NoKey(message),
            413 => LlmError::TooLong(message),
            400 | 422 if wire::says_too_long(&message) => LlmError::TooLong(message),
            _ => LlmError::Rejected { status, message },
        }
    }

    fn failed(&self, error: ureq::Error) -> LlmError {
        match error {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                LlmError::Timeout(self.settings.connect_timeout)
            }
            ureq::Error::Timeout(_) => LlmError::Timeout(self.settings.answer_timeout),
            ureq::Error::HostNotFound => LlmError::HostNotFound,
            other => LlmError::Connection(self.shorten(&other.to_string())),
        }
    }

    /// Text of a server is not trusted: it may quote the key, or be very long.
    fn shown(&self, error: LlmError) -> LlmError {
        match error {
            LlmError::Refused(text) => LlmError::Refused(self.shorten(&text)),
            LlmError::Rejected { status, message } => LlmError::Rejected {
                status,
                message: self.shorten(&message),
            },
            other => other,
        }
    }

    fn shorten(&self, text: &str) -> String {
        let clean = self.clean(text);
        let mut words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = words.char_indices().nth(SHOWN_CHARS) {
            words.truncate(end);
            words.push('…');
        }
        words
    }

    fn clean(&self, text: &str) -> String {
        let text = match &self.settings.key {
            Some(key) => key.hide_in(text),
            None => text.to_owned(),
        };
        redact(&text).0.into_owned()
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Where a redirect points: the host is what the user has to know.
fn host_of(headers: &HeaderMap) -> String {
    header(headers, "location")
        .and_then(|location| location.parse::<ureq::http::Uri>().ok())
        .and_then(|uri| uri.host().map(str::to_owned))
        .unwrap_or_default()
}
