//! Snapshots, atomic replacement, locks, trash, audit log: the store on disk
