//! Determines which policy a run uses. A preset overrides the built-in values, a configuration file
//! overrides the preset, and the environment overrides the file. Each tool applies its own flags
//! last.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use ctx_cli::{Failure, Io, Result, open_file};
use ctx_policy::trigger::DEFAULT_SHARE;
use ctx_policy::{Config, Layer, Policy, names, preset};

const DEFAULT: &str = "default";

/// Flags shared by all tools that use a policy.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Policy")]
pub struct PolicyArgs {
    /// Use this policy; ctx-compact --show-preset NAME prints a policy
    #[arg(long, value_name = "NAME", env = "CTX_PRESET", hide_env_values = true)]
    preset: Option<String>,
    /// Read the policy from FILE: TOML, or the JSON of another system
    #[arg(long, value_name = "FILE", env = "CTX_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    /// Set one KEY of the policy, such as trigger.turns=40 (can be repeated)
    ///
    /// `ctx-compact --show-preset built-in` lists all keys. This flag overrides the preset, the
    /// file and the environment, but not other flags.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    assignments: Vec<String>,
}

impl PolicyArgs {
    /// Returns the policy before any other flags are applied. If the user named no policy, returns
    /// the preset `default`.
    pub fn policy(&self, io: &mut Io) -> Result<Policy> {
        let config = self.config().map(|path| read(path, self.preset(), io)).transpose()?;
        let named = config.as_ref().and_then(|config| config.preset.as_deref());
        let name = self.preset().or(named).unwrap_or(DEFAULT);
        let mut policy = preset(name).ok_or_else(|| unknown(name))?;
        if let Some(config) = &config {
            policy = policy.layer(&config.layer);
        }
        let variable = |name: &str| std::env::var(name).ok();
        let environment = ctx_policy::environment(&policy, variable).map_err(Failure::new)?;
        Ok(policy.layer(&environment).layer(&self.assigned()?))
    }

    /// Returns the policy for a tool that also works without a policy. Returns `None` if neither a
    /// flag nor a variable names a policy. If only `--set` is given, the built-in policy with these
    /// settings is returned.
    pub fn named(&self, io: &mut Io) -> Result<Option<Policy>> {
        let policy = if self.preset().is_some() || self.config().is_some() {
            self.policy(io)?
        } else if self.assignments.is_empty() {
            return Ok(None);
        } else {
            let mut policy = Policy::default().layer(&self.assigned()?);
            if policy.trigger.is_empty() {
                policy.trigger.share = Some(DEFAULT_SHARE);
            }
            policy
        };
        policy.check().map_err(Failure::new)?;
        Ok(Some(policy))
    }

    fn assigned(&self) -> Result<Layer> {
        let assignments = self.assignments.iter().map(String::as_str);
        let layer = ctx_policy::assigned(assignments);
        layer.map_err(|error| Failure::new(format_args!("--set: {error}")))
    }

    // An empty environment variable counts as unset.
    fn preset(&self) -> Option<&str> {
        self.preset.as_deref().filter(|name| !name.is_empty())
    }

    fn config(&self) -> Option<&Path> {
        let path = self.config.as_deref();
        path.filter(|path| !path.as_os_str().is_empty())
    }
}

fn read(path: &Path, preset: Option<&str>, io: &mut Io) -> Result<Config> {
    let name = path.display().to_string();
    let text = open_file(path).and_then(io::read_to_string);
    let text = text.map_err(|error| Failure::unread(error).at(&name, None))?;
    let config = ctx_policy::read_config(&text, Some(&name), preset)
        .map_err(|error| Failure::new(error).at(&name, None))?;
    for warning in &config.warnings {
        io.warn(format_args!("{name}: {warning}"));
    }
    Ok(config)
}

/// Returns the failure for an unknown preset.
pub fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = names().collect();
    Failure::new(format_args!("unknown preset {name:?}"))
        .hint(format!("use one of {}", known.join(", ")))
}
