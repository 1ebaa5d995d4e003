//! The summary of an old zone: rule summary, templates, LLM client
//!
//! Nothing here reads the environment, prints or exits: the caller hands over
//! readers, keys, clocks. The network is touched by [`llm::Client`] only, and
//! only at the address it was given.

pub mod llm;
pub mod redact;
