//! The files that the layers of a context come from.

use std::io;
use std::path::Path;

use chrono::DateTime;
use ctx_cli::{Failure, Input};
use ctx_memory::consolidate::is_mark;
use ctx_memory::inject::Layer;
use ctx_memory::summary_path;
use ctx_store::{SessionId, Store};

use crate::stored::read_text;

/// The memory files that are read while there is no master. Their first lines matter no more than
/// their last.
const EXTRACTED: [&str; 3] = ["preferences.md", "decisions.md", "facts.md"];

/// The text of a layer, empty if there is none.
pub(crate) fn read(
    layer: Layer,
    base: Option<&Path>,
    session: Option<&SessionId>,
    store: &Store,
) -> Result<String, Failure> {
    let memory = store.memory();
    match layer {
        Layer::Base => base.map_or(Ok(String::new()), named),
        Layer::Soul => stored(&memory.join("summary/soul.md")),
        Layer::Memory => {
            let master = stored(&memory.join("summary/master.md"))?;
            // The comments around what consolidation wrote are for who edits it.
            let lines = master.lines().filter(|line| !is_mark(line));
            let master = lines.collect::<Vec<_>>().join("\n");
            if !master.trim().is_empty() {
                return Ok(master);
            }
            let mut texts = Vec::new();
            for name in EXTRACTED {
                texts.push(stored(&memory.join("extracted").join(name))?.trim().to_owned());
            }
            texts.retain(|text| !text.is_empty());
            Ok(texts.join("\n\n"))
        }
        Layer::Runtime => stored(&memory.join("extracted/runtime.md")),
        Layer::Summary => {
            let all = session.map_or(Ok(String::new()), |it| stored(&summary_path(store, it)))?;
            Ok(newest(&all).to_owned())
        }
    }
}

/// The file that the user named: one that is not there is an error.
fn named(path: &Path) -> Result<String, Failure> {
    let Input { name, reader } = Input::open(path)?;
    io::read_to_string(reader)
        .map_err(|error| Failure::new(format_args!("cannot read: {error}")).at(&name, None))
}

/// A file of the store, which may not be there.
fn stored(path: &Path) -> Result<String, Failure> {
    match read_text(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => {
            let name = path.display().to_string();
            Err(Failure::new(format_args!("cannot read: {error}")).at(&name, None))
        }
    }
}

/// The newest of the summaries of a session, without its heading (`# TIME: N messages`): each was
/// made of what the one before had left.
fn newest(all: &str) -> &str {
    let is_heading = |line: &str| {
        let time = line.strip_prefix("# ").and_then(|it| it.split_once(": "));
        time.is_some_and(|(time, rest)| {
            rest.ends_with(" messages") && DateTime::parse_from_rfc3339(time).is_ok()
        })
    };
    let mut newest = 0;
    let mut at = 0;
    for line in all.split_inclusive('\n') {
        at += line.len();
        if is_heading(line.trim_end()) {
            newest = at;
        }
    }
    all[newest..].trim()
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn the_newest_summary_stands_behind_the_last_heading() {
        let all = "# demo\n\n# 2026-01-02T03:04:05.000000Z: 7 messages\n\nold\n\n\
                   # 2026-01-03T03:04:05.000000Z: 9 messages\n\n# Record\nnew: 3 messages\n";
        assert_eq!(newest(all), "# Record\nnew: 3 messages");
        assert_eq!(newest(""), "");
        assert_eq!(newest("written by hand\n"), "written by hand");
    }
}
