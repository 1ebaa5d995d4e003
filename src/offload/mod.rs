//! Moves tool results from a session into files in the store, restores them, and finds them by
//! their hashes.

mod original;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use ctx_engine::message_counter::MessageCounter;
use ctx_engine::offload::{Change, FileFacts, Substitute, Template};
use ctx_engine::{CallNames, Notes, PassError};
use ctx_format::{Call, Part, ToolResult, counted};
use ctx_store::{
    Content, OffloadFolder, OffloadName, OffloadWriter, SessionId, Store, StoreError, TakenResults,
    real_path,
};
use serde::Serialize;

use crate::store::failure;

pub use original::{OriginalError, OriginalQuery, Referred, original, referred};

/// The default value of `ctx-offload --min-tokens`.
pub const MIN_TOKENS: u64 = 2000;

/// Determines which results are moved out, and the text that replaces them.
#[derive(Clone)]
pub struct Plan {
    /// Results with at least this many tokens are moved out of the session.
    pub min_tokens: u64,
    /// The number of freed tokens after which no more results are moved, or `None` if there is no
    /// limit.
    pub enough_tokens: Option<u64>,
    /// The text that replaces a result.
    pub template: Template,
    /// Counts the tokens in results.
    pub counter: MessageCounter,
    /// True for a dry run, which writes nothing.
    pub dry_run: bool,
}

/// Moves results out of a session.
pub struct Offloader<'a> {
    plan: Plan,
    /// `None` in a dry run.
    writer: Option<OffloadWriter<'a>>,
    folder: OffloadFolder,
    /// The names of the calls, collected only if the template contains `{call}`.
    calls: Option<CallNames>,
    /// The results that were moved out of the session.
    pub results: Vec<OffloadedResult>,
    /// The number of tokens freed in the session.
    pub freed: u64,
}

/// Returns the real paths of the files that will refer to the offloaded results: the output, and
/// the input, because the output often replaces the input later. Must be called before anything is
/// written. The entry for an output without a path, such as a pipe, is `None`, because such an
/// output cannot be searched later.
pub fn transcripts(input: Option<&Path>, output: Option<&Path>) -> Vec<Option<PathBuf>> {
    let real = |path: &Path| fs::canonicalize(path).or_else(|_| real_path(path)).ok();
    let input = input.and_then(real).map(Some);
    std::iter::once(output.and_then(real)).chain(input).collect()
}

/// A result that was or would be moved out, as printed by `--json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OffloadedResult {
    /// The line number of the record that contains the result.
    pub line: u64,
    /// The size of the result in tokens.
    pub tokens: u64,
    /// The size of the result's file in bytes.
    pub bytes: u64,
    /// The path of the file that contains the result.
    pub path: String,
    /// The id of the call that returned the result.
    #[serde(skip)]
    pub call: Option<String>,
}

impl<'a> Offloader<'a> {
    /// Creates an offloader. Nothing is written before the first result is moved.
    pub fn new(store: &'a Store, session: &SessionId, plan: Plan) -> Result<Self, StoreError> {
        Ok(Self {
            writer: (!plan.dry_run).then(|| store.offload(session)),
            folder: store.offload_folder(session)?,
            calls: plan.template.names_call().then(CallNames::default),
            plan,
            results: Vec::new(),
            freed: 0,
        })
    }

    /// Makes the files durable. Must be called before a session that refers to the files is
    /// written. `transcripts` are the known files that will refer to the offloaded files.
    pub fn finish(&mut self, transcripts: &[Option<PathBuf>]) -> Result<(), StoreError> {
        let transcripts: Vec<Option<&Path>> = transcripts.iter().map(Option::as_deref).collect();
        let writer = self.writer.take();
        writer.map_or(Ok(()), |writer| writer.finish(&transcripts))
    }

    fn is_reference(&self, result: &ToolResult<'_>) -> bool {
        matches!(&result.parts[..], [Part::Text(text)]
            if self.plan.template.path_in(text).is_some_and(|path| self.folder.file(path).is_some()))
    }
}

impl Change for Offloader<'_> {
    fn call(&mut self, call: &Call<'_>) {
        if let Some(calls) = &mut self.calls {
            calls.push(call);
        }
    }

    fn result(
        &mut self,
        line: u64,
        result: &ToolResult<'_>,
        raw: &str,
    ) -> Result<Option<Substitute>, PassError> {
        let Plan { min_tokens, template, counter, .. } = &self.plan;
        // Text never has more tokens than bytes, so short results need not be counted.
        let is_short = raw.starts_with('"') && (raw.len() as u64) < *min_tokens;
        let is_enough = self.plan.enough_tokens.is_some_and(|enough| self.freed >= enough);
        if is_short || is_enough || self.is_reference(result) {
            return Ok(None);
        }
        let tokens = counter.result(result).total();
        if tokens < *min_tokens {
            return Ok(None);
        }
        let content = Content::of(raw);
        let name = OffloadName::of(content.text.as_bytes(), content.form);
        let path = self.folder.path_of(&name);
        let bytes = content.text.len() as u64;
        let call = self.calls.as_ref().map(|calls| calls.of(result));
        let reference = template.fill(&FileFacts {
            path: &path,
            call: call.as_deref().unwrap_or_default(),
            sha256: &name.sha256,
            tokens,
            bytes,
        });
        let freed = tokens.saturating_sub(counter.text(&reference));
        if freed == 0 {
            return Ok(None);
        }
        if let Some(writer) = &mut self.writer {
            let written = writer.put(&content, result.id.as_deref());
            written.map_err(|error| PassError::caller(failure(error)))?;
        }
        self.freed += freed;
        self.results.push(OffloadedResult {
            line,
            tokens,
            bytes,
            path,
            call: result.id.as_deref().map(str::to_owned),
        });
        Ok(Some(Substitute::Text(reference)))
    }
}

/// Replaces references with the results that they refer to. Each result is restored only as often
/// as it was moved out. A reference whose file cannot be read is kept, because the file may be
/// available later.
pub struct Restorer<'a> {
    store: &'a Store,
    /// The folder that contains the session's offloaded files.
    pub folder: OffloadFolder,
    template: Template,
    taken: TakenResults,
    /// The text that replaces an unreadable result if the output is used only for a summary. In
    /// this text, `{path}` is replaced with the path of the result's file.
    pub unavailable: Option<String>,
    /// The restored results.
    pub restored: Vec<Reference>,
    /// The references whose results could not be restored, each with the reason.
    pub missing: Vec<(Reference, StoreError)>,
    /// The references to files outside the session's folder, which are left unchanged.
    pub elsewhere: Vec<Reference>,
    /// Results that look like references but are left unchanged, because the original was not moved
    /// out, or was moved out fewer times than references to it occur.
    pub foreign: Foreign,
}

/// Strings that look like references but are left unchanged. Only the first string is stored,
/// because there may be many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreign {
    /// The number of strings that look like references but are left unchanged.
    pub count: u64,
    /// The first string that looks like a reference but is left unchanged.
    pub first: Option<Reference>,
}

/// Text that replaces a result and refers to the file that contains the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The line number of the record.
    pub line: u64,
    /// The path of the file that the text refers to.
    pub path: String,
}

impl<'a> Restorer<'a> {
    /// Creates a restorer. `template` is the template that the references were made from.
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

    /// Adds the results that this run moved out, because the store does not list them yet.
    pub fn preview(&mut self, results: &[OffloadedResult]) {
        for result in results {
            if let Some(file) = self.folder.file(&result.path) {
                self.taken.take(&file, result.call.as_deref());
            }
        }
    }

    /// Starts a pass over the session. There may be several passes.
    pub fn begin(&mut self) {
        self.taken.begin();
    }

    /// Warns about strings that look like references but are left unchanged.
    pub fn tell(&self, notes: &mut Notes) {
        let folder = &self.folder.path;
        if let Some(Reference { line, path }) = self.elsewhere.first() {
            let all = counted(self.elsewhere.len(), "reference");
            let text = format_args!("{all} left unchanged; the first: {path} is not in {folder}");
            notes.warn_at(*line, text);
        }
        let Foreign { count, first } = &self.foreign;
        if let Some(Reference { line, path }) = first {
            let texts = counted(*count, "text");
            notes.warn_at(
                *line,
                format_args!(
                    "{texts} left unchanged that ctx-offload did not write, or not this often; \
                     the first names {path}: ctx-offload --show prints such a file"
                ),
            );
        }
    }
}

impl Change for Restorer<'_> {
    fn result(
        &mut self,
        line: u64,
        result: &ToolResult<'_>,
        _raw: &str,
    ) -> Result<Option<Substitute>, PassError> {
        let [Part::Text(text)] = &result.parts[..] else { return Ok(None) };
        let Some(path) = self.template.path_in(text).map(str::to_owned) else { return Ok(None) };
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
