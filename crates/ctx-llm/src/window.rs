//! How long a window a server says that its model has.
//!
//! `GET /v1/models` lists the models. What it says of one differs:
//! - vLLM, `SGLang`: `max_model_len`, the window that it runs with;
//! - llama.cpp: `meta.n_ctx` (since 2026), the window that it runs with, and
//!   `meta.n_ctx_train`, that of the model, which is often longer; `GET /props` has the one
//!   that it runs with in `default_generation_settings.n_ctx`;
//! - others: `context_length` (`OpenRouter`, Together), `context_window` (Groq),
//!   `max_context_length` (LM Studio, Mistral), `max_input_tokens` (Anthropic).

use serde_json::Value;

/// Members that tell, in the order in which they are believed.
const MEMBERS: [&str; 7] = [
    "/max_model_len",
    "/meta/n_ctx",
    "/loaded_context_length",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/max_input_tokens",
];
const TRAINED: &str = "/meta/n_ctx_train";
const RUNNING: &str = "/default_generation_settings/n_ctx";
/// What is less is no window, but a mistake.
const LEAST: u64 = 256;

/// What a list of models tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The window.
    Window(u64),
    /// That of the model; the server may run it with less.
    AtMost(u64),
    /// Nothing.
    Nothing,
}

/// What a list says of a model; without a name, or where the server has but one, of that one.
pub(super) fn of_models(body: &[u8], model: Option<&str>) -> Told {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return Told::Nothing;
    };
    let listed = value["data"].as_array();
    let listed = listed.map(Vec::as_slice).unwrap_or_default();
    let named = listed
        .iter()
        .find(|entry| model.is_some() && entry["id"].as_str() == model);
    let ((Some(entry), _) | (None, [entry])) = (named, listed) else {
        return Told::Nothing;
    };
    let number = |place: &&str| window(entry.pointer(place));
    if let Some(window) = MEMBERS.iter().find_map(number) {
        return Told::Window(window);
    }
    number(&TRAINED).map_or(Told::Nothing, Told::AtMost)
}

/// What the properties of a server say.
pub(super) fn of_props(body: &[u8]) -> Option<u64> {
    let value: Value = serde_json::from_slice(body).ok()?;
    window(value.pointer(RUNNING))
}

fn window(value: Option<&Value>) -> Option<u64> {
    value?.as_u64().filter(|window| *window >= LEAST)
}

#[cfg(test)]
mod tests {
    use super::{Told, of_models, of_props};

    #[test]
    fn each_server_tells_it_in_its_own_way() {
        for (entry, told) in [
            (r#""max_model_len":32768"#, Told::Window(32_768)),
            (r#""context_length":131072"#, Told::Window(131_072)),
            (r#""context_window":131072"#, Told::Window(131_072)),
            (
                r#""meta":{"n_ctx":8192,"n_ctx_train":131072}"#,
                Told::Window(8_192),
            ),
            (r#""meta":{"n_ctx_train":131072}"#, Told::AtMost(131_072)),
            (r#""max_model_len":0"#, Told::Nothing),
            (r#""max_model_len":"many""#, Told::Nothing),
            (r#""owned_by":"x""#, Told::Nothing),
        ] {
            let body = format!(r#"{{"object":"list","data":[{{"id":"m",{entry}}}]}}"#);
            assert_eq!(of_models(body.as_bytes(), Some("m")), told, "{entry}");
            // A server with one model takes any name.
            assert_eq!(of_models(body.as_bytes(), None), told, "{entry}");
        }
        let props = br#"{"default_generation_settings":{"n_ctx":4096}}"#;
        assert_eq!(of_props(props), Some(4_096));
        assert_eq!(of_props(b"{}"), None);
    }

    #[test]
    fn of_several_models_the_named_one_counts() {
        let body = br#"{"data":[{"id":"a","max_model_len":1000},{"id":"b","max_model_len":2000}]}"#;
        assert_eq!(of_models(body, Some("b")), Told::Window(2_000));
        assert_eq!(of_models(body, Some("c")), Told::Nothing);
        assert_eq!(of_models(body, None), Told::Nothing);
        for body in [&b"no"[..], b"[]", b"{}", br#"{"data":{}}"#] {
            assert_eq!(of_models(body, None), Told::Nothing);
        }
    }
}
