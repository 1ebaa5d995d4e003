//! What a session says about its model and its requests.

use crate::estimate::{Calibration, Estimate};

/// What an agent has recorded, and what follows from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfSession {
    /// The model of the last reply.
    pub model: Option<String>,
    /// Its window, if the file has it.
    pub window: Option<u64>,
    /// The context in the API's tokens, with everything that the file does not have.
    pub estimate: Option<Estimate>,
}

impl OfSession {
    pub(super) fn of(calibration: Calibration) -> Self {
        Self {
            model: calibration.model,
            window: calibration.window,
            estimate: calibration.estimate,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::counter::MessageCounter;
    use ctx_format::Options;
    use ctx_tokens::Encoding;

    use super::OfSession;
    use crate::count::{CountPass, Plan};
    use crate::{Invalid, PassError, Session};

    fn told(text: &str, of_session: bool) -> OfSession {
        let reader = Box::new(std::io::Cursor::new(text.to_owned().into_bytes()));
        let session = Session::open(reader, &Options::default(), Invalid::Keep);
        let mut session = session.expect("from memory");
        let plan = Plan {
            counter: MessageCounter::new(Encoding::Chars4),
            batch: false,
            threads: 1,
            reach: false,
            of_session,
        };
        let mut pass = CountPass::new(&plan, session.dialect());
        let done = session.each(|record| -> Result<(), PassError> {
            pass.push(record);
            Ok(())
        });
        done.expect("from memory");
        pass.finish(session.bad()).of_session
    }

    /// Only the path counts; an abandoned branch was another request.
    #[test]
    fn an_agents_own_file_tells_its_model() {
        let line = |id: u32, parent: &str, rest: &str| {
            format!(
                "{{\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\"timestamp\":\"2030-01-01T00:00:0{id}.000Z\",{rest}}}\n"
            )
        };
        let reply = |model: &str, tokens: u32| {
            format!(
                "\"type\":\"assistant\",\"message\":{{\"role\":\"assistant\",\"model\":\"{model}\",\"usage\":{{\"input_tokens\":{tokens},\"output_tokens\":3}},\"content\":[{{\"type\":\"text\",\"text\":\"yes\"}}]}}"
            )
        };
        let ask = "\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a\"}";
        let text = [
            line(1, "null", ask),
            line(2, "\"1\"", &reply("left", 900)),
            line(3, "\"1\"", &reply("m-1", 40)),
            line(4, "\"3\"", &reply("m-2", 50)),
        ]
        .concat();
        let found = told(&text, true);
        assert_eq!((found.model.as_deref(), found.window), (Some("m-2"), Some(200_000)));
        let estimate = found.estimate.expect("usage is recorded");
        // That of the branch which was left would be 900.
        assert!((50..200).contains(&estimate.tokens), "{estimate:?}");
        assert_eq!(told(&text, false), OfSession::default());
    }
}
