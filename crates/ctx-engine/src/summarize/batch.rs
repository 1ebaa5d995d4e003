//! Summarizes a batch. Each line is a conversation and gets its own summary.

use ctx_format::{Dialect, Frame, Origin, Record, Zone, ZoneReader};

use super::assembly::Kept;
use super::{NewSession, Plan, Writer, ZonePass};
use crate::error::rewritable;
use crate::{BadLineOutcome, BadLines, ErrorKind, Notes, Result};

/// Takes the records of a batch, and holds the new batch in a spool until the input ends.
pub struct Batch<'p> {
    plan: &'p Plan,
    writer: &'p Writer,
    dialect: Option<&'static dyn Dialect>,
    /// Keeps track of what the tags say about zones.
    pub zones: ZoneReader,
    kept: Kept,
    bad: BadLines,
}

impl<'p> Batch<'p> {
    /// Creates a pass over a batch whose conversations are in this dialect.
    pub fn new(plan: &'p Plan, writer: &'p Writer, dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            plan,
            writer,
            dialect,
            zones: ZoneReader::default(),
            kept: Kept::new(&plan.temp),
            bad: BadLines::default(),
        }
    }

    /// Processes the next record.
    pub fn push(&mut self, record: &Record<'_>, notes: &mut Notes) -> Result<()> {
        self.zones.read(record);
        if record.class.is_bad() && self.plan.drop_bad {
            self.bad.add(record, BadLineOutcome::LeftOut);
            return Ok(());
        }
        self.bad.add(record, BadLineOutcome::Kept);
        let untagged = record.untagged();
        let mut inner = Notes::default();
        let new = self.new_line(record, &untagged, &mut inner);
        notes.extend_within(record.line, inner);
        let new = new.map_err(|error| error.at(record.line))?;
        self.kept.push(new.as_deref().unwrap_or(&untagged), false)
    }

    /// Returns the line with its old messages summarized, or `None` if the line has no old
    /// messages.
    fn new_line(
        &self,
        record: &Record<'_>,
        untagged: &[u8],
        notes: &mut Notes,
    ) -> Result<Option<Vec<u8>>> {
        let zones = record.tag().and_then(|tag| tag.zones).unwrap_or_default();
        if !zones.contains(&Zone::Old) {
            return Ok(None);
        }
        // The record is parsed again without its tag, so that positions refer to the bytes that are
        // written.
        let plain = record.origin.clone().record(untagged);
        let frame = Frame::of_record(&plain).filter(|it| it.messages.len() == zones.len());
        let frame = frame.ok_or(ErrorKind::OtherZones)?;
        rewritable(self.dialect, "summarized")?;
        let lines = frame.lines();
        let mut pass = ZonePass::new(self.plan, self.writer.needs(), self.dialect);
        for (number, (line, zone)) in (1..).zip(lines.split_inclusive(|b| *b == b'\n').zip(zones)) {
            let origin = Origin { line: number, ..Origin::ALONE };
            pass.push_to(zone, &origin.record(line))?;
        }
        let material = pass.gather(notes)?;
        let place = material.place.as_ref();
        let draft = place.map(|place| material.sum_up(place, self.writer, notes)).transpose()?;
        let mut list = Vec::new();
        material.with(draft).write(&mut list)?;
        Ok(Some(frame.with(&list)))
    }

    /// Returns the whole new batch.
    pub fn finish(self, notes: &mut Notes) -> NewSession {
        self.bad.report(notes);
        NewSession { kept: self.kept, draft: None, cuts: 0 }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::Dialect;
    use ctx_format::dialect::Chat;

    use super::super::Plan;
    use super::super::fixtures::{ASK, CALL, DONE, RESULT, by_rule, each, lines, plan, texts};
    use super::Batch;
    use crate::{ErrorKind, Notes, Result};

    fn pass(
        plan: &Plan,
        dialect: Option<&'static dyn Dialect>,
        session: &[&str],
        notes: &mut Notes,
    ) -> Result<Vec<String>> {
        let writer = by_rule();
        let mut batch = Batch::new(plan, &writer, dialect);
        let mut pushed = Ok(());
        each(session, |record| {
            if pushed.is_ok() {
                pushed = batch.push(record, notes);
            }
        });
        pushed?;
        Ok(lines(&mut batch.finish(notes)))
    }

    fn conversation(zones: &str, list: &str) -> String {
        format!(r#"{{"_ctx":{{"zones":[{zones}]}},"id":7, "messages": [{list}] ,"n":1}}"#)
    }

    #[test]
    fn what_stands_around_kept_messages_stays() {
        let list = format!(" {ASK} ,  {DONE}, {ASK} ");
        let line = conversation(r#""keep","old","old""#, &list);
        let new = pass(&plan(), Some(&Chat), &["{}", &line], &mut Notes::default()).expect("legal");
        let head =
            format!(r#"{{"id":7, "messages": [ {ASK} ,  {{"role":"user","name":"ctx_summary""#);
        assert!(new[1].starts_with(&head), "{}", new[1]);
        assert!(new[1].ends_with(r#"} ] ,"n":1}"#), "{}", new[1]);
        let line = conversation(r#""old","keep","keep""#, &list);
        let new = pass(&plan(), Some(&Chat), &["{}", &line], &mut Notes::default()).expect("legal");
        let tail = format!(r#"}} ,  {DONE}, {ASK} ] ,"n":1}}"#);
        assert!(new[1].ends_with(&tail), "{}", new[1]);
    }

    #[test]
    fn a_line_without_anything_old_loses_only_its_tag() {
        let line = conversation(r#""keep""#, ASK);
        let bare = line.replacen(r#""_ctx":{"zones":["keep"]},"#, "", 1);
        let session = [line.as_str(), "no JSON"];
        let mut notes = Notes::default();
        let new = pass(&plan(), None, &session, &mut notes).expect("nothing is old");
        assert_eq!(new, [bare.as_str(), "no JSON"]);
        assert!(texts(&mut notes)[0].starts_with("1 bad line kept in place"));
        let plan = Plan { drop_bad: true, ..plan() };
        let new = pass(&plan, None, &session, &mut notes).expect("nothing is old");
        assert_eq!(new, [bare]);
    }

    #[test]
    fn an_error_says_the_line_and_the_message_in_it() {
        let error = |dialect, zones: &str, list: &str| {
            let line = conversation(zones, list);
            let new = pass(&plan(), dialect, &["{}", &line], &mut Notes::default());
            let error = new.expect_err("it cannot be summarized");
            (error.kind.to_string(), error.lines)
        };
        let chat: Option<&'static dyn Dialect> = Some(&Chat);
        let unknown = ErrorKind::UnknownFormat.to_string();
        assert_eq!(error(None, r#""old""#, ASK), (unknown, vec![2]));
        let other = ErrorKind::OtherZones.to_string();
        assert_eq!(error(chat, r#""old","keep""#, ASK), (other, vec![2]));
        let list = [ASK, CALL, RESULT].join(",");
        let (_, lines) = error(chat, r#""keep","old","keep""#, &list);
        assert_eq!(lines, [2, 3]);
    }
}
