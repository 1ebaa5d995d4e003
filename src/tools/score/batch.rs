//! Two files of conversations, line by line.

use ctx_cli::{
    ExitStatus, Failure, Input, Io, Outcome, Progress, Statuses, input_name, inputs, jobs_of,
    json_failure, json_line, json_name, printable,
};
use ctx_engine::PassError;
use ctx_engine::score::{
    BatchScore, BatchScoreJson, ScoreJson, Side, Sided, score_batch, shortfalls,
};
use ctx_summary::ledger::score::Score;

use super::{Args, batch_table};
use crate::passes;

pub(super) fn run(args: &Args, io: &mut Io) -> Outcome {
    args.refuse_in_batch()?;
    let paths = inputs([&args.before, &args.after])?;
    let target = args.output.report(&paths)?;
    let sources = [Input::open(&args.before)?, Input::open(&args.after)?];
    let mut told = Telling {
        args,
        io,
        all: BatchScore::default(),
        statuses: Statuses::default(),
        held: String::new(),
    };
    let dialect = args.read.dialect();
    let readers = sources.map(|input| input.reader);
    let done = score_batch(readers, dialect, jobs_of(args.jobs), &mut |line, score| {
        Progress::current().record();
        let taken = told.take(line, score);
        taken.map_err(|failure| (Side::Before, PassError::caller(failure)))
    });
    done.map_err(|(side, error)| passes::failure(error, &args.name(side)))?;
    let Telling { all, statuses, mut held, .. } = told;
    held.push_str(&if args.json {
        let [before, after] = [Side::Before, Side::After].map(|side| args.name(side));
        json_line(&BatchScoreJson::of(json_name(&before), json_name(&after), &all))
    } else {
        batch_table(&all)
    });
    target.write(held.as_bytes(), io)?;
    Ok(statuses.of_all())
}

/// Reports the score of each conversation.
struct Telling<'t> {
    args: &'t Args,
    io: &'t mut Io,
    all: BatchScore,
    statuses: Statuses,
    /// The output for -o, which appears as a whole.
    held: String,
}

impl Telling<'_> {
    fn take(&mut self, line: u64, score: Sided<Score>) -> Result<(), Failure> {
        match score {
            Ok(score) => self.scored(line, &score),
            Err((side, error)) => {
                self.all.failed += 1;
                self.statuses.add(ExitStatus::Partial);
                let name = self.args.name(side);
                let failure = passes::failure(error, &name);
                self.io.report(&failure);
                self.json(|| json_failure(&name, Some(line), &failure))
            }
        }
    }

    fn scored(&mut self, line: u64, score: &Score) -> Result<(), Failure> {
        let args = self.args;
        self.all.add(line, score);
        let [before, after] = [Side::Before, Side::After].map(|side| args.name(side));
        for shortfall in shortfalls(score, None, args.min, None) {
            self.statuses.add(ExitStatus::No);
            let name = printable(&after);
            self.io.warn(format_args!("{name}:{line}: {shortfall}"));
        }
        self.json(|| {
            let names = (json_name(&before), json_name(&after));
            json_line(&ScoreJson::of(names.0, names.1, score, None, None).in_line(line))
        })
    }

    fn json(&mut self, line: impl FnOnce() -> String) -> Result<(), Failure> {
        if !self.args.json {
            return Ok(());
        }
        if self.args.output.output.is_some() {
            self.held.push_str(&line());
            return Ok(());
        }
        self.io.write(line().as_bytes())
    }
}

impl Args {
    fn name(&self, side: Side) -> String {
        input_name(match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        })
    }

    /// Refuses flags that apply to one session.
    fn refuse_in_batch(&self) -> Result<(), Failure> {
        let given = [
            ("--future", self.future.is_some()),
            ("--evidence", self.evidence.is_some()),
            ("--list", self.list.is_some()),
            ("--session", self.session.is_some()),
            ("--store", self.store.store.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((flag, _)) => Err(Failure::new(format_args!("{flag} with --batch"))
                .hint("leave it out: it is about one session")),
        }
    }
}
