//! Records, messages, dialects, exchanges, turns, tags, validity: the model of a session file

pub mod redact;
