//! The policy that applies: what is built in, a preset, a configuration file,
//! flags; the later one wins.

use std::fs;
use std::path::Path;

use ctx_cli::{Failure, Io};
use ctx_policy::{Config, Policy, names, preset};

use ctx_select::split::Keep;

use super::Args;

const DEFAULT: &str = "default";

/// The policy that the flags ask for, before they override it.
pub(super) fn of(args: &Args, io: &mut Io) -> Result<Policy, Failure> {
    let config = args
        .config
        .as_deref()
        .map(|path| read(path, io))
        .transpose()?;
    let said = config.as_ref().and_then(|config| config.preset.as_deref());
    let name = args.preset.as_deref().or(said).unwrap_or(DEFAULT);
    let mut policy = named(name)?;
    if let Some(config) = &config {
        policy = policy.layer(&config.layer);
    }
    let variable = |name: &str| std::env::var(name).ok();
    let environment = ctx_policy::environment(&policy, variable).map_err(Failure::new)?;
    Ok(policy.layer(&environment))
}

fn read(path: &Path, io: &mut Io) -> Result<Config, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::new(format_args!("cannot read: {error}")).at(&name, None))?;
    let config = ctx_policy::read_config(&text, Some(&name))
        .map_err(|error| Failure::new(error).at(&name, None))?;
    for warning in &config.warnings {
        io.warn(format_args!("{name}: {warning}"));
    }
    Ok(config)
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

impl Args {
    /// What is said by a flag goes before the policy.
    pub(super) fn override_policy(&self, policy: &mut Policy) {
        policy.mode = self.mode.unwrap_or(policy.mode);
        policy.trigger = self.triggers.triggers.or(policy.trigger);
        if self.keep.is_some() {
            let Keep {
                messages,
                turns,
                tokens,
            } = self.keep;
            policy.keep.messages = messages;
            policy.keep.turns = turns;
            policy.keep.tokens = tokens;
            policy.keep.recent_share = None;
        }
        if self.target_tokens.is_some() {
            policy.target.tokens = self.target_tokens;
            (policy.target.share, policy.target.max_history_share) = (None, None);
        }
        if let Some(ttl) = self.cache_ttl {
            policy.prune.cache_ttl = Some(ttl.duration());
        }
        if let Some(attempts) = self.max_attempts {
            policy.target.max_attempts = attempts;
        }
        let summary = &mut policy.summary;
        summary.method = self.method.unwrap_or(summary.method);
        if self.summary_tokens.is_some() {
            (summary.tokens, summary.target_tokens) = (self.summary_tokens, None);
            summary.max_share = None;
        }
        summary.header = self.header.clone().or(summary.header.take());
        summary.role = self.role.unwrap_or(summary.role);
        summary.safeguard = self.safeguard.unwrap_or(summary.safeguard);
        summary.extract = self.extract.unwrap_or(summary.extract);
    }
}
