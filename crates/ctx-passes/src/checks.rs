//! The output holds no offence that the input did not hold.

use ctx_transcript::{Dialect, Offence, Outline, Role, Rules, Validator};

use crate::{ErrorKind, Notes, PassError};

/// Offences of what comes in and of what goes out.
pub struct Checks {
    input: Validator,
    output: Validator,
    rules: Rules,
    /// Whether a message of the conversation is in the output.
    begun: bool,
}

impl Checks {
    /// Nothing seen yet.
    pub fn new(rules: Rules) -> Self {
        Self {
            input: Validator::new(rules),
            output: Validator::new(rules),
            rules,
            begun: false,
        }
    }

    /// A message that comes in.
    pub fn input(&mut self, line: u64, outline: &Outline<'_>) {
        self.input.push(line, outline);
    }

    /// A message that goes out.
    pub fn output(&mut self, line: u64, outline: &Outline<'_>) {
        self.begun |= !outline.role.is_system();
        self.output.push(line, outline);
    }

    /// The summary goes out; returns the role it may have there.
    pub fn summary(&mut self, dialect: &dyn Dialect, wanted: Role) -> Role {
        let mut role = dialect.summary_role(wanted);
        if !self.begun && !self.rules.may_begin_with(role) {
            role = Role::User;
        }
        self.output(0, &said_by(role));
        role
    }

    /// Each offence of the output must be one of the input's; those are told, or with
    /// `strict` refused.
    pub fn finish(self, strict: bool, notes: &mut Notes) -> Result<(), PassError> {
        let input = self.input.finish();
        let is_new = |offence: &Offence| !input.contains(offence);
        if let Some(offence) = self.output.finish().into_iter().find(is_new) {
            let line = offence.line;
            let error = PassError::from(ErrorKind::NewOffence(offence));
            return Err(if line > 0 { error.at(line) } else { error });
        }
        let Some(first) = input.first() else {
            return Ok(());
        };
        if strict {
            return Err(PassError::from(ErrorKind::OldOffence(first.clone())).at(first.line));
        }
        let count = input.len();
        let what = if count == 1 { "offence" } else { "offences" };
        let why = first.why();
        notes.warn(
            &[first.line],
            format_args!("{count} {what} in the input; the first: {why}"),
        );
        Ok(())
    }
}

fn said_by(role: Role) -> Outline<'static> {
    Outline {
        role,
        ..Outline::of_line()
    }
}
