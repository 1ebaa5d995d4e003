//! What a model said: text that can be a summary, or none.

use super::{Completion, LlmError};

/// The text without its thoughts; `finish` is why the model stopped, `cut` the
/// word for "at its limit".
pub(super) fn completion(
    text: &str,
    finish: Option<&str>,
    cut: &str,
) -> Result<Completion, LlmError> {
    let text = without_thoughts(text).trim();
    if text.is_empty() {
        return Err(LlmError::Empty {
            finish: finish.map(str::to_owned),
        });
    }
    if is_refusal(text) {
        return Err(LlmError::Refused(text.to_owned()));
    }
    Ok(Completion {
        text: text.to_owned(),
        cut: finish == Some(cut),
    })
}

/// Some local servers leave a model's thoughts at the head of its text.
fn without_thoughts(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix("<think>") {
        Some(rest) => rest.split_once("</think>").map_or("", |(_, said)| said),
        None => text,
    }
}

/// A short text that opens like an apology is no summary, and must not become
/// one: the next model would read it as its own past.
pub fn is_refusal(text: &str) -> bool {
    const OPENINGS: [&str; 16] = [
        "i'm sorry, but",
        "i am sorry, but",
        "sorry, but i",
        "i'm sorry, i can",
        "i can't help",
        "i can't assist",
        "i cannot help",
        "i cannot assist",
        "i'm unable to",
        "i am unable to",
        "i won't be able to",
        "i'm not able to",
        "as an ai language model",
        "抱歉，我",
        "很抱歉，我",
        "对不起，我",
    ];
    // In characters. What is longer has more in it than an apology.
    const SHORT: usize = 400;
    if text.chars().count() > SHORT {
        return false;
    }
    let text = text.to_lowercase().replace('’', "'");
    OPENINGS.iter().any(|opening| text.starts_with(opening))
}

#[cfg(test)]
mod tests {
    use super::completion;
    use crate::LlmError;

    fn said(text: &str) -> Result<String, LlmError> {
        completion(text, Some("length"), "length").map(|said| said.text)
    }

    #[test]
    fn thoughts_are_no_text() {
        assert_eq!(said("<think>hm</think>\n\nyes").as_deref(), Ok("yes"));
        let error = said("<think>hm, ").expect_err("thoughts only");
        assert_eq!(
            error.to_string(),
            "the answer is empty (its tokens were used up before any text)"
        );
    }

    #[test]
    fn a_text_cut_at_its_limit_is_accepted_and_marked() {
        let cut = |finish| completion("half a", finish, "length").map(|said| said.cut);
        assert_eq!(cut(Some("length")), Ok(true));
        assert_eq!(cut(Some("stop")), Ok(false));
        assert_eq!(cut(None), Ok(false));
    }

    #[test]
    fn a_short_apology_is_a_refusal() {
        for refusal in [
            "I’m sorry, but I can’t help with that.",
            "I'M SORRY, BUT no",
            "抱歉，我无法完成这个请求。",
        ] {
            assert!(
                matches!(said(refusal), Err(LlmError::Refused(_))),
                "{refusal}"
            );
        }
    }

    #[test]
    fn a_summary_that_speaks_of_one_is_none() {
        for fine in [
            "## Goal\nI'm sorry, but …",
            "Sorry state of the build: 3 errors",
            "抱歉这个词出现了两次",
        ] {
            assert_eq!(said(fine).as_deref(), Ok(fine));
        }
        let long = format!("I'm sorry, but {}", "there is much to tell. ".repeat(30));
        assert_eq!(said(&long).as_deref(), Ok(long.trim()));
    }
}
