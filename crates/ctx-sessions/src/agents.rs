//! The folders in which agents keep their sessions.
//!
//! Taken from the code of the agents: Claude Code 2.1.197, Codex 0.169.0, pi 0.73.1 and 1.5.2,
//! `OpenClaw` 2026.9.6, Gemini CLI 0.61.0.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The agents whose places are known, by the names in the list.
#[cfg(feature = "clap")]
pub(crate) const AGENTS: [&str; 5] = ["claude-code", "codex", "gemini", "openclaw", "pi"];

/// A folder of an agent's sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentFolder {
    /// The agent's name in the list.
    pub agent: &'static str,
    /// All sessions are below it.
    pub folder: PathBuf,
}

impl AgentFolder {
    /// The places of all agents. `variable` reads a variable of the environment.
    pub(crate) fn usual(variable: impl Fn(&str) -> Option<OsString>) -> Vec<Self> {
        let set = |name: &str| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.map(|value| with_home(&PathBuf::from(value), variable("HOME").as_deref()))
        };
        let home = || set("HOME");
        // The folder that the variable names, or else one in the home folder.
        let of = |name: &str, usual: &str| set(name).or_else(|| Some(home()?.join(usual)));
        let below_home_of = |name: &str, usual: &str| Some(set(name).or_else(home)?.join(usual));
        let codex = of("CODEX_HOME", ".codex");
        let of_pi = set("PI_CODING_AGENT_SESSION_DIR");
        let openclaw = set("OPENCLAW_STATE_DIR");
        let folders = [
            ("claude-code", of("CLAUDE_CONFIG_DIR", ".claude").map(|dir| dir.join("projects"))),
            ("codex", codex.as_ref().map(|dir| dir.join("sessions"))),
            ("codex", codex.map(|dir| dir.join("archived_sessions"))),
            ("gemini", below_home_of("GEMINI_CLI_HOME", ".gemini").map(|dir| dir.join("tmp"))),
            (
                "openclaw",
                openclaw
                    .or_else(|| below_home_of("OPENCLAW_HOME", ".openclaw"))
                    .map(|dir| dir.join("agents")),
            ),
            (
                "pi",
                of_pi.or_else(|| {
                    of("PI_CODING_AGENT_DIR", ".pi/agent").map(|dir| dir.join("sessions"))
                }),
            ),
        ];
        let places = folders.into_iter();
        places.filter_map(|(agent, folder)| Some(Self { agent, folder: folder? })).collect()
    }

    /// Whether a file below the folder may be a session of the agent.
    pub(crate) fn may_hold(&self, path: &Path) -> bool {
        let parent = path.parent().and_then(Path::file_name);
        match self.agent {
            "gemini" => {
                let inside = path.strip_prefix(&self.folder).unwrap_or(path);
                inside.components().any(|it| it.as_os_str() == "chats")
            }
            "openclaw" => parent == Some(OsStr::new("sessions")),
            _ => true,
        }
    }
}

/// `~/x` as the agents read it in their variables.
fn with_home(path: &Path, home: Option<&OsStr>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => path.to_owned(),
    }
}

/// Whether the name is one that agents give to sessions; gemini's older ones are documents.
pub(crate) fn is_session_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let is_document = name.starts_with(b"session-") && name.ends_with(b".json");
    name.ends_with(b".jsonl") || is_document || is_packed(path)
}

/// Whether the file is packed by zstd, as Codex does with old sessions.
pub(crate) fn is_packed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(b".jsonl.zst")
}

/// Whether it is the file of a helper that an agent of that session had: Claude Code's
/// `agent-*.jsonl` and `<session>/subagents/`, Gemini's `chats/<session>/`.
pub(crate) fn is_of_helper(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let mut above = path.ancestors().skip(1).filter_map(Path::file_name);
    let folder = above.next();
    let is_in_chat =
        folder != Some(OsStr::new("chats")) && above.next() == Some(OsStr::new("chats"));
    name.starts_with(b"agent-") || folder == Some(OsStr::new("subagents")) || is_in_chat
}

/// The folder of the project, which Gemini keeps in a file next to its `chats`.
pub(crate) fn project_root(path: &Path) -> Option<String> {
    let chats = path.ancestors().find(|dir| dir.ends_with("chats"))?;
    let root = File::open(chats.parent()?.join(".project_root")).ok()?;
    let mut text = String::new();
    // A path, and nothing as long as this.
    root.take(1 << 16).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod agents_tests {
    use std::path::{Path, PathBuf};

    use super::{AgentFolder, is_of_helper, is_session_name};

    fn folders(variables: &[(&str, &str)]) -> Vec<(&'static str, PathBuf)> {
        let places = AgentFolder::usual(|name| {
            let set = variables.iter().find(|(own, _)| *own == name);
            set.map(|(_, value)| value.into())
        });
        places.into_iter().map(|it| (it.agent, it.folder)).collect()
    }

    #[test]
    fn places_are_below_the_home_unless_a_variable_names_them() {
        let usual = [
            ("claude-code", "/h/.claude/projects"),
            ("codex", "/h/.codex/sessions"),
            ("codex", "/h/.codex/archived_sessions"),
            ("gemini", "/h/.gemini/tmp"),
            ("openclaw", "/h/.openclaw/agents"),
            ("pi", "/h/.pi/agent/sessions"),
        ];
        let usual: Vec<_> = usual.map(|(agent, dir)| (agent, dir.into())).into();
        assert_eq!(folders(&[("HOME", "/h"), ("CODEX_HOME", "")]), usual);
        let moved = folders(&[
            ("HOME", "/h"),
            ("CLAUDE_CONFIG_DIR", "/c"),
            ("CODEX_HOME", "/x"),
            ("GEMINI_CLI_HOME", "/g"),
            ("OPENCLAW_HOME", "/o"),
            ("PI_CODING_AGENT_DIR", "~/p"),
        ]);
        let dirs: Vec<_> = moved.iter().map(|(_, dir)| dir.to_str()).collect();
        let expected = [
            "/c/projects",
            "/x/sessions",
            "/x/archived_sessions",
            "/g/.gemini/tmp",
            "/o/.openclaw/agents",
            "/h/p/sessions",
        ];
        assert_eq!(dirs, expected.map(Some));
        let named = folders(&[("OPENCLAW_STATE_DIR", "/s"), ("PI_CODING_AGENT_SESSION_DIR", "/t")]);
        assert_eq!(named, [("openclaw", "/s/agents".into()), ("pi", "/t".into())]);
    }

    #[test]
    fn sessions_and_helpers_are_told_by_their_names() {
        for (path, is_session, is_helper) in [
            ("p/0a1b.jsonl", true, false),
            ("p/agent-7.jsonl", true, true),
            ("p/0a1b/subagents/agent-7.jsonl", true, true),
            ("p/0a1b/tool-results/x.txt", false, false),
            ("chats/session-1.json", true, false),
            ("chats/0a1b/x.jsonl", true, true),
            ("logs.json", false, false),
            ("s/rollout-1.jsonl.zst", true, false),
        ] {
            let path = Path::new(path);
            assert_eq!(is_session_name(path), is_session, "{path:?}");
            assert_eq!(is_of_helper(path), is_helper, "{path:?}");
        }
    }
}
