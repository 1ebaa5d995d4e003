//! Policies as a whole: the presets, and how settings are laid over each other.

mod layers;
mod presets;
