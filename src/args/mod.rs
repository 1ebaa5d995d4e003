//! Flags that several tools share with a part of the engine, and the options they turn into.

pub mod compact;
pub mod counting;
pub mod llm;
pub mod model;
pub mod offload;
pub mod policy;
pub mod prune;
