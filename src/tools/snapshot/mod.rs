//! `ctx-snapshot`: saves the exact bytes of a session, and shows what was saved.

mod diff;
mod list;
mod verify;

use std::io;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, Result, STDIN_NAME, Statuses, Tool, input_name, inputs,
    is_stdin, json_line, json_object, printable,
};
use ctx_engine::count::tokens;
use ctx_engine::message_counter::MessageCounter;
use ctx_store::{Draft, Saved, SessionId, Snapshot, Store, Tokens};
use list::Scope;

use crate::args::CountingArgs;
use crate::passes;
use crate::session::operand;
use crate::store::{StoreArgs, copy_out, failure, session_of, time_of};

/// The entry for `ctx-snapshot` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-snapshot", Args::command, run, include_str!("manual.toml"));

/// Save the exact bytes of a session, and verify them by their hash
///
/// Without FILE, stdin is saved and then written to stdout; if it cannot be saved, nothing is
/// written. With FILE, the tool prints the id of the snapshot. If the newest snapshot already
/// contains these bytes, the tool prints its id and takes no new snapshot.
///
/// ID is one of these: an id or its unique beginning; a number (digits alone are always a number);
/// at least 6 digits of the sha256 (sha256:… if they contain no letter); a day on which a snapshot
/// was taken, such as 2026-11-15 or yesterday; a time, such as "2026-11-15 10:30" or "1 week ago",
/// for the snapshot that was the newest at that time; or "latest". Times are in UTC.
#[derive(Debug, Parser)]
#[command(group = clap::ArgGroup::new("listing").args(["list", "log"]))]
#[command(group = clap::ArgGroup::new("mode").args(["list", "log", "show", "verify", "diff", "hold", "release"]))]
struct Args {
    /// Session files to save; stdin if FILE is omitted or -
    #[arg(value_name = "FILE", value_parser = operand(), conflicts_with_all = ["verify", "diff", "hold", "release"])]
    files: Vec<PathBuf>,
    /// Id of the session [default: the file's]
    #[arg(short, long, value_name = "ID")]
    session: Option<SessionId>,
    /// List all snapshots, or those of FILE or of one session (-s)
    ///
    /// Each line shows the id, the age, the size, the number of messages, the number of tokens if
    /// they were counted, the kind, whether the snapshot is held, and the path of the file. FILE
    /// selects all snapshots that were taken of this path, even under different ids, and all
    /// snapshots of the agent's session in the file. If the file was moved, its session is
    /// recognized by the beginning of the file.
    #[arg(short, long, help_heading = "Looking at snapshots")]
    list: bool,
    /// Show the history of FILE or of one session (-s)
    ///
    /// Each line shows the time, the number of the snapshot that was taken, the tool, and what the
    /// tool did: saved, compacted 30282 → 9004 tokens, rolled back to 0001, undone, written by -o,
    /// removed by ctx-gc, restored. The snapshot of a compaction or a rollback contains the session
    /// as it was before the change. The history is read from the audit log.
    #[arg(long, help_heading = "Looking at snapshots")]
    log: bool,
    /// Print the bytes of a snapshot, of FILE if one is named
    #[arg(long, value_name = "ID", help_heading = "Looking at snapshots")]
    show: Option<String>,
    /// Check that all snapshots are complete and undamaged
    ///
    /// Both files of each snapshot must exist with the right names and sizes, and meta.json must
    /// match its own hash. Without -s, the chain of hashes in the audit log is also checked. For
    /// each snapshot, the tool prints OK, or FAILED and the reason; with -q, it prints only damaged
    /// snapshots.
    #[arg(long, help_heading = "Looking at snapshots")]
    verify: bool,
    /// With --verify, read all data and check it against the hashes
    #[arg(long, requires = "verify", help_heading = "Looking at snapshots")]
    read_data: bool,
    /// With --verify, make all repairs that lose no data
    ///
    /// The tool removes unfinished files of runs that were killed, rewrites files that can be
    /// recomputed, and creates any missing meta.json. Damaged files, including an audit log with a
    /// broken chain, are moved unchanged into the folder damaged/ of the store, and the exit status
    /// is then 1. Each step is reported on stderr and in the audit log.
    #[arg(long, requires = "verify", help_heading = "Looking at snapshots")]
    repair: bool,
    /// Compare two snapshots, or a snapshot and a file, message by message
    ///
    /// For each message that differs, the tool prints a sign (- removed, + added, ~ changed, >
    /// moved), the line number or numbers, the role, the size, and the first words or, for a
    /// changed message, the difference. Results, calls and records are matched by their ids, and
    /// other messages by their beginnings. The last line shows the number of differences of each
    /// kind. A and B are paths if they contain a slash or are not the names of snapshots. The id of
    /// a session stands for its file. If only one is given, it is compared with the newest snapshot
    /// of this file or, with -s, of the session.
    #[arg(long, num_args = 1..=2, value_names = ["A", "B"], help_heading = "Looking at snapshots")]
    diff: Option<Vec<String>>,
    /// With --diff, compare lines instead of messages
    #[arg(long, requires = "diff", help_heading = "Looking at snapshots")]
    raw: bool,
    /// With --list, list the trash instead of snapshots
    #[arg(long, requires = "list", help_heading = "Looking at snapshots")]
    trash: bool,
    /// List only snapshots since TIME, such as 2026-11-15 or "1 week ago"
    #[arg(long, value_name = "TIME", requires = "list", help_heading = "Looking at snapshots")]
    since: Option<String>,
    /// List only snapshots from before TIME
    #[arg(long, value_name = "TIME", requires = "list", help_heading = "Looking at snapshots")]
    before: Option<String>,
    /// Show what would be done, and change nothing
    ///
    /// Stdin is written to stdout but not saved. With --verify --repair, the tool only checks.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print JSON, an object per line
    ///
    /// The object for a snapshot is its meta.json; --list --trash adds `removed` and `grace_ends`.
    /// With --verify, the objects are the results of the checks, and with --log, the records of the
    /// audit log. docs/json.md lists all keys.
    #[arg(long, conflicts_with_all = ["show", "diff"])]
    json: bool,
    /// Never let ctx-gc remove this snapshot
    #[arg(long, value_name = "ID", help_heading = "Keeping snapshots")]
    hold: Option<String>,
    /// Stop holding this snapshot, so that ctx-gc may remove it
    #[arg(long, value_name = "ID", help_heading = "Keeping snapshots")]
    release: Option<String>,
    /// Also count the tokens, so that --list can show them
    #[arg(long, conflicts_with = "mode", help_heading = "Input")]
    count: bool,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    store: StoreArgs,
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let mut args = Args::from_arg_matches(matches)?;
    let store = args.store.open(&TOOL, matches)?;
    if let Some(session) = args.session.as_mut().filter(|_| matches.contains_id("mode")) {
        let known = store.require_session(session, args.trash || args.log);
        *session = known.map_err(failure)?;
    }
    if args.list {
        let scope = args.scope(&store)?;
        let list = if args.trash { list::trash } else { list::list };
        return list(&store, &scope, args.json, io);
    }
    if args.log {
        return list::log(&store, &args.scope(&store)?, args.json, io);
    }
    if let Some(id) = &args.show {
        return list::show(&store, &args.scope(&store)?, id, io);
    }
    if args.verify {
        return args.verify(&store, io);
    }
    if let Some(names) = &args.diff {
        return args.diff(names, &store, io);
    }
    for (id, held) in [(&args.hold, true), (&args.release, false)] {
        if let Some(id) = id {
            return hold(&args, &store, id, held, io);
        }
    }
    if args.dry_run {
        return preview(&args, &store, io);
    }
    let counting = args.count.then(|| args.counting.resolve()).transpose()?;
    let counter = counting.map(|counting| counting.counter);
    Taker { args: &args, store: &store, counter }.take_all(io)
}

impl Args {
    /// Returns the selection of snapshots to list.
    fn scope(&self, store: &Store) -> Result<Scope<'_>> {
        let file = match self.files.as_slice() {
            [] => None,
            [file] => Some(file.as_path()),
            _ => {
                return Err(Failure::new("several files are named").hint("name one FILE at a time"));
            }
        };
        Ok(Scope {
            session: self.session.as_ref(),
            file,
            since: time_of("since", self.since.as_deref(), store)?,
            before: time_of("before", self.before.as_deref(), store)?,
        })
    }
}

/// Holds or releases a snapshot. A dry run only reports which snapshot would be held or released.
fn hold(args: &Args, store: &Store, id: &str, held: bool, io: &mut Io) -> Outcome {
    let session = args.session.as_ref();
    let id = if args.dry_run {
        store.find_snapshot(session, id).map(|found| found.id)
    } else {
        store.hold(session, id, held)
    };
    let id = id.map_err(failure)?.to_string();
    if !args.dry_run {
        let now = if held { "held" } else { "released" };
        io.committed(format_args!("snapshot {id} is {now}"));
    }
    let line = match (args.json, args.dry_run) {
        (true, dry_run) => json_line(&json_object! {
            id,
            held,
            #[serde(flatten)]
            dry_run: dry_run.then(|| json_object! { dry_run }),
        }),
        (false, false) => format!("{id}\n"),
        (false, true) => format!("would {} {id}\n", if held { "hold" } else { "release" }),
    };
    io.print(&line)?;
    Ok(ExitStatus::Done)
}

/// Reports for each file whether it would be saved. Copies stdin to stdout.
fn preview(args: &Args, store: &Store, io: &mut Io) -> Outcome {
    let mut statuses = Statuses::default();
    for path in inputs(&args.files)? {
        if is_stdin(&path) {
            copy_out(&mut io::stdin().lock(), io)?;
            continue;
        }
        match of_file(args, store, &path) {
            Ok(text) => {
                io.print(&text)?;
                statuses.add(ExitStatus::Done);
            }
            Err(failure) => statuses.failed(&failure, io),
        }
    }
    Ok(statuses.of_all())
}

fn of_file(args: &Args, store: &Store, path: &Path) -> Result<String> {
    let session = session_of(args.session.as_ref(), path)?;
    let (bytes, saved) = store.would_save(path, &session).map_err(failure)?;
    let name = path.display().to_string();
    let snapshot = saved.map(|id| id.to_string());
    if args.json {
        return Ok(json_line(&json_object! {
            name: &name,
            session: session.as_str(),
            dry_run: true,
            /// The id of a snapshot that already contains these bytes, or null if there is none.
            snapshot,
            bytes,
        }));
    }
    let name = printable(&name);
    Ok(match snapshot {
        Some(id) => format!("{name} is already saved: {id}\n"),
        None => format!("would save {name} as a snapshot of {session}: {bytes} bytes\n"),
    })
}

/// Takes snapshots of files or stdin.
struct Taker<'a> {
    args: &'a Args,
    store: &'a Store,
    counter: Option<MessageCounter>,
}

impl Taker<'_> {
    fn take_all(&self, io: &mut Io) -> Outcome {
        let paths = inputs(&self.args.files)?;
        if let [path] = paths.as_slice() {
            self.take(path, io)?;
            return Ok(ExitStatus::Done);
        }
        if self.args.session.is_some() {
            return Err(Failure::new("-s cannot be used with several files"));
        }
        let mut statuses = Statuses::default();
        for path in &paths {
            // If a file cannot be saved, continue with the other files.
            match self.save(path, io) {
                Ok(snapshot) => {
                    self.print(&snapshot, io)?;
                    statuses.add(ExitStatus::Done);
                }
                Err(failure) => statuses.failed(&failure, io),
            }
        }
        Ok(statuses.of_all())
    }

    fn take(&self, path: &Path, io: &mut Io) -> Result<()> {
        if is_stdin(path) && self.args.json {
            return Err(Failure::new("--json and the records cannot both be written to stdout")
                .hint("name the session as FILE"));
        }
        let snapshot = self.save(path, io)?;
        // The bytes from stdin are written to stdout after they are saved.
        if is_stdin(path) {
            let mut bytes = self.store.open_bytes(&snapshot.id).map_err(failure)?;
            return copy_out(&mut bytes, io);
        }
        self.print(&snapshot, io)
    }

    fn print(&self, snapshot: &Snapshot, io: &mut Io) -> Result<()> {
        if self.args.json {
            return io.json(&snapshot.meta);
        }
        io.print(format!("{}\n", snapshot.id))
    }

    fn save(&self, path: &Path, io: &mut Io) -> Result<Snapshot> {
        let session = session_of(self.args.session.as_ref(), path)?;
        let name = input_name(path);
        let draft = if is_stdin(path) {
            self.store.draft(io::stdin().lock(), Path::new(STDIN_NAME))
        } else {
            self.store.draft_of(path)
        };
        let mut draft = draft.map_err(failure)?;
        draft.tokens = self.tokens(&draft, &name)?;
        let saved = draft.save(&session).map_err(failure)?;
        io.committed(format_args!("snapshot {} is taken", saved.snapshot().id));
        note_snapshot(saved.snapshot(), &name, io);
        if let Saved::Again(Snapshot { id, .. }) = &saved {
            io.note(format_args!("{name} is unchanged since snapshot {id}"));
        }
        let (Saved::New(snapshot) | Saved::Again(snapshot)) = saved;
        Ok(snapshot)
    }

    fn tokens(&self, draft: &Draft<'_>, name: &str) -> Result<Option<Tokens>> {
        let Some(counter) = &self.counter else { return Ok(None) };
        let bytes = draft.reader().map_err(failure)?;
        let count =
            tokens(Box::new(bytes), counter).map_err(|error| passes::failure(error, name))?;
        Ok(count.map(|count| Tokens { count, encoding: counter.encoding.name().to_owned() }))
    }
}

fn note_snapshot(snapshot: &Snapshot, name: &str, io: &mut Io) {
    let meta = &snapshot.meta;
    if let Some(first) = meta.tally.bad.first() {
        io.warn(format_args!(
            "{name}:{}: not a JSON object ({}); {} such lines in all, saved unchanged",
            first.line, first.class, meta.tally.bad_lines
        ));
    }
    io.note(format_args!("snapshot {}: {}", snapshot.id, meta.size()));
}
