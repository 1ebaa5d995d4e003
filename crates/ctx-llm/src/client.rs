//! Sends a question over HTTP, with retries, and reports why a model gives no answer.

use std::io::Read;
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Duration;

use chrono::{DateTime, Utc};
use ctx_redact::redact;
use ureq::config::Config;
use ureq::http::{HeaderMap, Response, Uri};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout, time};
use ureq::{Agent, Body, Proxy, RequestBuilder, Timeout};

use crate::error::Result;
use crate::wire::{self, ListedWindow};
use crate::{Api, Completion, Endpoint, Key, KeyInClear, LlmError, Question, Usage};

/// The settings of a client. The caller has read flags and environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server and its path.
    pub endpoint: Endpoint,
    /// The name of the model; many local servers need none.
    pub model: Option<String>,
    /// The server's key.
    pub key: Option<Key>,
    /// Whether the key may cross a network unencrypted.
    pub key_in_clear: bool,
    /// The time limit for a connection.
    pub connect_timeout: Duration,
    /// The time limit for a complete answer, for each attempt.
    pub answer_timeout: Duration,
    /// The number of attempts and the wait between them.
    pub tries: Tries,
    /// A proxy on the way to the server.
    pub proxy: Option<Proxy>,
}

/// How often to ask, and how long to wait in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries {
    /// The maximum number of attempts, at least one.
    pub most: u64,
    /// The wait before the second attempt; the wait before the nth is n - 1 times as long.
    pub step: Duration,
}

/// The clock of the caller, which tests replace.
#[derive(Clone, Copy)]
pub struct Clock<'a> {
    /// The current time.
    pub now: &'a dyn Fn() -> DateTime<Utc>,
    /// Waits.
    pub sleep: &'a dyn Fn(Duration),
}

/// A client for one server.
pub struct Client {
    settings: Settings,
    agent: Agent,
}

/// The largest answer in bytes. A summary has a few kilobytes, but a server may add much to it.
const LARGEST_ANSWER: u64 = 8 * 1024 * 1024;
/// The largest error in bytes. Only its message is used.
const LARGEST_ERROR: u64 = 64 * 1024;
/// The time limit for a request that prepares the question.
const QUICK: Duration = Duration::from_secs(5);
/// The longest wait, whatever the server asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The number of characters of a server's message to show.
const SHOWN_CHARS: usize = 300;

impl Client {
    /// Makes a client without connecting.
    pub fn new(settings: Settings) -> Result<Self, KeyInClear> {
        let endpoint = &settings.endpoint;
        // Others on the network can read what is sent.
        let is_readable = !endpoint.is_encrypted && !endpoint.is_loopback();
        if settings.key.is_some() && is_readable && !settings.key_in_clear {
            return Err(KeyInClear { host: endpoint.host().to_owned() });
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would drop the body of a POST, or carry it and the key to another host.
            .max_redirects(0)
            .proxy(settings.proxy.clone())
            .user_agent(concat!("ctx-tools/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(settings.connect_timeout))
            .timeout_global(Some(settings.answer_timeout))
            .build();
        let resolver = ThreadResolver(Builder::new);
        Ok(Self { agent: Agent::with_parts(config, DefaultConnector::new(), resolver), settings })
    }

    /// The endpoint of the requests.
    pub fn endpoint(&self) -> &Endpoint {
        &self.settings.endpoint
    }

    /// Asks, and tries again if that may help. Adds the cost to `usage`, including that of an
    /// answer that cannot be used.
    pub fn ask(
        &self,
        question: &Question<'_>,
        clock: Clock<'_>,
        usage: &mut Usage,
    ) -> Result<Completion> {
        let Settings { endpoint, model, tries, .. } = &self.settings;
        let body = wire::request(endpoint, model.as_deref(), question).to_string();
        let start = (clock.now)();
        let outcome = tries.run(clock, || self.ask_once(&body, clock, usage));
        // The duration is negative if the clock was set back.
        usage.ms += u64::try_from(((clock.now)() - start).num_milliseconds()).unwrap_or_default();
        outcome
    }

    /// The window that the server reports for its model; `None` if anything fails. Sends one quick
    /// request, and a second one to a llama.cpp server that only reports the window with which the
    /// model was trained.
    pub fn window(&self) -> Option<u64> {
        let Settings { endpoint, model, .. } = &self.settings;
        match wire::listed_window(&self.get(&endpoint.models())?, model.as_deref())? {
            ListedWindow::Running(window) => Some(window),
            ListedWindow::Trained(trained) => {
                let props = self.get(&endpoint.props());
                let running = props.and_then(|body| wire::running_window(&body));
                Some(running.map_or(trained, |running| running.min(trained)))
            }
        }
    }

    fn get(&self, url: &str) -> Option<Vec<u8>> {
        let quick = QUICK.min(self.settings.answer_timeout);
        let request = self.agent.get(url).config().timeout_global(Some(quick)).build();
        let mut response = self.authorized(request).ok()?.call().ok()?;
        if response.status().as_u16() != 200 {
            return None;
        }
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
        *usage += Usage::of_answer(endpoint.api(), &bytes);
        match wire::answer(endpoint.api(), &bytes) {
            Ok(completion) => Ok(Completion { text: self.clean(&completion.text), ..completion }),
            Err(LlmError::Refused(text)) => Err(LlmError::Refused(self.shorten(&text))),
            Err(LlmError::Rejected { status, message }) => {
                Err(LlmError::Rejected { status, message: self.shorten(&message) })
            }
            Err(error) => Err(error),
        }
    }

    fn authorized<B>(&self, request: RequestBuilder<B>) -> Result<RequestBuilder<B>> {
        let (request, name, prefix) = match self.settings.endpoint.api() {
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
            return LlmError::Redirect { status, location: redirect_host(&headers) };
        }
        // If the body cannot be read, the status is enough.
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

    /// Shortens a server's message to one line. The message is not trusted: it may quote the key,
    /// or be very long.
    fn shorten(&self, text: &str) -> String {
        let clean = self.clean(text);
        let mut line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = line.char_indices().nth(SHOWN_CHARS) {
            line.truncate(end);
            line.push('…');
        }
        line
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

/// The host that a redirect points to, for the message to the user.
fn redirect_host(headers: &HeaderMap) -> String {
    let uri = header(headers, "location").and_then(|location| location.parse::<Uri>().ok());
    uri.and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
}

impl Tries {
    /// Asks until there is an answer, an error that waiting does not fix, or no attempt left.
    fn run<T>(&self, clock: Clock<'_>, mut ask: impl FnMut() -> Result<T>) -> Result<T> {
        let mut tried: u32 = 1;
        loop {
            match ask() {
                Err(error) if error.is_passing() && u64::from(tried) < self.most => {
                    (clock.sleep)(self.wait(tried, &error));
                    tried = tried.saturating_add(1);
                }
                outcome => return outcome,
            }
        }
    }

    fn wait(&self, tried: u32, error: &LlmError) -> Duration {
        let wait = match error {
            LlmError::Busy { retry_after: Some(wait), .. } => *wait,
            _ => self.step.saturating_mul(tried),
        };
        wait.min(LONGEST_WAIT)
    }
}

/// The wait that a `Retry-After` header requests, in seconds or as an HTTP date. It is zero if the
/// date has passed.
fn retry_after(value: &str, now: DateTime<Utc>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTime::parse_from_rfc2822(value).ok()?;
    Some((date.to_utc() - now).to_std().unwrap_or(Duration::ZERO))
}

/// Looks up a host name in a thread, so that the time is limited. ureq's own resolver panics if the
/// system allows no thread. This one then uses the calling thread, without a time limit.
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
            // If the answer comes too late, the receiver is gone.
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
    use std::cell::RefCell;
    use std::thread::Builder;
    use std::time::Duration;

    use chrono::{DateTime, TimeZone, Utc};
    use ureq::Timeout;
    use ureq::config::Config;
    use ureq::unversioned::resolver::Resolver;
    use ureq::unversioned::transport::{NextTimeout, time};

    use super::{Clock, ThreadResolver, Tries, retry_after};
    use crate::LlmError;

    fn noon() -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 1, 2, 12, 0, 0).unwrap()
    }

    fn busy(retry_after: Option<u64>) -> LlmError {
        LlmError::Busy {
            status: 429,
            message: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    /// The waits in seconds, if the attempts end with these `errors`.
    fn waits(errors: &[LlmError]) -> (Result<(), LlmError>, Vec<u64>) {
        waits_of(tries(4, 1), errors)
    }

    fn tries(most: u64, step: u64) -> Tries {
        let step = Duration::from_secs(step);
        Tries { most, step }
    }

    fn waits_of(tries: Tries, errors: &[LlmError]) -> (Result<(), LlmError>, Vec<u64>) {
        let slept = RefCell::new(Vec::new());
        let sleep = |time: Duration| slept.borrow_mut().push(time.as_secs());
        let clock = Clock { now: &noon, sleep: &sleep };
        let mut errors = errors.iter();
        let outcome = tries.run(clock, || errors.next().map_or(Ok(()), |e| Err(e.clone())));
        (outcome, slept.into_inner())
    }

    #[test]
    fn waits_grow_by_the_step() {
        let error = LlmError::Connection("cut".to_owned());
        assert_eq!(waits(&[error.clone(), error.clone()]), (Ok(()), vec![1, 2]));
        let four = vec![error.clone(); 4];
        assert_eq!(waits(&four), (Err(error), vec![1, 2, 3]));
    }

    #[test]
    fn the_number_of_tries_is_a_total() {
        let error = LlmError::Connection("cut".to_owned());
        for (most, step, slept) in [
            (0, 9, vec![]),
            (1, 9, vec![]),
            (2, 0, vec![0]),
            (3, 5, vec![5, 10]),
            (5, 20, vec![20, 40, 60, 60]),
        ] {
            let enough = vec![error.clone(); 9];
            let (outcome, waited) = waits_of(tries(most, step), &enough);
            assert_eq!((outcome, waited), (Err(error.clone()), slept), "{most}");
        }
    }

    #[test]
    fn the_server_sets_the_wait_up_to_a_limit() {
        assert_eq!(waits(&[busy(Some(7)), busy(Some(3600))]), (Ok(()), vec![7, 60]));
        assert_eq!(waits(&[busy(Some(0)), busy(None)]), (Ok(()), vec![0, 2]));
    }

    #[test]
    fn an_error_that_waiting_does_not_cure_ends_at_once() {
        let error = LlmError::Refused(String::new());
        assert_eq!(waits(std::slice::from_ref(&error)), (Err(error), vec![]));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let after = |value| retry_after(value, noon()).map(|time| time.as_secs());
        assert_eq!(after("5"), Some(5));
        assert_eq!(after("Fri, 02 Jan 2026 12:00:30 GMT"), Some(30));
        assert_eq!(after("Fri, 02 Jan 2026 11:00:00 GMT"), Some(0));
        assert_eq!(after("soon"), None);
        assert_eq!(after("-1"), None);
    }

    /// The system allows no thread under `ulimit -u 1`.
    #[test]
    fn a_name_is_looked_up_with_and_without_threads() {
        let uri = "http://127.0.0.1:8080/".parse().expect("a URI");
        let limited = |limit| NextTimeout {
            after: limit,
            reason: Timeout::Resolve,
            ..NextTimeout::default()
        };
        // No system can allocate such a stack.
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
