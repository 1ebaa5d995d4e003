//! Puts back the results that references name.

use ctx_engine::offload::{Change, Substitute, Template};
use ctx_engine::{Notes, PassError};
use ctx_format::{Part, ToolResult, counted};
use ctx_store::{OffloadFolder, SessionId, Store, StoreError, TakenResults};

use super::take::OffloadedResult;

/// Puts results back, each where it was taken from and no more often. A reference whose file cannot
/// be read stays, because the file may be available tomorrow.
pub struct Restorer<'a> {
    store: &'a Store,
    /// Where the files lie.
    pub folder: OffloadFolder,
    template: Template,
    taken: TakenResults,
    /// What stands instead in the place of a result that cannot be read, where the text goes
    /// nowhere but into a summary; `{path}` is its file.
    unavailable: Option<String>,
    /// The results that were put back.
    pub restored: Vec<Reference>,
    /// What could not be, and why not.
    pub missing: Vec<(Reference, StoreError)>,
    /// References to files outside the folder; they stay as they are.
    pub elsewhere: Vec<Reference>,
    /// References of other origin: nothing was moved out of these results, or not as often. They
    /// stay as they are.
    pub foreign: Foreign,
}

/// Texts of others in the places of results: there may be any number of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreign {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: Option<Reference>,
}

/// A text in the place of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Its line.
    pub line: u64,
    /// The path it names.
    pub path: String,
}

impl<'a> Restorer<'a> {
    /// `template` is the text that the references were made with.
    pub fn new(
        store: &'a Store,
        session: &SessionId,
        template: Template,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            store,
            folder: store.offload_folder(session)?,
            taken: store.taken(session)?,
            template,
            unavailable: None,
            restored: Vec::new(),
            missing: Vec::new(),
            elsewhere: Vec::new(),
            foreign: Foreign::default(),
        })
    }

    /// A preview would have moved out these results.
    pub fn preview(&mut self, results: &[OffloadedResult]) {
        for result in results {
            if let Some(file) = self.folder.file(&result.path) {
                self.taken.take(&file, result.call.as_deref());
            }
        }
    }

    /// The session is read from its beginning, perhaps not for the first time.
    pub fn begin(&mut self) {
        self.taken.begin();
    }

    /// Warns of what looks like references and stays.
    pub fn tell(&self, notes: &mut Notes) {
        let folder = self.folder.path();
        for Reference { line, path } in &self.elsewhere {
            let text = format_args!("{path} is no file of {folder}; left as it is");
            notes.warn(&[*line], text);
        }
        let Foreign { count, first } = &self.foreign;
        if let Some(Reference { line, path }) = first {
            let texts = counted(*count, "text");
            notes.warn(
                &[*line],
                format_args!(
                    "{texts} left that nothing was taken out for, or not so often; \
                     the first names {path}: ctx-offload --show prints such a file"
                ),
            );
        }
    }

    /// Writes this text in the place of a reference whose file cannot be read. Only for what
    /// is summarized: in a session the reference would be lost.
    #[must_use]
    pub fn with_unavailable(mut self, text: &str) -> Self {
        self.unavailable = Some(text.to_owned());
        self
    }
}

impl Change for Restorer<'_> {
    fn result(
        &mut self,
        line: u64,
        result: &ToolResult<'_>,
        _raw: &str,
    ) -> Result<Option<Substitute>, PassError> {
        let [Part::Text(text)] = &result.parts[..] else {
            return Ok(None);
        };
        let Some(path) = self.template.path_in(text).map(str::to_owned) else {
            return Ok(None);
        };
        let Some(file) = self.folder.file(&path) else {
            self.elsewhere.push(Reference { line, path });
            return Ok(None);
        };
        if !self.taken.put_back(&file, result.id.as_deref()) {
            self.foreign.count += 1;
            self.foreign.first.get_or_insert(Reference { line, path });
            return Ok(None);
        }
        Ok(match self.store.read_offloaded(&file) {
            Ok(content) => {
                self.restored.push(Reference { line, path });
                Some(Substitute::Json(content.into_json()))
            }
            Err(error) => {
                let text = self.unavailable.as_ref();
                let text = text.map(|text| text.replace("{path}", &path));
                self.missing.push((Reference { line, path }, error));
                text.map(Substitute::Text)
            }
        })
    }
}
