//! Sends a question to a model over HTTP, retries after failures that may be temporary, and reports
//! why a question was not answered.

use std::io::Read;
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Duration;

use ctx_redact::redact;
use ureq::config::Config;
use ureq::http::{HeaderMap, Response, Uri};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout, time};
use ureq::{Agent, Body, Proxy, RequestBuilder, Timeout};

use crate::error::Result;
use crate::retry::{Clock, RetryPolicy, retry_after};
use crate::wire::{self, ListedWindow};
use crate::{Api, Completion, Endpoint, Key, KeyInClear, LlmError, Question, Usage};

/// Client settings, which the caller takes from flags and the environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The URL to send questions to, and the API used there.
    pub endpoint: Endpoint,
    /// The name of the model. Many local servers work without a model name.
    pub model: Option<String>,
    /// The key that the server requires, if any.
    pub key: Option<Key>,
    /// Whether the key may be sent over an unencrypted network connection.
    pub key_in_clear: bool,
    /// The time limit for connecting to the server.
    pub connect_timeout: Duration,
    /// The time limit for each attempt to get a complete answer.
    pub answer_timeout: Duration,
    /// The maximum number of attempts, and how long to wait between them.
    pub retry: RetryPolicy,
    /// The proxy through which to reach the server, if any.
    pub proxy: Option<Proxy>,
}

/// A client that sends questions to one server.
pub struct Client {
    /// The server, and how it is asked.
    pub settings: Settings,
    agent: Agent,
}

/// The maximum size of an answer in bytes. A summary takes up only a few kilobytes, but a server
/// may add far more data.
const LARGEST_ANSWER: u64 = 8 * 1024 * 1024;
/// The maximum size of an error response in bytes. Only the message in the response is used.
const LARGEST_ERROR: u64 = 64 * 1024;
/// The time limit for each request for the model's context window.
const QUICK: Duration = Duration::from_secs(5);
/// The maximum number of characters of a server's message to show.
const SHOWN_CHARS: usize = 300;

impl Client {
    /// Creates a client without connecting to the server.
    pub fn new(settings: Settings) -> Result<Self, KeyInClear> {
        let endpoint = &settings.endpoint;
        // Other computers on the network can read what is sent without encryption.
        let is_readable = !endpoint.is_encrypted && !endpoint.is_loopback();
        if settings.key.is_some() && is_readable && !settings.key_in_clear {
            return Err(KeyInClear { host: endpoint.host.clone() });
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would drop the body of a POST request, or send it and the key to another
            // host.
            .max_redirects(0)
            .proxy(settings.proxy.clone())
            .user_agent(concat!("ctx-tools/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(settings.connect_timeout))
            .timeout_global(Some(settings.answer_timeout))
            .build();
        let resolver = ThreadResolver(Builder::new);
        Ok(Self { agent: Agent::with_parts(config, DefaultConnector::new(), resolver), settings })
    }

    /// Asks a question, and retries after failures that may be temporary. Adds the cost to `usage`,
    /// even if the answer turns out to be unusable.
    pub fn ask(
        &self,
        question: &Question<'_>,
        clock: Clock<'_>,
        usage: &mut Usage,
    ) -> Result<Completion> {
        let Settings { endpoint, model, retry, .. } = &self.settings;
        let body = wire::request(endpoint, model.as_deref(), question).to_string();
        let start = (clock.now)();
        let outcome = retry.run(clock, || self.ask_once(&body, clock, usage));
        // If the clock is set back during the request, count the negative duration as 0.
        usage.ms += u64::try_from(((clock.now)() - start).num_milliseconds()).unwrap_or_default();
        outcome
    }

    /// The context window that the server reports for the model; `None` if the window cannot be
    /// determined. Sends one short request. If a llama.cpp server reports only the context window
    /// used in training, sends a second request.
    pub fn window(&self) -> Option<u64> {
        let Settings { endpoint, model, .. } = &self.settings;
        match wire::listed_window(&self.get(&endpoint.sibling("/models"))?, model.as_deref())? {
            ListedWindow::Running(window) => Some(window),
            ListedWindow::Trained(trained) => {
                let props = self.get(&endpoint.props());
                let running = props.and_then(|body| wire::running_window(&body));
                Some(running.map_or(trained, |running| running.min(trained)))
            }
        }
    }

    /// Names this model in all questions if the server lists it. Returns true if it does.
    pub fn choose(&mut self, model: &str) -> bool {
        let listed = self.get(&self.settings.endpoint.sibling("/models"));
        let is_listed = listed.is_some_and(|body| wire::lists(&body, model));
        if is_listed {
            self.settings.model = Some(model.to_owned());
        }
        is_listed
    }

    fn get(&self, url: &str) -> Option<Vec<u8>> {
        let quick = QUICK.min(self.settings.answer_timeout);
        let request = self.agent.get(url).config().timeout_global(Some(quick)).build();
        let response = self.authorized(request).ok()?.call().ok();
        let mut response = response.filter(|it| it.status().as_u16() == 200)?;
        self.read(&mut response, LARGEST_ANSWER).ok()
    }

    fn ask_once(&self, body: &str, clock: Clock<'_>, usage: &mut Usage) -> Result<Completion> {
        usage.calls += 1;
        let endpoint = &self.settings.endpoint;
        let request = self.agent.post(&endpoint.url).header("content-type", "application/json");
        let sent = self.authorized(request)?.send(body);
        let mut response = sent.map_err(|error| self.transport_error(error))?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(self.status_error(status, &mut response, clock));
        }
        let bytes = self.read(&mut response, LARGEST_ANSWER)?;
        *usage += Usage::of_answer(endpoint.api, &bytes);
        match wire::answer(endpoint.api, &bytes) {
            Ok(completion) => Ok(Completion { text: self.clean(&completion.text), ..completion }),
            Err(LlmError::Refused(text)) => Err(LlmError::Refused(self.shorten(&text))),
            Err(LlmError::Rejected { status, message }) => {
                Err(LlmError::Rejected { status, message: self.shorten(&message) })
            }
            Err(error) => Err(error),
        }
    }

    fn authorized<B>(&self, request: RequestBuilder<B>) -> Result<RequestBuilder<B>> {
        let (request, name, prefix) = match self.settings.endpoint.api {
            Api::OpenAi => (request, "authorization", "Bearer "),
            Api::Anthropic => (request.header("anthropic-version", "2023-06-01"), "x-api-key", ""),
        };
        Ok(match &self.settings.key {
            Some(key) => request.header(name, key.header(prefix)?),
            None => request,
        })
    }

    fn read(&self, response: &mut Response<Body>, limit: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = response.body_mut().as_reader().take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.transport_error(error.into()))?;
        if bytes.len() as u64 > limit {
            return Err(LlmError::TooLarge(limit));
        }
        Ok(bytes)
    }

    fn status_error(
        &self,
        status: u16,
        response: &mut Response<Body>,
        clock: Clock<'_>,
    ) -> LlmError {
        let headers = response.headers().clone();
        if (300..400).contains(&status) {
            // The message names only the host that the redirect points to.
            let uri = header(&headers, "location").and_then(|it| it.parse::<Uri>().ok());
            let location = uri.and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default();
            return LlmError::Redirect { status, location };
        }
        // If the response body cannot be read, the error reports only the status.
        let body = self.read(response, LARGEST_ERROR).unwrap_or_default();
        let message = self.shorten(&wire::error_message(&body));
        match status {
            408 | 425 | 429 | 500.. => {
                let wait = header(&headers, "retry-after");
                let retry_after = wait.and_then(|value| retry_after(value, (clock.now)()));
                LlmError::Busy { status, message, retry_after }
            }
            401 if self.settings.key.is_none() => LlmError::NoKey(message),
            413 => LlmError::TooLong(message),
            400 | 422 if wire::says_too_long(&message) => LlmError::TooLong(message),
            _ => LlmError::Rejected { status, message },
        }
    }

    fn transport_error(&self, error: ureq::Error) -> LlmError {
        match error {
            ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                LlmError::Timeout(self.settings.connect_timeout)
            }
            ureq::Error::Timeout(_) => LlmError::Timeout(self.settings.answer_timeout),
            ureq::Error::HostNotFound => LlmError::HostNotFound,
            other => LlmError::Connection(self.shorten(&other.to_string())),
        }
    }

    /// Shortens a server's message to one line, after removing the key and other secrets that the
    /// message may quote.
    fn shorten(&self, text: &str) -> String {
        let mut line = self.clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = line.char_indices().nth(SHOWN_CHARS) {
            line.truncate(end);
            line.push('…');
        }
        line
    }

    fn clean(&self, text: &str) -> String {
        let key = self.settings.key.as_ref();
        redact(&key.map_or_else(|| text.to_owned(), |key| key.hide_in(text))).0.into_owned()
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Resolves host names in a separate thread, so that the time limit can be enforced. If the system
/// cannot create a thread, ureq's own resolver panics. `ThreadResolver` falls back to the calling
/// thread, without a time limit.
#[derive(Debug)]
struct ThreadResolver(fn() -> Builder);

impl Resolver for ThreadResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let unlimited = NextTimeout { after: time::Duration::NotHappening, ..timeout };
        let (sender, receiver) = channel();
        let (own_uri, own_config) = (uri.clone(), config.clone());
        let look_up = move || {
            let addresses = DefaultResolver::default().resolve(&own_uri, &own_config, unlimited);
            // If resolving the name took longer than the time limit, the receiver has already been
            // dropped.
            drop(sender.send(addresses));
        };
        match self.0().spawn(look_up) {
            Err(_) => DefaultResolver::default().resolve(uri, config, unlimited),
            Ok(_) => receiver
                .recv_timeout(*timeout.after)
                .unwrap_or(Err(ureq::Error::Timeout(timeout.reason))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::Builder;
    use std::time::Duration;

    use ureq::Timeout;
    use ureq::config::Config;
    use ureq::unversioned::resolver::Resolver;
    use ureq::unversioned::transport::{NextTimeout, time};

    use super::ThreadResolver;

    /// Under `ulimit -u 1`, for example, the system cannot create a thread.
    #[test]
    fn a_name_is_looked_up_with_and_without_threads() {
        let uri = "http://127.0.0.1:8080/".parse().expect("a URI");
        let limited = |limit| NextTimeout {
            after: limit,
            reason: Timeout::Resolve,
            ..NextTimeout::default()
        };
        // No system can allocate a stack of this size.
        let none = || Builder::new().stack_size(usize::MAX / 4);
        for thread in [Builder::new, none] {
            for limit in [Duration::from_secs(9).into(), time::Duration::NotHappening] {
                let found =
                    ThreadResolver(thread).resolve(&uri, &Config::default(), limited(limit));
                let found = found.expect("an address");
                assert_eq!(found[0].to_string(), "127.0.0.1:8080");
            }
        }
    }
}
