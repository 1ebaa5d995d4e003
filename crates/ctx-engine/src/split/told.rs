//! Which zones a session was split into, for programs.

use std::path::Path;

use serde::Serialize;

use super::ZoneCounts;

/// The report for programs. The keys are a contract: keys may be added, but none is removed.
#[derive(Serialize)]
pub struct Told<'a> {
    name: Option<&'a str>,
    output: Option<String>,
    dialect: Option<&'static str>,
    /// Records of each zone.
    zones: Zones,
    first_kept_index: Option<u64>,
}

#[derive(Serialize)]
struct Zones {
    system: u64,
    old: u64,
    keep: u64,
}

impl ZoneCounts {
    /// For the session `name`; `output` is the written file.
    pub fn told<'a>(
        &self,
        name: Option<&'a str>,
        output: Option<&Path>,
        dialect: Option<&'static str>,
    ) -> Told<'a> {
        Told {
            name,
            output: output.map(|path| path.display().to_string()),
            dialect,
            zones: Zones { system: self.system, old: self.old, keep: self.keep },
            first_kept_index: self.first_keep,
        }
    }
}
