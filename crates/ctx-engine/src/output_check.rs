//! Checks that the output has no problem that is not in the input.

use ctx_format::{Dialect, Outline, Problem, Record, Role, Rule, Unread, Validator, counted};

use crate::{ErrorKind, Notes, PassError, Result};

/// Collects the problems in the input and in the output.
pub(crate) struct OutputCheck {
    dialect: &'static dyn Dialect,
    input: Validator,
    /// Whether content of the input that cannot be read is named.
    names_unread: bool,
    /// The first such content, with its line.
    unread: Option<(u64, Unread)>,
    output: Validator,
    /// Whether the output already contains a message that is not a system message.
    begun: bool,
}

impl OutputCheck {
    /// Creates checks for input and output in this dialect. If `names_unread` is set, content of the
    /// input that cannot be read is named; otherwise, the caller has looked for it.
    pub(crate) fn new(dialect: &'static dyn Dialect, names_unread: bool) -> Self {
        // The output may violate these rules only if the input does.
        let rules = dialect.output_rules();
        Self {
            dialect,
            input: Validator::new(rules),
            names_unread,
            unread: None,
            output: Validator::new(rules),
            begun: false,
        }
    }

    /// Adds the message of a record of the input.
    pub(crate) fn input(&mut self, record: &Record<'_>, outline: &Outline<'_>) {
        if let Some(model) = &record.model {
            self.input.model = Some(model.as_ref().into());
            self.output.model.clone_from(&self.input.model);
        }
        self.input.push(record.line, outline);
        if self.names_unread && self.unread.is_none() {
            self.unread = record.unread(self.dialect).map(|unread| (record.line, unread));
        }
    }

    /// Adds a message to the output.
    pub(crate) fn output(&mut self, line: u64, outline: &Outline<'_>) {
        self.begun |= !outline.role.is_system();
        self.output.push(line, outline);
    }

    /// Adds the summary to the output, and returns the role that it must have there, which is
    /// `wanted` if that role is allowed.
    pub(crate) fn summary(&mut self, wanted: Role) -> Role {
        let mut outline = Outline { role: self.dialect.summary_role(wanted), ..Outline::of_line() };
        if !self.begun && !self.dialect.output_rules().may_begin_with(&outline) {
            outline.role = Role::User;
        }
        self.output(0, &outline);
        outline.role
    }

    /// Returns an error if the output has a problem that is not in the input. A problem in the
    /// input causes a warning or, if `strict` is set, an error. `checked` has checked the
    /// input if [`Self::input`] has not.
    pub(crate) fn finish(
        self,
        checked: Option<Validator>,
        strict: bool,
        notes: &mut Notes,
    ) -> Result<()> {
        if let Some((line, unread)) = self.unread {
            if strict {
                return Err(ErrorKind::Unread { unread, foreign: None, done: "changed" }.at(line));
            }
            notes.warn_at(line, format_args!("{unread}, so it stays as it is"));
        }
        let (mut input, open, _) = checked.unwrap_or(self.input).finish_with_open();
        let (output, still_open, _) = self.output.finish_with_open();
        // A call that waits for its result at the end of the session must stay at the end.
        let is_known = |problem: &Problem| input.contains(problem);
        let mut new = output.into_iter().filter(|it| !is_known(it));
        let mut new_open = still_open.into_iter().filter(|it| !is_known(it) && !open.contains(it));
        if let Some(problem) = new.next().or_else(|| new_open.next()) {
            let line = problem.line;
            let error = PassError::from(ErrorKind::NewProblem(problem));
            return Err(if line > 0 { error.at(line) } else { error });
        }
        let user_first = self.dialect.rules().user_first;
        // Only a strict check demands that calls at the end have results.
        input.retain(|it| user_first || it.rule != Rule::UserFirst);
        input.extend(open.into_iter().filter(|_| strict));
        input.sort();
        let Some(first) = input.first() else { return Ok(()) };
        if strict {
            return Err(ErrorKind::OldProblem(first.clone()).at(first.line));
        }
        warn_of_input(input.len(), first.line, &first.why(), notes);
        Ok(())
    }
}

/// Warns about problems in the input. `why` describes the first, which is on `line`.
pub(crate) fn warn_of_input(count: usize, line: u64, why: &str, notes: &mut Notes) {
    let problems = counted(count, "problem");
    let hint = "ctx-check --repair writes a legal copy or says why it cannot";
    notes.warn_at(line, format_args!("{problems} in the input; the first: {why}; {hint}"));
}

#[cfg(test)]
mod tests {
    use ctx_format::dialect::Plain;
    use ctx_format::{Dialect, Object, Origin, Outline, Role, dialect};

    use super::OutputCheck;
    use crate::{ErrorKind, Notes, Result};

    fn dialect(name: &str) -> &'static dyn Dialect {
        dialect::by_name(name).expect("a dialect")
    }

    const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    const RESULT: &str = r#"{"role":"tool","tool_call_id":"c","content":"done"}"#;

    /// Checks an input that consists of `records` and an output that consists of some of them.
    fn check(input: &[&str], output: &[u64], strict: bool) -> (Result<()>, Vec<String>) {
        let chat = dialect("chat");
        let mut checks = OutputCheck::new(chat, true);
        for (line, text) in (1..).zip(input) {
            let object = Object::parse(text).expect("an object");
            let outline = chat.outline(&object).expect("a message");
            checks.input(&Origin { line, ..Origin::ALONE }.record(b""), &outline);
            if output.contains(&line) {
                checks.output(line, &outline);
            }
        }
        let mut notes = Notes::default();
        let checked = checks.finish(None, strict, &mut notes);
        let notes = notes.take().into_iter();
        (checked, notes.map(|note| note.text).collect())
    }

    #[test]
    fn what_was_wrong_before_is_told_and_what_is_new_is_refused() {
        let (checked, notes) = check(&[CALL, RESULT], &[1, 2], true);
        assert!(checked.is_ok() && notes.is_empty());
        let (checked, notes) = check(&[RESULT], &[1], false);
        assert!(checked.is_ok());
        assert!(notes[0].starts_with("1 problem in the input; the first: "), "{notes:?}");
        let (checked, _) = check(&[RESULT], &[], true);
        let error = checked.expect_err("strict");
        assert!(matches!(error.kind, ErrorKind::OldProblem(_)));
        assert_eq!(error.lines, [1]);
        let (checked, _) = check(&[CALL, RESULT], &[2], false);
        let error = checked.expect_err("an orphan");
        assert!(matches!(error.kind, ErrorKind::NewProblem(_)));
        assert_eq!(error.lines, [2]);
    }

    #[test]
    fn the_summary_has_the_role_that_the_dialect_allows_there() {
        let chat = OutputCheck::new(dialect("chat"), true).summary(Role::Assistant);
        assert_eq!(chat, Role::Assistant);
        // A summary that is marked only by its text never has the model's role.
        for dialect in [dialect("anthropic"), &Plain] {
            let mut checks = OutputCheck::new(dialect, true);
            for _ in 0..2 {
                assert_eq!(checks.summary(Role::Assistant), Role::User);
            }
        }
    }

    /// If a session may be in either of two formats, the output must obey the stricter rules, but
    /// input that obeys only the looser rules is accepted.
    #[test]
    fn a_session_of_texts_begins_with_the_user_where_it_did() {
        let outline = |role| Outline { role, ..Outline::of_line() };
        let check = |input: &[Role], output: &[Role]| {
            let mut checks = OutputCheck::new(&Plain, true);
            for (line, role) in (1..).zip(input) {
                let record = Origin { line, ..Origin::ALONE };
                checks.input(&record.record(b""), &outline(*role));
            }
            for (line, role) in (1..).zip(output) {
                checks.output(line, &outline(*role));
            }
            checks.finish(None, true, &mut Notes::default())
        };
        let (user, assistant) = (Role::User, Role::Assistant);
        assert!(check(&[user, assistant], &[user]).is_ok());
        assert!(check(&[assistant, user], &[assistant]).is_ok());
        let error = check(&[user, assistant], &[assistant]).expect_err("no user");
        assert!(matches!(error.kind, ErrorKind::NewProblem(_)));
    }
}
