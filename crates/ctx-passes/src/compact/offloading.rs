//! Large results into files before anything else, where the policy wants that.

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;

use ctx_store::{SessionId, Store, StoreError, real_path};
use ctx_transcript::Record;

use super::content::{Content, temporary};
use super::ladder::Restore;
use super::plan::Plan;
use crate::PassError;
use crate::offload::{self, Offloader, Reading, Restorer, Template};

/// The store, the session's id in it, and the file that will name what is there.
#[derive(Clone, Copy)]
pub struct Stores<'a> {
    /// The store.
    pub store: &'a Store,
    /// The session.
    pub session: &'a SessionId,
    /// Its file.
    pub path: &'a Path,
}

/// A session whose large results lie in files.
pub(super) struct Offloading<'a> {
    /// What is left of the session, and whether that is enough; nothing where nothing
    /// was large.
    pub(super) left: Option<(Content, bool)>,
    pub(super) restore: Option<Box<Restore<'a>>>,
    /// The files.
    pub(super) paths: Vec<String>,
}

impl<'a> Offloading<'a> {
    /// Takes large results out; `None` where the policy does not ask for it.
    pub(super) fn of(
        plan: &Plan,
        content: &Content,
        stores: Stores<'a>,
    ) -> Result<Option<Self>, PassError> {
        let policy = &plan.policy.offload;
        let Some(min_tokens) = policy.min_tokens else {
            return Ok(None);
        };
        let Stores { store, session, .. } = stores;
        let template: Template = policy.reference.parse().map_err(PassError::caller)?;
        let reading = Reading {
            dialect: Some(content.dialect),
            batch: false,
            protect_last: 0,
        };
        let what = offload::Plan {
            min_tokens,
            enough_tokens: None,
            template: template.clone(),
            counter: plan.counter,
            dry_run: plan.dry_run,
        };
        let mut offloader = Offloader::new(store, session, what)?;
        let file = temporary(|output| {
            content.each(|record| {
                let changed = reading.changed(record, &mut offloader)?;
                let bytes = changed.as_deref().unwrap_or(record.bytes);
                output.write_all(bytes).map_err(PassError::temporary)
            })
        })?;
        if !offloader.results.is_empty() {
            // Known by its real name, so that gc can look into it.
            let live = real_path(stores.path).ok();
            offloader.finish(&[live.as_deref()])?;
        }
        let enough = policy.enough_tokens;
        let enough = enough.is_some_and(|enough| offloader.freed >= enough);
        let is_changed = !offloader.results.is_empty();
        let restores = policy.restore_before_summary;
        let restore = restores.then(|| restore(stores, reading, template, &policy.unavailable));
        Ok(Some(Self {
            left: is_changed.then(|| (content.with(file), enough)),
            restore: restore.transpose()?,
            paths: offloader.results.into_iter().map(|r| r.path).collect(),
        }))
    }
}

fn restore<'a>(
    stores: Stores<'a>,
    reading: Reading,
    template: Template,
    unavailable: &str,
) -> Result<Box<Restore<'a>>, StoreError> {
    let restorer = Restorer::new(stores.store, stores.session, template, unavailable)?;
    let restorer = RefCell::new(restorer);
    Ok(Box::new(move |record: &Record<'_>| {
        reading.changed(record, &mut *restorer.borrow_mut())
    }))
}
