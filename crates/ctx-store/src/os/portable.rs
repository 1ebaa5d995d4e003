//! Fallbacks that work on any Unix. Each function reports that the answer is unknown or that the
//! operation is not supported.

use std::fs::File;
use std::path::Path;

use rustix::io::Errno;

use super::Excluded;

pub(super) fn set_lease(_: &File, _: Excluded) -> Option<bool> {
    None
}

pub(super) fn is_lease_intact(_: &File, _: Excluded) -> bool {
    true
}

pub(super) fn release_lease(_: &File) {}

pub(super) fn writer_of(_: &File) -> Option<String> {
    None
}

pub(crate) fn rename_to_free_name(_: &Path, _: &Path) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

pub(crate) fn exchange_names(_: &Path, _: &Path) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}
