//! Compaction policies as data.
//!
//! A [`Policy`] says when a session is compacted, what stays, and what the
//! summary is like. It is made in layers, each of which says only what it
//! changes: what is built in, a preset ([`preset`]), a configuration file
//! ([`read_config`]), the environment, flags. Later wins, setting by setting.
//!
//! Text comes in and data goes out: nothing here opens a file or reads the
//! environment.

pub mod budget;
mod check;
mod config;
mod env;
mod error;
mod policy;
mod presets;
mod section;
mod setting;
mod words;

pub use config::{Config, Shape, read_config};
pub use env::{environment, other_names};
pub use error::{ConfigError, Warning};
pub use policy::{
    General, GeneralLayer, Keep, KeepLayer, Known, Layer, Offload, OffloadLayer, Policy, Prune,
    PruneLayer, Retention, RetentionLayer, Summary, SummaryLayer, Target, TargetLayer, Trigger,
    TriggerLayer, settings,
};
pub use presets::{layer, names, preset, source};
pub use words::{Clear, Fallback, Method, Mode, When};
