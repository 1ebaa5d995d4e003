//! Extraction rules and the memory files they feed
