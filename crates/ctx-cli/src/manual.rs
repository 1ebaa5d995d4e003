//! Implements `--man` and `--completions`. The manual page and the completion scripts are built
//! into the binary, so they need not be installed. If `man` is not installed, the manual is shown
//! as plain text: clap's help for all flags, and the other sections of the page.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::tool::WIDTH;
use crate::{Binary, Shell, Tool};

/// A request for the manual or the completion script; neither needs operands.
enum ManualRequest {
    Manual,
    Completions(Shell),
}

/// Handles `--man` and `--completions`. Returns `None` if neither is given. This function must run
/// before clap, which would report missing operands.
pub(crate) fn answer(binary: &Binary) -> Option<io::Result<()>> {
    Some(match request_in(std::env::args_os().skip(1))? {
        ManualRequest::Manual => show(binary),
        ManualRequest::Completions(shell) => to_stdout(&shell.script(binary.tool.name)),
    })
}

fn request_in(args: impl Iterator<Item = OsString>) -> Option<ManualRequest> {
    let mut args = args.take_while(|arg| arg != "--");
    // Clap will report an unsupported shell.
    let shell = |name: &str| Shell::from_str(name, false).ok().map(ManualRequest::Completions);
    while let Some(arg) = args.next() {
        let arg = arg.to_str().unwrap_or_default();
        if arg == "--man" {
            return Some(ManualRequest::Manual);
        } else if arg == "--completions" {
            return shell(args.next()?.to_str()?);
        } else if let Some(name) = arg.strip_prefix("--completions=") {
            return shell(name);
        }
    }
    None
}

fn to_stdout(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Shows the manual page with `man` on a terminal, or prints its roff source to a pipe or file.
fn show(binary: &Binary) -> io::Result<()> {
    let page = binary.manual;
    if !io::stdout().is_terminal() {
        return to_stdout(page);
    }
    if piped("man", &["-l", "-"], page) || piped("mandoc", &["-a"], page) {
        return Ok(());
    }
    let text = plain(binary.tool);
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if piped(&pager, &[], &text) {
        return Ok(());
    }
    to_stdout(&text)
}

/// Starts a program and pipes the text into it. Returns true if the program succeeded.
fn piped(program: &str, args: &[&str], text: &str) -> bool {
    let child =
        Command::new(program).args(args).stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // Writing fails if the user quits the pager early.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}

/// Returns the manual as plain text.
fn plain(tool: &Tool) -> String {
    let mut command = tool.full_command().term_width(WIDTH);
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut parts = vec![
        format!("\nNAME\n  {} - {about}\n", tool.name),
        command.render_long_help().to_string(),
    ];
    parts.extend(command.get_subcommands_mut().map(|it| it.render_long_help().to_string()));
    let page = tool.page();
    let statuses = page.statuses().map(|(code, meaning)| (code.to_string(), meaning.to_owned()));
    for (title, rows) in [
        ("EXIT STATUS", statuses.collect()),
        ("ENVIRONMENT", page.environment),
        ("FILES", page.files),
        ("EXAMPLES", page.examples),
    ] {
        if !rows.is_empty() {
            let row = |(term, what): &(String, String)| format!("  {term}\n          {what}");
            let rows: Vec<String> = rows.iter().map(row).collect();
            parts.push(format!("{title}\n{}\n", rows.join("\n")));
        }
    }
    parts.push("SEE ALSO\n  ctx(7)\n".to_owned());
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{ManualRequest, request_in};

    fn asked(args: &[&str]) -> &'static str {
        match request_in(args.iter().map(Into::into)) {
            None => "nothing",
            Some(ManualRequest::Manual) => "manual",
            Some(ManualRequest::Completions(shell)) => match shell {
                super::Shell::Bash => "bash",
                super::Shell::Zsh => "zsh",
                super::Shell::Fish => "fish",
            },
        }
    }

    /// `--man` and `--completions` may be anywhere on the command line before `--`.
    #[test]
    fn a_tool_tells_of_itself_when_it_is_asked() {
        assert_eq!(asked(&["--man"]), "manual");
        assert_eq!(asked(&["-q", "--man", "x"]), "manual");
        assert_eq!(asked(&["--completions", "fish"]), "fish");
        assert_eq!(asked(&["--completions=zsh"]), "zsh");
        assert_eq!(asked(&["--", "--man"]), "nothing");
        for wrong in [&["--completions"][..], &["--completions", "tcsh"], &["x"]] {
            assert_eq!(asked(wrong), "nothing");
        }
    }
}
