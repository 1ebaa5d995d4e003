//! How long a session has to be left alone before a tool changes it.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use ctx_select::duration::FixedSpan;
use ctx_store::Look;
use ctx_transcript::{Dialect, Head};

/// The flag of tools that change a session file in place.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct IdleArgs {
    /// Refuse files changed within DURATION [default: 10m for agents' files]
    ///
    /// An agent keeps its history in memory while it runs, and does not see what is changed in
    /// its file. What a tool wrote last does not count. The units are w, d, h, min (or m), s
    /// and ms.
    #[arg(long, value_name = "DURATION", help_heading = "Store")]
    min_idle: Option<FixedSpan>,
}

/// For agents' own files.
const OF_AGENTS: Duration = Duration::from_secs(10 * 60);

impl IdleArgs {
    /// For a session of this dialect. A list of messages may be anybody's.
    pub fn of(self, dialect: Option<&dyn Dialect>) -> Duration {
        let is_agents = || dialect.is_some_and(Dialect::is_log);
        match self.min_idle {
            Some(FixedSpan(asked)) => asked,
            None if is_agents() => OF_AGENTS,
            None => Duration::ZERO,
        }
    }

    /// For the file at `path`, by its first lines.
    pub fn of_file(self, path: &Path) -> Duration {
        let head = Look::at(path).ok().map(Look::into_file);
        let head = head.and_then(|file| Head::read(file).ok());
        self.of(head.and_then(|head| head.dialect))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ctx_transcript::dialect;

    use super::IdleArgs;

    #[test]
    fn only_an_agents_own_file_has_to_rest() {
        let minutes = |args: IdleArgs, name| args.of(dialect::by_name(name)).as_secs() / 60;
        for (name, expected) in [
            ("claude-code", 10),
            ("codex", 10),
            ("gemini", 10),
            ("pi", 10),
        ] {
            assert_eq!(minutes(IdleArgs::default(), name), expected, "{name}");
        }
        for name in ["chat", "anthropic", "responses", "none"] {
            assert_eq!(minutes(IdleArgs::default(), name), 0, "{name}");
        }
        for (text, expected) in [("0s", 0), ("1h", 60)] {
            let args = IdleArgs {
                min_idle: Some(text.parse().expect("a time")),
            };
            assert_eq!(
                args.of(dialect::by_name("codex")),
                Duration::from_secs(60 * expected)
            );
            assert_eq!(minutes(args, "chat"), expected);
        }
    }
}
