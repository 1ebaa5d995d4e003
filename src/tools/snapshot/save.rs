//! Takes snapshots, or shows with `-n` which ones it would take.

use std::io;
use std::path::{Path, PathBuf};

use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, STDIN_NAME, input_name, inputs, is_stdin, json_line,
    printable,
};
use ctx_engine::count::tokens;
use ctx_engine::counter::MessageCounter;
use ctx_store::{Draft, Saved, SessionId, Snapshot, Store, Tokens};
use serde::Serialize;

use super::Args;
use crate::passes;
use crate::store::{copy_out, failure, session_of};

/// The preview of a file, for programs.
#[derive(Serialize)]
struct PreviewReport<'a> {
    name: &'a str,
    session: &'a str,
    dry_run: bool,
    /// The existing snapshot with these bytes.
    snapshot: Option<String>,
    bytes: u64,
}

/// Reports for each file whether it would be saved; stdin is passed on.
pub(super) fn preview(args: &Args, store: &Store, io: &mut Io) -> Outcome {
    let mut statuses = Vec::new();
    for path in inputs(&args.files)? {
        if is_stdin(&path) {
            copy_out(&mut io::stdin().lock(), io)?;
            continue;
        }
        match of_file(args, store, &path) {
            Ok(text) => {
                io.write(text.as_bytes())?;
                statuses.push(ExitStatus::Done);
            }
            Err(failure) => {
                io.report(&failure);
                statuses.push(failure.exit_status());
            }
        }
    }
    Ok(ExitStatus::of_several(&statuses))
}

fn of_file(args: &Args, store: &Store, path: &Path) -> Result<String, Failure> {
    let session = session_of(args.session.as_ref(), path)?;
    let (bytes, saved) = store.would_save(path, &session).map_err(failure)?;
    let name = path.display().to_string();
    let snapshot = saved.map(|id| id.to_string());
    if args.json {
        return Ok(json_line(&PreviewReport {
            name: &name,
            session: session.as_str(),
            dry_run: true,
            snapshot,
            bytes,
        }));
    }
    let name = printable(&name);
    Ok(match snapshot {
        Some(id) => format!("{name} is saved already: {id}\n"),
        None => format!("would save {name} as a snapshot of {session}: {bytes} bytes\n"),
    })
}

/// Takes snapshots.
pub(super) struct Taker {
    pub(super) store: Store,
    pub(super) session: Option<SessionId>,
    pub(super) counter: Option<MessageCounter>,
    /// Whether the output is JSON.
    pub(super) json: bool,
}

impl Taker {
    pub(super) fn take_all(&self, files: &[PathBuf], io: &mut Io) -> Outcome {
        let paths = inputs(files)?;
        if let [path] = paths.as_slice() {
            self.take(path, io)?;
            return Ok(ExitStatus::Done);
        }
        if self.session.is_some() {
            return Err(Failure::new("-s names one session, but there are several files"));
        }
        let mut statuses = Vec::new();
        for path in &paths {
            // Whatever is wrong with one of them, the others are saved.
            match self.save(path, io) {
                Ok(snapshot) => {
                    self.print(&snapshot, io)?;
                    statuses.push(ExitStatus::Done);
                }
                Err(error) => {
                    io.report(&error);
                    statuses.push(error.exit_status());
                }
            }
        }
        Ok(ExitStatus::of_several(&statuses))
    }

    fn take(&self, path: &Path, io: &mut Io) -> Result<(), Failure> {
        if is_stdin(path) && self.json {
            return Err(Failure::new("--json needs stdout, and so do the records")
                .hint("name the session as FILE"));
        }
        let snapshot = self.save(path, io)?;
        // Bytes from a pipe are passed on once they are saved.
        if is_stdin(path) {
            let mut bytes = self.store.open_bytes(&snapshot.id).map_err(failure)?;
            return copy_out(&mut bytes, io);
        }
        self.print(&snapshot, io)
    }

    fn print(&self, snapshot: &Snapshot, io: &mut Io) -> Result<(), Failure> {
        if self.json {
            return io.write(json_line(&snapshot.meta).as_bytes());
        }
        io.write(format!("{}\n", snapshot.id).as_bytes())
    }

    fn save(&self, path: &Path, io: &mut Io) -> Result<Snapshot, Failure> {
        let session = session_of(self.session.as_ref(), path)?;
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
        Ok(match saved {
            Saved::New(snapshot) => snapshot,
            Saved::Again(snapshot) => {
                let id = &snapshot.id;
                io.note(format_args!("{name} is as it was when {id} was taken"));
                snapshot
            }
        })
    }

    fn tokens(&self, draft: &Draft<'_>, name: &str) -> Result<Option<Tokens>, Failure> {
        let Some(counter) = &self.counter else {
            return Ok(None);
        };
        let bytes = draft.reader().map_err(failure)?;
        let count = tokens(Box::new(bytes), counter);
        let count = count.map_err(|error| passes::failure(error, name))?;
        Ok(count.map(|count| Tokens { count, encoding: counter.encoding().name().to_owned() }))
    }
}

fn note_snapshot(snapshot: &Snapshot, name: &str, io: &mut Io) {
    let meta = &snapshot.meta;
    let tally = &meta.tally;
    if let Some(first) = tally.bad.first() {
        io.warn(format_args!(
            "{name}:{}: a line that is no JSON object ({}); such lines: {}, saved as they are",
            first.line, first.class, tally.bad_lines
        ));
    }
    io.note(format_args!("snapshot {}: {}", snapshot.id, meta.size()));
}
