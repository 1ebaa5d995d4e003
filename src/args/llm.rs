//! Flags and environment variables for the summary method `llm`, shared by all tools that use a
//! model.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use ctx_cli::{Failure, Result, open_file};
use ctx_llm::{Api, ChosenKey, Client, Endpoint, Key, Proxy, RetryPolicy, Settings, Tape};
use ctx_policy::{Fallback, Method, Summary, parse_count};
use ctx_redact::redact;
use ctx_store::Store;
use ctx_summary::{Template, USUAL_PERCENT};

use ctx_engine::summarize::{Model, ModelSource, Window, Writer};

/// The length of a summary in tokens if neither a flag nor the user's template sets one.
const SUMMARY_TOKENS: u64 = 500;

/// The longest wait for a connection to the server. The wait for the response is limited by
/// `--llm-timeout`.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The flags for the model, its server and its prompt.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Language model")]
pub struct LlmArgs {
    /// Ask the model at URL; without a URL, nothing is sent anywhere
    ///
    /// A URL that ends in /chat/completions or /messages is used unchanged. To any other URL the
    /// tool appends the path of the API, preceded by /v1 unless the URL contains a version.
    #[arg(long, value_name = "URL", env = "CTX_LLM_URL", hide_env_values = true)]
    llm_url: Option<String>,
    /// API of the server [default: depends on the URL]
    ///
    /// By default, a URL that ends in /chat/completions or /messages determines the API. For any
    /// other URL, the API is anthropic if the host or the path contains that word, and openai
    /// otherwise.
    #[arg(long, value_enum, value_name = "API")]
    llm_api: Option<Api>,
    /// Allow sending the key unencrypted over http:// to another machine
    ///
    /// Anyone on the network path can read the key. Without this flag, sending the key unencrypted
    /// is an error.
    #[arg(long)]
    llm_key_in_clear: bool,
    /// Name of the model [default: the session's, if the server lists it]
    #[arg(long, value_name = "NAME", env = "CTX_LLM_MODEL", hide_env_values = true)]
    llm_model: Option<String>,
    /// Window of the model [default: as listed, or the server's, or 32000]
    ///
    /// An input that does not fit is cut, or summarized in parts. The tool asks the server for the
    /// window (GET /v1/models) only if a request needs more than 4096 tokens, and only for models
    /// with public weights or models that --list-models does not print.
    #[arg(long, value_name = "TOKENS", value_parser = parse_count)]
    llm_window: Option<u64>,
    /// Wait up to SECONDS for a response
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    llm_timeout: u64,
    /// Ask up to N times [default: 3, or the policy's]
    ///
    /// The model is asked again if it gives no usable response.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    llm_tries: Option<u64>,
    /// Wait SECONDS before asking again [default: 1, or the policy's]
    ///
    /// The n-th wait is n times as long as the first. If the server says when to retry, the tool
    /// waits until then. No wait is longer than a minute.
    #[arg(long, value_name = "SECONDS", value_parser = parse_count)]
    llm_backoff: Option<u64>,
    /// Record requests and responses in DIR, without the key
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Use the responses recorded in DIR instead of a server
    ///
    /// The tool fails if a request was not recorded. The session, flags, model and template must be
    /// the same as in the recording.
    #[arg(long, value_name = "DIR")]
    replay: Option<PathBuf>,
    /// Prompt: default, synapse, sanbot, or a file
    ///
    /// The prompt synapse asks for eight sections, and sanbot for four. The prompt default asks for
    /// headings in the language of the user's messages. A file must contain {{transcript}}, and may
    /// contain {{earlier}}, {{instructions}}, {{target}}, {{words}} and {{technical-words}}. The
    /// first line of a file may set the length of the summary in tokens, for example as <!--
    /// target: 500 -->. A flag that sets the length overrides this line [default: default, or the
    /// policy's]
    #[arg(long, value_name = "NAME|FILE")]
    pub template: Option<String>,
    /// What the summary should stress
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// What to do if no model answers
    ///
    /// The default is the policy's fallback. If the policy has no fallback and --method llm is
    /// given as a flag, the default is fail.
    #[arg(long, value_enum, value_name = "HOW")]
    pub on_failure: Option<Fallback>,
}

impl LlmArgs {
    /// Returns true if a server is named or its responses are replaced by a recording.
    pub fn has_server(&self) -> bool {
        self.replay.is_some() || self.url().is_some()
    }

    fn url(&self) -> Option<&str> {
        self.llm_url.as_deref().filter(|url| !url.trim().is_empty())
    }

    /// Returns the source of responses, or `None` if no server is named.
    fn source(&self, warn: impl FnOnce(String)) -> Result<Option<ModelSource>> {
        let tape = |dir: &PathBuf| Tape::new(dir, self.llm_model.as_deref());
        if let Some(dir) = &self.replay {
            return Ok(Some(ModelSource::Replayed(tape(dir))));
        }
        let Some(url) = self.url() else { return Ok(None) };
        let client = Client::new(self.settings(url, warn)?).map_err(|error| {
            Failure::new(error)
                .hint("use https://, or --llm-key-in-clear on a network that you trust")
        })?;
        let Some(dir) = &self.record else { return Ok(Some(ModelSource::Server(client))) };
        Store::refuse_inside(dir).map_err(crate::store::failure)?;
        Ok(Some(ModelSource::Recorded(client, tape(dir))))
    }

    fn settings(&self, url: &str, warn: impl FnOnce(String)) -> Result<Settings> {
        let endpoint = Endpoint::new(url, self.llm_api).map_err(|error| {
            Failure::new(error).hint("use a URL such as http://127.0.0.1:8080 or https://host/v1")
        })?;
        let is_loopback = endpoint.is_loopback();
        Ok(Settings {
            model: self.llm_model.clone(),
            key: key(&endpoint, warn)?,
            key_in_clear: self.llm_key_in_clear,
            connect_timeout: CONNECT_TIMEOUT,
            answer_timeout: Duration::from_secs(self.llm_timeout),
            retry: self.retry(),
            proxy: (!is_loopback).then(Proxy::try_from_env).flatten(),
            endpoint,
        })
    }

    /// Returns the number of attempts and the time to wait between them.
    fn retry(&self) -> RetryPolicy {
        let usual = ctx_policy::Policy::default().summary;
        let backoff = self.llm_backoff.unwrap_or(usual.backoff_seconds);
        RetryPolicy {
            attempts: self.llm_tries.unwrap_or(usual.tries),
            backoff: Duration::from_secs(backoff),
        }
    }

    /// Returns a copy of the settings in which the policy supplies whatever neither a flag nor the
    /// environment sets. If a flag asks for a model, only a fallback that the policy names applies.
    #[must_use]
    pub fn under(&self, summary: &Summary, is_flag: bool) -> Self {
        let mut llm = self.clone();
        llm.template = llm.template.or_else(|| Some(summary.template.clone()));
        llm.llm_tries = llm.llm_tries.or(Some(summary.tries));
        llm.llm_backoff = llm.llm_backoff.or(Some(summary.backoff_seconds));
        llm.llm_model = llm.llm_model.or_else(|| summary.model.clone());
        llm.instructions = llm.instructions.or_else(|| summary.instructions.clone());
        let falls_back = !is_flag || summary.named_fallback().is_some();
        llm.on_failure = llm.on_failure.or(falls_back.then(|| summary.on_failure()));
        llm
    }

    /// Rejects model flags if the method does not use a model, and a local server's model in
    /// `--model`, which names the session's own model.
    pub fn refuse_unasked(&self, matches: &ArgMatches, method: Method) -> Result<()> {
        let own = matches.try_get_one::<String>("model").ok().flatten();
        let local = own.and_then(|own| own.split_once('/')).filter(|(server, _)| {
            method != Method::Llm && matches!(*server, "ollama" | "lmstudio" | "vllm")
        });
        if let Some((_, name)) = local {
            let what = "--model names the model that continues the session, not one that writes its summary";
            return Err(Failure::new(what).hint(format!(
                "--method llm --llm-url URL --llm-model {name} lets it write the summary, --model {name} sets the window"
            )));
        }
        let is_flag = |name: &&str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let mut names =
            ["llm_url", "llm_model", "template", "instructions", "record", "replay"].into_iter();
        let name = names.find(is_flag).filter(|_| method != Method::Llm);
        name.map_or(Ok(()), |name| {
            let flag = name.replace('_', "-");
            let what = format!("--{flag} has no effect because --method {method} asks no model");
            Err(Failure::new(what).hint("add --method llm"))
        })
    }

    /// Returns the summary writer for these flags. If no server is named, the writer uses no model.
    /// `own` is the session's own model, which is asked if no flag names one and the server lists
    /// it.
    pub fn writer(
        &self,
        target: Option<u64>,
        own: Option<&str>,
        mut warn: impl FnMut(String),
    ) -> Result<Writer> {
        // Read the template even if it is not used, so that mistakes in it are reported.
        let template = self.template()?;
        let must_answer = matches!(self.on_failure, None | Some(Fallback::Fail));
        let offline = match self.on_failure {
            Some(Fallback::Rule) => Method::Rule,
            _ => Method::Extractive,
        };
        let mut writer = Writer::offline(offline, target);
        let Some(mut source) = self.source(&mut warn)? else {
            let failure = Failure::new("no LLM server is set").hint("set --llm-url or CTX_LLM_URL");
            if must_answer {
                return Err(failure);
            }
            warn(format!("{failure}; the {offline} summary is used"));
            return Ok(writer);
        };
        let own = own.filter(|_| self.llm_model.is_none());
        let own = own.map(|own| source.choose(own)).transpose().map_err(Failure::new)?.flatten();
        let target = target.or(template.target);
        let is_default = self.template_name() == Template::DEFAULT;
        let instructions = redact(self.instructions.as_deref().unwrap_or_default()).0;
        writer.model = Some(Model {
            is_default,
            target: target.or((!is_default).then_some(SUMMARY_TOKENS)),
            template,
            instructions: instructions.into_owned(),
            most_percent: USUAL_PERCENT,
            accepts_longer: false,
            window: Window::of_model(self.llm_window, self.llm_model.as_deref().or(own)),
            headings: None,
            must_answer,
            source,
            now: chrono::Utc::now,
        });
        Ok(writer)
    }

    fn template_name(&self) -> &str {
        self.template.as_deref().unwrap_or(Template::DEFAULT)
    }

    fn template(&self) -> Result<Template> {
        let name = self.template_name();
        if let Some(template) = Template::by_name(name) {
            return Ok(template);
        }
        let text = open_file(Path::new(name)).and_then(io::read_to_string);
        let text = text.map_err(|error| {
            let names: Vec<&str> = Template::names().collect();
            let (last, others) = names.split_last().expect("three templates");
            Failure::new(format_args!("cannot read the template: {error}"))
                .at(name, None)
                .hint(format!("{} and {last} are built in", others.join(", ")))
        })?;
        text.parse().map_err(|error| Failure::new(error).at(name, None))
    }
}

/// Returns the API key to send to the server, if any.
fn key(endpoint: &Endpoint, warn: impl FnOnce(String)) -> Result<Option<Key>> {
    let chosen = ChosenKey::of(endpoint, |name| std::env::var_os(name)).map_err(|error| {
        Failure::new(&error)
            .at(error.path.display().to_string(), None)
            .hint("CTX_LLM_KEY_FILE names the file with the key")
    })?;
    Ok(match chosen {
        ChosenKey::Sent(key) => Some(key),
        ChosenKey::Missing => None,
        ChosenKey::Withheld(name) => {
            let host = &endpoint.host;
            warn(format!(
                "{name} is sent only to its vendor, not to {host}; CTX_LLM_KEY is sent to any server"
            ));
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ctx_policy::Policy;

    use super::LlmArgs;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        llm: LlmArgs,
    }

    #[test]
    fn the_wait_is_the_flags_or_the_policys() {
        let mut policy = Policy::default();
        policy.summary.backoff_seconds = 7;
        for (flags, seconds) in [(&["t"][..], 7), (&["t", "--llm-backoff", "9"], 9)] {
            let llm = Line::parse_from(flags).llm.under(&policy.summary, false);
            assert_eq!(llm.retry().backoff.as_secs(), seconds);
        }
    }
}
