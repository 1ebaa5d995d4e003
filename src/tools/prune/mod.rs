//! `ctx-prune`: shortens and clears tool results, and drops reasoning and old messages.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, ValueEnum};
use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, Result, Tool, Verbosity, inputs, is_stdin, json_line,
    json_name, json_object, printable,
};
use ctx_engine::placeholder::{MAX_PLACEHOLDER, references};
use ctx_engine::prune::{
    Cache, Decision, Options, Plan, PrunePass, Spared, Sum, Sums, Trim, Unsent, saturating_usize,
};
use ctx_engine::{ErrorKind, PassError, Pin, Time};
use ctx_format::{Dialect, Saved, Zone, counted};
use ctx_policy::duration::FixedSpan;
use ctx_policy::share::Share;
use ctx_policy::{Clear, Glob, Mode, Policy, Rule, ToolFilter, When, parse_count};
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
    session.note_document(io);
    let name = session.name.clone();
    let counting = args.counting.resolve()?;
    let policy = args.policy.named(io)?;
    let flags = &args.flags.clone().under(policy.as_ref());
    // A preview of a file is a preview of --in-place.
    let is_saved = source.is_saved() || args.dry_run && !is_stdin(path);
    let saved = args.filter.output.store.promise(matches, is_saved);
    let plan = Plan {
        options: flags.options(session.dialect().map(|it| it as _), saved)?,
        pins: flags.pin.clone(),
        zone: flags.zone,
        min_gain: flags.min_gain.unwrap_or(0),
        counter: counting.counter,
        report_changes: io.verbosity >= Verbosity::Debug,
        strict: args.strict,
        cache: flags.cache_ttl.map(|ttl| Cache {
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
                + &spared(&decision, flags, "")
        };
        io.print(&shown)?;
        return Ok(ExitStatus::Done);
    }
    let done = decision.write(left_out, target.open(io)?);
    done.map_err(|error| failure(error, &name))?.finish()?;
    session.telling(io, |notes| decision.warn_of_reasoning(notes));
    if args.filter.json {
        io.write(report(args, &decision, &name, output.output.as_deref()).as_bytes())?;
    } else if args.in_place.in_place && io.verbosity > Verbosity::Quiet {
        let total = decision.sums.total();
        let (changes, freed) = (counted(total.changes, "change"), counted(total.gain(), "token"));
        let name = printable(&name);
        let spared = spared(&decision, flags, &format!("{name}: "));
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
fn spared(decision: &Decision<'_>, flags: &PruneFlags, name: &str) -> String {
    let Spared { results, reasoning } = decision.spared();
    let last = flags.protect_last.unwrap_or(PROTECTED);
    let results = (results > 0).then(|| {
        let results = counted(results, "more result");
        format!("{name}{results} would change with less than --protect-last {last}\n")
    });
    let reasoning = (reasoning > 0).then(|| {
        let records = counted(reasoning, "record");
        format!("{name}reasoning stays in {records}: of the latest turn, or protected\n")
    });
    results.into_iter().chain(reasoning).collect()
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
    /// The text between the beginning and the end of a trimmed result, if a policy is named. A
    /// policy need not have any rule.
    #[arg(skip)]
    cut: Option<String>,
}

/// Parses the name of a zone: old or keep. The zone system is not accepted, because system messages
/// are never pruned.
fn zones() -> impl TypedValueParser<Value = Zone> {
    let zones = [Zone::Old, Zone::Keep];
    PossibleValuesParser::new(zones.iter().filter_map(Zone::to_possible_value))
        .try_map(|word| Zone::from_str(&word, false))
}

/// What applies if neither a flag nor a policy sets it.
const PLACEHOLDER: &str = "[Old tool result content cleared]";
const PROTECTED: u64 = 3;

impl PruneFlags {
    /// Returns the flags, with the policy's setting wherever a flag is not given. A policy that does
    /// not prune sets no rules. Results that a policy clears only if needed are not cleared, because
    /// the limits apply to the whole context.
    fn under(mut self, policy: Option<&Policy>) -> Self {
        let Some(policy) = policy else { return self };
        let prune = &policy.prune;
        let or = |flag: Vec<Glob>, of_policy: &[Glob]| {
            if flag.is_empty() { of_policy.to_vec() } else { flag }
        };
        if policy.mode != Mode::SummaryOnly && prune.when != When::Never {
            self.max_chars = self.max_chars.or(prune.max_chars);
            self.clear |= prune.clear == Clear::Always;
            self.window_messages = self.window_messages.or(prune.window_messages);
            self.cache_ttl = self.cache_ttl.or(prune.cache_ttl);
            if self.drop.is_empty() {
                self.drop.clone_from(&prune.drop);
            }
        }
        self.head_share = self.head_share.or(self.max_chars.map(|_| prune.head_share));
        self.tail_share = self.tail_share.or(self.max_chars.map(|_| prune.tail_share));
        self.cut = Some(prune.cut.clone());
        self.placeholder = self.placeholder.or_else(|| Some(prune.placeholder.clone()));
        self.protect_last = self.protect_last.or(Some(prune.protect_last));
        self.min_gain = self.min_gain.or(prune.min_gain);
        self.allow_tool = or(self.allow_tool, &prune.allow);
        self.deny_tool = or(self.deny_tool, &prune.deny);
        self
    }

    /// Returns the rules that the flags set for a session in `dialect`.
    fn options(&self, dialect: Option<&dyn Dialect>, saved: Saved) -> Result<Options> {
        let placeholder = self.placeholder.as_deref().unwrap_or(PLACEHOLDER);
        let options = Options {
            trim: self.trim()?,
            clear: self.clear.then(|| placeholder.to_owned()),
            drop: self.drop.clone(),
            references: references(&ctx_policy::Policy::default().offload),
            argument_chars: self.max_argument_chars.map(saturating_usize),
            window_messages: self.window_messages,
            protect_last: saturating_usize(self.protect_last.unwrap_or(PROTECTED)),
            tools: ToolFilter { allow: self.allow_tool.clone(), deny: self.deny_tool.clone() },
            user_first: dialect.is_some_and(|dialect| dialect.output_rules().user_first),
            saved,
        };
        if !options.has_rules() && self.cut.is_none() {
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

    /// Returns the trimming rule, if any trimming flag turns it on.
    fn trim(&self) -> Result<Option<Trim>> {
        /// A share of this number is always whole, because shares have at most six decimals.
        const WHOLE: u64 = 1_000_000;
        let is_on = self.trim
            || self.max_chars.or(self.rescue_lines).is_some()
            || self.head_share.or(self.tail_share).is_some();
        let default = Trim::default();
        let trim = Trim {
            max_chars: self.max_chars.map_or(default.max_chars, saturating_usize),
            head_share: self.head_share.unwrap_or(default.head_share),
            tail_share: self.tail_share.unwrap_or(default.tail_share),
            rescue_lines: self.rescue_lines.map_or(default.rescue_lines, saturating_usize),
            cut: self.cut.clone().map_or(default.cut, Into::into),
        };
        if trim.head_share.of(WHOLE) + trim.tail_share.of(WHOLE) > WHOLE {
            return Err(Failure::new("--head-share and --tail-share add up to more than 1"));
        }
        Ok(is_on.then_some(trim))
    }
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
        let options = flags.options(Some(&Chat), Saved::Perhaps);
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
