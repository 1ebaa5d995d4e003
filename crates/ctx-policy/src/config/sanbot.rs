//! sanbot: JSON under `compaction`.

use serde_json::{Map, Value};

use super::foreign::Foreign;
use super::{Config, Shape};
use crate::error::ConfigError;
use crate::policy::Layer;
use crate::words::Method;

/// The key of its table.
pub(super) const AT: &str = "compaction";

pub(super) fn read(root: &Map<String, Value>) -> Result<Config, ConfigError> {
    let mut table = Foreign::new(AT, root.get(AT))?;
    let mut layer = Layer::default();
    layer.general.enabled = table.take("enabled")?;
    layer.trigger.messages = table.take("maxMessages")?;
    layer.trigger.share = table.take("maxTokenRatio")?;
    layer.trigger.tool_bytes = table.take("maxToolOutputBytes")?;
    layer.keep.messages = table.take("keepRecentMessages")?;
    layer.keep.system = table.take("keepSystemPrompt")?;
    let llm: Option<bool> = table.take("useLLMSummary")?;
    layer.summary.method = llm.map(|llm| if llm { Method::Llm } else { Method::Rule });
    layer.summary.tokens = table.take("summaryMaxTokens")?;
    layer.retention.keep_days = table.take("snapshotRetentionDays")?;
    let mut warnings = Vec::new();
    table.finish(&[], &mut warnings);
    Ok(Config {
        shape: Shape::Sanbot,
        preset: Shape::Sanbot.preset().map(str::to_owned),
        layer,
        warnings,
    })
}
