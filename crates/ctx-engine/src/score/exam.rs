//! Tests two sessions with questions, using quotes as evidence for the answers. Determines which
//! questions can be answered from the old session, and which of these can still be answered from
//! the compacted session.

use std::collections::HashSet;
use std::mem::take;

use ctx_format::Message;
use ctx_summary::ledger::score::{Quotes, add_said, rounded_share};
use ctx_text::hash;
use serde::{Deserialize, Serialize};

use crate::error::ExamError;
use crate::{PassError, Result};

/// A question, and the evidence for its answer.
#[derive(Debug, Deserialize, Serialize)]
pub struct Question {
    /// The question's id.
    pub id: String,
    /// The category of the question, such as intent or constraint.
    pub category: String,
    /// The text of the question.
    #[serde(skip_serializing)]
    pub question: String,
    /// Groups of quotes; the question can be answered if one quote from each group is present.
    #[serde(skip_serializing)]
    evidence: Vec<Vec<String>>,
}

/// The structure of a file of questions, in which additional members are allowed.
#[derive(Deserialize)]
struct Questions {
    questions: Vec<Question>,
}

/// Looks for evidence in the old and new sessions.
#[derive(Debug)]
pub struct Exam {
    questions: Vec<Question>,
    quotes: Quotes,
    /// The numbers of the quotes, grouped as in the questions.
    groups: Vec<Vec<Vec<usize>>>,
    before: Side,
    after: Side,
}

/// The evidence that was found in one session.
#[derive(Debug, Default)]
struct Side {
    found: HashSet<usize>,
    /// The digest of each system message, and the quotes that were found in it.
    system: Vec<(u64, Vec<usize>)>,
    /// The text of the current message, which may be spread over several records.
    said: String,
    is_system: bool,
}

/// The result for a question.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mark<'e> {
    /// The question that was examined.
    #[serde(flatten)]
    pub question: &'e Question,
    /// Whether the old session contains the evidence for an answer.
    pub answerable: bool,
    /// Whether the new session contains the evidence as well.
    pub kept: bool,
}

impl Mark<'_> {
    /// Returns `+` if the question can be answered from the new session, `-` if it can be answered
    /// only from the old session, and `?` if neither answers it.
    pub fn sign(&self) -> char {
        match (self.answerable, self.kept) {
            (_, true) => '+',
            (true, false) => '-',
            (false, false) => '?',
        }
    }
}

/// The figures for all questions, or for one category.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Recall<'e> {
    /// The category of the questions, or `None` for all questions.
    #[serde(skip)]
    pub category: Option<&'e str>,
    /// The number of questions.
    pub questions: u64,
    /// The number of questions that can be answered from the old session. Only questions that can
    /// be answered from the old session are scored.
    pub answerable: u64,
    /// The number of answerable questions that the new session can still answer.
    pub kept: u64,
    /// The evidence recall, that is, `kept` divided by `answerable`, or `None` if no question is
    /// answerable.
    #[serde(serialize_with = "rounded_share")]
    pub share: Option<f64>,
}

impl Exam {
    /// Reads a file of questions.
    pub fn parse(text: &str) -> Result<Self> {
        let Questions { questions } = serde_json::from_str(text).map_err(|error| {
            let line = error.line() as u64;
            PassError::from(ExamError::Shape(error)).at(line)
        })?;
        if questions.is_empty() {
            return Err(ExamError::Empty.into());
        }
        let mut quotes = Quotes::default();
        let groups = questions.iter().map(|question| numbers(question, &mut quotes));
        Ok(Self {
            groups: groups.collect::<Result<_, _>>()?,
            questions,
            quotes,
            before: Side::default(),
            after: Side::default(),
        })
    }

    pub(super) fn before(&mut self, message: &Message<'_>) {
        self.before.push(message, &self.quotes);
    }

    pub(super) fn after(&mut self, message: &Message<'_>) {
        self.after.push(message, &self.quotes);
    }

    /// Returns the result for each question, in order.
    pub fn marks(&mut self) -> Vec<Mark<'_>> {
        self.before.end(&self.quotes);
        self.after.end(&self.quotes);
        // A compaction gets no credit for system messages that were already in the old session.
        // However, some tools put their summary into a system message, so new system messages are
        // considered.
        let old: HashSet<u64> = self.before.system.iter().map(|(digest, _)| *digest).collect();
        for (digest, found) in take(&mut self.after.system) {
            if !old.contains(&digest) {
                self.after.found.extend(found);
            }
        }
        let marks = self.questions.iter().zip(&self.groups).map(|(question, groups)| {
            let answerable = self.before.answers(groups);
            let kept = answerable && self.after.answers(groups);
            Mark { question, answerable, kept }
        });
        marks.collect()
    }
}

/// Registers the quotes in a question, and returns their numbers, grouped as in the question.
fn numbers(question: &Question, quotes: &mut Quotes) -> Result<Vec<Vec<usize>>, ExamError> {
    let id = || question.id.clone();
    if question.evidence.is_empty() || question.evidence.iter().any(Vec::is_empty) {
        return Err(ExamError::NoEvidence(id()));
    }
    let mut number = |quote: &String| {
        let no_word = || ExamError::NoWord { id: id(), quote: quote.clone() };
        quotes.add(quote).ok_or_else(no_word)
    };
    question.evidence.iter().map(|group| group.iter().map(&mut number).collect()).collect()
}

impl Side {
    fn push(&mut self, message: &Message<'_>, quotes: &Quotes) {
        if !message.continues {
            self.end(quotes);
        }
        self.is_system = message.role.is_system();
        add_said(&mut self.said, message);
    }

    /// Finishes the current message by looking for quotes in its text.
    fn end(&mut self, quotes: &Quotes) {
        let said = take(&mut self.said);
        if said.is_empty() {
            return;
        }
        let found = quotes.in_text(&said);
        if self.is_system {
            self.system.push((hash(&said), found));
        } else {
            self.found.extend(found);
        }
    }

    fn answers(&self, groups: &[Vec<usize>]) -> bool {
        let has_one = |group: &Vec<usize>| group.iter().any(|quote| self.found.contains(quote));
        groups.iter().all(has_one)
    }
}

/// Returns the figures for each category, in the order in which the categories first occur,
/// followed by the figures for all questions.
pub fn recall<'e>(marks: &[Mark<'e>]) -> Vec<Recall<'e>> {
    let mut rows: Vec<Recall<'e>> = Vec::new();
    for mark in marks {
        let category = mark.question.category.as_str();
        if rows.iter().all(|row| row.category != Some(category)) {
            rows.push(Recall::of(Some(category), marks));
        }
    }
    rows.push(Recall::of(None, marks));
    rows
}

impl<'e> Recall<'e> {
    /// Returns the figures for the questions of a category, or for all questions together.
    pub fn of(category: Option<&'e str>, marks: &[Mark<'e>]) -> Self {
        let count = |is_one: fn(&Mark<'e>) -> bool| {
            let of_it = marks
                .iter()
                .filter(|mark| category.is_none_or(|category| mark.question.category == category));
            of_it.filter(|mark| is_one(mark)).count() as u64
        };
        let (answerable, kept) = (count(|mark| mark.answerable), count(|mark| mark.kept));
        let share = (answerable > 0).then(|| kept as f64 / answerable as f64);
        Self { category, questions: count(|_| true), answerable, kept, share }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Message, Part, Role};

    use super::{Exam, Mark, recall};

    const QUESTIONS: &str = r#"{"session":"any","questions":[
{"id":"q1","category":"value","question":"How much?","gold":"7","evidence":[["seven euros","pay 7 euros"]]},
{"id":"q2","category":"cause","question":"Why, and where?","evidence":[["the disk was full"],["in the cellar"]]},
{"id":"q3","category":"value","question":"Who?","evidence":[["seven barrels"]]}]}"#;

    fn says(role: Role, text: &'static str) -> Message<'static> {
        Message::new(role, vec![Part::Text(text.into())])
    }

    /// Returns a mark per question, namely `+` for kept, `-` for lost, and `?` for never present.
    fn marks(before: &[Message<'_>], after: &[Message<'_>]) -> String {
        let mut exam = Exam::parse(QUESTIONS).expect("questions");
        for message in after {
            exam.after(message);
        }
        for message in before {
            exam.before(message);
        }
        exam.marks().iter().map(Mark::sign).collect()
    }

    const PRICE: &str = "Please pay 7 euros.";
    const CAUSE: &str = "The disk was full.";
    const PLACE: &str = "It is down in the cellar.";

    fn before() -> [Message<'static>; 3] {
        [says(Role::User, PRICE), says(Role::Assistant, CAUSE), says(Role::Tool, PLACE)]
    }

    #[test]
    fn of_each_group_one_quote_is_needed() {
        assert_eq!(marks(&before(), &before()), "++?");
        assert_eq!(marks(&before(), &before()[..2]), "+-?");
        assert_eq!(marks(&before(), &before()[2..]), "--?");
        assert_eq!(marks(&before()[1..], &before()), "?+?");
    }

    #[test]
    fn system_messages_count_only_where_they_are_new() {
        let old = [says(Role::System, PRICE), says(Role::User, PRICE)];
        assert_eq!(marks(&old, &old[..1]), "-??");
        assert_eq!(marks(&old, &[says(Role::Developer, PRICE)]), "-??");
        assert_eq!(marks(&old, &[says(Role::System, "Summary: they pay 7 euros")]), "+??");
        assert_eq!(marks(&old[..1], &old), "???");
    }

    #[test]
    fn a_message_may_take_several_records() {
        let two = [says(Role::Assistant, "pay"), says(Role::Assistant, "7 euros")];
        assert_eq!(marks(&two, &[]), "???");
        let [first, second] = two;
        let one = [first, Message { continues: true, ..second }];
        assert_eq!(marks(&one, &[]), "-??");
    }

    #[test]
    fn figures_are_by_category_and_of_all() {
        let mut exam = Exam::parse(QUESTIONS).expect("questions");
        exam.after(&before()[0]);
        for message in &before() {
            exam.before(message);
        }
        let marks = exam.marks();
        let rows = recall(&marks);
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.category, row.questions, row.answerable, row.kept, row.share))
            .collect();
        assert_eq!(
            rows,
            [
                (Some("value"), 2, 1, 1, Some(1.0)),
                (Some("cause"), 1, 1, 0, Some(0.0)),
                (None, 3, 2, 1, Some(0.5)),
            ]
        );
    }

    #[test]
    fn what_cannot_be_asked_is_refused_with_its_line() {
        let question = |evidence: &str| {
            format!(
                r#"{{"questions":[{{"id":"q","category":"c","question":"?","evidence":{evidence}}}]}}"#
            )
        };
        for (text, why) in [
            (
                "[1,\n2]".to_owned(),
                "1: not a file of questions: invalid type: integer `1`, expected a sequence at line 1 column 2",
            ),
            (
                "{\"questions\":\n[{}]}".to_owned(),
                "2: not a file of questions: missing field `id` at line 2 column 3",
            ),
            (r#"{"questions":[]}"#.to_owned(), "no questions"),
            (question("[]"), "question q: no evidence, or an empty group of evidence"),
            (question("[[\"a\"],[]]"), "question q: no evidence, or an empty group of evidence"),
            (question("[[\"…\"]]"), "question q: no words in the quote \"…\""),
        ] {
            let error = Exam::parse(&text).expect_err("no questions");
            assert_eq!(error.to_string(), why, "{text}");
        }
    }
}
