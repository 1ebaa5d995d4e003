//! Short names of the calls that results answer.

use crate::calls::{Found, Latest, called, tool_of};
use ctx_format::{Call, ToolResult};

/// The names of the latest calls.
#[derive(Default)]
pub struct CallNames(Latest<String>);

impl CallNames {
    /// The next call of the session.
    pub fn push(&mut self, call: &Call<'_>) {
        self.0.insert(call.id.as_deref(), called(call));
    }

    /// The call that a result answers; empty if nothing tells.
    pub fn of(&self, result: &ToolResult<'_>) -> String {
        match self.0.find(result.id.as_deref()) {
            Found::Call(name) => name.clone(),
            Found::None | Found::Forgotten => {
                result.name.as_deref().map(tool_of).unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::Origin;
    use ctx_format::dialect::Chat;

    use super::CallNames;

    #[test]
    fn results_are_called_by_their_calls() {
        let lines = [
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.rs\"}"}}]}"#,
            r#"{"role":"tool","tool_call_id":"a","name":"read","content":"x"}"#,
            r#"{"role":"tool","tool_call_id":"b","name":"ls","content":"x"}"#,
            r#"{"role":"tool","tool_call_id":"c","content":"x"}"#,
        ];
        let mut names = CallNames::default();
        let mut found = Vec::new();
        for line in lines {
            let record = Origin::ALONE.record(line.as_bytes());
            let message = record.message(Some(&Chat)).expect("a message");
            message.calls().for_each(|call| names.push(call));
            found.extend(message.results().map(|result| names.of(result)));
        }
        assert_eq!(found, ["read a.rs", "ls", ""]);
    }
}
