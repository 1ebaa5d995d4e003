//! `--calibrate`: what a context comes to, by what the API said of its requests.

use ctx_cli::{Io, Operands, Outcome, json_line, json_name, labelled, of_each, printable};
use ctx_passes::count::Calibrated;
use serde::Serialize;

use super::Args;
use crate::counting::Counting;
use crate::passes;
use crate::target::Target;

/// What programs read of a file.
#[derive(Serialize)]
struct Line<'a> {
    name: Option<&'a str>,
    #[serde(flatten)]
    calibrated: &'a Calibrated,
}

/// Prints it for all files.
pub(super) fn run(
    args: &Args,
    counting: &Counting,
    operands: &Operands,
    target: Target<'_>,
    io: &mut Io,
) -> Outcome {
    let calibrate = |path: &_| {
        operands.check(path)?;
        let mut session = args.read.open(path)?;
        let calibrated = session.read(|it| Calibrated::of(it, counting.counter, counting.model))?;
        Ok((calibrated, session.bad().clone(), session.name))
    };
    let (files, status) = of_each(
        &operands.paths,
        args.jobs,
        calibrate,
        io,
        |(_, bad, name), io| {
            passes::telling(name, io, |notes| bad.report(notes));
        },
    )?;
    let shown = files.iter().map(|(calibrated, _, name)| {
        if args.json {
            let name = json_name(name);
            return json_line(&Line { name, calibrated });
        }
        let head = format!("{}: {}\n", printable(name), calibrated.headline());
        head + &labelled(&calibrated.rows())
    });
    target.write(shown.collect::<String>().as_bytes(), io)?;
    Ok(status)
}
