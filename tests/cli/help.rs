//! `-h` and `--help` of each tool and each of its commands.

use clap::Command;
use ctx_cli::{Tool, help};
use ctx_testkit::Case;

use crate::{tool_path, tools};

/// The lines and columns of a screen.
const SCREEN: (usize, usize) = (45, 100);

/// A tool, and one of its commands as it is typed after the tool's name, or none.
type Typed = (&'static Tool, Option<String>);

fn everything() -> Vec<Typed> {
    let of_tool = |tool: &'static Tool| {
        let command = tool.full_command();
        let names = command.get_subcommands().map(Command::get_name);
        let names: Vec<String> = names.map(str::to_owned).collect();
        let commands = names.into_iter().map(move |name| (tool, Some(name)));
        [(tool, None)].into_iter().chain(commands)
    };
    tools().into_iter().flat_map(of_tool).collect()
}

fn asked((tool, name): &Typed, flag: &str) -> String {
    let args = name.iter().map(String::as_str).chain([flag]);
    let done = Case::new(tool_path(tool.name)).args(args);
    let done = done.stdout_has("Usage: ").run();
    String::from_utf8(done.stdout).expect("UTF-8")
}

fn fits(text: &str, screens: usize, of: &Typed) {
    let lines = text.lines().count();
    let name = (of.0.name, &of.1);
    assert!(lines <= SCREEN.0 * screens, "{name:?}: {lines} lines");
    for line in text.lines() {
        let columns = line.chars().count();
        assert!(columns <= SCREEN.1, "{name:?}: {columns} columns: {line}");
    }
}

/// `-h` fits one screen and says what the tool does and where to read more.
#[test]
fn the_short_help_is_one_screen() {
    for of in everything() {
        let text = asked(&of, "-h");
        fits(&text, 1, &of);
        let whole = of.1.as_ref().map(|name| format!("{} {name}", of.0.name));
        let whole = whole.unwrap_or(of.0.name.to_owned());
        let last =
            format!("\nAll flags: {whole} --help; the manual: {0} --man, or man {0}\n", of.0.name);
        assert!(text.ends_with(&last), "{text}");
        assert!(!text.contains("Examples:"), "{text}");
    }
}

/// `--help` fits two screens, has every flag, and ends with examples.
#[test]
fn the_long_help_is_two_screens() {
    for of in everything() {
        let text = asked(&of, "--help");
        fits(&text, 2, &of);
        let (flags, examples) = text.split_once("\nExamples:\n  # ").expect("examples");
        assert!(examples.contains("\n  "), "{text}");
        let command = help::long(of.0, of.1.as_deref());
        for argument in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let Some(long) = argument.get_long() else {
                continue;
            };
            let is_there = flags.lines().any(|line| {
                let words = line.split_whitespace().take(2);
                let bare = |word: &str| word.trim_end_matches(['.', ',']).to_owned();
                let mut words = words.map(bare);
                words.any(|word| word.split(['[', '=']).next() == Some(&format!("--{long}")))
            });
            assert!(is_there, "{}: --{long} is not in\n{text}", of.0.name);
        }
    }
}

/// The common flags come first, in the order of the table. Apart from them, `-h` has only help,
/// version and messages.
#[test]
fn what_most_people_need_comes_first() {
    for of in everything() {
        let names = |text: &str| -> Vec<String> {
            let flags = text.lines().filter_map(|line| {
                let line = line.strip_prefix("  ")?.trim_start();
                let line = line.strip_prefix('-')?;
                // "-n, --dry-run" without its dashes.
                let long = line.strip_prefix('-');
                let long = long.or_else(|| line.get(1..)?.strip_prefix(", --"))?;
                let end = long.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
                Some(long[..end.unwrap_or(long.len())].to_owned())
            });
            flags.collect()
        };
        let first = of.0.first();
        let command = help::short(of.0, of.1.as_deref());
        let has = |long: &&str| command.get_arguments().any(|it| it.get_long() == Some(*long));
        let mut expected: Vec<&str> = first.filter(has).collect();
        let most = expected.len();
        let long = names(&asked(&of, "--help"));
        assert_eq!(&long[..most], &expected, "{}", of.0.name);
        let messages = ["help", "version", "quiet", "verbose"];
        expected.extend(messages.iter().filter(|it| has(it)));
        assert_eq!(names(&asked(&of, "-h")), expected, "{}", of.0.name);
        if of.1.is_none() && !of.0.full_command().has_subcommands() {
            assert!((5..=15).contains(&most), "{}: {most}", of.0.name);
            assert_eq!(most, of.0.first().count(), "{}", of.0.name);
        }
    }
}

/// The flags that the help of a tool lists first are flags of the tool or of one of its commands.
#[test]
fn no_first_flag_is_unknown() {
    for tool in tools() {
        assert!(tool.first().eq(tool.page().first.split(' ')), "{}", tool.name);
        for first in tool.first() {
            let is_known = everything().iter().any(|(of, name)| {
                let command = help::short(of, name.as_deref());
                let mut arguments = command.get_arguments();
                of.name == tool.name && arguments.any(|it| it.get_long() == Some(first))
            });
            assert!(is_known, "{}: --{first}", tool.name);
        }
    }
}

/// The manual has the text that is too long for a line of help: the whole text of each flag, and
/// every example.
#[test]
fn the_manual_has_all() {
    let files = xtask::generated().expect("generated");
    let page = |name: &str| {
        let path = std::path::PathBuf::from(format!("man/{name}.1"));
        String::from_utf8(files[&path].clone()).expect("UTF-8")
    };
    let man = page("ctx-compact");
    for text in [
        "CTX_PRESET",
        "The model is asked again if it gives no usable response",
        "The units are w, d, h, min (or m), s and ms",
        "ctx\\-compact \\-\\-batch \\-\\-tag\\-failed \\-\\-budget 8000",
        "\no200k_harmony\n",
    ] {
        assert!(man.contains(text), "{text} is not in\n{man}");
    }
    let plain = |text: &str| text.replace("\\-", "-").replace("\\*(Aq", "'");
    for tool in tools() {
        let man = page(tool.name);
        let text = plain(&man);
        let command = tool.full_command();
        let commands = std::iter::once(&command).chain(command.get_subcommands());
        let arguments = commands.flat_map(Command::get_arguments);
        for argument in arguments.filter(|argument| !argument.is_hide_set()) {
            let what = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let what = what.split(['`', '\\', '\n']).next().unwrap_or_default();
            assert!(text.contains(what), "{}: {what}", tool.name);
        }
        for (_, what) in tool.page().examples {
            let what = what.split(['\'', '-', '`']).next().unwrap_or(&what);
            assert!(man.contains(what), "{}: {what}", tool.name);
        }
    }
}
