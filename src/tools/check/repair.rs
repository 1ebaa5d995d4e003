//! `--repair`: a mended copy.

use std::path::Path;

use ctx_cli::{ExitStatus, Failure, Inputs, Io, Outcome};
use ctx_transcript::repair::{Planner, Repair};
use ctx_transcript::{Dialect, Options, Piece, Record, Records, Tag, Validator};
use serde::Serialize;

use super::Args;

/// What is said with `--json`.
#[derive(Serialize)]
struct Done<'a> {
    name: Option<&'a str>,
    dialect: &'static str,
    output: String,
    actions: Vec<Did<'a>>,
}

#[derive(Serialize)]
struct Did<'a> {
    line: u64,
    action: &'static str,
    id: Option<&'a str>,
    message: String,
}

pub(super) fn run(args: &Args, inputs: &Inputs, io: &mut Io) -> Outcome {
    let [path] = inputs.paths() else {
        return Err(Failure::new("--repair takes one file").hint("mend them one by one"));
    };
    let to_stdout = args.output.output.as_deref();
    let to_stdout = to_stdout.is_none_or(|path| path.as_os_str() == "-");
    if args.json && to_stdout {
        return Err(
            Failure::new("--json needs stdout, and so does the mended copy")
                .hint("write the copy to a file with -o"),
        );
    }
    let (name, dialect, records, repair) = read(path, args, io)?;
    let Some(dialect) = dialect else {
        // Nothing that could be wrong with it.
        return write(args, &records.concat(), io);
    };
    let Some(mend) = dialect.mend() else {
        let what = format!("sessions of {} cannot be mended", dialect.name());
        return Err(Failure::new(what)
            .at(&name, None)
            .hint("their agent mends them itself as it loads them"));
    };
    let mut mended = Vec::with_capacity(records.iter().map(Vec::len).sum());
    for at in 0..records.len() {
        mended.extend(repair.mended(&records, at, mend));
    }
    drop(records);
    check(&mended, dialect, args.strict, &name)?;
    for action in &repair.actions {
        io.warn(format_args!("{name}:{}: {}", action.line, action.say()));
    }
    write(args, &mended, io)?;
    if args.json {
        io.write(json(args, &name, dialect, &repair).as_bytes())?;
    }
    Ok(ExitStatus::Done)
}

type Read = (String, Option<&'static dyn Dialect>, Vec<Vec<u8>>, Repair);

/// Reads the session and plans: its name, its dialect, its records, the plan.
fn read(path: &Path, args: &Args, io: &mut Io) -> Result<Read, Failure> {
    let mut session = args.read.open(path)?;
    session.tell_of_document(io);
    let dialect = session.dialect();
    let name = session.name.clone();
    let mut planner = dialect.map(|dialect| Planner::new(dialect.rules()));
    let mut records: Vec<Vec<u8>> = Vec::new();
    session.each(|record| {
        if matches!(record.piece, Piece::Middle | Piece::Last)
            && let Some(line) = records.last_mut()
        {
            line.extend_from_slice(record.bytes);
            return Ok(());
        }
        refuse(record, dialect, &name)?;
        if let (Some(planner), Some(outline)) = (&mut planner, record.outline(dialect)) {
            planner.push(records.len(), record.line, &outline);
        }
        records.push(record.bytes.to_vec());
        Ok(())
    })?;
    session.report(io);
    let repair = planner.map(|planner| planner.finish(args.strict));
    Ok((name, dialect, records, repair.unwrap_or_default()))
}

/// What cannot be mended.
fn refuse(record: &Record<'_>, dialect: Option<&dyn Dialect>, name: &str) -> Result<(), Failure> {
    let Some(object) = record.object() else {
        return Ok(());
    };
    let refused =
        |what: &str, hint: &str| Err(Failure::new(what).at(name, Some(record.line)).hint(hint));
    if dialect.is_none() {
        return refused(
            "no message of a known format",
            "--dialect says how to read it",
        );
    }
    if object.get(Tag::KEY).is_some() {
        // Numbers in tags would no longer be right.
        return refused(
            "the records are tagged",
            "ctx-split --strip removes the tags",
        );
    }
    Ok(())
}

/// Nothing is written that is not legal.
fn check(
    mended: &[u8],
    dialect: &'static dyn Dialect,
    strict: bool,
    name: &str,
) -> Result<(), Failure> {
    let options = Options {
        dialect: Some(dialect),
        raw: true,
        ..Options::default()
    };
    let cannot = |error: std::io::Error| Failure::new(error).at(name, None);
    let mut records = Records::open(mended, &options).map_err(cannot)?;
    let mut validator = Validator::new(dialect.rules());
    while let Some(record) = records.next().map_err(cannot)? {
        if let Some(outline) = record.outline(Some(dialect)) {
            validator.push(record.line, &outline);
        }
    }
    let (mut offences, open) = validator.finish_with_open();
    if strict {
        offences.extend(open);
    }
    match offences.first() {
        None => Ok(()),
        Some(offence) => Err(Failure::new(format_args!(
            "cannot be mended: in the copy, line {}, {}",
            offence.line,
            offence.why()
        ))
        .at(name, None)
        .hint("nothing was written")),
    }
}

fn write(args: &Args, bytes: &[u8], io: &mut Io) -> Outcome {
    let mut output = args.output.open(io)?;
    output.write(bytes)?;
    output.finish()?;
    Ok(ExitStatus::Done)
}

fn json(args: &Args, name: &str, dialect: &dyn Dialect, repair: &Repair) -> String {
    let output = args.output.output.as_deref().unwrap_or(Path::new("-"));
    let actions = repair.actions.iter().map(|action| Did {
        line: action.line,
        action: action.what.as_str(),
        id: Some(action.id.as_str()).filter(|id| !id.is_empty()),
        message: action.say(),
    });
    let done = Done {
        name: Some(name).filter(|name| *name != ctx_cli::STDIN_NAME),
        dialect: dialect.name(),
        output: output.display().to_string(),
        actions: actions.collect(),
    };
    let mut text = serde_json::to_string(&done).expect("keys are strings");
    text.push('\n');
    text
}
