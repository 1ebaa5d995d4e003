//! ci.md: the jobs for GitHub, GitLab and pre-commit.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{file, stand_in, with};
use crate::bench::{Done, good};
use crate::is_there;
use crate::pages::root;

/// Makes a project with a legal fixture, and returns its folder.
fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().expect("a folder");
    fs::create_dir(project.path().join("fixtures")).expect("made");
    let example = root().join("examples/session.jsonl");
    fs::copy(example, project.path().join("fixtures/good.jsonl")).expect("copied");
    project
}

/// Adds a fixture whose call at line 3 has no result.
fn spoil(project: &Path) {
    good(project, "sed 4d fixtures/good.jsonl > fixtures/cut.jsonl");
}

fn yaml(name: &str) -> Value {
    serde_saphyr::from_str(&file("ci.md", name)).expect("YAML")
}

fn strings(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list").iter();
    list.map(|it| it.as_str().expect("a string")).collect()
}

/// Makes a machine that can only download and install the package.
fn installs(project: &Path) {
    stand_in(project, "curl", "for last; do :; done\ntouch \"${last##*/}\"");
    stand_in(project, "sudo", "exec \"$@\"");
    stand_in(project, "apt-get", "");
    stand_in(project, "dpkg", "test \"$1\" = -i && test -e \"$2\" && echo \"$2\" > installed");
}

/// The workflow passes on good fixtures, and names the line of a bad one.
#[test]
fn the_github_workflow_fails_at_the_line() {
    let project = project();
    installs(project.path());
    let workflow = yaml("transcripts.yml");
    let job = &workflow["jobs"]["check"];
    let version = job["env"]["CTX_VERSION"].as_str().expect("a version");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let steps = job["steps"].as_array().expect("steps");
    let runs = || {
        let mut last = None;
        for step in steps.iter().filter_map(|step| step["run"].as_str()) {
            let env = format!("CTX_VERSION={version} CTX_RELEASES=https://example.com");
            let done = with(project.path(), &format!("export {env}\n{step}"));
            let code = done.code;
            last = Some(done);
            if code != 0 {
                break;
            }
        }
        last.expect("a step")
    };
    let Done { code, stderr, .. } = runs();
    assert_eq!((code, stderr), (0, String::new()));
    let package = fs::read_to_string(project.path().join("installed")).expect("installed");
    assert_eq!(package, format!("ctx-tools_{version}-1_amd64.deb\n"));

    spoil(project.path());
    let Done { code, stdout, .. } = runs();
    assert_eq!(code, 1);
    let at = "::error file=fixtures/cut.jsonl,line=3,title=unanswered-call::";
    assert!(stdout.starts_with(at), "{stdout}");
}

/// The report exists whether the job passes or fails.
#[test]
fn the_gitlab_job_leaves_a_report() {
    let project = project();
    installs(project.path());
    let pipeline = yaml("gitlab-ci.yml");
    let job = &pipeline["transcripts"];
    assert_eq!(job["artifacts"]["when"], "always");
    let report = job["artifacts"]["reports"]["junit"].as_str().expect("a name");
    let mut script = strings(&job["before_script"]);
    script.extend(strings(&job["script"]));
    let script = format!("CTX_RELEASES=https://example.com\n{}", script.join("\n"));
    for (is_spoilt, code, failures) in [(false, 0, "failures=\"0\""), (true, 1, "failures=\"1\"")] {
        if is_spoilt {
            spoil(project.path());
        }
        let _ = fs::remove_file(project.path().join(report));
        let done = with(project.path(), &script);
        assert_eq!(done.code, code, "{}", done.stderr);
        let xml = fs::read_to_string(project.path().join(report)).expect("a report");
        assert!(xml.contains(failures), "{xml}");
    }
}

/// A commit with a bad fixture is refused, by pre-commit itself if it is installed.
#[test]
fn pre_commit_refuses_a_bad_fixture() {
    let project = project();
    let config = yaml("pre-commit-config.yaml");
    let hook = &config["repos"][0]["hooks"][0];
    assert_eq!(hook["language"], "system");
    let files = regex::Regex::new(hook["files"].as_str().expect("a pattern")).expect("a pattern");
    for (name, is_taken) in [
        ("fixtures/good.jsonl", true),
        ("fixtures/a/b.jsonl", true),
        ("src/a.jsonl", false),
        ("fixtures/README.md", false),
    ] {
        assert_eq!(files.is_match(name), is_taken, "{name}");
    }
    let entry = hook["entry"].as_str().expect("a command");
    good(project.path(), &format!("{entry} fixtures/good.jsonl"));
    spoil(project.path());
    let done = with(project.path(), &format!("{entry} fixtures/*.jsonl"));
    assert_eq!(done.code, 1, "{}", done.stdout);

    if !is_there("pre-commit") || !is_there("git") {
        return;
    }
    let name = project.path().join(".pre-commit-config.yaml");
    fs::write(name, file("ci.md", "pre-commit-config.yaml")).expect("written");
    good(project.path(), "git init -q . && git add fixtures/good.jsonl .pre-commit-config.yaml");
    good(project.path(), "pre-commit run");
    good(project.path(), "git add fixtures/cut.jsonl");
    let done = with(project.path(), "pre-commit run");
    assert_eq!(done.code, 1, "{}", done.stdout);
    assert!(done.stdout.contains("unanswered-call"), "{}", done.stdout);
}
