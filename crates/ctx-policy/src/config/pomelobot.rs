//! pomelobot: JSONC under `agent.compaction`.

use serde_json::{Map, Value};

use super::foreign::Foreign;
use super::{Config, Shape, table_at};
use crate::error::ConfigError;
use crate::policy::Layer;

pub(super) fn read(root: &Map<String, Value>) -> Result<Config, ConfigError> {
    let at = table_at(root, &["agent", "compaction"]);
    let mut table = Foreign::new("agent.compaction", at)?;
    let mut layer = Layer::default();
    layer.general.enabled = table.take("enabled")?;
    layer.trigger.tokens = table.take("auto_compact_threshold")?;
    layer.trigger.window = table.take("context_window")?;
    layer.target.reserve = table.take("reserve_tokens")?;
    layer.target.max_history_share = table.take("max_history_share")?;
    let mut warnings = Vec::new();
    table.finish(&[], &mut warnings);
    Ok(Config {
        shape: Shape::Pomelobot,
        preset: Shape::Pomelobot.preset().map(str::to_owned),
        layer,
        warnings,
    })
}
