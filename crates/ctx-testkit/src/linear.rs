//! Checks that the time for some work is proportional to the length of its input.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The length of the short input in bytes.
const SHORT: usize = 4_000;
/// The length of the long input as a multiple of the short one.
const TIMES: usize = 16;
/// The tolerance for linear work. Because of caches and allocations, it may take this many times as
/// long for the long input as in proportion to the short one. Quadratic work takes 16 times as
/// long.
const SLACK: u32 = 5;
/// The number of measurements, of which the fastest counts.
const RUNS: usize = 5;
/// The shortest time that can be measured reliably.
const SHORTEST: Duration = Duration::from_micros(100);

/// Checks that the time `work` takes is proportional to the length of its input, which consists of
/// repetitions of `piece`. The check measures the processor time of this thread and compares two
/// lengths, so it does not fail on a slow or busy machine.
///
/// # Panics
///
/// Panics if `work` takes disproportionately long for the longer input.
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
            // At every 200th byte, this reads all bytes before it.
            let bytes = text.as_bytes();
            let found: usize = (0..bytes.len())
                .step_by(200)
                .map(|end| bytes[..end].iter().map(|byte| usize::from(*byte)).sum::<usize>())
                .sum();
            assert!(found > 0);
        });
    }
}
