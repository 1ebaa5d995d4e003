//! What `--dry-run` tells: the zones, and what leaves the session.

use std::fs::File;

use ctx_cli::Failure;
use ctx_transcript::{Class, Message, Outline, Piece, Record, Role, Zone, ZoneReader};
use serde::Serialize;

use super::ladder::Candidate;
use super::plan::Plan;
use super::prepare::Stores;
use super::stages::Source;

/// What a compaction would do to the records of a session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Forecast {
    zones: Vec<ZoneCount>,
    leaving: Leaving,
}

/// One zone.
#[derive(Debug, Serialize)]
struct ZoneCount {
    zone: &'static str,
    records: u64,
    messages: u64,
    tokens: u64,
    /// First and last line of each run of its records.
    lines: Vec<(u64, u64)>,
}

/// What would not be in the session any more. A record of several kinds counts as
/// each of them.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Leaving {
    user_messages: u64,
    model_messages: u64,
    tool_results: u64,
    /// Lines that are no messages, and needless ones that pruning drops before.
    other_lines: u64,
    /// Earlier summaries, whose text goes into the new one.
    carried_over: u64,
    /// Records that the snapshot would have.
    recoverable: u64,
}

/// Zones in the order in which they are told.
const ZONES: [Zone; 3] = [Zone::System, Zone::Old, Zone::Keep];

impl Forecast {
    /// Of a result with zones.
    pub(super) fn of(
        plan: &Plan,
        source: &Source,
        candidate: &Candidate,
        tagged: &File,
        stores: Stores<'_>,
    ) -> Result<Self, Failure> {
        let mut forecast = Self {
            zones: ZONES.map(ZoneCount::new).into(),
            leaving: Leaving::default(),
        };
        let mut reader = ZoneReader::default();
        let mut lines = Lines::new(&candidate.taken.dropped);
        source.each(tagged, |record| {
            let zone = reader.read(record);
            let line = lines.original(record.line);
            let object = record.whole_object();
            let message = object.and_then(|object| source.dialect.message(object));
            let outline = record.outline(Some(source.dialect));
            let tokens = message.as_ref().map(|message| plan.tokens(message));
            if matches!(record.piece, Piece::Whole | Piece::First) {
                let counts = forecast.zones.iter_mut();
                for count in counts.filter(|count| count.zone == zone.as_str()) {
                    count.add(line, tokens);
                }
                if zone == Zone::Old {
                    forecast.leaving.add(record, outline.as_ref());
                }
            }
            Ok(())
        })?;
        let leaving = &mut forecast.leaving;
        leaving.carried_over = candidate.said.as_ref().map_or(0, |said| said.earlier);
        let dropped = candidate.taken.dropped.len() as u64;
        leaving.other_lines += dropped;
        if let Stores::Of(..) = stores {
            leaving.recoverable = forecast.zones[1].records + dropped;
        }
        Ok(forecast)
    }

    /// The lines for people, below the one that says what would become of it all.
    pub(super) fn table(&self) -> String {
        let row = |cells: [&str; 4], lines: &str| {
            let [zone, records, messages, tokens] = cells;
            format!("  {zone:<6} {records:>9} {messages:>9} {tokens:>9}  {lines}\n")
        };
        let mut table = row(["zone", "records", "messages", "tokens"], "lines");
        for zone in &self.zones {
            let numbers = [zone.records, zone.messages, zone.tokens].map(|n| n.to_string());
            let [records, messages, tokens] = numbers.each_ref().map(String::as_str);
            table += &row([zone.zone, records, messages, tokens], &zone.ranges());
        }
        let Leaving {
            user_messages: user,
            model_messages: model,
            tool_results: results,
            other_lines: others,
            carried_over: earlier,
            recoverable,
        } = self.leaving;
        let leaving = format!(
            "  leaving: user messages {user}, model messages {model}, tool results {results}, other lines {others}\n  \
             carried over: earlier summaries {earlier}; in the snapshot: records {recoverable}\n"
        );
        table + &leaving
    }
}

impl ZoneCount {
    fn new(zone: Zone) -> Self {
        Self {
            zone: zone.as_str(),
            records: 0,
            messages: 0,
            tokens: 0,
            lines: Vec::new(),
        }
    }

    fn add(&mut self, line: u64, tokens: Option<u64>) {
        self.records += 1;
        self.messages += u64::from(tokens.is_some());
        self.tokens += tokens.unwrap_or(0);
        match self.lines.last_mut() {
            Some((_, last)) if line <= *last + 1 => *last = line,
            _ => self.lines.push((line, line)),
        }
    }

    /// As people write pages; not all where there are many.
    fn ranges(&self) -> String {
        const SHOWN: usize = 8;
        let mut ranges: Vec<String> = self
            .lines
            .iter()
            .take(SHOWN)
            .map(|(first, last)| match last - first {
                0 => first.to_string(),
                _ => format!("{first}-{last}"),
            })
            .collect();
        if self.lines.len() > SHOWN {
            ranges.push("…".to_owned());
        }
        if ranges.is_empty() {
            ranges.push("none".to_owned());
        }
        ranges.join(",")
    }
}

impl Leaving {
    fn add(&mut self, record: &Record<'_>, outline: Option<&Outline<'_>>) {
        let Some(outline) = outline else {
            self.other_lines += u64::from(record.class != Class::Blank);
            return;
        };
        self.tool_results += outline.results.len() as u64;
        match outline.role {
            Role::Assistant => self.model_messages += 1,
            Role::User if !outline.is_summary && outline.results.is_empty() => {
                self.user_messages += 1;
            }
            _ => {}
        }
    }
}

/// Lines of the session as it came, of one from which some were dropped.
struct Lines<'a> {
    dropped: &'a [u64],
    before: u64,
}

impl<'a> Lines<'a> {
    fn new(dropped: &'a [u64]) -> Self {
        Self { dropped, before: 0 }
    }

    /// For each line in order.
    fn original(&mut self, line: u64) -> u64 {
        while let Some((first, rest)) = self.dropped.split_first()
            && *first <= line + self.before
        {
            self.dropped = rest;
            self.before += 1;
        }
        line + self.before
    }
}

impl Plan {
    fn tokens(&self, message: &Message<'_>) -> u64 {
        self.counting.counter.message(message).total()
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, ZoneCount};
    use ctx_transcript::Zone;

    #[test]
    fn lines_are_those_of_the_session_as_it_came() {
        let of = |dropped: &[u64]| {
            let mut lines = Lines::new(dropped);
            [1, 2, 3, 4].map(|line| lines.original(line))
        };
        assert_eq!(of(&[]), [1, 2, 3, 4]);
        assert_eq!(of(&[1]), [2, 3, 4, 5]);
        assert_eq!(of(&[2, 3, 6]), [1, 4, 5, 7]);
        assert_eq!(of(&[9]), [1, 2, 3, 4]);
    }

    #[test]
    fn runs_of_lines_are_ranges() {
        let mut zone = ZoneCount::new(Zone::Keep);
        assert_eq!(zone.ranges(), "none");
        for line in [1, 2, 3, 5, 7, 8] {
            zone.add(line, Some(2));
        }
        assert_eq!(zone.ranges(), "1-3,5,7-8");
        assert_eq!((zone.records, zone.messages, zone.tokens), (6, 6, 12));
        for line in (10..40).step_by(2) {
            zone.add(line, None);
        }
        assert_eq!(zone.ranges(), "1-3,5,7-8,10,12,14,16,18,…");
        assert_eq!((zone.records, zone.messages), (21, 6));
    }
}
