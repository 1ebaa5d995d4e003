//! Compaction policies as data.
//!
//! A [`Policy`] says when a session is compacted, what stays, and what the
//! summary is like. It is made in layers, each of which says only what it
//! changes: what is built in, a preset ([`preset`]), a configuration file
//! ([`read_config`]), the environment, flags. Later wins, setting by setting.
//!
//! Text comes in and data goes out: nothing here opens a file or reads the
//! environment.

mod assigned;
mod bounds;
mod budget;
mod check;
mod config;
mod env;
mod error;
mod layer;
#[cfg(feature = "clap")]
mod over;
mod policy;
mod presets;
mod syntax;
mod value;
mod words;

pub use assigned::assigned;
pub use bounds::Bounds;
pub use config::{Config, read_config};
pub use env::{environment, variable_of};
pub use error::{ConfigError, Warning};
pub use layer::{BUILT_IN, Layer, settings};
#[cfg(feature = "clap")]
pub use over::Overrides;
pub use policy::{Keep, Offload, Policy, Prune, Retention, Summary, Target};
pub use presets::{headers, layer, names, preset, source};
pub use words::{Clear, Fallback, Method, Mode, When};
