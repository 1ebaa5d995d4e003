//! `ctx-prune`: shortens and clears tool results, and drops reasoning and old messages.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, ValueEnum};
use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, Result, Tool, Verbosity, inputs, is_stdin, json_line,
    json_name, json_object, printable,
};
use ctx_engine::placeholder::MAX_PLACEHOLDER;
use ctx_engine::prune::{
    Cache, Decision, Options, Plan, PrunePass, Spared, Sum, Sums, Trim, Unsent, saturating_usize,
};
use ctx_engine::{ErrorKind, PassError, Pin, Time};
use ctx_format::{Dialect, Saved, Zone, counted};
use ctx_policy::duration::FixedSpan;
use ctx_policy::share::Share;
use ctx_policy::{Clear, Glob, Mode, Policy, Prune, Rule, When, parse_count};
use ctx_store::Growth;

use crate::args::{CountingArgs, PolicyArgs, ReasoningArgs};
use crate::output::{FilterArgs, InPlaceArgs};
use crate::passes;
use crate::session::{last_change, operand};

/// Shorten and clear tool results, drop reasoning and old messages
///
/// The tool uses only rules and no model. Each rule is off unless a flag turns it on. The words of
/// the user and the model never change, and a record that no rule changes keeps its exact bytes. A
/// shortened or cleared result ends with a handle, such as ⟦ctx: Read a.py, all 1980 bytes:
/// ctx-offload --show 01234567⟧. The handle shows the call, the size of the original, and the
/// command that prints the original; if no snapshot is made, ", if saved" precedes the command. A
/// result is replaced only if the new text is smaller.
///
/// In an agent's own file, the rules apply only to content that the agent would send. With --drop,
/// lines that the agent would not send can also be removed; lines that refer to them are relinked.
/// If the agent would read the pruned file as a different conversation, nothing is written. The
/// token count that is recorded in the last reply is updated, because otherwise the agent would
/// compact the session again, or offer to, when it opens the session.
#[derive(Debug, Parser)]
struct Args {
    /// Session to prune; stdin if FILE is omitted or -
    #[arg(value_name = "FILE", value_parser = operand())]
    file: Option<PathBuf>,

    #[command(flatten)]
    flags: PruneFlags,

    /// Show what each rule would free, and write nothing
    #[arg(short = 'n', long, help_heading = "Output")]
    dry_run: bool,
    /// Fail if the input is not valid for its API
    #[arg(long, help_heading = "Input")]
    strict: bool,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    in_place: InPlaceArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    reasoning: ReasoningArgs,
}

/// The entry for `ctx-prune` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-prune", command, run, include_str!("manual.toml"));

fn command() -> clap::Command {
    Args::command().mut_arg("batch", |batch| batch.hide(true))
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = &Args::from_arg_matches(matches)?;
    let paths = inputs(&args.file)?;
    let path = &paths[0];
    if args.filter.read.batch {
        return Err(Failure::new("--batch files cannot be pruned")
            .hint("prune the conversations one by one, as sessions"));
    }
    let store = args.filter.output.store.lazy(&TOOL, matches);
    let output = args.in_place.of(args.filter.output.clone(), args.file.as_ref());
    output.refuse_report_among_records(args.filter.json, args.dry_run)?;
    let (source, target) = output.session(args.dry_run, &paths, None, &store, Growth::Follows)?;
    let model = args.counting.models.name();
    let mut session = args.filter.read.session(source.open(path)?)?.of_model(model);
    session.read(|session| session.refuse_document("pruned", source.is_saved()))?;
    session.note_lost_members(io);
    let name = session.name.clone();
    let counting = args.counting.resolve()?;
    let (flags, policy) = (&args.flags, args.policy.named(io)?);
    let is_named = policy.is_some();
    let policy = flags.lay_on(policy);
    // A preview of a file is a preview of --in-place.
    let is_saved = source.is_saved() || args.dry_run && !is_stdin(path);
    let saved = args.filter.output.store.promise(matches, is_saved);
    let plan = Plan {
        options: flags.options(&policy, is_named, session.dialect().map(|it| it as _), saved)?,
        pins: flags.pin.clone(),
        zone: flags.zone,
        min_gain: policy.prune.min_gain.unwrap_or(0),
        counter: counting.counter,
        report_changes: io.verbosity >= Verbosity::Debug,
        strict: args.strict,
        cache: policy.prune.cache_ttl.map(|ttl| Cache {
            ttl: ttl.0,
            last_call: flags.last_call.or(last_change(path)),
            now: chrono::Utc::now(),
        }),
        signed_reasoning: args.reasoning.signed_reasoning,
        temp: std::env::temp_dir(),
    };
    counting.report(io);
    let mut pass = PrunePass::new(&plan, session.dialect(), args.dry_run);
    session.pass(|record| pass.push(record))?;
    session.report(io);
    let left_out = session.bad().left_out();
    let is_due = pass.is_cold().ok_or_else(|| {
        Failure::new("the time of the last call is unknown")
            .at(&name, None)
            .hint("add --last-call TIME")
    })?;
    if !is_due {
        io.note(format_args!(
            "{name}: the last call is not older than --cache-ttl, so nothing was changed"
        ));
    }
    let decision = session.telling(io, |notes| pass.finish(is_due, notes));
    let mut decision = decision.map_err(|error| failure(error, &name))?;
    if args.dry_run {
        let shown = if args.filter.json {
            report(args, &decision, &name, None)
        } else {
            rule_table(&decision.sums)
                + &unsent_table(&decision.unsent)
                + &spared(&decision, &policy, "")
        };
        io.print(&shown)?;
        return Ok(ExitStatus::Done);
    }
    let records = target.open(io)?.of_document(session.take_document());
    let done = decision.write(left_out, records);
    done.map_err(|error| failure(error, &name))?.finish()?;
    session.telling(io, |notes| decision.warn_of_reasoning(notes));
    if decision.sums.total().changes > 0 {
        session.note_import(io);
    }
    if args.filter.json {
        io.write(report(args, &decision, &name, output.output.as_deref()).as_bytes())?;
    } else if args.in_place.in_place && io.verbosity > Verbosity::Quiet {
        let total = decision.sums.total();
        let (changes, freed) = (counted(total.changes, "change"), counted(total.gain(), "token"));
        let name = printable(&name);
        let spared = spared(&decision, &policy, &format!("{name}: "));
        let bytes = decision.unsent.iter().map(|unsent| unsent.bytes).sum::<u64>();
        let unsent = if bytes == 0 {
            String::new()
        } else {
            format!("; also removed: {} never sent", counted(bytes, "byte"))
        };
        io.print(format!("{name}: {changes}, {freed} freed{unsent}\n{spared}"))?;
    }
    Ok(ExitStatus::Done)
}

fn failure(error: PassError, name: &str) -> Failure {
    match error.kind {
        ErrorKind::NoZones => Failure::new("--zone is given, but no record has a zone")
            .at(name, None)
            .hint("add zones with ctx-split"),
        ErrorKind::NewProblem(_) => passes::failure(error, name)
            .hint("a message may need what is removed, such as its reasoning: remove less"),
        _ => passes::failure(error, name),
    }
}

/// Returns the JSON report on the session `name`. `output` is the file that was written. Keys are
/// never removed.
fn report(args: &Args, decision: &Decision<'_>, name: &str, output: Option<&Path>) -> String {
    let rule = |(rule, sum): (Rule, Sum)| {
        let (rule, freed_tokens) = (<&str>::from(rule), sum.gain());
        json_object! { rule, #[serde(flatten)] sum, freed_tokens }
    };
    let total = decision.sums.total();
    json_line(&json_object! {
        name: json_name(name),
        output: output.map(|path| path.display().to_string()),
        dry_run: args.dry_run,
        /// Whether pruning changed anything or, with `dry_run`, would change anything.
        pruned: decision.changes && (total.changes > 0 || !decision.unsent.is_empty()),
        changes: total.changes,
        freed_tokens: total.gain(),
        rules: decision.sums.by_rule().map(rule).collect::<Vec<_>>(),
        /// How many lines and second copies of text each rule removes from an agent's log.
        beside: &decision.unsent,
    })
}

/// Returns a table of how many tokens each rule frees.
fn rule_table(sums: &Sums) -> String {
    let mut table = rule_row("rule", ["changes", "tokens", "after", "freed"]);
    let rules = sums.by_rule().map(|(rule, sum)| (rule.into(), sum));
    for (rule, sum) in rules.chain([("total", sums.total())]) {
        table += &rule_row(rule, [sum.changes, sum.before, sum.after, sum.gain()]);
    }
    table
}

fn rule_row<T: Display>(rule: &str, [changes, before, after, freed]: [T; 4]) -> String {
    format!("{rule:<10} {changes:>8} {before:>10} {after:>10} {freed:>10}\n")
}

/// Says what the rules would change if it were not protected, in lines that begin with `name`.
fn spared(decision: &Decision<'_>, policy: &Policy, name: &str) -> String {
    let Spared { results, reasoning, images } = decision.spared();
    let last = policy.prune.protect_last;
    let more = [(results, "more result"), (images, "more image")].into_iter();
    let more = more.filter(|(count, _)| *count > 0).map(|(count, what)| {
        let what = counted(count, what);
        format!("{name}{what} would change with less than --protect-last {last}\n")
    });
    let reasoning = (reasoning > 0).then(|| {
        let records = counted(reasoning, "record");
        format!("{name}reasoning stays in {records}: of the latest turn, or protected\n")
    });
    more.chain(reasoning).collect()
}

/// For an agent's log, returns a table of the removed lines that would never have been sent to the
/// model.
fn unsent_table(unsent: &[Unsent]) -> String {
    let row = |rule: &str, count: &str, bytes: &str| format!("{rule:<17} {count:>8} {bytes:>10}\n");
    let mut table = row("also removed", "count", "bytes");
    for Unsent { rule, count, bytes } in unsent {
        table += &row(rule, &count.to_string(), &bytes.to_string());
    }
    if unsent.is_empty() { String::new() } else { table }
}

/// The flags for the rules and their exceptions.
#[derive(clap::Args, Clone, Debug)]
struct PruneFlags {
    /// Shorten long tool results to beginning, end, and errors
    #[arg(long, help_heading = "Rules")]
    trim: bool,
    /// Shorten results of more than N characters [default: 10000]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    max_chars: Option<u64>,
    /// Length of the kept beginning, as a share of --max-chars [default: 0.3]
    #[arg(long, value_name = "SHARE", help_heading = "Rules")]
    head_share: Option<Share>,
    /// Length of the kept end, as a share of --max-chars [default: 0.3]
    #[arg(long, value_name = "SHARE", help_heading = "Rules")]
    tail_share: Option<Share>,
    /// Keep up to N lines that look like errors from the removed part [default: 10]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    rescue_lines: Option<u64>,
    /// Replace tool results with a placeholder
    #[arg(long, help_heading = "Rules")]
    clear: bool,
    /// The placeholder for a cleared result [default: "[Old tool result content cleared]"]
    #[arg(long, value_name = "TEXT", help_heading = "Rules")]
    placeholder: Option<String>,
    /// Drop this kind of content (can be repeated)
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = "Rules")]
    drop: Vec<Rule>,
    /// Shorten strings of more than N characters in call arguments
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    max_argument_chars: Option<u64>,
    /// Keep only system messages and the last N messages
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    window_messages: Option<u64>,

    /// Protect the last N assistant messages and what follows them [default: 3]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is kept")]
    protect_last: Option<u64>,
    /// Change only results of tools that match GLOB (can be repeated)
    #[arg(long, value_name = "GLOB", help_heading = "What is kept")]
    allow_tool: Vec<Glob>,
    /// Never change results of tools that match GLOB (can be repeated)
    #[arg(long, value_name = "GLOB", help_heading = "What is kept")]
    deny_tool: Vec<Glob>,
    /// Keep these records: role:NAME, line:N, line:N-M or re:REGEX
    ///
    /// Can be repeated. If a call is kept, its results are also kept.
    #[arg(long, value_name = "SELECTOR", help_heading = "What is kept")]
    pin: Vec<Pin>,
    /// Prune only records that ctx-split put into this zone
    #[arg(long, value_parser = zones(), value_name = "ZONE", help_heading = "What is kept")]
    zone: Option<Zone>,
    /// Change nothing if the rules would free fewer than TOKENS tokens
    #[arg(long, value_name = "TOKENS", value_parser = parse_count, help_heading = "What is kept")]
    min_gain: Option<u64>,
    /// Prune only if the model's last call is older than this: 5m, 1h
    ///
    /// The units are w, d, h, min (or m), s and ms. The time of the last call is taken from the
    /// last reply with a `timestamp` (or a similar member), or else from any such message, or else
    /// from --last-call, or else from the file's modification time.
    #[arg(long, value_name = "DURATION", help_heading = "What is kept")]
    cache_ttl: Option<FixedSpan>,
    /// Time of the model's last call, if the session contains no times
    #[arg(long, value_name = "TIME", help_heading = "What is kept")]
    last_call: Option<Time>,
}

/// Parses the name of a zone: old or keep. The zone system is not accepted, because system messages
/// are never pruned.
fn zones() -> impl TypedValueParser<Value = Zone> {
    let zones = [Zone::Old, Zone::Keep];
    PossibleValuesParser::new(zones.iter().filter_map(Zone::to_possible_value))
        .try_map(|word| Zone::from_str(&word, false))
}

impl PruneFlags {
    /// Lays the flags over a policy. Without a policy, and with one that does not prune, only flags
    /// set rules. Results that a policy clears only if needed are not cleared, because the limits
    /// apply to the whole context.
    fn lay_on(&self, policy: Option<Policy>) -> Policy {
        let prunes = |it: &Policy| it.mode != Mode::SummaryOnly && it.prune.when != When::Never;
        let has_rules = policy.as_ref().is_some_and(prunes);
        let mut policy = policy.unwrap_or_default();
        let mut usual = policy.prune;
        if !has_rules {
            (usual.clear, usual.max_chars, usual.drop) = (Clear::Never, None, Vec::new());
            (usual.window_messages, usual.cache_ttl) = (None, None);
        }
        let shares = self.head_share.or(self.tail_share);
        let trims = self.trim || self.rescue_lines.is_some() || shares.is_some();
        let max_chars = trims.then_some(Trim::default().max_chars as u64);
        policy.prune = Prune {
            max_chars: self.max_chars.or(usual.max_chars).or(max_chars),
            head_share: self.head_share.unwrap_or(usual.head_share),
            tail_share: self.tail_share.unwrap_or(usual.tail_share),
            clear: if self.clear { Clear::Always } else { usual.clear },
            placeholder: self.placeholder.clone().unwrap_or(usual.placeholder),
            drop: given(&self.drop, usual.drop),
            protect_last: self.protect_last.unwrap_or(usual.protect_last),
            allow: given(&self.allow_tool, usual.allow),
            deny: given(&self.deny_tool, usual.deny),
            cache_ttl: self.cache_ttl.or(usual.cache_ttl),
            window_messages: self.window_messages.or(usual.window_messages),
            min_gain: self.min_gain.or(usual.min_gain),
            ..usual
        };
        policy
    }

    /// Returns the rules that `policy` and the flags set for a session in `dialect`. There must be
    /// rules, unless the user named a policy.
    fn options(
        &self,
        policy: &Policy,
        is_named: bool,
        dialect: Option<&dyn Dialect>,
        saved: Saved,
    ) -> Result<Options> {
        /// A share of this number is always whole, because shares have at most six decimals.
        const WHOLE: u64 = 1_000_000;
        let Prune { head_share, tail_share, clear, placeholder, .. } = &policy.prune;
        let mut options = Options::of_policy(policy, *clear == Clear::Always, dialect, saved);
        options.argument_chars = self.max_argument_chars.map(saturating_usize);
        if let Some((trim, lines)) = options.trim.as_mut().zip(self.rescue_lines) {
            trim.rescue_lines = saturating_usize(lines);
        }
        if head_share.of(WHOLE) + tail_share.of(WHOLE) > WHOLE {
            return Err(Failure::new("--head-share and --tail-share add up to more than 1"));
        }
        if !options.has_rules() && !is_named {
            return Err(Failure::new(
                "no rule is given; add --trim, --clear, --drop, --max-argument-chars, --window-messages, or a --preset that prunes",
            ));
        }
        if placeholder.contains('\n') || placeholder.len() > MAX_PLACEHOLDER {
            return Err(Failure::new(format_args!(
                "the placeholder must be one line of at most {MAX_PLACEHOLDER} bytes"
            )));
        }
        Ok(options)
    }
}

/// Returns the values of a flag or, if it is not given, those of a policy.
fn given<T: Clone>(flag: &[T], of_policy: Vec<T>) -> Vec<T> {
    if flag.is_empty() { of_policy } else { flag.to_vec() }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ctx_format::Saved;
    use ctx_format::dialect::Chat;

    use super::PruneFlags;

    #[derive(Parser)]
    struct Tool {
        #[command(flatten)]
        flags: PruneFlags,
    }

    /// Returns the length to which results are trimmed with these flags, or the error.
    fn max_chars(flags: &[&str]) -> Result<Option<usize>, String> {
        let flags = Tool::parse_from([&["t"], flags].concat()).flags;
        let options = flags.options(&flags.lay_on(None), false, Some(&Chat), Saved::Perhaps);
        let options = options.map_err(|failure| failure.to_string())?;
        Ok(options.trim.map(|trim| trim.max_chars))
    }

    #[test]
    fn each_flag_about_trimming_turns_it_on_and_shares_are_of_one_whole() {
        assert_eq!(max_chars(&["--trim"]), Ok(Some(10_000)));
        assert_eq!(max_chars(&["--max-chars", "500"]), Ok(Some(500)));
        assert_eq!(max_chars(&["--clear"]), Ok(None));
        assert_eq!(max_chars(&["--tail-share", "0.7"]), Ok(Some(10_000)));
        let error = max_chars(&["--tail-share", "0.71"]).expect_err("more than the whole");
        assert!(error.contains("--tail-share"), "{error}");
    }

    #[test]
    fn a_rule_is_needed_and_a_placeholder_is_one_short_line() {
        let error = max_chars(&["--min-gain", "9"]).expect_err("no rule");
        assert!(error.contains("no rule"), "{error}");
        let long = "x".repeat(1_000);
        for text in ["a\nb", long.as_str()] {
            let flags = ["--clear", "--placeholder", text];
            assert!(max_chars(&flags).expect_err("too long").contains("placeholder"));
        }
        assert!(max_chars(&["--clear", "--placeholder", "gone"]).is_ok());
    }
}
