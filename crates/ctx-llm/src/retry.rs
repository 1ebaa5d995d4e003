//! When to ask again, and how long to wait before.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::LlmError;

/// How often, and how patiently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries {
    /// How often in all, the first time included; at least one try is made.
    pub most: u64,
    /// Waited `step` before the second try, `2 × step` before the third, …
    pub step: Duration,
}

/// No wait is longer, whatever the server asks.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Time as the caller has it; tests have their own.
#[derive(Clone, Copy)]
pub struct Clock<'a> {
    /// For `Retry-After` as a date, and for how long it took.
    pub now: &'a dyn Fn() -> DateTime<Utc>,
    /// Waits.
    pub sleep: &'a dyn Fn(Duration),
}

impl Tries {
    /// Asks until there is an answer, an error that waiting does not repair, or no try left.
    pub(super) fn run<T>(
        &self,
        clock: Clock<'_>,
        mut ask: impl FnMut() -> Result<T, LlmError>,
    ) -> Result<T, LlmError> {
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
        let asked = match error {
            LlmError::Busy { retry_after, .. } => *retry_after,
            _ => None,
        };
        asked
            .unwrap_or_else(|| self.step.saturating_mul(tried))
            .min(LONGEST_WAIT)
    }
}

/// `Retry-After`: seconds, or an HTTP date. A date that has passed means now.
pub(super) fn retry_after(value: &str, now: DateTime<Utc>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = DateTime::parse_from_rfc2822(value).ok()?;
    Some((date.to_utc() - now).to_std().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::{Clock, Tries, retry_after};
    use crate::LlmError;
    use chrono::{DateTime, TimeZone, Utc};
    use std::cell::RefCell;
    use std::time::Duration;

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

    /// What is waited while `errors` come, one a try.
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
        let clock = Clock {
            now: &noon,
            sleep: &sleep,
        };
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
    fn it_is_asked_as_often_as_is_said_in_all() {
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
    fn the_server_says_how_long_up_to_a_limit() {
        assert_eq!(
            waits(&[busy(Some(7)), busy(Some(3600))]),
            (Ok(()), vec![7, 60])
        );
        assert_eq!(waits(&[busy(Some(0)), busy(None)]), (Ok(()), vec![0, 2]));
    }

    #[test]
    fn what_waiting_does_not_repair_ends_at_once() {
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
