//! Problems of a log: lines that refer to others, and lines that its agent does not read.

use ctx_format::repair::Salvage;
use ctx_format::{Class, Dialect, Effect, Flaw, Object, Record};

use super::understood::Listing;
use super::{Finding, Remark, Report};

impl Report {
    /// Adds what the dialect finds wrong, by line. With `strict`, a call that waits at the end
    /// is a problem.
    pub(super) fn add_flaws(&mut self, flaws: &[(u64, Flaw)], strict: bool, listing: Listing<'_>) {
        for (line, flaw) in flaws {
            let is_waiting = flaw.effect == Effect::Waits;
            if is_waiting && !strict {
                self.open += 1;
                continue;
            }
            let finding = Finding {
                id: flaw.id.clone(),
                ..Finding::problem(Some(*line), flaw.rule, flaw.message.clone())
            };
            if is_waiting || flaw.effect.is_problem() {
                self.add(finding, listing);
            } else {
                let is_warning = flaw.effect == Effect::Ignored;
                self.remarks.push(Remark { finding, is_warning });
            }
        }
    }
}

/// The effect of a damaged line.
pub(super) fn damage(record: &Record<'_>, dialect: &dyn Dialect) -> (Effect, String) {
    let text = String::from_utf8_lossy(record.bytes);
    let begins_whole = record.class != Class::NotUtf8 && Object::parse(&text).is_ok();
    let class = match record.class {
        Class::Broken | Class::Nul if begins_whole => Class::Concatenated,
        class => class,
    };
    let said = dialect.log().and_then(|log| log.on_damage(class));
    let passed_over = "its agent passes the line over";
    let (effect, what) = said.unwrap_or((Effect::Lost, passed_over));
    if effect != Effect::Lost {
        return (effect, what.to_owned());
    }
    let salvage = Salvage::of(record).filter(|_| record.class.is_bad());
    // If the agent reads the first object of several, that one counts.
    let read = usize::from(said.is_some());
    let lines = salvage.map(|salvage| salvage.lines).unwrap_or_default();
    let is_message = |line: &&String| {
        let object = Object::parse(line);
        object.is_ok_and(|object| dialect.outline(&object).is_some())
    };
    let lost = lines.iter().skip(read).filter(is_message).count();
    match lost {
        0 => (Effect::Harmless, what.to_owned()),
        1 => (Effect::Lost, format!("{what}: a message is lost")),
        _ => (Effect::Lost, format!("{what}: {lost} messages are lost")),
    }
}
