//! Notes: what is left of a result whose text goes.

use super::policy::Policy;
use super::session::Session;
use super::verdict::Reason;

/// What is shown of a path or of a tool's name.
const MAX_NAME: usize = 80;

/// The note that takes the place of an answer for this reason.
pub(super) fn note(session: &Session, policy: &Policy, answer: usize, reason: Reason) -> String {
    let answer = &session.answers[answer];
    let path = || {
        let file = answer.file.map(|file| &session.files[file]);
        file.map_or_else(String::new, |file| shown(&file.path))
    };
    match reason {
        Reason::Old => policy.clear.clone().unwrap_or_default(),
        Reason::ReadAgain => format!("[Superseded: {} was read again later]", path()),
        Reason::Written => format!("[Superseded: {} was written later]", path()),
        Reason::Repeated => match answer.tool {
            Some(tool) => {
                let tool = shown(&session.tools[tool]);
                format!("[Repeated: a later result of {tool} is the same]")
            }
            None => "[Repeated: a later result is the same]".to_owned(),
        },
    }
}

/// The end of a name, on one line: it is what tells paths apart.
fn shown(name: &str) -> String {
    let plain = name.replace(char::is_control, " ");
    let more = plain.chars().count().saturating_sub(MAX_NAME);
    if more == 0 {
        return plain;
    }
    let end: String = plain.chars().skip(more + 1).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAME, shown};

    #[test]
    fn of_a_long_name_the_end_is_shown_on_one_line() {
        assert_eq!(shown("a\nb"), "a b");
        let fits = "é".repeat(MAX_NAME);
        assert_eq!(shown(&fits), fits);
        let long = shown(&format!("{fits}z"));
        assert_eq!(long.chars().count(), MAX_NAME);
        assert!(long.starts_with("…é") && long.ends_with("éz"), "{long}");
    }
}
