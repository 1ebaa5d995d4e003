//! The output holds no offence that the input did not hold.

use ctx_cli::{Failure, Io};
use ctx_transcript::{Dialect, Offence, Outline, Role, Rule, Rules, Validator};

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
        if !self.begun && !may_begin(self.rules, role) {
            role = Role::User;
        }
        self.output(0, &said_by(role));
        role
    }

    /// Each offence of the output must be one of the input's; those are told.
    /// `hint` says how a new one may have come about.
    pub fn finish(self, strict: bool, hint: &str, name: &str, io: &mut Io) -> Result<(), Failure> {
        let input = self.input.finish();
        let is_new = |offence: &&Offence| !input.contains(offence);
        if let Some(offence) = self.output.finish().iter().find(is_new) {
            return Err(Failure::new(format_args!(
                "the output would break a rule that the input keeps: {}",
                offence.why()
            ))
            .at(name, (offence.line > 0).then_some(offence.line))
            .hint(hint));
        }
        let Some(first) = input.first() else {
            return Ok(());
        };
        if strict {
            return Err(Failure::new(first.why())
                .at(name, Some(first.line))
                .hint("--strict refuses such input"));
        }
        let count = input.len();
        let what = if count == 1 { "offence" } else { "offences" };
        io.warn(format_args!(
            "{name}:{}: {count} {what} in the input; the first: {}",
            first.line,
            first.why()
        ));
        Ok(())
    }
}

/// Whether a session must begin with the user's message.
pub fn needs_user_first(rules: Rules) -> bool {
    !may_begin(rules, Role::Assistant)
}

/// Whether a session may begin with a message of that role.
fn may_begin(rules: Rules, role: Role) -> bool {
    let mut validator = Validator::new(rules);
    validator.push(0, &said_by(role));
    let offences = validator.finish();
    offences
        .iter()
        .all(|offence| offence.rule != Rule::UserFirst)
}

fn said_by(role: Role) -> Outline<'static> {
    Outline {
        role,
        ..Outline::of_line()
    }
}
