//! Large results go into files, the oldest first, and references take their place.

use std::path::Path;

use ctx_cli::Failure;
use ctx_select::count::MessageCounter;
use ctx_store::{Content, OffloadName, OffloadWriter, SessionId, Store};
use ctx_transcript::{Edits, Part, Slot, ToolResult};

use super::change::Change;
use super::place::Place;
use super::template::{Named, Template};
use crate::store::failure;

/// What is taken out.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Results of so many tokens and more.
    pub(crate) min_tokens: u64,
    /// Until so many tokens are freed.
    pub(crate) enough: Option<u64>,
}

/// Takes results out.
pub(crate) struct Taker<'a> {
    /// `None` in a dry run.
    writer: Option<OffloadWriter<'a>>,
    place: Place,
    template: Template,
    counter: MessageCounter,
    limits: Limits,
    /// What was taken out.
    pub(crate) taken: Vec<Taken>,
    /// Tokens that the transcript has less for it.
    pub(crate) freed: u64,
}

/// One result that was taken out, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) line: u64,
    pub(crate) tokens: u64,
    pub(crate) bytes: u64,
    pub(crate) path: String,
}

impl<'a> Taker<'a> {
    pub(crate) fn new(
        store: &'a Store,
        session: &SessionId,
        template: Template,
        counter: MessageCounter,
        limits: Limits,
        dry_run: bool,
    ) -> Result<Self, Failure> {
        Ok(Self {
            writer: (!dry_run).then(|| store.offload(session)),
            place: Place::new(store, session)?,
            template,
            counter,
            limits,
            taken: Vec::new(),
            freed: 0,
        })
    }

    /// Makes the files durable; to be called before anything names them.
    /// `transcripts` are the files that will, as far as they are known.
    pub(crate) fn finish(&mut self, transcripts: &[Option<&Path>]) -> Result<(), Failure> {
        match self.writer.take() {
            Some(writer) => writer.finish(transcripts).map_err(failure),
            None => Ok(()),
        }
    }

    fn is_enough(&self) -> bool {
        self.limits
            .enough
            .is_some_and(|enough| self.freed >= enough)
    }

    fn is_reference(&self, result: &ToolResult<'_>) -> bool {
        matches!(&result.parts[..], [Part::Text(text)]
            if self.template.path_in(text).is_some_and(|path| self.place.file(path).is_some()))
    }
}

impl Change for Taker<'_> {
    fn result(
        &mut self,
        line: u64,
        result: &ToolResult<'_>,
        slot: &Slot,
        raw: &str,
        edits: &mut Edits,
    ) -> Result<(), Failure> {
        let min = self.limits.min_tokens;
        // No text has more tokens than bytes: most need not be counted.
        let is_short = raw.starts_with('"') && (raw.len() as u64) < min;
        if is_short || self.is_enough() || self.is_reference(result) {
            return Ok(());
        }
        let tokens = self.counter.parts(&result.parts).total();
        if tokens < min {
            return Ok(());
        }
        let content = Content::of(raw);
        let name = OffloadName::of(content.text.as_bytes(), content.form);
        let path = self.place.path(&name);
        let bytes = content.text.len() as u64;
        let reference = self.template.fill(&Named {
            path: &path,
            sha256: name.sha256(),
            tokens,
            bytes,
        });
        let freed = tokens.saturating_sub(self.counter.text(&reference));
        if freed == 0 {
            return Ok(());
        }
        if let Some(writer) = &mut self.writer {
            writer.put(&content).map_err(failure)?;
        }
        self.freed += freed;
        self.taken.push(Taken {
            line,
            tokens,
            bytes,
            path,
        });
        edits.put(slot, &reference);
        Ok(())
    }
}
