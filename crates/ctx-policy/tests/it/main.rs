//! The presets, and how layers of settings are merged.

mod layers;
mod presets;
