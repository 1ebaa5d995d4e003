//! `ctx-extract`: what a session decided, stated, prefers and ran, as items or
//! merged into memory files.

mod into;
mod pass;
mod read;
mod select;

use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use ctx_cli::{ExitStatus, Failure, Inputs, Io, Outcome, Page, Tool};
use ctx_ledger::rules::MemoryKind;
use ctx_memory::Item;
use ctx_store::{SessionId, Store};
use ctx_transcript::Zone;

use self::into::Target;
use self::pass::Pass;
use self::read::Read;
use crate::output::OutputArgs;
use crate::session::ReadArgs;
use crate::store::{StoreArgs, failure, session_id};

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-extract",
    command: || ExtractArgs::augment_args(Command::new("ctx-extract")),
    run,
    page: Page {
        exit_status: &[
            (
                2,
                "also: the tagged stream ended early; nothing was merged then",
            ),
            (
                3,
                "some of the memory files are merged, others could not be written: run it again",
            ),
            (
                4,
                "somebody edited a memory file at the same moment: run it again, what is merged is not merged twice",
            ),
            (
                5,
                "also: the items are merged, but the last records could not be written",
            ),
        ],
        environment: &[("CTX_HOME", "where the store lies; --store goes before it")],
        files: &[
            (
                "DIR/extracted/{decisions,facts,preferences,runtime}.md",
                "one list entry per item: TEXT (ROLE, SESSION:LINE); new ones are added at the end, all else is yours; strike an entry out (~~TEXT~~) to keep it from coming back",
            ),
            (
                "STORE/context/events.jsonl",
                "the audit log, when DIR lies in a store",
            ),
        ],
        examples: &[
            (
                "ctx-extract session.jsonl",
                "Print what a session holds, one JSON object per item",
            ),
            (
                "ctx-extract --kind decision session.jsonl | jq -r .text",
                "Only the decisions, as text",
            ),
            (
                "ctx-split --keep-turns 6 session.jsonl | ctx-extract --into memory | ctx-summarize",
                "Save what the old zone says before it is summarized away",
            ),
        ],
    },
};

/// Extract decisions, facts, preferences and tool runs from a session
///
/// Prints items as JSON lines. With --into, merges them into memory files and
/// passes the session on unchanged; its last record goes out only when
/// the merge is done, so that a later tool notices when it failed.
///
/// Of records tagged by ctx-split only the old zone is read, of others
/// everything but system messages. Sentences are quoted as they were
/// written, up to 300 characters; code blocks, quoted lines and logs are not
/// read, questions state nothing. Secrets are replaced by [REDACTED].
#[derive(Args, Clone, Debug)]
struct ExtractArgs {
    /// Session files; - or none is stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Extract only this kind; can be repeated
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Vec<KindArg>,
    /// Read this zone [default: old; without tags all but system messages]
    #[arg(long, value_enum, value_name = "ZONE")]
    zone: Option<Wanted>,
    /// Name the session [default: made of the file's name and path; "stdin" for stdin]
    #[arg(short, long, value_name = "ID", value_parser = session_id)]
    session: Option<SessionId>,
    /// Merge into DIR/extracted/*.md and pass the input on
    #[arg(long, value_name = "DIR", conflicts_with = "into_store")]
    into: Option<PathBuf>,
    /// Merge into the store's memory, as --into STORE/memory
    #[arg(long)]
    into_store: bool,
    /// Accept a tagged stream that ended early
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArg {
    /// What was settled
    Decision,
    /// Statements that name a project, a path or a setting
    Fact,
    /// How the user wants things
    Preference,
    /// Tool calls in short, and their errors
    Runtime,
}

/// Which part of a tagged stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Zone(Zone),
    All,
}

impl ValueEnum for Wanted {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Zone(Zone::Old),
            Self::Zone(Zone::Keep),
            Self::Zone(Zone::System),
            Self::All,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Zone(zone) => zone.to_possible_value(),
            Self::All => Some(PossibleValue::new("all").help("Everything")),
        }
    }
}

impl KindArg {
    fn kind(self) -> MemoryKind {
        match self {
            Self::Decision => MemoryKind::Decision,
            Self::Fact => MemoryKind::Fact,
            Self::Preference => MemoryKind::Preference,
            Self::Runtime => MemoryKind::Runtime,
        }
    }
}

impl ExtractArgs {
    fn kinds(&self) -> Vec<MemoryKind> {
        if self.kind.is_empty() {
            return MemoryKind::ALL.to_vec();
        }
        self.kind.iter().map(|kind| kind.kind()).collect()
    }

    /// Where to merge; `None` to print.
    fn target(&self, matches: &ArgMatches) -> Result<Option<Target>, Failure> {
        if self.into_store {
            let store = self.store.open(&TOOL, matches)?;
            return Ok(Some(Target::store(store)));
        }
        let into = self.into.as_ref();
        into.map(|dir| Target::dir(dir, matches)).transpose()
    }

    fn session_of(&self, path: &Path) -> Result<String, Failure> {
        if let Some(session) = &self.session {
            return Ok(session.to_string());
        }
        if path.as_os_str() == "-" {
            return Ok("stdin".to_owned());
        }
        SessionId::of_file(path)
            .map(|id| id.to_string())
            .map_err(failure)
    }
}

/// Merges items into the memory of a store.
pub(crate) fn into_memory(store: Store, items: &[Item]) -> Result<(), Failure> {
    Target::store(store).merge(items).map(|_| ())
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = ExtractArgs::from_arg_matches(matches).map_err(Failure::new)?;
    let inputs = Inputs::new(&args.files)?;
    if inputs.count() > 1 && args.session.is_some() {
        return Err(Failure::new(
            "-s names one session, but there are several files",
        ));
    }
    let target = args.target(matches)?;
    let mut read = Read::new(&args, target.is_some());
    let mut pass = Pass::new(args.output.open(io)?, target.is_some());
    for path in inputs.paths() {
        read.session(path, &mut pass)?;
    }
    pass.before_merge()?;
    let merged = target.as_ref().map(|target| target.merge(read.items()));
    let merged = merged.transpose()?;
    pass.finish()?;
    read.report(io);
    if let Some(merged) = merged {
        merged.report(io);
    }
    Ok(ExitStatus::Done)
}
