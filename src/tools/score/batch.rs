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
    let names = [&args.before, &args.after].map(|path| input_name(path));
    let name = |side| match side {
        Side::Before => names[0].as_str(),
        Side::After => names[1].as_str(),
    };
    let [before, after] = names.each_ref().map(|name| json_name(name));
    let (mut all, mut statuses) = (BatchScore::default(), Statuses::default());
    // With -o the output appears as a whole.
    let mut held = String::new();
    let mut take = |line: u64, score: Sided<Score>| -> Result<(), Failure> {
        Progress::current().record();
        let object = match score {
            Ok(score) => {
                all.add(line, &score);
                for shortfall in shortfalls(&score, None, args.min, None) {
                    statuses.add(ExitStatus::No);
                    let name = printable(name(Side::After));
                    io.warn(format_args!("{name}:{line}: {shortfall}"));
                }
                let json = || ScoreJson::of(before, after, &score, None, None).in_line(line);
                args.json.then(|| json_line(&json()))
            }
            Err((side, error)) => {
                all.failed += 1;
                statuses.add(ExitStatus::Partial);
                let failure = passes::failure(error, name(side));
                io.report(&failure);
                args.json.then(|| json_failure(name(side), Some(line), &failure))
            }
        };
        match object {
            Some(object) if args.output.output.is_none() => io.print(object),
            object => {
                held.extend(object);
                Ok(())
            }
        }
    };
    let dialect = args.read.dialect();
    let readers = sources.map(|input| input.reader);
    let done = score_batch(readers, dialect, jobs_of(args.jobs), &mut |line, score| {
        take(line, score).map_err(|failure| (Side::Before, PassError::caller(failure)))
    });
    done.map_err(|(side, error)| passes::failure(error, name(side)))?;
    held.push_str(&if args.json {
        json_line(&BatchScoreJson::of(before, after, &all))
    } else {
        batch_table(&all)
    });
    target.write(held.as_bytes(), io)?;
    Ok(statuses.of_all())
}

impl Args {
    /// Refuses flags that apply to one session.
    fn refuse_in_batch(&self) -> Result<(), Failure> {
        let given = [
            ("--future", self.future.is_some()),
            ("--evidence", self.evidence.is_some()),
            ("--list", self.list.is_some()),
            ("--session", self.session.is_some()),
            ("--store", self.store.store.is_some()),
        ];
        let given = given.into_iter().find(|(_, is_given)| *is_given);
        given.map_or(Ok(()), |(flag, _)| {
            let failure = Failure::new(format_args!("{flag} with --batch"));
            Err(failure.hint("leave it out: it is about one session"))
        })
    }
}
