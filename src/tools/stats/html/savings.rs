//! What can be saved, and by which command.

use ctx_cli::{percent, shell_word};
use ctx_engine::prune::Sum;
use ctx_engine::stats::profile::Profile;

use super::elements::{Table, number, quoted, text, things};
use super::subject::Subject;

/// The rules of pruning that the page counts with, as flags.
const PRUNING: &str = "--drop superseded,duplicates,noise --trim";

/// What to do now: each command with what it frees.
pub(super) fn commands(subject: &Subject) -> String {
    let path = subject.path.as_deref();
    let file = path.map_or("FILE".to_owned(), |path| {
        let path = path.display().to_string();
        // Else it would be a flag.
        shell_word(&if path.starts_with('-') { format!("./{path}") } else { path })
    });
    let all = subject.profile.context.total();
    let mut table = Table::new(
        "What can be saved now",
        &[("Command", false), ("Frees (of the context)", true), ("What it does", false)],
    );
    let mut push = |command: String, frees: String, what: &str| {
        let command = format!("<code>{}</code>", text(&command));
        table.push(&[command, frees, what.to_owned()]);
    };
    let freed = |tokens: u64| format!("{} ({})", number(tokens), percent(tokens, all));
    if let Ok(savings) = &subject.profile.savings
        && savings.total.gain() > 0
    {
        push(
            format!("ctx-prune -i {PRUNING} {file}"),
            freed(savings.total.gain()),
            "shortens results that were read again, repeated or long; no text of a message changes",
        );
    }
    if let Some((results, tokens)) = subject.offload
        && tokens > 0
    {
        let what = format!(
            "puts {} into files that the session names",
            things(results as u64, "large result")
        );
        push(format!("ctx-offload -i {file}"), freed(tokens), &what);
    }
    if let Err(why) = &subject.profile.savings {
        return format!(
            "<h3>What can be saved</h3>\n<p>The tools do not change it as it is: {}.</p>\n",
            text(why)
        );
    }
    push(
        format!("ctx-compact {file}"),
        "not known yet".to_owned(),
        &format!(
            "summarizes what is old; <code>ctx-compact -n {}</code> tells what it would leave",
            text(&file)
        ),
    );
    format!(
        "<h3>What can be saved</h3>\n{}<p>Each number is for the command alone. A snapshot is taken before the file changes: <code>ctx-rollback --undo {}</code> brings it back.</p>\n",
        table.html("commands quiet"),
        text(&file)
    )
}

/// What pruning would remove.
pub(super) fn groups(profile: &Profile) -> String {
    let heading = "<h3>Duplicates and other results that pruning would shorten</h3>\n";
    let savings = match &profile.savings {
        Ok(savings) => savings,
        Err(why) => {
            return format!("{heading}<p>ctx-prune does not take it: {}.</p>\n", text(why));
        }
    };
    if savings.groups.is_empty() {
        return format!("{heading}<p>Nothing.</p>\n");
    }
    let mut rules = Table::new(
        "What ctx-prune would free, by rule",
        &[("Rule", false), ("Changes", true), ("Before", true), ("After", true), ("Freed", true)],
    );
    let by_rule = savings.rules.iter().map(|(rule, sum)| (rule.as_str(), *sum));
    let row = |what: &str, sum: Sum| {
        [
            what.to_owned(),
            number(sum.changes),
            number(sum.before),
            number(sum.after),
            number(sum.gain()),
        ]
    };
    for (what, sum) in by_rule {
        rules.push(&row(what, sum));
    }
    rules.push_sum(&row("total", savings.total));
    let mut groups = Table::new(
        "The same by the calls that the results answer",
        &[
            ("Call", false),
            ("Rule", false),
            ("Results", true),
            ("First line", true),
            ("Before", true),
            ("Freed", true),
        ],
    );
    for group in &savings.groups {
        groups.push(&[
            quoted(&group.call),
            group.rule.as_str().to_owned(),
            number(group.sum.changes),
            number(group.line),
            number(group.sum.before),
            number(group.sum.gain()),
        ]);
    }
    let more = match savings.more {
        0 => String::new(),
        more => format!("<p>{} more free less.</p>\n", number(more as u64)),
    };
    format!("{heading}{}{}{more}", rules.html(""), groups.html("sortable"))
}
