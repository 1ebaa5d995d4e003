//! Compaction policies as data.
//!
//! A [`Policy`] says when a session is compacted, what stays, and how the summary is made. It is
//! merged from layers, each with only the settings that it changes: the built-in policy, a preset
//! ([`preset`]), a configuration file ([`read_config`]), the environment, and flags. For each
//! setting the last layer wins.
//!
//! The crate takes text and returns data. It opens no file and reads no environment.

mod budget;
mod check;
mod config;
pub mod duration;
mod env;
mod error;
mod glob;
pub mod keep;
mod layer;
mod number;
#[cfg(feature = "clap")]
mod over;
mod policy;
mod presets;
mod rule;
pub mod share;
pub mod trigger;
mod value;

pub use config::{Config, read_config};
pub use env::assigned;
pub use env::{environment, variable_of};
pub use error::{ConfigError, Warning};
pub use glob::{Glob, NotAGlob, ToolFilter};
pub use layer::{BUILT_IN, Layer, settings};
pub use number::{parse_count, parse_fraction};
#[cfg(feature = "clap")]
pub use over::Overrides;
pub use policy::{Clear, Fallback, Method, Mode, When};
pub use policy::{Keep, Offload, Policy, Prune, Retention, Summary, Target};
pub use presets::{headers, layer, names, preset, source};
pub use rule::Rule;
pub use share::Bounds;
