//! Manual pages: clap's sections, and those that clap knows nothing of.

use std::fmt::Write as _;
use std::io;

use clap_mangen::Man;
use ctx_cli::{ExitStatus, Page, Tool};

const VERSION: &str = env!("CARGO_PKG_VERSION");
const MANUAL: &str = "ctx-tools manual";

/// `man/ctx-NAME.1`.
pub(crate) fn page(tool: &Tool) -> io::Result<Vec<u8>> {
    let man = Man::new(whole(tool.full_command()));
    let mut page = String::from(APOSTROPHE);
    // Written here: roff reads the empty date that `clap_mangen` writes as no argument.
    let title = tool.name.to_uppercase();
    let _ = writeln!(page, ".TH \"{title}\" \"1\" \"\" \"ctx-tools {VERSION}\" \"{MANUAL}\"");
    page += &section_of(|to| man.render_name_section(to))?;
    synopsis(tool, &mut page);
    page += &section_of(|to| man.render_description_section(to))?;
    page += &group_options(&section_of(|to| man.render_options_section(to))?);
    commands(tool, &mut page)?;
    let more = tool.page();
    exit_status(&more, &mut page);
    pairs("ENVIRONMENT", &more.environment, &mut page);
    pairs("FILES", &more.files, &mut page);
    examples(&more, &mut page);
    see_also(tool, &mut page);
    Ok(page.into_bytes())
}

/// Makes `\*(Aq` an apostrophe in every roff.
const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// One of clap's sections, without the head that each of them repeats.
fn section_of(render: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<String> {
    let mut bytes = Vec::new();
    render(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).replace(APOSTROPHE, ""))
}

/// `man/ctx.7`: the record format and the idea of the pipeline.
pub(crate) fn overview() -> Vec<u8> {
    let mut tools = String::new();
    for tool in crate::tools() {
        let about = tool.full_command().get_about().map(ToString::to_string);
        item(&format!("\\fB{}\\fR(1)", roff(tool.name)), &about.unwrap_or_default(), &mut tools);
    }
    let mut statuses = String::new();
    for (status, meaning) in ExitStatus::TABLE {
        item(&format!("\\fB{}\\fR", status.code()), meaning, &mut statuses);
    }
    include_str!("ctx.7.in")
        .replace("@VERSION@", VERSION)
        .replace("@MANUAL@", MANUAL)
        .replace("@TOOLS@\n", &tools)
        .replace("@STATUSES@\n", &statuses)
        .into_bytes()
}

/// With what `-h` leaves out: `clap_mangen` would leave out its text, too.
fn whole(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| arg.hide_short_help(false))
}

/// As `-h` has it; `clap_mangen` would list every flag.
fn synopsis(tool: &Tool, page: &mut String) {
    section("SYNOPSIS", page);
    let usage = tool.full_command().render_usage().to_string();
    for usage in usage.trim_start_matches("Usage:").lines() {
        let rest = usage.trim().trim_start_matches(tool.name);
        let _ = writeln!(page, "\\fB{}\\fR{}\n.br", roff(tool.name), roff(rest));
    }
    page.truncate(page.trim_end_matches(".br\n").len());
}

/// Each command of a tool that has several, with what it does and its own options.
fn commands(tool: &Tool, page: &mut String) -> io::Result<()> {
    let command = tool.full_command();
    if !command.has_subcommands() {
        return Ok(());
    }
    section("COMMANDS", page);
    for command in command.get_subcommands() {
        // The examples have their own section.
        let command = command.clone().after_long_help("");
        let mut usage = command.clone().bin_name(command.get_name().to_owned());
        let usage = usage.render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").trim();
        let _ = writeln!(page, ".SS \"{}\"", roff(usage));
        let man = Man::new(whole(command));
        *page += &unheaded(&section_of(|to| man.render_description_section(to))?);
        *page += &unheaded(&section_of(|to| man.render_options_section(to))?);
    }
    Ok(())
}

/// A section as a part of another one: its heading goes, and those of groups of options are
/// lines in bold.
fn unheaded(text: &str) -> String {
    with_headings(text, |heading| match heading {
        "DESCRIPTION" | "OPTIONS" => String::new(),
        heading => format!(".PP\n\\fB{}\\fR\n", sentence_case(heading)),
    })
}

/// `clap_mangen` makes a section of each help heading; here they are groups of
/// OPTIONS, so that every page has the same sections.
fn group_options(options: &str) -> String {
    let mut has_head = false;
    with_headings(options, |heading| {
        let head = if std::mem::replace(&mut has_head, true) { "" } else { ".SH OPTIONS\n" };
        match heading {
            "OPTIONS" => head.to_owned(),
            group => format!("{head}.SS \"{}\"\n", sentence_case(group)),
        }
    })
}

/// The lines of a page, its headings as `heading` has them.
fn with_headings(page: &str, mut heading: impl FnMut(&str) -> String) -> String {
    let lines = page.lines().map(|line| match line.strip_prefix(".SH ") {
        Some(title) => heading(title.trim_matches('"')),
        None => format!("{line}\n"),
    });
    lines.collect()
}

fn sentence_case(heading: &str) -> String {
    // Headings are ASCII.
    let lower = heading.to_lowercase();
    let (first, rest) = lower.split_at(lower.len().min(1));
    first.to_uppercase() + rest
}

fn exit_status(more: &Page, page: &mut String) {
    section("EXIT STATUS", page);
    for (status, meaning) in ExitStatus::TABLE {
        let here = more.exit_status.iter().find(|(code, _)| *code == status.code());
        // A tool that never says "no" has no 1.
        if status == ExitStatus::No && here.is_none() {
            continue;
        }
        let meaning = here.map_or(meaning, |(_, meaning)| meaning.as_str());
        item(&format!("\\fB{}\\fR", status.code()), meaning, page);
    }
}

fn pairs(title: &str, pairs: &[(String, String)], page: &mut String) {
    if pairs.is_empty() {
        return;
    }
    section(title, page);
    for (name, meaning) in pairs {
        item(&format!("\\fB{}\\fR", roff(name)), meaning, page);
    }
}

fn examples(more: &Page, page: &mut String) {
    if more.examples.is_empty() {
        return;
    }
    section("EXAMPLES", page);
    for (command, what) in &more.examples {
        page.push_str(".PP\n");
        line(&format!("{what}:"), page);
        page.push_str(".PP\n.RS 4\n.nf\n");
        for text in command.lines() {
            line(text, page);
        }
        page.push_str(".fi\n.RE\n");
    }
}

fn see_also(tool: &Tool, page: &mut String) {
    section("SEE ALSO", page);
    let others = crate::tools()
        .into_iter()
        .filter(|other| other.name != tool.name)
        .map(|other| format!("\\fB{}\\fR(1)", roff(other.name)));
    let names: Vec<String> = others.chain(std::iter::once("\\fBctx\\fR(7)".to_owned())).collect();
    page.push_str(&names.join(",\n"));
    page.push('\n');
}

fn section(title: &str, page: &mut String) {
    let _ = writeln!(page, ".SH \"{title}\"");
}

fn item(head: &str, text: &str, page: &mut String) {
    let _ = writeln!(page, ".TP\n{head}");
    line(text, page);
}

/// One line of text; a leading `.` or `'` would be a request to roff.
fn line(text: &str, page: &mut String) {
    let text = roff(text);
    if text.starts_with(['.', '\'']) {
        page.push_str("\\&");
    }
    page.push_str(&text);
    page.push('\n');
}

/// Escapes what roff would read: commands are copied out of manuals, so `-`,
/// `'`, `` ` ``, `^` and `~` must stay the ASCII characters.
fn roff(text: &str) -> String {
    let mut escaped = text.replace('\\', "\\e");
    for (sign, name) in [("-", "-"), ("'", "(aq"), ("`", "(ga"), ("^", "(ha"), ("~", "(ti")] {
        escaped = escaped.replace(sign, &format!("\\{name}"));
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{group_options, page, roff};
    use clap::{Arg, ArgAction, Command};
    use ctx_cli::{ExitStatus, Tool};

    const SAMPLE: Tool = Tool {
        name: "ctx-sample",
        command: || {
            Command::new("ctx-sample")
                .about("Sample records")
                .arg(Arg::new("all").long("all").action(ArgAction::SetTrue).help("Take all"))
                .arg(
                    Arg::new("budget")
                        .long("budget")
                        .value_name("N")
                        .help("At most N")
                        .help_heading("Limits"),
                )
        },
        run: |_, _| Ok(ExitStatus::Done),
        first: "",
        page: r#"
exit_status = [[1, "there was nothing to sample"]]
environment = [["CTX_HOME", "the store"]]
files = [["~/.local/state/ctx", "the default store"]]
examples = [["ctx-sample 'a.jsonl' | \\\n  wc -l", "Count a sample"]]
"#,
    };

    fn rendered() -> String {
        String::from_utf8(page(&SAMPLE).expect("rendered")).expect("UTF-8")
    }

    #[test]
    fn sections_stand_in_order() {
        let page = rendered();
        let sections: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix(".SH "))
            .map(|title| title.trim_matches('"'))
            .collect();
        assert_eq!(
            sections,
            [
                "NAME",
                "SYNOPSIS",
                "DESCRIPTION",
                "OPTIONS",
                "EXIT STATUS",
                "ENVIRONMENT",
                "FILES",
                "EXAMPLES",
                "SEE ALSO"
            ]
        );
        assert!(page.contains("\n.SS \"Limits\"\n"), "{page}");
    }

    #[test]
    fn the_tool_says_what_no_means() {
        let page = rendered();
        assert!(page.contains(".TP\n\\fB1\\fR\nthere was nothing to sample\n"), "{page}");
        let silent = Tool { page: "", ..SAMPLE };
        let page = String::from_utf8(super::page(&silent).expect("rendered")).expect("UTF-8");
        assert!(!page.contains("\\fB1\\fR"), "{page}");
        assert!(page.contains(".TP\n\\fB130\\fR\ninterrupted\n"), "{page}");
    }

    #[test]
    fn commands_keep_their_characters() {
        let page = rendered();
        assert!(page.contains("ctx\\-sample \\(aqa.jsonl\\(aq | \\e\n  wc \\-l\n"), "{page}");
        assert_eq!(roff("~/.x ^ `a`"), "\\(ti/.x \\(ha \\(gaa\\(ga");
    }

    #[test]
    fn a_page_whose_flags_all_have_headings_has_options() {
        assert_eq!(group_options(".SH LIMITS\n.TP\nx\n"), ".SH OPTIONS\n.SS \"Limits\"\n.TP\nx\n");
    }
}
