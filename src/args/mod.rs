//! Flags that several tools share with a part of the engine, and the options they turn into.

pub mod counting;
pub mod llm;
pub mod policy;
