//! Sessions of an exact size.

/// Tokens of a message in addition to its text, in every encoding.
const OVERHEAD: u64 = 4;
/// Tokens of a session in addition to its messages.
const PRIMING: u64 = 3;

/// A session in the making. Each of its words is one token in `o200k_base`; with [`Talk::wide`],
/// also in `chars4`.
#[derive(Clone, Default)]
pub(super) struct Talk {
    lines: String,
    tokens: u64,
    messages: u64,
    calls: u64,
    word: Option<&'static str>,
}

impl Talk {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Returns an empty session whose tokens are counted by characters, four for each token.
    pub(super) fn wide() -> Self {
        Self { word: Some("abc "), ..Self::default() }
    }

    /// Returns a conversation with this many messages and this many tokens in total.
    pub(super) fn of(messages: u64, tokens: u64) -> Self {
        Self::new().talk(messages, tokens)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.lines
    }

    /// Returns the current tokens of the session.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens + PRIMING
    }

    fn words(&self, tokens: u64) -> String {
        let word = self.word.unwrap_or(" a");
        word.repeat(usize::try_from(tokens).expect("it fits into memory"))
    }

    fn push(mut self, before: &str, text: &str, behind: &str, tokens: u64) -> Self {
        let line = format!("{{{before}\"content\":\"{text}\"{behind}}}\n");
        self.lines.push_str(&line);
        self.tokens += tokens;
        self.messages += 1;
        self
    }

    fn says(self, role: &str, tokens: u64) -> Self {
        let words = self.words(tokens - OVERHEAD);
        // Only the chat format has a refusal, so the format is certain.
        let behind = match role {
            "assistant" => ",\"refusal\":null",
            _ => "",
        };
        let before = format!("\"role\":\"{role}\",");
        self.push(&before, &words, behind, tokens)
    }

    /// Adds a system message; like all messages it is counted with its overhead.
    pub(super) fn system(self, tokens: u64) -> Self {
        self.says("system", tokens)
    }

    pub(super) fn user(self, tokens: u64) -> Self {
        self.says("user", tokens)
    }

    pub(super) fn reply(self, tokens: u64) -> Self {
        self.says("assistant", tokens)
    }

    /// Adds a reply with reasoning.
    pub(super) fn thinks(self, text: u64, reasoning: u64) -> Self {
        let (words, thoughts) = (self.words(text - OVERHEAD), self.words(reasoning));
        let before = format!("\"role\":\"assistant\",\"reasoning_content\":\"{thoughts}\",");
        self.push(&before, &words, "", text + reasoning)
    }

    /// Adds a call without arguments, and its result. The call has 6 tokens in `o200k_base` if the
    /// tool's name is one token.
    pub(super) fn call(mut self, tool: &str, result: &str, tokens: u64) -> Self {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        let call = format!(
            ",\"tool_calls\":[{{\"id\":\"{id}\",\"type\":\"function\",\"function\":{{\"name\":\"{tool}\",\"arguments\":\"{{}}\"}}}}]"
        );
        let line = format!("{{\"role\":\"assistant\",\"content\":null{call}}}\n");
        self.lines.push_str(&line);
        self.tokens += OVERHEAD + 2;
        self.messages += 1;
        let before = format!("\"role\":\"tool\",\"tool_call_id\":\"{id}\",");
        self.push(&before, result, "", tokens + OVERHEAD)
    }

    /// Adds a call and a result with this many tokens.
    pub(super) fn result(self, tool: &str, tokens: u64) -> Self {
        let words = self.words(tokens);
        self.call(tool, &words, tokens)
    }

    /// Adds this many messages, alternating between user and model, until the session has this many
    /// tokens in total.
    pub(super) fn talk(mut self, messages: u64, tokens: u64) -> Self {
        let rest = tokens - self.tokens();
        let each = rest / messages;
        for n in 0..messages {
            let tokens = if n == 0 { rest - each * (messages - 1) } else { each };
            self = if n % 2 == 0 { self.user(tokens) } else { self.reply(tokens) };
        }
        self
    }

    /// Adds this many turns, each with this many tokens: a request and its answer.
    pub(super) fn turns(mut self, turns: u64, tokens: u64) -> Self {
        for _ in 0..turns {
            self = self.user(tokens / 2).reply(tokens - tokens / 2);
        }
        self
    }
}
