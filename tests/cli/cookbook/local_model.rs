//! local-model.md: the commands, with a server on loopback. `tests/llm/run` uses a real model.

use ctx_testkit::{Act, Server};
use serde_json::json;

use super::{home, shell_blocks, stand_in, with};

fn answer() -> Act {
    let text = "## Goal\nThe nightly import wrote bookings twice. Find out why.\n## Next Step\nRun pytest.";
    let choice =
        json!({"message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    Act::ok(&json!({"choices": [choice]}).to_string())
}

/// Each block only sends requests to the server and the model that it names.
#[test]
fn the_commands_ask_the_server_that_they_name() {
    let blocks = shell_blocks("local-model.md");
    assert_eq!(blocks.len(), 4);
    for block in &blocks {
        let home = home();
        for server in ["llama-server", "ollama"] {
            stand_in(home.path(), server, "");
        }
        let window = Act::ok(&json!({"data": [{"meta": {"n_ctx": 32768}}]}).to_string());
        // If no flag gives the window, the server is asked for it.
        let asks = !block.contains("--llm-window");
        let acts = asks.then_some(window).into_iter().chain((0..8).map(|_| answer()));
        let server = Server::new(acts);
        let block = block
            .replace("http://127.0.0.1:8080", &server.url)
            .replace("http://127.0.0.1:11434", &server.url);
        let done = with(home.path(), &block);
        assert_eq!(done.code, 0, "{block}{}", done.stderr);
        let requests = server.requests();
        let posts = requests.iter().filter(|it| it.starts_with("POST /v1/chat/completions"));
        assert!(posts.count() > 0, "{block}{requests:?}");
        let names_model = requests.iter().any(|it| it.contains("qwen3:8b"));
        assert_eq!(names_model, block.contains("qwen3:8b"), "{block}");
        assert!(!done.stderr.contains("no summary from"), "{}", done.stderr);
    }
}
