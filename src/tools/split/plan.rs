//! What the flags of `ctx-split` mean.

use ctx_cli::Failure;
use ctx_passes::split::Plan;
use ctx_select::split::Keep;

use super::Args;

const DEFAULT_KEEP_MESSAGES: u64 = 20;

impl Args {
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        let counting = self.counting.resolve()?;
        let window = self.window.or(counting.model.map(|model| model.window));
        let share = match (self.keep_share, window) {
            (None, _) => None,
            (Some(_), None) => {
                return Err(Failure::new("--keep-share is a share of nothing")
                    .hint("add --window or --model"));
            }
            (Some(share), Some(window)) => Some(share_of(window, share)),
        };
        let tokens = [self.keep.tokens, share].into_iter().flatten().max();
        let alone = tokens.is_none() && self.keep.turns.is_none();
        let keep = Keep {
            messages: self
                .keep
                .messages
                .or(alone.then_some(DEFAULT_KEEP_MESSAGES)),
            turns: self.keep.turns,
            tokens,
        };
        Ok(Plan {
            keep,
            pins: self.pin.clone(),
            counter: tokens.map(|_| counting.counter),
            only: self.only,
            temp: std::env::temp_dir(),
        })
    }
}

/// Windows are far below 2^52 tokens, where this is exact.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn share_of(window: u64, share: f64) -> u64 {
    (window as f64 * share).floor() as u64
}
