//! xopcbot and openclaw: JSON5 under `agents.defaults`.
//!
//! Both have `compaction`; xopcbot prunes by `pruning`, openclaw by
//! `contextPruning`.

use std::time::Duration;

use ctx_select::share::Share;
use serde_json::{Map, Value};

use super::foreign::Foreign;
use super::{Config, Shape, table_at};
use crate::budget::{THRESHOLDS, is_threshold};
use crate::error::{ConfigError, Warning};
use crate::policy::Layer;
use crate::setting::Setting;
use crate::words::{Clear, When};

const AT: &str = "agents.defaults";
const PRUNING: &str = "pruning";
const CONTEXT_PRUNING: &str = "contextPruning";

/// Keys of openclaw that nothing here answers to.
const COMPACTION_NOT_USED: [&str; 8] = [
    "identifierInstructions",
    "identifierPolicy",
    "memoryFlush",
    "notifyUser",
    "postCompactionSections",
    "provider",
    "reserveTokensFloor",
    "timeoutSeconds",
];
const PRUNING_NOT_USED: [&str; 3] = ["hardClearRatio", "minPrunableToolChars", "softTrimRatio"];

pub(super) fn is_claw(root: &Map<String, Value>) -> bool {
    let tables = ["compaction", PRUNING, CONTEXT_PRUNING];
    let has = |name| table_at(root, &["agents", "defaults", name]).is_some();
    tables.into_iter().any(has) || table_at(root, &[CONTEXT_PRUNING]).is_some()
}

pub(super) fn read(root: &Map<String, Value>) -> Result<Config, ConfigError> {
    let mut defaults = Foreign::new(AT, table_at(root, &["agents", "defaults"]))?;
    let mut layer = Layer::default();
    let mut warnings = Vec::new();
    let mut shape = Shape::Xopcbot;

    let compaction = defaults.table("compaction")?;
    compaction_of(compaction, &mut layer, &mut shape, &mut warnings)?;
    let pruning = defaults.table(PRUNING)?;
    pruning_of(pruning, &mut layer, &mut warnings)?;
    // Its documentation shows it in both places.
    let (path, context) = match defaults.raw(CONTEXT_PRUNING) {
        Some(value) => (defaults.path(CONTEXT_PRUNING), Some(value)),
        None => (CONTEXT_PRUNING.to_owned(), root.get(CONTEXT_PRUNING)),
    };
    if context.is_some_and(|value| !value.is_null()) {
        shape = Shape::Openclaw;
        let context = Foreign::new(&path, context)?;
        context_pruning_of(context, &mut layer, &mut warnings)?;
    }
    Ok(Config {
        shape,
        preset: shape.preset().map(str::to_owned),
        layer,
        warnings,
    })
}

fn compaction_of(
    mut table: Foreign<'_>,
    layer: &mut Layer,
    shape: &mut Shape,
    warnings: &mut Vec<Warning>,
) -> Result<(), ConfigError> {
    let safeguard = |value: &Value| match value.as_str()? {
        "default" => Some(false),
        "safeguard" => Some(true),
        _ => None,
    };
    let threshold = |value: &Value| Share::read(value).filter(|share| is_threshold(*share));
    layer.general.enabled = table.take("enabled")?;
    layer.summary.safeguard = table.take_as("mode", safeguard, "one of default, safeguard")?;
    layer.trigger.reserve = table.take("reserveTokens")?;
    let of_window = table.take_as("triggerThreshold", threshold, THRESHOLDS)?;
    layer.trigger.share = of_window.map(Some);
    layer.trigger.min_messages = table.take("minMessagesBeforeCompact")?;
    layer.keep.messages = table.take("keepRecentMessages")?;
    layer.keep.tokens = table.take("keepRecentTokens")?;
    layer.target.max_history_share = table.take("maxHistoryShare")?;
    layer.summary.model = table.take("model")?;
    layer.summary.instructions = table.take("customInstructions")?;
    if layer.keep.tokens.is_some() {
        *shape = Shape::Openclaw;
    }
    table.finish(&COMPACTION_NOT_USED, warnings);
    Ok(())
}

fn pruning_of(
    mut table: Foreign<'_>,
    layer: &mut Layer,
    warnings: &mut Vec<Warning>,
) -> Result<(), ConfigError> {
    let enabled: Option<bool> = table.take("enabled")?;
    layer.prune.when = enabled.map(|enabled| if enabled { When::Sent } else { When::Never });
    layer.prune.max_chars = table.take("maxToolResultChars")?;
    layer.prune.head_share = table.take("headKeepRatio")?;
    layer.prune.tail_share = table.take("tailKeepRatio")?;
    layer.prune.placeholder = table.take("placeholder")?;
    table.finish(&[], warnings);
    Ok(())
}

fn context_pruning_of(
    mut table: Foreign<'_>,
    layer: &mut Layer,
    warnings: &mut Vec<Warning>,
) -> Result<(), ConfigError> {
    let when = |value: &Value| match value.as_str()? {
        "off" => Some(When::Never),
        "cache-ttl" => Some(When::Sent),
        _ => None,
    };
    let prune = &mut layer.prune;
    if let Some(when) = table.take_as("mode", when, "one of off, cache-ttl")? {
        prune.when = Some(when);
    }
    prune.cache_ttl = table
        .take_as("ttl", minutes, &Duration::wanted())?
        .map(Some);
    prune.protect_last = table.take("keepLastAssistants")?;
    let mut tools = table.table("tools")?;
    prune.allow = tools.take("allow")?;
    prune.deny = tools.take("deny")?;
    tools.finish(&[], warnings);

    soft_trim(table.table("softTrim")?, layer, warnings)?;
    let mut clear = table.table("hardClear")?;
    let enabled: Option<bool> = clear.take("enabled")?;
    layer.prune.clear = enabled.map(|enabled| {
        if enabled {
            Clear::IfNeeded
        } else {
            Clear::Never
        }
    });
    if let Some(placeholder) = clear.take("placeholder")? {
        layer.prune.placeholder = Some(placeholder);
    }
    clear.finish(&[], warnings);
    table.finish(&PRUNING_NOT_USED, warnings);
    Ok(())
}

/// openclaw's own limit of a tool result, in characters.
const SOFT_TRIM_CHARS: u64 = 4_000;

/// openclaw says in characters what we say in shares.
fn soft_trim(
    mut table: Foreign<'_>,
    layer: &mut Layer,
    warnings: &mut Vec<Warning>,
) -> Result<(), ConfigError> {
    let max: Option<u64> = table.take("maxChars")?;
    let share = |value: &Value| {
        let millionths = u128::from(u64::read(value)?) * 1_000_000;
        let share = millionths / u128::from(max.unwrap_or(SOFT_TRIM_CHARS).max(1));
        Share::of_millionths(u32::try_from(share).ok()?).ok()
    };
    let wanted = "a whole number, 1 or more and up to maxChars";
    let head = table.take_as("headChars", share, wanted)?;
    let tail = table.take_as("tailChars", share, wanted)?;
    if let Some(max) = max.or_else(|| head.or(tail).map(|_| SOFT_TRIM_CHARS)) {
        layer.prune.max_chars = Some(Some(max));
    }
    layer.prune.head_share = head.or(layer.prune.head_share);
    layer.prune.tail_share = tail.or(layer.prune.tail_share);
    table.finish(&[], warnings);
    Ok(())
}

/// A time whose unit may be missing: minutes then.
fn minutes(value: &Value) -> Option<Duration> {
    let bare = match value {
        Value::String(text) => text.trim().parse().ok(),
        value => u64::read(value),
    };
    match bare {
        Some(minutes) => minutes.checked_mul(60).map(Duration::from_secs),
        None => Duration::read(value),
    }
}
