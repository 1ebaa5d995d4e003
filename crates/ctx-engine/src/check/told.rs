//! The report of a check for programs. The keys are a contract: keys may be added, but none is
//! removed.

use ctx_policy::trigger::{Due, Reading, Size, Step};
use serde::Serialize;

use super::{Finding, RepairedSession, Report};

/// The object of a file that was checked.
#[derive(Serialize)]
pub struct Told<'a> {
    /// The name of the file as given; null for stdin.
    name: Option<&'a str>,
    dialect: Option<&'static str>,
    legal: bool,
    within_limits: bool,
    #[serde(flatten)]
    size: &'a Size,
    records: u64,
    bad_lines: u64,
    tail: Option<u64>,
    problems: usize,
    /// Problems that were allowed.
    allowed: usize,
    open: usize,
    findings: Vec<&'a Finding>,
    /// Remarks about an agent's own file.
    remarks: Vec<&'a Finding>,
}

/// The object of a file of which it is asked whether a compaction is due.
#[derive(Serialize)]
pub struct ToldDue<'a> {
    name: Option<&'a str>,
    due: bool,
    step: &'static str,
    /// The least number of messages, which is not reached.
    held_back: Option<u64>,
    #[serde(flatten)]
    size: &'a Size,
    triggers: Vec<ToldReading>,
}

#[derive(Serialize)]
struct ToldReading {
    trigger: &'static str,
    value: u64,
    limit: u64,
    /// value / limit; null where the limit is 0.
    reached: Option<f64>,
    fired: bool,
    step: &'static str,
}

/// The object of a file of which a repaired copy was written.
#[derive(Serialize)]
pub struct ToldRepair<'a> {
    name: Option<&'a str>,
    dialect: &'static str,
    output: String,
    actions: Vec<ToldAction<'a>>,
    /// The remaining problems.
    left: &'a [Finding],
}

#[derive(Serialize)]
struct ToldAction<'a> {
    line: u64,
    action: &'static str,
    id: Option<&'a str>,
    message: String,
}

impl Report {
    /// For the file `name`: the first problem, or with `all` every one.
    pub fn told<'a>(&'a self, name: Option<&'a str>, all: bool) -> Told<'a> {
        let remarks = self.remarks.iter();
        Told {
            name,
            dialect: self.dialect,
            legal: self.problems() == 0,
            within_limits: self.exceeded() == 0,
            size: &self.size,
            records: self.records,
            bad_lines: self.bad.count(),
            tail: self.tail,
            problems: self.problems(),
            allowed: self.allowed.values().sum(),
            open: self.open,
            findings: self.shown(all).collect(),
            remarks: remarks.map(|remark| &remark.finding).collect(),
        }
    }

    /// For the file `name`: what the triggers say about its size.
    pub fn told_due<'a>(&'a self, name: Option<&'a str>, due: &Due) -> ToldDue<'a> {
        ToldDue {
            name,
            due: due.step == Step::Compact,
            step: due.step.as_str(),
            held_back: due.held_back,
            size: &self.size,
            triggers: due.readings.iter().map(ToldReading::of).collect(),
        }
    }
}

impl ToldReading {
    fn of(reading: &Reading) -> Self {
        Self {
            trigger: reading.trigger.as_str(),
            value: reading.value,
            limit: reading.limit,
            reached: reading.reached(),
            fired: reading.fired(),
            step: reading.step.as_str(),
        }
    }
}

impl RepairedSession {
    /// The report on the file `name`, whose copy is `output`.
    pub fn told<'a>(&'a self, name: Option<&'a str>, output: String) -> ToldRepair<'a> {
        let actions = self.actions.iter().map(|action| ToldAction {
            line: action.line,
            action: action.what.as_str(),
            id: Some(action.id.as_str()).filter(|id| !id.is_empty()),
            message: action.say(),
        });
        ToldRepair {
            name,
            dialect: self.dialect,
            output,
            actions: actions.collect(),
            left: &self.left,
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_policy::trigger::{Size, Triggers};

    use crate::check::{RepairedSession, Report};

    #[test]
    fn a_compaction_is_due_where_a_trigger_fired() {
        let triggers = Triggers { messages: Some(2), turns: Some(0), ..Triggers::default() };
        let told = |messages| {
            let size = Size { messages, ..Size::default() };
            let report = Report { size, ..Report::default() };
            let due = triggers.check(&size);
            serde_json::to_string(&report.told_due(None, &due)).expect("JSON")
        };
        let turns = r#"{"trigger":"turns","value":0,"limit":0,"reached":null,"fired":false,"step":"none"}]}"#;
        assert_eq!(
            told(3),
            r#"{"name":null,"due":true,"step":"compact","held_back":null,"messages":3,"turns":0,"tokens":0,"tool_bytes":0,"triggers":[{"trigger":"messages","value":3,"limit":2,"reached":1.5,"fired":true,"step":"compact"},"#
                .to_owned()
                + turns
        );
        assert!(told(2).starts_with(r#"{"name":null,"due":false,"step":"none","#));
    }

    #[test]
    fn a_repair_is_told_with_its_dialect() {
        let copy = RepairedSession {
            dialect: "chat",
            bytes: [].into(),
            actions: Vec::new(),
            left: Vec::new(),
            has_problem: false,
        };
        let told = copy.told(Some("a"), "b".to_owned());
        assert_eq!(
            serde_json::to_string(&told).expect("JSON"),
            r#"{"name":"a","dialect":"chat","output":"b","actions":[],"left":[]}"#
        );
    }
}
