//! A headless Chromium, driven through chromedriver by the W3C `WebDriver` protocol.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// A browser with one window, which ends with the test.
pub(super) struct Browser {
    driver: Child,
    agent: ureq::Agent,
    /// The address of the session.
    session: String,
    /// The output of chromedriver.
    profile: TempDir,
}

impl Browser {
    /// Starts a browser. Without chromedriver or Chromium, prints a message and returns `None`.
    #[allow(clippy::print_stderr)] // A test that skips says so.
    pub(super) fn start() -> Option<Self> {
        for program in ["chromedriver", "chromium"] {
            let version = Command::new(program).arg("--version").output();
            if !version.is_ok_and(|run| run.status.success()) {
                eprintln!("skipped: there is no {program}");
                return None;
            }
        }
        let profile = tempfile::tempdir().expect("a folder");
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .env("HOME", profile.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver");
        let port = port(&mut driver);
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(120)))
            .proxy(None)
            .build()
            .into();
        let mut browser =
            Self { driver, agent, session: format!("http://127.0.0.1:{port}"), profile };
        let folder = browser.profile.path().join("profile");
        let asked = browser.post("/session", &capabilities(&folder));
        let id = asked["sessionId"].as_str().expect("a session");
        browser.session = format!("{}/session/{id}", browser.session);
        Some(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let answer = self.agent.post(&url).send(body.to_string().as_bytes());
        let mut answer = answer.unwrap_or_else(|error| panic!("{path} {body}: {error}"));
        let text = answer.body_mut().read_to_string().expect("an answer");
        let mut answer: Value = serde_json::from_str(&text).expect("JSON");
        answer["value"].take()
    }

    /// Opens a file.
    pub(super) fn open(&self, path: &Path) {
        let url = format!("file://{}", path.display());
        self.post("/url", &json!({ "url": url }));
    }

    /// Runs the body of a function in the page and returns the result.
    pub(super) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs the body of a function in the page and returns the result as text.
    pub(super) fn text(&self, script: &str) -> String {
        let found = self.run(script);
        found.as_str().map_or_else(|| found.to_string(), str::to_owned)
    }

    /// Presses keys, one after the other, in the focused element.
    pub(super) fn press(&self, keys: &[&str]) {
        let actions: Vec<Value> = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|what| json!({"type": what, "value": key})))
            .collect();
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.post("/actions", &json!({ "actions": [keyboard] }));
    }

    /// Sends a command of Chromium's developer tools.
    pub(super) fn devtools(&self, command: &str, params: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": command, "params": params}))
    }

    /// Returns the messages of the browser about the pages: errors, and what a policy refused.
    pub(super) fn log(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({"type": "browser"}));
        let entries = log.as_array().expect("a list").iter();
        entries.map(|entry| entry["message"].to_string()).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends Chromium as well.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Returns the port that chromedriver reports.
fn port(driver: &mut Child) -> u16 {
    let stdout = driver.stdout.take().expect("piped");
    let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
    let port = lines.find_map(|line| {
        let (_, port) = line.rsplit_once("on port ")?;
        let port = port.trim_end_matches('.').parse().ok();
        // chromedriver first prints the requested port, which is 0 for any port.
        port.filter(|port| *port > 0)
    });
    // All output is read, so that chromedriver never waits for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    port.expect("chromedriver tells its port")
}

fn capabilities(profile: &Path) -> Value {
    let profile = format!("--user-data-dir={}", profile.display());
    let arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        &profile,
    ];
    json!({"capabilities": {"alwaysMatch": {
        "goog:loggingPrefs": {"browser": "ALL"},
        "goog:chromeOptions": {"args": arguments},
    }}})
}
