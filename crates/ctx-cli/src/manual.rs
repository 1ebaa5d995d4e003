//! `--man` and `--completions`: the manual and the completions inside the binary, for a tool that
//! was installed without these files. On a terminal without `man` a page is plain text; only the
//! requests that our own pages use are understood.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use clap::ValueEnum;

use crate::Binary;
use crate::completing::Shell;

/// A request that needs no operands.
enum ManualRequest {
    Manual,
    Completions(Shell),
}

/// Answers either flag; `None` if there is none. This runs before clap, which would report missing
/// operands.
pub(crate) fn answer(binary: &Binary) -> Option<io::Result<()>> {
    Some(match request_in(std::env::args_os().skip(1))? {
        ManualRequest::Manual => show(binary.manual),
        ManualRequest::Completions(shell) => to_stdout(&shell.script(binary.tool.name)),
    })
}

fn request_in(args: impl Iterator<Item = OsString>) -> Option<ManualRequest> {
    let mut args = args.take_while(|arg| arg != "--");
    // Clap reports the name of an unknown shell.
    let shell = |name: &str| Shell::from_str(name, false).ok().map(ManualRequest::Completions);
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--man") => return Some(ManualRequest::Manual),
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
    if piped("man", &["-l", "-"], manual) || piped("mandoc", &["-a"], manual) {
        return Ok(());
    }
    let text = plain(manual);
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if piped(&pager, &[], &text) {
        return Ok(());
    }
    to_stdout(&text)
}

/// Whether the program showed the text.
fn piped(program: &str, args: &[&str], text: &str) -> bool {
    let child =
        Command::new(program).args(args).stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else {
        return false;
    };
    if let Some(mut stdin) = child.stdin.take() {
        // A user who quits the pager early does not read the rest.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}

/// The text of a page, a paragraph a line at most as wide as a terminal is.
pub(crate) fn plain(roff: &str) -> String {
    let mut page = Page::default();
    for line in roff.lines() {
        match line.strip_prefix('.') {
            Some(request) => page.request(request),
            None => page.text(line),
        }
    }
    page.end_paragraph();
    page.out
}

/// The width of a page.
const WIDTH: usize = 78;
/// The left margin.
const INDENT: usize = 4;

#[derive(Default)]
struct Page {
    out: String,
    paragraph: String,
    /// The indentation, in steps.
    depth: usize,
    /// Whether the next line is the term of a definition.
    is_term: bool,
    is_verbatim: bool,
    /// The text before the next paragraph.
    mark: String,
}

impl Page {
    fn request(&mut self, request: &str) {
        let (name, rest) = request.split_once(' ').unwrap_or((request, ""));
        let rest = unescaped(rest.trim_matches('"'));
        match name {
            "SH" | "SS" => {
                self.end_paragraph();
                let indent = if name == "SH" { "" } else { "  " };
                self.out += &["\n", indent, &rest, "\n"].concat();
                self.depth = 1;
            }
            "PP" | "TP" => {
                self.gap();
                (self.depth, self.is_term) = (1, name == "TP");
            }
            "IP" => {
                self.end_paragraph();
                self.mark = String::from("- ");
            }
            "RS" | "RE" | "br" | "nf" | "fi" => {
                self.end_paragraph();
                match name {
                    "RS" => self.depth += 1,
                    "RE" => self.depth = self.depth.saturating_sub(1),
                    "br" => {}
                    _ => self.is_verbatim = name == "nf",
                }
            }
            // The title, and requests for other programs.
            _ => {}
        }
    }

    fn text(&mut self, line: &str) {
        let line = unescaped(line);
        if !self.paragraph.is_empty() {
            self.paragraph.push(' ');
        }
        self.paragraph += &line;
        if self.is_term || self.is_verbatim {
            self.end_paragraph();
            self.depth += usize::from(std::mem::take(&mut self.is_term));
        }
    }

    fn gap(&mut self) {
        self.end_paragraph();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn end_paragraph(&mut self) {
        let indent = " ".repeat(INDENT * self.depth);
        let mark = std::mem::take(&mut self.mark);
        let paragraph = std::mem::take(&mut self.paragraph);
        let (mut line, mut is_first) = (indent.clone() + &mark, true);
        for word in paragraph.split(' ').filter(|_| !paragraph.is_empty()) {
            let is_full = line.chars().count() + word.chars().count() >= WIDTH;
            if !is_first && is_full && !self.is_verbatim {
                self.out += &(line.trim_end().to_owned() + "\n");
                line = indent.clone() + &" ".repeat(mark.len());
            }
            line += word;
            line.push(' ');
            is_first = false;
        }
        if !is_first {
            self.out += &(line.trim_end().to_owned() + "\n");
        }
    }
}

/// Fonts and other escapes of which nothing is shown.
const HIDDEN: [&str; 6] = ["fB", "fI", "fR", "fP", "&", "(bu"];
/// Escapes and the characters that they stand for.
const SHOWN: [(&str, &str); 6] =
    [("*(Aq", "'"), ("(aq", "'"), ("(ga", "`"), ("(ha", "^"), ("(ti", "~"), ("e", "\\")];

/// A line without its fonts and escapes.
fn unescaped(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\\') {
        text += before;
        let mut known = HIDDEN.map(|name| (name, "")).into_iter().chain(SHOWN);
        let found = known.find(|(name, _)| after.starts_with(name));
        let (name, shown) = found.unwrap_or(("", ""));
        text += shown;
        // An escaped character stands for itself.
        rest = &after[name.len()..];
    }
    text + rest
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

    /// Both are listed wherever they occur, but a file of that name only if it is not a variable.
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

#[cfg(test)]
mod plain_roff_tests {
    use super::plain;

    /// Without `man` a page can still be read.
    #[test]
    fn a_page_is_plain_text() {
        let page = ".ie \\n(.g .ds Aq \\(aq\n.TH \"X\" \"1\"\n.SH \"SYNOPSIS\"\n\\fBctx\\-x\\fR [FILE]\n.SH OPTIONS\n.TP\n\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR\nSay the tool\\*(Aqs errors\nonly\n.br\n\n.br\n.RS 14\n.IP \\(bu 2\nauto: One\n.RE\n.PP\n.nf\na   b \\e\n.fi\n";
        assert_eq!(
            plain(page),
            "\nSYNOPSIS\n    ctx-x [FILE]\n\nOPTIONS\n\n    -q, --quiet\n        Say the tool's errors only\n            - auto: One\n\n    a   b \\\n"
        );
    }

    /// Long lines are broken between words.
    #[test]
    fn paragraphs_fit_the_terminal() {
        let text = plain(&format!(".SH A\n{}\n", "word ".repeat(60)));
        assert!(text.lines().all(|line| line.len() <= 78));
        assert_eq!(text.matches("word").count(), 60);
        assert!(text.lines().count() > 4);
    }
}
