//! Rewrites a session whose format has no compaction record.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use ctx_format::Role;

use super::super::content::{Content, temporary};
use super::Decision;
use crate::{PassError, Result};

/// Writes the kept records, with the summary in place of the first removed one. A line without a
/// message stays or leaves with the record before it.
pub(super) fn write(log: &Content, decision: &Decision) -> Result<Content> {
    let groups = decision.kept.groups.iter().zip(&decision.texts);
    let kept = groups.filter_map(|(group, text)| Some((group.record, text.as_ref()?)));
    let kept: HashMap<u64, &(String, bool)> = kept.collect();
    let context: HashSet<u64> = decision.context.iter().map(|it| it.record).collect();
    let summary = decision.summary.as_deref();
    let mut summary = summary.map(|text| log.dialect.summary_record(Role::User, text) + "\n");
    let file = temporary(|output| {
        let (mut number, mut stays, mut is_ended) = (0, true, true);
        log.lines()?.each(|record| {
            let mut text = record.bytes;
            let changed;
            if record.piece.begins() {
                if context.contains(&number) {
                    let new = kept.get(&number);
                    stays = new.is_some();
                    if !stays && let Some(summary) = summary.take() {
                        output.write_all(summary.as_bytes()).map_err(PassError::temporary)?;
                    }
                    if let Some((new, true)) = new {
                        changed = [new.as_bytes(), b"\n"].concat();
                        text = &changed;
                    }
                }
                number += 1;
            }
            if stays {
                output.write_all(text).map_err(PassError::temporary)?;
                is_ended = text.ends_with(b"\n");
            }
            Ok(())
        })?;
        let newline: &[u8] = if is_ended { b"" } else { b"\n" };
        let rest = summary.map_or_else(Vec::new, |summary| [newline, summary.as_bytes()].concat());
        output.write_all(&rest).map_err(PassError::temporary)
    })?;
    Ok(log.with(file))
}
