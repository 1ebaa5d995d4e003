//! Formats the result of a compaction as text.

use ctx_cli::{ExitStatus, short_count};
use ctx_engine::compact::{Attention, Forecast, Outcome, PRUNED_FIRST, Report};
use ctx_engine::summarize::Summing;
use ctx_format::counted;
use ctx_policy::trigger::Trigger;

pub(super) fn status(report: &Report) -> ExitStatus {
    if report.outcome == Outcome::SummaryFailed {
        if report.snapshot.is_some() { ExitStatus::Partial } else { ExitStatus::Failed }
    } else if report.attention != Attention::None {
        ExitStatus::No
    } else if report.unreadable.is_empty() {
        ExitStatus::Done
    } else {
        ExitStatus::Partial
    }
}

/// Returns the result of a compaction on one line.
pub(super) fn line(report: &Report) -> String {
    let Report { tokens_before: before, tokens_after: after, freed_tokens: freed, .. } = report;
    let would = if report.dry_run { "would be " } else { "" };
    let from_now =
        if report.attention == Attention::LastTime { "; left alone until it grows" } else { "" };
    match report.outcome {
        Outcome::Compacted | Outcome::OverTarget | Outcome::Pruned => {
            let percent = (200 * freed + before) / (2 * before).max(1);
            let done = if report.outcome == Outcome::Pruned { "pruned" } else { "compacted" };
            let by_api = by_api(report);
            let by_whom = match report.summing {
                Summing { fell_back: true, method, .. } => {
                    format!("; the {method} summary was used, because no model wrote one")
                }
                _ => String::new(),
            };
            let below = below_budget(report);
            format!(
                "{would}{done}: {before} → {after} tokens, {freed} freed ({percent} %){by_api}{below}{by_whom}"
            )
        }
        Outcome::NothingToDo if *before == 0 => "the session is empty".to_owned(),
        Outcome::NothingToDo => {
            let hint = if target(report) == "budget" { "" } else { "; --budget N keeps fewer" };
            format!("nothing to summarize: all messages ({before} tokens) are kept{hint}")
        }
        Outcome::NotDue => format!("not due: {}", why_not_due(report)),
        Outcome::Flushed => format!("{would}flushed: items saved, {before} tokens unchanged"),
        Outcome::Disabled => "disabled".to_owned(),
        Outcome::NoGain => {
            format!(
                "no gain: {before} tokens would be {}{}; unchanged{from_now}",
                report.best(),
                by_api(report)
            )
        }
        Outcome::Unreachable => {
            let (name, ours) = (target(report), report.target_tokens.unwrap_or_default());
            let size = match report.limit_tokens {
                Some(limit) => format!("{limit} tokens, which leaves {ours} for the messages,"),
                None => format!("{ours} tokens"),
            };
            let best = report.best();
            let strict = ("", ", or leave --strict-target out");
            let (or, strict) = if report.strict_target { strict } else { ("or ", "") };
            format!(
                "the {name} of {size} is out of reach: {before} tokens would be {best}; unchanged; keep and pin less, {or}raise the {name}{strict}{from_now}"
            )
        }
        Outcome::SummaryFailed if freed > &0 => format!(
            "no summary, but large results are now in files: {before} → {after} tokens, {freed} freed"
        ),
        Outcome::SummaryFailed => format!("unchanged: {before} tokens, not summarized"),
        Outcome::GivenUp => format!(
            "not tried again at {before} tokens: earlier runs did not make the session smaller, and it has not grown since; --force tries again"
        ),
    }
}

/// Returns the API's token counts before and after the compaction, if the agent recorded them.
/// These counts include the system prompt and the tools.
fn by_api(report: &Report) -> String {
    match (report.calibrated_tokens, report.calibrated_after) {
        (Some(before), Some(after)) => {
            let [before, after] = [before, after].map(short_count);
            format!("; as counted by the API, about {before} → {after}")
        }
        _ => String::new(),
    }
}

/// Returns the word for the size that the session should have.
fn target(report: &Report) -> &'static str {
    if report.triggers.contains(&"budget") { "budget" } else { "target" }
}

/// If the result is clearly smaller than the budget, says by how much and why.
fn below_budget(report: &Report) -> String {
    let recorded = report.calibrated_after.zip(report.limit_tokens);
    let (after, budget) =
        recorded.unwrap_or((report.tokens_after, report.target_tokens.unwrap_or_default()));
    if !report.triggers.contains(&"budget") || after + budget * 3 / 100 >= budget {
        return String::new();
    }
    let pruned = report.attempts.iter().find(|it| it.what == PRUNED_FIRST);
    let is_enough = pruned.zip(report.target_tokens).is_some_and(|(it, most)| it.tokens <= most);
    let why = if is_enough {
        "pruning alone frees this much"
    } else {
        "no further message could be kept"
    };
    format!("; {} % below the budget: {why}", 100 - 100 * after / budget)
}

/// Names the limit that the session is within, and the value that comes closest to its limit.
fn why_not_due(report: &Report) -> String {
    let (tokens, limit) = match (report.calibrated_tokens, report.limit_tokens) {
        (Some(tokens), Some(limit)) => (tokens, Some(limit)),
        _ => (report.tokens_before, report.target_tokens),
    };
    let due = report.due.as_ref();
    if let Some(least) = due.and_then(|due| due.held_back) {
        return format!("there are fewer than {least} messages");
    }
    let nearest =
        due.and_then(|due| due.readings.iter().max_by_key(|it| 1000 * it.value / it.limit.max(1)));
    let (value, limit) = nearest.map_or((tokens, limit), |it| (it.value, Some(it.limit)));
    let what = match nearest.map(|it| it.trigger) {
        Some(Trigger::Messages) => "messages",
        Some(Trigger::Turns) => "turns",
        Some(Trigger::ToolBytes) => "bytes of tool results",
        _ if report.calibrated_tokens.is_some() => "tokens, as counted by the API,",
        _ => "tokens",
    };
    match limit {
        Some(limit) => format!("{value} {what} are within the limit of {limit}"),
        None => format!("{value} {what} exceed no limit"),
    }
}

/// Returns a warning if the result is smaller than the session but still above the target.
pub(super) fn warning(report: &Report) -> Option<String> {
    let are = if report.dry_run { "would be" } else { "are" };
    (report.outcome == Outcome::OverTarget).then(|| {
        let after = report.tokens_after;
        let recorded = report.limit_tokens.zip(report.calibrated_after);
        let ours = report.target_tokens.map(|target| (target, after));
        let (what, limit, size) = match recorded.or(ours) {
            Some((limit, size)) if size > limit => (target(report), limit, size),
            _ => ("window", report.window, report.calibrated_after.unwrap_or(after)),
        };
        let why = match what {
            "window" if after <= limit => format!(
                "the messages are only {after} of them, the rest is the system prompt and the tools; use fewer tools, or a model with a larger window"
            ),
            "window" => "what must be kept is larger; keep and pin less".to_owned(),
            _ => format!("what must be kept is larger; keep and pin less, or raise the {what}"),
        };
        format!("{size} tokens {are} above the {what} of {limit}: {why}")
    })
}

/// Returns the lines that follow the result in a preview, or an empty string if there is no
/// preview.
pub(super) fn plan(report: &Report) -> String {
    if !report.dry_run || report.freed_tokens == 0 {
        return String::new();
    }
    let pruned = report.attempts.iter().find(|it| it.what == PRUNED_FIRST);
    match (&report.plan, pruned) {
        (Some(forecast), Some(pruned)) => {
            let (before, after) = (report.tokens_before, pruned.tokens);
            format!("  pruned first: {before} → {after} tokens\n") + &table(forecast)
        }
        (Some(forecast), None) => table(forecast),
        (None, Some(_)) => "  only pruned: nothing is summarized\n".to_owned(),
        (None, None) => String::new(),
    }
}

fn table(forecast: &Forecast) -> String {
    let row = |cells: [&str; 4], lines: &str| {
        let [zone, messages, tokens, after] = cells;
        let row = format!("  {zone:<7} {messages:>8} {tokens:>9} {after:>9}  {lines}");
        row.trim_end().to_owned() + "\n"
    };
    let mut table = row(["zone", "messages", "tokens", "after"], "lines");
    let mut sums = [0; 2];
    for zone in &forecast.zones {
        let numbers = [zone.messages, zone.tokens, zone.tokens_after];
        sums = [sums[0] + zone.tokens, sums[1] + zone.tokens_after];
        let numbers = numbers.map(|n| n.to_string());
        let [messages, tokens, after] = numbers.each_ref().map(String::as_str);
        table += &row([zone.zone, messages, tokens, after], &zone.ranges());
    }
    let [before, after] = [sums[0], sums[1] + forecast.summary].map(|n| n.to_string());
    table += &row(["summary", "", "", &forecast.summary.to_string()], "");
    table += &row(["total", "", &before, &after], "");
    let it = &forecast.leaving;
    let sums =
        [it.user_messages, it.model_messages, it.tool_results, it.other_lines, it.carried_over];
    let leaving = sums.iter().any(|sum| *sum > 0).then(|| {
        format!(
            "  to summarize: {}, {}, {}, {}\n  carried over: {}; in the snapshot: {}\n",
            counted(it.user_messages, "user message"),
            counted(it.model_messages, "model message"),
            counted(it.tool_results, "tool result"),
            counted(it.other_lines, "other line"),
            counted(it.carried_over, "earlier summary"),
            counted(it.recoverable, "record")
        )
    });
    table += &leaving.unwrap_or_default();
    if forecast.shortens {
        table += "  to shorten: long results and arguments in the kept messages\n";
    }
    table
}
