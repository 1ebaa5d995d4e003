//! The report of `ctx-gc`: a line for people, or a JSON object.

use ctx_cli::{ExitStatus, Failure, Io, Outcome, json_line};
use ctx_store::collect::{Action, Event};
use ctx_store::{StoreError, StoreItem};

use super::Args;
use crate::store::failure;

/// Tells of a collection.
pub(super) struct Report<'a> {
    args: &'a Args,
    io: &'a mut Io,
    status: ExitStatus,
}

impl<'a> Report<'a> {
    pub(super) fn new(args: &'a Args, io: &'a mut Io) -> Self {
        Self { args, io, status: ExitStatus::Done }
    }

    /// Tells of one thing.
    fn event(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Done(action, item) => self.done(&action, &item)?,
            Event::Locked(id) => {
                let note = format_args!("skip {id}: its session is in use");
                self.io.note(note);
            }
            Event::Late(id) => self.io.warn(format_args!(
                "another process wrote to a file after it had been replaced; saved as {id}"
            )),
            Event::SlowClock(latest) => self.io.warn(format_args!(
                "this clock is more than a day slow compared with the store: the grace of removed items begins on {}; ctx-gc --purge empties the trash earlier",
                latest.format("%Y-%m-%d")
            )),
            Event::StillOpen(path) => {
                let note = format_args!("{} is still in use", path.display());
                self.io.note(note);
            }
            Event::Unknown(session, why) => self.io.note(format_args!(
                "the offloaded files of {session} stay: not every transcript that may name them can be looked into: {why}"
            )),
            Event::Failed(error) => {
                self.io.report(&failure(error));
                self.status = ExitStatus::Partial;
            }
        }
        Ok(())
    }

    /// Reports all events and the end of the run. Items that could not be examined or removed need
    /// another run; that matters more than an uncertain result and is always reported.
    pub(super) fn all(
        mut self,
        events: Vec<Event>,
        done: Result<(), StoreError>,
        unaudited: bool,
    ) -> Outcome {
        let (failed, others): (Vec<_>, Vec<_>) =
            events.into_iter().partition(|event| matches!(event, Event::Failed(_)));
        let told = failed.into_iter().chain(others).try_for_each(|event| self.event(event));
        if let Err(unheard) = told.and_then(|()| self.io.flush()) {
            if self.status != ExitStatus::Partial {
                return Err(unheard);
            }
            self.io.report(&unheard);
        }
        match done.map_err(failure) {
            Err(uncertain)
                if self.status == ExitStatus::Partial
                    && uncertain.exit_status() == ExitStatus::Uncertain =>
            {
                self.io.report(&uncertain);
                Ok(ExitStatus::Partial)
            }
            Err(failure) => Err(failure),
            Ok(()) => Ok(self.end(unaudited)),
        }
    }

    /// The exit status after the report.
    fn end(self, unaudited: bool) -> ExitStatus {
        if unaudited {
            self.io.warn("the audit log was not written: the disk is full");
            // Failed removals need another run, so status 3 stays.
            if self.status == ExitStatus::Done {
                return ExitStatus::Uncertain;
            }
        }
        self.status
    }

    fn done(&mut self, action: &Action, item: &StoreItem) -> Result<(), Failure> {
        let text = action.say(item, self.args.dry_run);
        let is_silent = match action {
            Action::Keep(_) => true,
            Action::Pack { .. } => !self.args.json,
            _ => false,
        };
        if is_silent && !self.args.dry_run {
            // A nightly run that removes nothing prints nothing.
            self.io.note(text);
            return Ok(());
        }
        if Args::is_silent(self.io) {
            return Ok(());
        }
        let line = if self.args.json { json_line(&action.told(item)) } else { text + "\n" };
        self.io.write(line.as_bytes())
    }
}
