//! `--man` and `--completions`: what a tool that was installed without its manual and its
//! completions has of them in itself.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::completing::Shell;
use crate::plain_roff::plain;
use crate::{Binary, Tool};

/// What can be asked of any tool, whatever else it would need.
enum Asked {
    Manual,
    Completions(Shell),
}

/// Tells what is asked for by either flag; `None` where neither is there. Looked for before clap
/// does, which would miss the operands that a tool must have.
pub(crate) fn asked(binary: &Binary) -> Option<io::Result<()>> {
    let Binary { tool, manual, .. } = binary;
    Some(match asked_in(std::env::args_os().skip(1))? {
        Asked::Manual => show(manual),
        Asked::Completions(shell) => to_stdout(&script(tool, shell)),
    })
}

fn asked_in(args: impl Iterator<Item = OsString>) -> Option<Asked> {
    let mut args = args.take_while(|arg| arg != "--");
    // A name that is no shell's is an error of usage, which clap tells.
    let shell = |name: &str| Shell::from_str(name, false).ok().map(Asked::Completions);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--man") => return Some(Asked::Manual),
            Some("--completions") => return shell(args.next()?.to_str()?),
            Some(arg) => {
                if let Some(name) = arg.strip_prefix("--completions=") {
                    return shell(name);
                }
            }
            None => {}
        }
    }
    None
}

fn script(tool: &Tool, shell: Shell) -> String {
    shell.script(tool.name)
}

fn to_stdout(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// On a terminal as `man` shows a page, else the page itself.
fn show(manual: &str) -> io::Result<()> {
    if !io::stdout().is_terminal() {
        return to_stdout(manual);
    }
    let shown = [("man", "-l"), ("mandoc", "-a")];
    let is_shown = shown.iter().any(|(program, flag)| {
        let args: &[&str] = if *program == "man" {
            &[flag, "-"]
        } else {
            &[flag]
        };
        piped(program, args, manual)
    });
    if is_shown {
        return Ok(());
    }
    let text = plain(manual);
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if piped(&pager, &[], &text) {
        return Ok(());
    }
    to_stdout(&text)
}

/// Whether a program took the text and showed it.
fn piped(program: &str, args: &[&str], text: &str) -> bool {
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return false;
    };
    if let Some(mut stdin) = child.stdin.take() {
        // Who leaves a pager early does not read the rest.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::{Asked, asked_in};

    fn asked(args: &[&str]) -> &'static str {
        match asked_in(args.iter().map(Into::into)) {
            None => "nothing",
            Some(Asked::Manual) => "manual",
            Some(Asked::Completions(shell)) => match shell {
                super::Shell::Bash => "bash",
                super::Shell::Zsh => "zsh",
                super::Shell::Fish => "fish",
            },
        }
    }

    /// 17: both are told wherever they stand, but of a file of that name only where it is none.
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
