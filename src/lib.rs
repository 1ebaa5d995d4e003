//! The tools, each in its own module, and the table that lists them.
//!
//! Man pages, completions and the tests for conventions cover all [`TOOLS`]. The source of each
//! binary refers only to its own tool, so that only the necessary code is linked.

pub mod completing;
pub mod entry;
pub mod in_place;
pub mod json;
pub mod offload;
pub mod output;
pub mod passes;
pub mod session;
pub mod store;
pub mod template;

/// Flags that several tools share, and the options that they resolve to.
pub mod args {
    mod counting;
    mod llm;
    pub mod model;
    pub mod policy;
    mod reasoning;

    pub use counting::{Counting, CountingArgs, TriggerArgs};
    pub use llm::LlmArgs;
    pub use model::ModelArgs;
    pub use policy::PolicyArgs;
    pub use reasoning::ReasoningArgs;
}

/// One module per tool. `Args` is the command line, `Plan` is what the command line asks for, and
/// `run` executes the plan.
pub mod tools {
    pub mod check;
    pub mod compact;
    pub mod convert;
    pub mod count;
    pub mod extract;
    pub mod gc;
    pub mod ls;
    pub mod offload;
    pub mod prune;
    pub mod rollback;
    pub mod score;
    pub mod snapshot;
    pub mod split;
    pub mod stats;
    pub mod summarize;
}

use std::process::ExitCode;

use ctx_cli::{Binary, Tool};

/// Runs `tool`, whose manual page is `manual`. This is the entry point of each binary.
pub fn main(tool: &'static Tool, manual: &'static str) -> ExitCode {
    let answered = args::model::list_models;
    ctx_cli::main(&Binary { tool, manual, answered, completed: completing::of })
}

/// Defines the `main` function of a tool's binary, given the module of the tool.
#[macro_export]
macro_rules! binary {
    ($tool:ident) => {
        fn main() -> std::process::ExitCode {
            $crate::main(
                &$crate::tools::$tool::TOOL,
                include_str!(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/man/ctx-",
                    stringify!($tool),
                    ".1"
                )),
            )
        }
    };
}

/// All tools, in alphabetical order.
#[rustfmt::skip]
pub const TOOLS: &[&Tool] = &[
    &tools::check::TOOL,
    &tools::compact::TOOL,
    &tools::convert::TOOL,
    &tools::count::TOOL,
    &tools::extract::TOOL,
    &tools::gc::TOOL,
    &tools::ls::TOOL,
    &tools::offload::TOOL,
    &tools::prune::TOOL,
    &tools::rollback::TOOL,
    &tools::score::TOOL,
    &tools::snapshot::TOOL,
    &tools::split::TOOL,
    &tools::stats::TOOL,
    &tools::summarize::TOOL,
];
