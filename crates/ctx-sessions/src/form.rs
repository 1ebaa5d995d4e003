//! The formats of a list.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ctx_cli::{Io, json_line, printable};

use crate::row::Row;
use crate::table;

/// How; without a flag as a table.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
pub struct Form {
    /// List the id and the file of each, instead of its title
    #[cfg_attr(feature = "clap", arg(short, long, alias = "long"))]
    pub list: bool,
    /// Print JSON: an object per session
    #[cfg_attr(feature = "clap", arg(long, conflicts_with = "list"))]
    pub json: bool,
    /// Print only the paths, one per line
    #[cfg_attr(feature = "clap", arg(long, conflicts_with_all = ["list", "json"]))]
    pub paths_only: bool,
    /// Print only the paths, separated by NUL, for xargs -0
    #[cfg_attr(feature = "clap", arg(short = '0', long, conflicts_with_all = ["list", "json", "paths_only"]))]
    pub null: bool,
}

impl Form {
    /// The list in this format, tables fitted to `io`.
    pub fn of(self, rows: &[Row], io: &Io) -> Vec<u8> {
        if self.null || self.paths_only {
            rows.iter().flat_map(|row| self.path(&row.path)).collect()
        } else if self.json {
            rows.iter().map(json_line).collect::<String>().into_bytes()
        } else if rows.is_empty() {
            Vec::new()
        } else {
            table::of(rows, self.list, io).into_bytes()
        }
    }

    fn path(self, path: &Path) -> Vec<u8> {
        if self.null {
            return [operand(path).as_os_str().as_bytes(), b"\0"].concat();
        }
        [path_to_show(path).as_bytes(), b"\n"].concat()
    }
}

/// The path as people read it, and type it.
pub(crate) fn path_to_show(path: &Path) -> String {
    printable(&operand(path).to_string_lossy())
}

/// The path as another tool takes it: none that looks like a flag.
fn operand(path: &Path) -> PathBuf {
    if path.as_os_str().as_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path.to_owned()
    }
}
