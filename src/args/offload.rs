//! Flags of taking large results out.

use clap::Args;
use ctx_engine::counter::MessageCounter;
use ctx_engine::offload::Template;
use ctx_policy::parse_count;

use crate::offload::Plan;

/// Which results are offloaded, and what replaces them.
#[derive(Args, Clone, Debug)]
pub struct OffloadArgs {
    /// Move results of N tokens and more
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "2000", help_heading = "What is moved")]
    min_tokens: u64,
    /// Stop once the session is N tokens smaller
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is moved")]
    enough: Option<u64>,
    /// Keep the last N assistant messages and what follows
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "0", help_heading = "What is moved")]
    pub protect_last: u64,
    /// Text that replaces a result; {path} is the file
    ///
    /// It may also contain {call} (the tool and the file or command in a few words), {sha256},
    /// {tokens} and {bytes}. --restore finds the results by the same TEXT.
    #[arg(long, value_name = "TEXT", default_value = Template::DEFAULT, help_heading = "What is moved")]
    pub reference: Template,
}

impl OffloadArgs {
    /// The plan for taking results out. A `dry_run` writes nothing.
    pub fn plan(&self, counter: MessageCounter, dry_run: bool) -> Plan {
        Plan {
            min_tokens: self.min_tokens,
            enough_tokens: self.enough,
            template: self.reference.clone(),
            counter,
            dry_run,
        }
    }
}
