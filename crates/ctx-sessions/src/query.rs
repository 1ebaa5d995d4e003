//! Which sessions are asked for, and the list of them.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ctx_cli::{in_parallel, jobs_of};

use crate::find::{Scope, find};
use crate::index::Index;
use crate::place::Place;
use crate::read::read;
use crate::row::{Question, Row};
use crate::survey::{Listed, Survey};

/// Which sessions. A `project` that is no absolute path is a name.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Query {
    /// Session files and folders of them [default: where agents keep theirs]
    #[cfg_attr(feature = "clap", arg(value_name = "PATH"))]
    pub paths: Vec<PathBuf>,
    /// List only sessions of this agent or dialect (can be repeated)
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", value_delimiter = ',',
        value_parser = clap::builder::PossibleValuesParser::new(agents())))]
    pub agent: Vec<String>,
    /// List only sessions of this project: its name, or its folder (. is this one)
    ///
    /// A name is that of the folder that the agent works in. What has a slash, or is . or .., is
    /// a path, and sessions of folders below it are listed, too.
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME|DIR"))]
    pub project: Option<PathBuf>,
    /// List only sessions that are due for a compaction
    #[cfg_attr(feature = "clap", arg(long))]
    pub due: bool,
    /// List the files of subagents, too
    #[cfg_attr(feature = "clap", arg(long))]
    pub subagents: bool,
    /// Read N files at a time [default: one per core]
    #[cfg_attr(feature = "clap", arg(short, long, value_name = "N"))]
    pub jobs: Option<NonZeroUsize>,
}

/// Agents with places of their own, and the other dialects.
#[cfg(feature = "clap")]
fn agents() -> Vec<&'static str> {
    let dialects = ctx_format::dialect::ALL;
    let mut names: Vec<&str> = dialects.map(ctx_format::Dialect::name).into();
    names.extend(crate::place::AGENTS);
    names.sort_unstable();
    names.dedup();
    names
}

impl Query {
    /// Lists the sessions. Readings in the `index` are used where they are valid; the new index is
    /// returned. `variable` reads a variable of the environment. Data that does not fit into memory
    /// goes to unnamed files in `temp`.
    pub fn list(
        &self,
        variable: impl Fn(&str) -> Option<OsString>,
        temp: &Path,
        index: Index,
        question: &Question,
    ) -> (Listed, Index) {
        let places = self.places(variable);
        let scope = if self.paths.is_empty() {
            Scope::Places(&places)
        } else {
            Scope::Named(&self.paths, &places)
        };
        let survey = Survey::new(find(scope, self.subagents), index);
        let paths = survey.to_read();
        let (counter, now) = (question.counter, question.now);
        let readings: Vec<io::Result<_>> =
            in_parallel(&paths, jobs_of(self.jobs), |path| read(path, temp, counter, now));
        let (mut listed, index) = survey.finish(paths, readings, &self.paths, question);
        listed.rows.retain(|row| self.shows(row));
        listed.looked_in = if self.paths.is_empty() {
            places.into_iter().map(|place| place.folder).collect()
        } else {
            self.paths.clone()
        };
        (listed, index)
    }

    /// The folders of the agents that the query names.
    fn places(&self, variable: impl Fn(&str) -> Option<OsString>) -> Vec<Place> {
        let mut places = Place::usual(variable);
        let is_asked = |place: &Place| {
            let mut agents = self.agent.iter();
            self.agent.is_empty()
                || !self.paths.is_empty()
                || agents.any(|agent| agent == place.agent)
        };
        places.retain(is_asked);
        places
    }

    fn is_of_project(&self, row: &Row) -> bool {
        let Some(project) = &self.project else {
            return true;
        };
        let content = row.content.as_ref();
        let folder = content.and_then(|content| content.folder.as_deref());
        folder.map(Path::new).is_some_and(|folder| {
            if project.is_absolute() {
                folder.starts_with(project)
            } else {
                folder.file_name() == Some(project.as_os_str())
            }
        })
    }

    fn shows(&self, row: &Row) -> bool {
        let is_asked = self.agent.is_empty() || self.agent.contains(&row.agent);
        is_asked && self.is_of_project(row) && (!self.due || row.due == Some(true))
    }
}
