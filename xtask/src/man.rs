//! Generates the manual pages. Clap generates some sections, and the others come from each tool's
//! page.

use std::io;

use clap_mangen::Man;
use ctx_cli::{ExitStatus, Tool};
use ctx_tools::template::filled;
use minijinja::context;
use minijinja::value::{Serde, Value};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the manual page of a tool, `man/ctx-NAME.1`.
pub(crate) fn page(tool: &Tool) -> io::Result<Vec<u8>> {
    let man = Man::new(whole(tool.full_command()));
    let page = tool.page();
    let statuses: Vec<(u8, &str)> = page.statuses().collect();
    let tools: Vec<&str> = crate::tools().iter().map(|tool| tool.name).collect();
    let values = context! {
        name => tool.name,
        version => VERSION,
        head => section_of(|to| man.render_name_section(to))?,
        usages => usages(tool),
        description => section_of(|to| man.render_description_section(to))?,
        options => group_options(&section_of(|to| man.render_options_section(to))?),
        commands => commands(tool)?,
        statuses => Value::from(Serde(statuses)),
        page => Value::from(Serde(&page)),
        tools,
    };
    Ok(filled(include_str!("man.1.in"), roff, values).into_bytes())
}

/// The lines at the beginning of each generated section, defining `\*(Aq` as an apostrophe for all
/// versions of roff.
const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// Returns a section that clap generates, without the definition of [`APOSTROPHE`].
fn section_of(render: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<String> {
    let mut bytes = Vec::new();
    render(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).replace(APOSTROPHE, ""))
}

/// Returns `man/ctx.7`, which describes the record format and pipelines.
pub(crate) fn overview() -> Vec<u8> {
    let tool = |tool: &Tool| {
        (tool.name, tool.full_command().get_about().map(ToString::to_string).unwrap_or_default())
    };
    let tools: Vec<(&str, String)> = crate::tools().into_iter().map(tool).collect();
    let statuses = ExitStatus::TABLE.map(|(status, meaning)| (status.code(), meaning));
    let values = context! {
        version => VERSION,
        tools => Value::from(Serde(tools)),
        statuses => Value::from(Serde(statuses)),
    };
    filled(include_str!("ctx.7.in"), roff, values).into_bytes()
}

/// Unhides the flags that are hidden in `-h`, because `clap_mangen` would leave out their
/// descriptions.
fn whole(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| arg.hide_short_help(false))
}

/// Returns the usage lines of `-h`, without the tool's name. `clap_mangen` would list every flag.
fn usages(tool: &Tool) -> Vec<String> {
    let usage = tool.full_command().render_usage().to_string();
    let usages = usage.trim_start_matches("Usage:").lines();
    usages.map(|usage| usage.trim().trim_start_matches(tool.name).to_owned()).collect()
}

/// Returns the subcommands of a tool, each with its description and its own options.
fn commands(tool: &Tool) -> io::Result<Vec<Value>> {
    let mut commands = Vec::new();
    for command in tool.full_command().get_subcommands().filter(|it| !it.is_hide_set()) {
        // Examples have their own section.
        let command = command.clone().after_long_help("");
        let usage =
            command.clone().bin_name(command.get_name().to_owned()).render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").trim().to_owned();
        let man = Man::new(whole(command));
        let text = unheaded(&section_of(|to| man.render_description_section(to))?)
            + &unheaded(&section_of(|to| man.render_options_section(to))?);
        commands.push(context! { usage, text });
    }
    Ok(commands)
}

/// Prepares a section for insertion into another one: removes its heading, and turns option group
/// headings into bold lines.
fn unheaded(text: &str) -> String {
    with_headings(text, |heading| match heading {
        "DESCRIPTION" | "OPTIONS" => String::new(),
        heading => format!(".PP\n\\fB{}\\fR\n", sentence_case(heading)),
    })
}

/// Turns the sections that `clap_mangen` makes from help headings into subsections of OPTIONS, so
/// that all pages have the same sections.
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

/// Returns the page with each heading replaced by the result of `heading`.
fn with_headings(page: &str, mut heading: impl FnMut(&str) -> String) -> String {
    let lines = page.lines().map(|line| match line.strip_prefix(".SH ") {
        Some(title) => heading(title.trim_matches('"')),
        None => format!("{line}\n"),
    });
    lines.collect()
}

fn sentence_case(heading: &str) -> String {
    // Headings consist of ASCII letters.
    let lower = heading.to_lowercase();
    let (first, rest) = lower.split_at(lower.len().min(1));
    first.to_uppercase() + rest
}

/// Escapes characters that roff would interpret. Users copy commands from the manual, so `-`, `'`,
/// `` ` ``, `^` and `~` must be printed as ASCII characters.
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
