//! `--restore`: what references name is put back.

use ctx_cli::Failure;
use ctx_store::{SessionId, Store};
use ctx_transcript::{Edits, Part, Slot, ToolResult};

use super::change::Change;
use super::place::Place;
use super::template::Template;
use crate::store::failure;

/// Puts results back.
pub(crate) struct Restorer<'a> {
    store: &'a Store,
    place: Place,
    template: Template,
    /// What was put back: lines and paths.
    pub(crate) restored: Vec<(u64, String)>,
    /// What could not be: lines, paths and why not.
    pub(crate) missing: Vec<(u64, String, Failure)>,
    /// Paths that lie elsewhere, with their lines; they stay as they are.
    pub(crate) elsewhere: Vec<(u64, String)>,
}

impl<'a> Restorer<'a> {
    pub(crate) fn new(
        store: &'a Store,
        session: &SessionId,
        template: Template,
    ) -> Result<Self, Failure> {
        Ok(Self {
            store,
            place: Place::new(store, session)?,
            template,
            restored: Vec::new(),
            missing: Vec::new(),
            elsewhere: Vec::new(),
        })
    }

    /// The folder that references name.
    pub(crate) fn folder(&self) -> &str {
        self.place.folder()
    }
}

impl Change for Restorer<'_> {
    fn result(
        &mut self,
        line: u64,
        result: &ToolResult<'_>,
        slot: &Slot,
        _raw: &str,
        edits: &mut Edits,
    ) -> Result<(), Failure> {
        let [Part::Text(text)] = &result.parts[..] else {
            return Ok(());
        };
        let Some(path) = self.template.path_in(text) else {
            return Ok(());
        };
        let Some(file) = self.place.file(path) else {
            self.elsewhere.push((line, path.to_owned()));
            return Ok(());
        };
        match self.store.read_offloaded(&file) {
            Ok(content) => {
                self.restored.push((line, path.to_owned()));
                edits.replace(slot.range.clone(), content.into_json());
            }
            Err(error) => {
                self.missing.push((line, path.to_owned(), failure(error)));
                edits.put(slot, &format!("[Content unavailable: {path}]"));
            }
        }
        Ok(())
    }
}
