//! Snapshots, atomic replacement, locks, trash, audit log: the store on disk

pub mod atomic;
mod temp;
