//! The policy that applies: what is built in, a preset, a configuration file,
//! flags; the later one wins.

use ctx_cli::{Failure, Io};
use ctx_policy::{Policy, names, preset};

use super::Args;

const DEFAULT: &str = "default";

/// The policy that the flags ask for, before they override it.
pub(super) fn of(args: &Args, io: &mut Io) -> Result<Policy, Failure> {
    let _ = io;
    named(args.preset.as_deref().unwrap_or(DEFAULT))
}

fn named(name: &str) -> Result<Policy, Failure> {
    preset(name).ok_or_else(|| unknown(name))
}

/// There is no such preset.
pub(super) fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = names().collect();
    Failure::new(format_args!("unknown preset {name:?}"))
        .hint(format!("one of {}", known.join(", ")))
}
