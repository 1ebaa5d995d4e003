//! Retries a request after failures that may be temporary. The number of attempts is limited, and
//! the client waits before each retry.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::LlmError;
use crate::error::Result;

/// The maximum wait before another attempt, even if the server asks for a longer wait.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How many times to try a request, and how long to wait between the attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of attempts. The first attempt is always made.
    pub attempts: u64,
    /// The wait before the second attempt. The wait before the nth attempt is n - 1 times this
    /// wait.
    pub backoff: Duration,
}

/// A clock provided by the caller, so that tests can control the time.
#[derive(Clone, Copy)]
pub struct Clock<'a> {
    /// Returns the current time.
    pub now: &'a dyn Fn() -> DateTime<Utc>,
    /// Waits for the given time.
    pub sleep: &'a dyn Fn(Duration),
}

impl RetryPolicy {
    /// Calls `ask` until it returns an answer or an error that waiting cannot fix, or until no
    /// attempts are left.
    pub(crate) fn run<T>(&self, clock: Clock<'_>, mut ask: impl FnMut() -> Result<T>) -> Result<T> {
        let mut tried: u32 = 1;
        loop {
            match ask() {
                Err(error) if is_passing(&error) && u64::from(tried) < self.attempts => {
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
            _ => self.backoff.saturating_mul(tried),
        };
        wait.min(LONGEST_WAIT)
    }
}

/// Returns true if the same request may succeed a little later.
fn is_passing(error: &LlmError) -> bool {
    use LlmError::{Busy, Connection, Empty, NotJson, Timeout};
    matches!(error, Timeout(_) | Connection(_) | Busy { .. } | NotJson(_) | Empty { .. })
}

/// The wait that a `Retry-After` header requests, as a number of seconds or as an HTTP date. The
/// wait is zero if the date is in the past, and `None` if the value is malformed.
pub(crate) fn retry_after(value: &str, now: DateTime<Utc>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTime::parse_from_rfc2822(value).ok()?;
    Some((date.to_utc() - now).to_std().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use chrono::{DateTime, TimeZone, Utc};

    use super::{Clock, RetryPolicy, retry_after};
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

    /// Simulates a request that fails with each of `errors` in turn and then succeeds. Returns the
    /// outcome of the request, and the length of each wait in seconds.
    fn waits(errors: &[LlmError]) -> (Result<(), LlmError>, Vec<u64>) {
        waits_of(policy(4, 1), errors)
    }

    fn policy(attempts: u64, backoff: u64) -> RetryPolicy {
        RetryPolicy { attempts, backoff: Duration::from_secs(backoff) }
    }

    fn waits_of(retry: RetryPolicy, errors: &[LlmError]) -> (Result<(), LlmError>, Vec<u64>) {
        let slept = RefCell::new(Vec::new());
        let sleep = |time: Duration| slept.borrow_mut().push(time.as_secs());
        let clock = Clock { now: &noon, sleep: &sleep };
        let mut errors = errors.iter();
        let outcome = retry.run(clock, || errors.next().map_or(Ok(()), |e| Err(e.clone())));
        (outcome, slept.into_inner())
    }

    #[test]
    fn waits_grow_by_the_backoff() {
        let error = LlmError::Connection("cut".to_owned());
        assert_eq!(waits(&[error.clone(), error.clone()]), (Ok(()), vec![1, 2]));
        let four = vec![error.clone(); 4];
        assert_eq!(waits(&four), (Err(error), vec![1, 2, 3]));
    }

    #[test]
    fn the_number_of_attempts_is_a_total() {
        let error = LlmError::Connection("cut".to_owned());
        for (attempts, backoff, slept) in [
            (0, 9, vec![]),
            (1, 9, vec![]),
            (2, 0, vec![0]),
            (3, 5, vec![5, 10]),
            (5, 20, vec![20, 40, 60, 60]),
        ] {
            let enough = vec![error.clone(); 9];
            let (outcome, waited) = waits_of(policy(attempts, backoff), &enough);
            assert_eq!((outcome, waited), (Err(error.clone()), slept), "{attempts}");
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
}
