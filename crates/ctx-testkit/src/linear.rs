//! Checks that work does not grow with the square of its input.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The length of the short input in bytes.
const SHORT: usize = 4_000;
/// The length of the long input as a multiple of the short one.
const TIMES: usize = 16;
/// The time that a linear function may take for the long input, as a multiple of its share, because
/// caches and allocations cost more there. A quadratic function takes 16 times its share.
const SLACK: u32 = 5;
/// The number of runs; the fastest counts.
const RUNS: usize = 5;
/// Shorter times cannot be measured.
const SHORTEST: Duration = Duration::from_micros(100);

/// Checks that `work` takes time in proportion to its input, which is `piece` repeated. The check
/// measures the processor time of this thread and compares two lengths in one run, so it does not
/// fail on a slow or busy machine.
///
/// # Panics
///
/// Panics if `work` takes more than that.
#[track_caller]
pub fn assert_linear(piece: &str, work: impl Fn(&str)) {
    let short = piece.repeat(SHORT.div_ceil(piece.len()));
    let runs = (0..RUNS).map(|_| time_of(&short, &work));
    let share = runs.min().expect("there are runs").max(SHORTEST);
    let limit = share * u32::try_from(TIMES).expect("a small number") * SLACK;
    let long = short.repeat(TIMES);
    let mut runs = (0..RUNS).map(|_| time_of(&long, &work));
    assert!(
        runs.any(|time| time <= limit),
        "{piece:?}: {SHORT} bytes take {share:?}, {TIMES} times as many more than {limit:?}"
    );
}

fn time_of(text: &str, work: impl Fn(&str)) -> Duration {
    let start = processor_time();
    work(text);
    processor_time().saturating_sub(start)
}

/// Returns the processor time that this thread has used.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.try_into().expect("no time before the beginning")
}

#[cfg(test)]
mod tests {
    use super::assert_linear;

    #[test]
    fn linear_work_passes() {
        assert_linear("words and 言葉 ", |text| {
            let upper = text.to_uppercase();
            assert!(upper.len() >= text.len());
        });
    }

    #[test]
    #[should_panic(expected = "times as many")]
    fn square_work_is_found() {
        assert_linear("x", |text| {
            // For one byte in 200, this looks at everything before it.
            let bytes = text.as_bytes();
            let found: usize = (0..bytes.len())
                .step_by(200)
                .map(|end| bytes[..end].iter().map(|byte| usize::from(*byte)).sum::<usize>())
                .sum();
            assert!(found > 0);
        });
    }
}
