//! What is asked of offloading by flags.

use clap::Args;
use ctx_select::count::MessageCounter;
use ctx_select::parse_count;

use super::take::Plan;
use super::template::Template;

/// What is taken out, and what takes its place.
#[derive(Args, Clone, Debug)]
pub struct Asked {
    /// Move results of N tokens and more
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "2000", help_heading = "What is moved")]
    min_tokens: u64,
    /// Stop once the session is N tokens smaller
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is moved")]
    enough: Option<u64>,
    /// Keep the last N assistant messages and what follows
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "0", help_heading = "What is moved")]
    pub protect_last: u64,
    /// Text in the place of a result; {path} is the file
    ///
    /// {call}, the tool and the file or command in few words, {sha256}, {tokens} and {bytes} may
    /// stand in it as well. --restore finds the results by the same TEXT.
    #[arg(long, value_name = "TEXT", default_value = Template::DEFAULT, help_heading = "What is moved")]
    pub reference: Template,
}

impl Asked {
    /// The plan for taking out; in a `dry_run` nothing is written.
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
