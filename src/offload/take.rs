//! Large results go into files, the oldest first, and references take their place.

use std::fs;
use std::path::{Path, PathBuf};

use ctx_engine::counter::MessageCounter;
use ctx_engine::offload::{Change, FileFacts, Substitute, Template};
use ctx_engine::{CallNames, PassError};
use ctx_format::{Call, Part, ToolResult};
use ctx_store::{
    Content, OffloadFolder, OffloadName, OffloadWriter, SessionId, Store, StoreError, real_path,
};

use crate::store::failure;

/// Which results are offloaded, and what replaces them.
#[derive(Clone)]
pub struct Plan {
    /// Results with at least this many tokens are moved out.
    pub min_tokens: u64,
    /// Until so many tokens are freed.
    pub enough_tokens: Option<u64>,
    /// What takes the place of a result.
    pub template: Template,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// Takes results out.
pub struct Offloader<'a> {
    plan: Plan,
    /// `None` in a dry run.
    writer: Option<OffloadWriter<'a>>,
    folder: OffloadFolder,
    /// Where the template asks for them.
    calls: Option<CallNames>,
    /// The results that were moved out.
    pub results: Vec<OffloadedResult>,
    /// How many tokens shorter the session is for it.
    pub freed: u64,
}

/// The files that name the offloaded results: the output, and the input, which the output often
/// replaces. `None` is stdin or stdout.
pub struct Transcripts {
    /// The session.
    pub input: Option<PathBuf>,
    /// What is made of it.
    pub output: Option<PathBuf>,
}

impl Transcripts {
    /// Their real paths, before anything is written. An output without a path is listed, too,
    /// because nobody can search a pipe.
    pub fn found(&self) -> Vec<Option<PathBuf>> {
        let real = |path: &PathBuf| fs::canonicalize(path).or_else(|_| real_path(path)).ok();
        let input = self.input.as_ref().and_then(real);
        let output = self.output.as_ref().and_then(real);
        let input = input.map(Some);
        std::iter::once(output).chain(input).collect()
    }
}

/// A result that was or would be moved out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadedResult {
    /// Its line.
    pub line: u64,
    /// Its tokens.
    pub tokens: u64,
    /// The bytes of its file.
    pub bytes: u64,
    /// Where the file lies.
    pub path: String,
    /// The id of the call that it answers.
    pub call: Option<String>,
}

impl<'a> Offloader<'a> {
    /// Writes nothing before the first result.
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

    /// Makes the files durable; to be called before anything names them.
    /// `transcripts` are the files that will, as far as they are known.
    pub fn finish(&mut self, transcripts: &[Option<PathBuf>]) -> Result<(), StoreError> {
        let transcripts: Vec<Option<&Path>> = transcripts.iter().map(Option::as_deref).collect();
        let writer = self.writer.take();
        writer.map_or(Ok(()), |writer| writer.finish(&transcripts))
    }

    fn is_enough(&self) -> bool {
        let enough = self.plan.enough_tokens;
        enough.is_some_and(|enough| self.freed >= enough)
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
        // No text has more tokens than bytes: most need not be counted.
        let is_short = raw.starts_with('"') && (raw.len() as u64) < *min_tokens;
        if is_short || self.is_enough() || self.is_reference(result) {
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
            sha256: name.sha256(),
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
