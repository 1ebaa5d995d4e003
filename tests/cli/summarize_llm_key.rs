//! `ctx-summarize --method llm`: which key is sent to which server.

use ctx_testkit::{Act, Case, Server};

const OPENAI: &str = "key-of-openai";
const ANTHROPIC: &str = "key-of-anthropic";
const OWN: &str = "our-own-key";

const INPUT: &str = concat!(
    r#"{"_ctx":{"zone":"old"},"role":"user","content":"list the files, and tell me what you think of each of them in a few words"}"#,
    "\n",
    r#"{"_ctx":{"zone":"keep","end":2},"role":"user","content":"go on"}"#,
    "\n",
);

fn answer() -> Act {
    Act::ok(r#"{"choices":[{"message":{"content":"All is done."},"finish_reason":"stop"}]}"#)
}

/// Returns the environment of a user who has both vendors' keys.
fn case(url: &str) -> Case {
    Case::new(env!("CARGO_BIN_EXE_ctx-summarize"))
        .args(["--method", "llm", "--llm-url", url])
        .args(["--on-failure", "extractive"])
        .env("OPENAI_API_KEY", OPENAI)
        .env("ANTHROPIC_API_KEY", ANTHROPIC)
        .stdin(INPUT)
        .stdout_any()
}

/// Returns an address of a server on this machine that does not look like one.
fn beyond(server: &Server) -> String {
    server.url.replace("127.0.0.1", "0.0.0.0")
}

fn assert_no_key(server: &Server) {
    let request = server.requests().concat();
    assert!(request.starts_with("POST "), "{request}");
    for key in [OPENAI, ANTHROPIC] {
        assert!(!request.contains(key), "{request}");
    }
}

/// A vendor's key used to be sent to any host that was named.
#[test]
fn a_vendors_key_goes_to_no_other_host() {
    for (api, name) in [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY")] {
        let server = Server::new([answer()]);
        // A server on this machine needs no key.
        case(&server.url).args(["--llm-api", api, "--llm-tries", "1"]).stderr_has("").run();
        assert_no_key(&server);

        let server = Server::new([answer()]);
        case(&beyond(&server))
            .args(["--llm-api", api])
            .stderr_has(&format!(
                "ctx-summarize: warning: {name} is sent only to its vendor, not to 0.0.0.0; \
                 CTX_LLM_KEY is sent to any server\n"
            ))
            .run();
        assert_no_key(&server);
    }
}

/// The host of the URL, and not the kind of API, decides which vendor's key is sent.
#[test]
fn a_vendor_gets_its_own_key() {
    for (url, api, header) in [
        ("http://api.openai.com", "openai", format!("authorization: Bearer {OPENAI}\r\n")),
        ("http://api.anthropic.com", "anthropic", format!("x-api-key: {ANTHROPIC}\r\n")),
        ("http://api.anthropic.com", "openai", format!("authorization: Bearer {ANTHROPIC}\r\n")),
    ] {
        let proxy = Server::new([Act::Tunnel(Box::new(answer()))]);
        case(url)
            .args(["--llm-api", api, "--llm-tries", "1", "--llm-key-in-clear"])
            .env("ALL_PROXY", &proxy.url)
            .stderr_has("")
            .run();
        let request = proxy.requests().concat();
        assert!(request.contains(&header), "{url}: {request}");
    }
}

/// No key is sent over unencrypted HTTP to another machine, because a listener could read it.
#[test]
fn no_key_goes_through_a_network_in_clear() {
    let refused = |case: Case, host: &str| {
        case.code(2)
            .stderr(&format!(
                "ctx-summarize: the key would be sent to {host} in clear text, because the LLM URL begins with http://; \
                 use https://, or --llm-key-in-clear on a network that you trust\n"
            ))
            .run();
    };
    let server = Server::new([answer()]);
    let url = beyond(&server);
    refused(case(&url).env("CTX_LLM_KEY", OWN), "0.0.0.0");
    refused(case("http://api.openai.com").env("ALL_PROXY", &server.url), "api.openai.com");
    assert!(server.requests().is_empty());

    let allowed = case(&url).env("CTX_LLM_KEY", OWN);
    allowed.args(["--llm-key-in-clear"]).stderr_has("").run();
    let request = server.requests().concat();
    assert!(request.contains(&format!("authorization: Bearer {OWN}\r\n")));
}

/// A redirect to another host does not get the key either.
#[test]
fn a_redirect_takes_the_key_nowhere() {
    for status in [301, 302, 303, 307, 308] {
        let other = Server::new([answer()]);
        let location = format!("Location: {}/v1/chat/completions\r\n", other.url);
        let server = Server::new([Act::answer(&format!("{status} Moved"), &location, "")]);
        case(&server.url)
            .env("CTX_LLM_KEY", OWN)
            .stderr_has(&format!("the server sent a redirect (status {status}): 127.0.0.1;"))
            .run();
        assert!(server.requests().concat().contains(OWN));
        assert!(other.requests().is_empty(), "{status}");
    }
}

#[test]
fn a_server_that_wants_a_key_and_got_none_says_so() {
    let server = Server::new([Act::answer("401 Unauthorized", "", "{}")]);
    case(&server.url)
        .stderr_has("the server requires a key, but none was sent (status 401); the extractive summary is used")
        .run();
}
