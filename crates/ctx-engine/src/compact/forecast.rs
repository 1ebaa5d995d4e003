//! Previews a compaction: shows the zones, and counts the records that would be removed.

use ctx_format::Zone;
use serde::Serialize;

use super::content::LogMessage;
use super::entries::{Entry, EntryKind};
use super::survey::{Survey, Zones};
use crate::Result;

/// A preview of a compaction.
#[derive(Debug, Default, Serialize)]
pub struct Forecast {
    /// The contents of the `system`, `old` and `keep` zones, in this order.
    pub zones: Vec<ZoneCount>,
    /// The number of tokens in the message that contains the summary.
    pub summary: u64,
    /// The records that would be removed.
    pub leaving: Leaving,
    /// Whether results and arguments in kept messages would be shortened to fit into a budget.
    pub shortens: bool,
}

/// The size and the lines of one zone.
#[derive(Debug, Default, Serialize)]
pub struct ZoneCount {
    /// The name of the zone.
    pub zone: &'static str,
    /// The number of records in the zone.
    pub records: u64,
    /// The number of messages in the zone.
    pub messages: u64,
    /// The total number of tokens in the zone's messages.
    pub tokens: u64,
    /// The number of tokens that remain of them after the compaction.
    pub tokens_after: u64,
    /// The zone's lines, as the first and last line of each run of consecutive lines.
    pub lines: Vec<(u64, u64)>,
}

/// The number of records of each kind that would be removed. A record with several tool results
/// counts once per result.
#[derive(Debug, Default, Serialize)]
pub struct Leaving {
    /// The number of user messages.
    pub user_messages: u64,
    /// The number of messages from the model.
    pub model_messages: u64,
    /// The number of tool results.
    pub tool_results: u64,
    /// The number of lines that are not messages, plus the number of records dropped beforehand by
    /// pruning.
    pub other_lines: u64,
    /// The number of earlier summaries whose text is carried over to the new summary.
    pub carried_over: u64,
    /// The number of records that could be restored from the snapshot.
    pub recoverable: u64,
}

/// The zones in the order of their discriminants.
const ZONES: [Zone; 3] = [Zone::System, Zone::Old, Zone::Keep];

impl Forecast {
    /// Returns the preview for `zones`. `earlier` is the number of earlier summaries whose text is
    /// carried over to the new summary. `saved` is true if a snapshot would be taken. The zones add
    /// up to `tokens`, the size of the session after pruning. `messages` holds the messages of the
    /// log from which the session was lowered.
    pub(super) fn of(
        survey: &Survey<'_>,
        zones: &Zones,
        earlier: u64,
        saved: bool,
        tokens: u64,
        messages: Option<&[LogMessage]>,
    ) -> Result<Self> {
        let mut forecast = Self { zones: ZONES.map(ZoneCount::new).into(), ..Self::default() };
        let mut dropped = 0;
        survey.each(|record, entry| {
            if survey.is_dropped(record) {
                dropped += u64::from(entry.begins);
                return;
            }
            let zone = zones.of[record];
            let count = &mut forecast.zones[zone as usize];
            if entry.begins && entry.kind.is_message() {
                count.tokens += u64::from(entry.tokens);
            }
            if messages.is_none() {
                count.add(entry.line.into(), entry.begins, entry.begins_message);
            }
            if zone == Zone::Old && entry.begins {
                forecast.leaving.add(&entry);
            }
        })?;
        for it in messages.into_iter().flatten().filter(|it| !survey.is_dropped(it.record)) {
            let zone = zones.of.get(it.record).copied().unwrap_or(Zone::Keep);
            forecast.zones[zone as usize].add(it.line, true, it.begins);
        }
        forecast.zones.iter_mut().for_each(ZoneCount::join_lines);
        // The largest zone takes the overhead of the conversation and the differences between a log
        // and its lowered form, so that the zones add up.
        let all: u64 = forecast.zones.iter().map(|zone| zone.tokens).sum();
        if let Some(zone) = forecast.zones.iter_mut().max_by_key(|zone| zone.tokens) {
            zone.tokens = (zone.tokens + tokens).saturating_sub(all);
        }
        let leaving = &mut forecast.leaving;
        leaving.carried_over = earlier;
        leaving.other_lines += dropped;
        if saved {
            leaving.recoverable = forecast.zones[Zone::Old as usize].records + dropped;
        }
        Ok(forecast)
    }

    /// Sets what remains of each zone, given the size of the new session and of the message with
    /// its summary. The old zone becomes the summary, and the system messages do not change.
    pub(super) fn remains(&mut self, tokens: u64, summary: u64) {
        let system = self.zones[Zone::System as usize].tokens;
        let rest = tokens.saturating_sub(system);
        self.zones[Zone::System as usize].tokens_after = system;
        let keep = &mut self.zones[Zone::Keep as usize];
        keep.tokens_after = rest.saturating_sub(summary).min(keep.tokens);
        self.shortens &= keep.tokens_after < keep.tokens;
        self.summary = rest - keep.tokens_after;
    }
}

impl ZoneCount {
    fn new(zone: Zone) -> Self {
        Self { zone: zone.into(), ..Self::default() }
    }

    fn add(&mut self, line: u64, begins: bool, begins_message: bool) {
        self.messages += u64::from(begins_message);
        if begins {
            self.records += 1;
            self.lines.push((line, line));
        }
    }

    /// Joins the lines into runs. The messages in a log may not be in line order.
    fn join_lines(&mut self) {
        self.lines.sort_unstable();
        self.lines.dedup_by(|next, run| {
            let continues = next.0 <= run.1 + 1;
            if continues {
                run.1 = next.1;
            }
            continues
        });
    }

    /// Formats the lines as ranges such as `3-9,12`. If there are many ranges, only the first few
    /// are included.
    pub fn ranges(&self) -> String {
        const SHOWN: usize = 8;
        let range = |(first, last): &(u64, u64)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        let mut ranges: Vec<String> = self.lines.iter().take(SHOWN).map(range).collect();
        if self.lines.len() > SHOWN {
            ranges.push("…".to_owned());
        } else if ranges.is_empty() {
            return "none".to_owned();
        }
        ranges.join(",")
    }
}

impl Leaving {
    fn add(&mut self, entry: &Entry) {
        self.tool_results += u64::from(entry.results);
        match entry.kind {
            EntryKind::Line | EntryKind::Tail => self.other_lines += 1,
            EntryKind::Assistant => self.model_messages += 1,
            EntryKind::User if !entry.is_summary && entry.results == 0 => self.user_messages += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::Zone;
    use ctx_policy::Keep;

    use super::super::survey::Survey;
    use super::super::tests::{content, plan, session};
    use super::{Forecast, ZoneCount};

    fn survey(text: &str) -> Survey<'static> {
        Survey::of(&plan(1).plan(), &content(text), None, false, None).expect("from a file")
    }

    fn forecast(text: &str, saved: bool) -> Forecast {
        let survey = survey(text);
        let keep = Keep { turns: Some(1), ..Keep::default() };
        let zones = survey.zones(keep).expect("from memory");
        Forecast::of(&survey, &zones, 1, saved, survey.size.tokens, None).expect("from memory")
    }

    #[test]
    fn lines_that_come_in_another_order_are_sorted() {
        let mut zone = ZoneCount::new(Zone::Old);
        for line in [5, 6, 6, 3, 4, 9] {
            zone.add(line, true, true);
        }
        zone.join_lines();
        assert_eq!(zone.ranges(), "3-6,9");
    }

    #[test]
    fn what_leaves_is_counted_by_kind() {
        let text =
            session(2, 10).replacen("\n{\"role\":\"tool\"", "\n\nbroken\n{\"role\":\"tool\"", 1);
        let Forecast { zones, leaving, .. } = forecast(&text, true);
        let counts = |zone: &ZoneCount| (zone.records, zone.messages, zone.ranges());
        let found: Vec<_> = zones.iter().map(counts).collect();
        let expected = [(1, 1, "1"), (6, 4, "2-7"), (4, 4, "8-11")];
        assert_eq!(found, expected.map(|(a, b, lines)| (a, b, lines.to_owned())));
        assert_eq!((leaving.user_messages, leaving.model_messages), (1, 2));
        assert_eq!((leaving.tool_results, leaving.other_lines), (1, 1));
        assert_eq!((leaving.carried_over, leaving.recoverable), (1, 6));
        let unsaved = forecast(&text, false);
        assert_eq!(unsaved.leaving.recoverable, 0);
        let tokens: u64 = zones.iter().map(|zone| zone.tokens).sum();
        assert_eq!(unsaved.zones.iter().map(|zone| zone.tokens).sum::<u64>(), tokens);
        assert_eq!(tokens, survey(&text).size.tokens);
    }

    #[test]
    fn an_earlier_summary_was_no_user() {
        let summary = "{\"role\":\"user\",\"name\":\"ctx_summary\",\"content\":\"x\"}\n";
        let text = session(2, 10).replacen(
            "{\"role\":\"user\"",
            &(summary.to_owned() + "{\"role\":\"user\""),
            1,
        );
        let leaving = forecast(&text, false).leaving;
        assert_eq!((leaving.user_messages, leaving.model_messages), (1, 2));
    }

    #[test]
    fn runs_of_lines_are_ranges() {
        let mut zone = ZoneCount::new(Zone::Keep);
        assert_eq!(zone.ranges(), "none");
        for line in [1, 2, 3, 5, 7, 8] {
            zone.add(line, true, true);
        }
        zone.join_lines();
        assert_eq!(zone.ranges(), "1-3,5,7-8");
        assert_eq!((zone.records, zone.messages), (6, 6));
        for line in (10..40).step_by(2) {
            zone.add(line, true, true);
        }
        zone.join_lines();
        assert_eq!(zone.ranges(), "1-3,5,7-8,10,12,14,16,18,…");
        assert_eq!((zone.records, zone.messages), (21, 21));
    }
}
